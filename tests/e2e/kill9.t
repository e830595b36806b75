#!/usr/bin/env bash
# kill -9 of the daemon at random instants while two readers read, fifty times: what was told durable is right and not fetched again.
TEST_TIMEOUT=400
. "$(dirname "$0")/lib.sh"

size=16000000
rounds=${KILL9_ROUNDS:-50}
origin_start "/* size=$size rate=20M"
list /a "size=$size" /b "size=$size"
wrong=0 refetched=0 dead=0 told=0
RANDOM=${KILL9_SEED:-$$}
diag "KILL9_SEED=$$"
for i in $(seq "$rounds"); do
	must_mnt --checkpoint=100ms --fill=none --connections=2
	cat "$M/a" >"$T/copy-a" 2>/dev/null &
	readers=$!
	cat "$M/b" >"$T/copy-b" 2>/dev/null &
	readers="$readers $!"
	sleep "$(printf '0.%03d' $((RANDOM % 350 + 50)))"
	durable_a=$(durable "$M/a")
	durable_b=$(durable "$M/b")
	told=$((told + ${durable_a:-0} + ${durable_b:-0}))
	crash
	# shellcheck disable=SC2086
	wait $readers
	content "$T/copy-a" /a >"$T/err" || { wrong=$((wrong + 1)) && diag "$(cat "$T/err")"; }
	content "$T/copy-b" /b >"$T/err" || { wrong=$((wrong + 1)) && diag "$(cat "$T/err")"; }
	ctl reset "/* size=$size"
	mnt --fill=none --connections=1 || { dead=$((dead + 1)) && continue; }
	for f in a b; do
		have=durable_$f
		content "$M/$f" "/$f" >"$T/err" || { wrong=$((wrong + 1)) && diag "round $i: $(cat "$T/err")"; }
		quiet
		missing=$((size - ${!have:-0}))
		[ "$(sent "/$f")" -le $((missing + 65536)) ] ||
			{ refetched=$((refetched + 1)) && diag "round $i: $f: durable ${!have}, sent $(sent "/$f")"; }
	done
	unmnt
	rm -rf "$T/cache"
	mkdir -m 700 "$T/cache"
	ctl "/* size=$size rate=20M"
done
is 'wrong bytes' "$wrong" 0
is 'durable bytes fetched again' "$refetched" 0
is 'mounts that failed after a kill' "$dead" 0
at_least 'bytes told durable before kills, in all' "$told" 10000000
done_testing
