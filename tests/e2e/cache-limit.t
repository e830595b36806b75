#!/usr/bin/env bash
# A cache smaller than the working set, four readers: right bytes, the limit is held, nobody waits for ever.
. "$(dirname "$0")/lib.sh"

size=6000000
limit=$((8 * 1024 * 1024))
origin_start "/f* size=$size" '/long size=40000000'
list /f1 /f2 /f3 /f4
must_mnt --cache-size=8M --fill=all
used() { du -s --block-size=1 --exclude='*.db*' "$T/cache" | cut -f1; }
: >"$T/peak"
(while :; do
	used >>"$T/peak"
	sleep 0.05
done) &
watcher=$!
for i in 1 2 3 4; do
	(for _ in 1 2; do
		content "$M/f$i" "/f$i" || exit 1
	done) >"$T/read-$i" 2>&1 &
	eval "pid_$i=\$!"
done
for i in 1 2 3 4; do
	pid=pid_$i
	ended "reader $i: right bytes, twice" "${!pid}" || diag "$(cat "$T/read-$i")"
done
exec 9<"$M/f1"
ok 'an open file under eviction' piece "$M/f1" /f1 0 100000
cat "$M/f2" "$M/f3" >/dev/null
ok 'and again' content - /f1 <&9
exec 9<&-
kill "$watcher"
wait "$watcher" 2>/dev/null
# 1 MiB for what is neither: the database, directories.
at_most 'most that the cache ever held' "$(sort -n "$T/peak" | tail -n 1)" $((limit + 1048576))
at_most 'what status says' "$(total bytes_cached)" "$limit"
remnt --cache-size=8M --fill=none
ok 'after a remount' content "$M/f4" /f4
list /long
remnt --cache-size=8M --fill=none --log-level=debug
ok 'five times the cache, in order' content "$M/long" /long
# The first, which lies behind no other: later ones add up while they wait for room.
ahead=$(sed -nE 's/.* long: window lease begins, ([0-9]+) to ([0-9]+),.*/\1 \2/p' "$T/log" | awk 'NR == 1 { print $2 - $1 }')
at_least 'it looks ahead' "$ahead" 65536
at_most 'but not so far that this is evicted before it is read' "$ahead" $((limit * 3 / 8))
done_testing
