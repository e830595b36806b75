#!/usr/bin/env bash
# A download killed by SIGKILL at random instants: right in the end, and each time at most one checkpoint interval of bytes
# (and what was on its way) is fetched twice.
. "$(dirname "$0")/lib.sh"

kills=20
size=$((400 << 20)) rate=$((50 << 20)) interval=100 # ms
twice=$((rate * (interval + 100) / 1000)) # a commit of the disk, and the buffers of the sockets
RANDOM=${SEED:-7}
origin_start --total-rate=50M "/file size=$size"
mkdir "$T/to"
cd "$T/to" || bail "no directory"
killed=0
for ((i = 0; i < kills; i++)); do
	"$RGETFS" get -q --checkpoint=${interval}ms "$U/file" 2>>"$T/err" &
	pid=$!
	sleep "0.$((RANDOM % 300 + 100))"
	kill -9 "$pid" 2>/dev/null && killed=$((killed + 1))
	wait "$pid" 2>/dev/null
	[ ! -e file ] || break
done
at_least 'it was killed in the middle' "$killed" $((kills / 2))
fails 'no file before all is there' test -e file
before=$(sent /file)
durable=$("$RGETFS" get --list --json | jq .durable)
diag "sent until then: $before"
at_least 'durable' "$durable" $((before - killed * twice))
ctl 'set total-rate=0'
"$RGETFS" get --json "$U/file" >"$T/events"
is 'the last run' $? 0
ok 'the bytes' content file /file
diag "$(tail -n 1 "$T/events")"
is 'it goes on where it durably stood' "$(jq 'select(.event == "done").resumed' "$T/events")" "$durable"
# A connection that is given up for another on a busy machine leaves parts of blocks.
at_most 'bytes that it fetched and kept' "$(jq 'select(.event == "end") | .fetched - .discarded' "$T/events")" \
	$((size - durable + (1 << 20)))
is 'nothing is left beside it' "$(ls)" file
is 'nor of its state' "$("$RGETFS" get --list --json)" ''
done_testing
