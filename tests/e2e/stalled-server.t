#!/usr/bin/env bash
# Sixteen readers wait for a stalled server: df, ls, kill -9 of a reader, and unmounts end soon; a cached file and one of
# another origin read as ever; a reader with a signal handler is answered within its deadline.
. "$(dirname "$0")/lib.sh"

size=20000000
O=b origin_start '/elsewhere size=500000'
O=a origin_start "/slow size=$size" '/cached size=500000'
printf '%s/slow\n size=%s\n%s/cached\nhttp://127.0.0.1:%s/elsewhere\n' "$U" $size "$U" "${PORT[b]}" >"$T/list"
must_mnt --retry-time=8s --stall-timeout=4s --fill=none
cat "$M/cached" >/dev/null
ctl "/slow size=$size fault=hang"
pids=()
for i in $(seq 16); do
	"$BUILD/tests/e2e/access" park "$M/slow" 1000000 1 >/dev/null 2>&1 &
	pids+=($!)
	pread "$M/slow" $((i * 1000000)) 4096 >/dev/null 2>&1 &
	pids+=($!)
done
began=$(now_ms)
"$BUILD/tests/e2e/access" handler "$M/slow" 19000000 >/dev/null 2>"$T/handler" &
handler=$!
sleep 1
kill -INT "$handler"
at_most 'ls, ms' "$(took_ms ls -l "$M")" 2000
at_most 'df, ms' "$(took_ms df "$M")" 2000
ok 'a cached file' timeout 2 "$FORMULA" check 1 /cached 0 "$M/cached"
ok 'another origin' timeout 5 "$FORMULA" check 1 /elsewhere 0 "$M/elsewhere"
kill -9 "${pids[3]}"
at_most 'kill -9 of a reader, ms' "$(took_ms wait_for 5 gone "${pids[3]}")" 2000
wait "$handler"
at_most 'a reader with a handler has its answer, ms' $(($(now_ms) - began)) 20000
like 'which is an error' "$(cat "$T/handler")" 'Input/output error|Interrupted'
at_most 'lazy unmount, ms' "$(took_ms fusermount3 -u -z "$M")" 2000
for p in "${pids[@]}"; do
	kill -9 "$p" 2>/dev/null
done
wait_for 15 eval '! pgrep -F /dev/null 2>/dev/null && ! "$RGETFS" status --json "$M"'
ok 'and it can be mounted again' wait_for 20 mnt --retry-time=8s --fill=none
for i in $(seq 4); do
	pread "$M/slow" $((i * 1000000)) 4096 >/dev/null 2>&1 &
	pids+=($!)
done
sleep 0.3
at_most 'unmount --force, ms' "$(took_ms "$RGETFS" unmount --force "$M")" 3000
fails 'it is gone' mounted
done_testing
