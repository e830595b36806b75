#!/usr/bin/env bash
# Who waits for a size that a server never tells can be ended at once, by Ctrl-C too; the file is there when the server answers. So
# can who reads.
. "$(dirname "$0")/lib.sh"

retry=60 # s
soon=$((retry * 1000 / 24)) # ms

# Ended by the signal itself: `timeout` says 124, or 137 for a SIGKILL; in time, against the wait it would have been.
ends() { # NAME SIGNAL COMMAND…
	local name=$1 signal=$2 began status want=124
	shift 2
	[ "$signal" != KILL ] || want=137
	began=$(now_ms)
	timeout --foreground -s "$signal" 1 "$@" >"$T/out" 2>&1
	status=$?
	at_most "$name, $signal: ms" $(($(now_ms) - began)) "$soon"
	is "$name, $signal: by the signal" "$status" "$want"
}

origin_start '/trickle* size=700000 ranges=no fault=unsized rate=350K' '/unsized size=700000 ranges=no fault=unsized fault=stall:300000' '/h* size=3000 fault=hang' '/quick* size=3000'
list /h/1 /h/2 /quick /unsized
printf '%s/h/1\n out=elsewhere/1\n' "$U" >>"$T/list"
printf '%s/sized\n size=3000000\n' "$U" >>"$T/list"
ctl '/sized size=3000000 fault=hang'
must_mnt --retry-time=${retry}s --stall-timeout=${retry}s --fill=none
cat "$M/quick" >/dev/null
for signal in INT TERM KILL; do
	ends 'stat' $signal stat "$M/1"
	ends 'cat' $signal cat "$M/1"
	ends 'ls -l' $signal ls -l "$M"
done
ends 'a read of a file whose size is known' KILL cat "$M/sized"
# Of a stream without length, whose reads go past the page cache.
ends 'a read of a file without a length' INT cat "$M/unsized"
ends 'a read of a file without a length' KILL cat "$M/unsized"
ok 'nobody reads any more' wait_for 5 eval '[ "$(total reads_waiting)" = 0 ]'

# One of two who wait for the same file, under two names, goes; the other has its answer.
stat -c %s "$M/elsewhere/1" >"$T/other" 2>&1 &
other=$!
ends 'one of two' INT stat "$M/1"
ok 'the other waits on' kill -0 "$other"
# Nor does its wait keep anybody out of the directory.
stat "$M/2" >/dev/null 2>&1 &
waits=$!
sleep 0.3
at_most 'ls beside one that waits, ms' "$(took_ms ls "$M")" "$soon"
at_most 'stat of a known file, ms' "$(took_ms stat "$M/sized" "$M/no-such")" "$soon"
ends 'another that waits' INT stat "$M/1"
ok 'which was beside one that waits' kill -0 "$waits"
ctl '/h* size=3000' release
ended 'that one is answered' "$waits"
ended 'and is answered' "$other"
is 'with the size' "$(cat "$T/other")" 3000
ok 'the one that nobody could wait for' timeout 20 stat "$M/1"
ok 'its bytes' content "$M/1" /h/1
ok 'another' content "$M/2" /h/2
unmnt || bail 'the unmount failed'

# Interrupts beside answers: some win, some lose, and each file works in the end.
many=200
ctl 'set delay=60ms'
for i in $(seq $many); do
	printf '%s/quick%d\n out=f%d\n' "$U" "$i" "$i"
done >"$T/list"
for i in $(seq 12); do
	printf '%s/trickle%d\n' "$U" "$i" >>"$T/list"
done
must_mnt --retry-time=${retry}s --connections=1
: >"$T/ends"
for k in 0 1 2 3; do
	for i in $(seq $((many - k)) -4 1); do
		timeout --foreground -s KILL "0.0$((RANDOM % 9 + 1))" stat "$M/f$i" >/dev/null 2>"$T/err.$i"
		echo "$? $(cat "$T/err.$i")" >>"$T/ends"
	done &
	pids[k]=$!
done
for k in 0 1 2 3; do
	wait "${pids[k]}"
done
at_least 'some were interrupted' "$(grep -c '^137' "$T/ends")" 20
at_least 'some were answered' "$(grep -c '^0' "$T/ends")" 20
is 'nothing else' "$(grep -v '^0 $\|^124 $\|^137 ' "$T/ends")" ''
ctl 'set delay=0'
is 'and each is there' "$(find "$M" -size -3001c -size +2999c | wc -l)" "$many"
for i in $(seq 12); do
	for k in 0 1 2; do
		timeout --foreground -s TERM "0.$((RANDOM % 9 + 1))" cat "$M/trickle$i" >"$T/copy.$k" &
		pids[k]=$!
	done
	wait "${pids[@]:0:3}"
	for k in 0 1 2; do
		content "$T/copy.$k" "/trickle$i" >/dev/null || echo "wrong bytes: $i"
	done
done >"$T/wrong" 2>/dev/null
is 'reads that were interrupted beside others: no wrong byte' "$(cat "$T/wrong")" ''
ok 'and all of it in the end' wait_for 20 eval 'cat "$M/trickle9" >"$T/copy" && content "$T/copy" /trickle9 &&
	[ "$(stat -c %s "$T/copy")" = 700000 ]'
ok 'the mount ends as ever' unmnt
done_testing
