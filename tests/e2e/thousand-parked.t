#!/usr/bin/env bash
# A thousand reads wait for one server: df, ls, status, cached files and other origins answer as without them, and each way to end
# the mount ends it at once all the same.
. "$(dirname "$0")/lib.sh"

size=$((1100 * 1048576))
O=b origin_start '/elsewhere size=500000'
O=a origin_start "/slow size=$size fault=hang" '/cached size=3000000'
printf '%s\n' "$U/slow" " size=$size" "$U/cached" "http://127.0.0.1:${PORT[b]}/elsewhere" "$U/cached" ' out=dir/below' >"$T/list"
must_mnt --retry-time=60s --stall-timeout=60s --fill=none

declare -A before
# Where it took little, half a second is no matter; two seconds is the most in any case.
as_before() { # NAME COMMAND…: the time of it is that of before
	local name=$1 bound
	shift
	if [ -z "${before[$name]-}" ]; then
		before[$name]=$(took_ms "$@")
	else
		bound=$((before[$name] + 500))
		at_most "$name, ms (${before[$name]} before)" "$(took_ms "$@")" $((bound < 2000 ? bound : 2000))
	fi
}
others() {
	as_before df df "$M"
	as_before 'ls -lR' ls -lR "$M"
	as_before stat stat "$M/slow"
	as_before status "$RGETFS" status --json "$M"
	as_before 'a cached file' content "$M/cached" /cached
	as_before 'an attribute' getfattr -n user.rgetfs.cached "$M/slow"
}
ok 'cached' content "$M/cached" /cached
settled cached
others

"$BUILD/tests/e2e/access" park "$M/slow" 1M 1000 >/dev/null 2>&1 &
reader=$!
wait_for 10 eval '[ "$(ls "/proc/$reader/task" | wc -l)" -ge 1000 ]'
sleep 1
ok 'a thousand wait' kill -0 "$reader"
others
drop_page_cache
ok 'a cached file, from the cache' timeout 2 "$FORMULA" check 1 /cached 0 "$M/cached"
ok 'another origin' timeout 5 "$FORMULA" check 1 /elsewhere 0 "$M/elsewhere"
kill -9 "$reader"
at_most 'kill -9 of the reader, ms' "$(took_ms wait_for 5 gone "$reader")" 3000

park() {
	"$BUILD/tests/e2e/access" park "$M/slow" 1M 1000 >/dev/null 2>&1 &
	reader=$!
	wait_for 10 eval '[ "$(ls "/proc/$reader/task" | wc -l)" -ge 1000 ] && [ "$(total reads_waiting)" -ge 1000 ]'
}
park
at_most 'unmount of what is busy is refused, ms' "$(took_ms "$RGETFS" unmount "$M")" 2000
ok 'and it is still mounted' mounted
kill -9 "$reader"
wait_for 5 gone "$reader"
at_most 'unmount with a thousand reads that nobody waits for, ms' "$(took_ms wait_for 5 "$RGETFS" unmount "$M")" 2000
fails 'it is gone' mounted
for how in --lazy --force; do
	must_mnt --retry-time=60s --stall-timeout=60s --fill=none
	pid=$(daemon_pid)
	park
	at_most "unmount $how, ms" "$(took_ms "$RGETFS" unmount $how "$M")" 2000
	fails "unmount $how: it is gone" mounted
	if [ "$how" = --lazy ]; then
		ok 'unmount --lazy: the readers wait on' kill -0 "$reader"
		kill -9 "$reader"
	fi
	ok "unmount $how: the reader has ended" wait_for 5 gone "$reader"
	ok "unmount $how: and the daemon" wait_for 10 gone "$pid"
done
done_testing
