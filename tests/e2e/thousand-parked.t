#!/usr/bin/env bash
# A thousand reads wait for one server: df, ls and other files answer, and the mount ends at once all the same.
. "$(dirname "$0")/lib.sh"

size=$((1100 * 1048576))
O=b origin_start '/elsewhere size=500000'
O=a origin_start "/slow size=$size fault=hang"
printf '%s/slow\n size=%s\nhttp://127.0.0.1:%s/elsewhere\n' "$U" $size "${PORT[b]}" >"$T/list"
must_mnt --retry-time=60s --stall-timeout=60s --fill=none
"$BUILD/tests/e2e/access" park "$M/slow" 1M 1000 >/dev/null 2>&1 &
reader=$!
wait_for 10 eval '[ "$(ls "/proc/$reader/task" | wc -l)" -ge 1000 ]'
sleep 1
ok 'a thousand wait' kill -0 "$reader"
at_most 'df, ms' "$(took_ms df "$M")" 2000
at_most 'ls, ms' "$(took_ms ls -l "$M")" 2000
ok 'another origin' timeout 5 "$FORMULA" check 1 /elsewhere 0 "$M/elsewhere"
at_most 'status, ms' "$(took_ms "$RGETFS" status --json "$M")" 2000
kill -9 "$reader"
at_most 'kill -9 of the reader, ms' "$(took_ms wait_for 5 gone "$reader")" 3000
"$BUILD/tests/e2e/access" park "$M/slow" 1M 1000 >/dev/null 2>&1 &
reader=$!
sleep 1
at_most 'unmount --force, ms' "$(took_ms "$RGETFS" unmount --force "$M")" 3000
fails 'it is gone' mounted
wait_for 5 gone "$reader"
ok 'the reader has ended' gone "$reader"
done_testing
