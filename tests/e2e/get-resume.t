#!/usr/bin/env bash
# get goes on where it durably stood: after SIGKILL, after a signal; what was begun is listed, gone on with, forgotten.
. "$(dirname "$0")/lib.sh"

mkdir "$T/dl" && cd "$T/dl" || exit 99
SIZE=12000000
get() { "$RGETFS" get --retry-time=5s --checkpoint=100ms "$@" >"$T/out" 2>"$T/err"; }
slow() { # URL… in the background: $pid
	env --default-signal=INT "$RGETFS" get --json --checkpoint=100ms "$@" >"$T/out-slow" 2>"$T/err-slow" &
	pid=$!
}
saved() { "$RGETFS" get --list --json | jq -r "select(.path == \"$T/dl/$1\") | .$2"; }
durable_past() { # BYTES
	local d
	d=$(tail -n 1 "$T/out-slow" | jq .durable)
	[ "${d:-0}" -gt "$1" ]
}
origin_start "/* size=$SIZE" --total-rate=4000000

# ---- SIGKILL ----
slow "$U/big"
ok 'bytes become durable' wait_for 10 durable_past 2000000
kill -9 "$pid"
wait "$pid" 2>/dev/null
fails 'the name is not there' test -e big
ok 'the part is' test -e big.part
kept=$(saved big durable)
is 'listed: size' "$(saved big size)" "$SIZE"
is 'listed: nobody is at it' "$(saved big owner)" null
like 'a table' "$("$RGETFS" get --list)" "MiB +[0-9]+% .* $T/dl/big"
ctl reset 'set total-rate=20000000'
get "$U/big"
is 'again: it goes on' "$? $(cat "$T/err")" '0 '
ok 'again: right' content big /big
is 'again: all' "$(stat -c %s big)" "$SIZE"
at_most 'what was durable is not fetched again' "$(sent /big)" "$((SIZE - kept + 500000))"
like 'it tells of that' "$(cat "$T/out")" 'MiB of them from before$'
is 'nothing is kept of what is done' "$("$RGETFS" get --list --json; find "$T/state" -type f; find . -name '*.part')" ''

# ---- SIGINT: the last bytes are durable as well ----
ctl 'set total-rate=4000000'
slow --checkpoint=60s "$U/int"
wait_for 10 test -s int.part
sleep 1
kill -INT "$pid"
wait "$pid"
is 'SIGINT: exit status' "$?" 130
like 'SIGINT: it says how to go on' "$(cat "$T/err-slow")" 'run the same command again to go on; rgetfs get --list shows what was begun'
is 'SIGINT: one line' "$(wc -l <"$T/err-slow")" 1
kept=$(saved int durable)
at_least 'SIGINT: kept without a checkpoint before' "${kept:-0}" 1000000
ctl reset 'set total-rate=20000000'
get "$U/int"
is 'SIGINT: again' "$?" 0
ok 'SIGINT: right' content int /int
at_most 'SIGINT: no byte twice' "$(sent /int)" "$((SIZE - kept + 500000))"

# ---- what the size was said to be does not outlive who said it ----
sum=$("$FORMULA" cat 1 /size 0 0 "$SIZE" | sha256sum | cut -d' ' -f1)
ctl 'set total-rate=4000000' "/size size=$SIZE fault=wrong-total:500"
slow --connections=1 --checksum "sha-256=$sum" "$U/size"
ok 'of a wrong size: some is durable' wait_for 10 durable_past 1000000
kill -9 "$pid"
wait "$pid" 2>/dev/null
ctl "/size size=$SIZE" 'set total-rate=20000000'
get --checksum "sha-256=$sum" "$U/size"
is 'of a wrong size: again, with the right one' "$? $(cat "$T/err")" '0 '
ok 'of a wrong size: right' content size /size

# ---- a server that says nothing of the version ----
ctl 'set total-rate=4000000' "/mute size=$SIZE etag=none last-modified=none"
slow "$U/mute"
ok 'without ETag and date: some is durable' wait_for 10 durable_past 1000000
kill -9 "$pid"
wait "$pid" 2>/dev/null
ctl "/mute size=$SIZE etag=none last-modified=none version=1" 'set total-rate=20000000'
get "$U/mute"
is 'without ETag and date: again' "$? $(cat "$T/err")" '0 '
ok 'without ETag and date: of one version' content mute /mute 1

# ---- with events ----
ctl 'set total-rate=4000000'
slow "$U/term"
wait_for 10 durable_past 1000000
kill "$pid"
wait "$pid"
is 'SIGTERM: exit status' "$?" 143
is 'SIGTERM: the event' "$(jq -c 'select(.event == "stopped" or .event == "end") | [.event, .stopped // .path]' "$T/out-slow" | tr '\n' ' ')" \
	'["stopped","term"] ["end",true] '

# ---- two at one target ----
slow "$U/both"
wait_for 10 durable_past 500000
get "$U/both"
is 'a second process is refused' "$? $(wc -l <"$T/err")" '1 1'
like 'with the first one'\''s number' "$(cat "$T/err")" "^rgetfs: both: .*$pid"
like 'listed: who is at it' "$(saved both owner)" "$pid"
"$RGETFS" get --forget both 2>"$T/err"
is 'what is in use is not forgotten' "$? $(wc -l <"$T/err")" '1 1'
kill -9 "$pid"
wait "$pid" 2>/dev/null

# ---- all of what was begun ----
ctl reset 'set total-rate=20000000'
cd / || exit 99
"$RGETFS" get --resume-all >"$T/out" 2>"$T/err"
is '--resume-all' "$? $(cat "$T/err")" '0 '
ok '--resume-all: all of it' eval 'content "$T/dl/term" /term && content "$T/dl/both" /both'
at_most '--resume-all: what was durable is not fetched again' "$(all_sent)" "$((2 * SIZE - 1000000))"
is '--resume-all: nothing is left' "$("$RGETFS" get --list --json)" ''
ok '--resume-all: of nothing' "$RGETFS" get --resume-all
cd "$T/dl" || exit 99

# ---- forget ----
ctl 'set total-rate=4000000'
slow "$U/never"
wait_for 10 durable_past 500000
kill "$pid"
wait "$pid"
ok '--forget' "$RGETFS" get --forget never
is '--forget: no trace' "$("$RGETFS" get --list --json; ls -d never* 2>/dev/null)" ''
fails '--forget: what is none' "$RGETFS" get --forget never

# ---- another version meanwhile ----
slow "$U/newer"
wait_for 10 durable_past 1000000
kill "$pid"
wait "$pid"
ctl 'set total-rate=20000000' "/newer size=$SIZE version=1"
get "$U/newer"
is 'another version: it begins anew' "$?" 0
ok 'another version: that alone' content newer /newer 1
done_testing
