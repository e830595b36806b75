#!/usr/bin/env bash
# How long a redirect may be used again: as its answer says (RFC 9111); where it says nothing, until its target fails.
. "$(dirname "$0")/lib.sh"

size=8000000
past='Expires: Thu, 01 Jan 1970 00:00:00 GMT'
origin_start "/blob content=/x size=$size" '/silent redirect=/blob' '/permanent redirect=/blob status=301' \
	"/aged redirect=/blob 'header=Cache-Control: private, max-age=2'" "/stored redirect=/blob 'header=Cache-Control: no-store'" \
	"/asked redirect=/blob 'header=Cache-Control: no-cache, max-age=60'" "/expired redirect=/blob 'header=$past'" \
	"/chain redirect=/aged2 'header=Cache-Control: max-age=600'" "/aged2 redirect=/blob 'header=Cache-Control: max-age=0'" \
	"/busy redirect=/later 'header=Cache-Control: no-store'" "/later content=/x size=$size fault=status:503:2@1"
hints='silent permanent aged stored asked expired chain'
for f in $hints busy; do
	printf '%s/%s\n size=%d\n' "$U" "$f" "$size"
done >"$T/list"
must_mnt --fill=none --retry-time=20s
for f in $hints; do
	for off in 0 4000000 2000000; do
		ok "$f: a piece at $off" piece "$M/$f" /x "$off" 1000
	done
done
for f in silent permanent aged; do
	is "$f: asked once" "$(requests "/$f")" 1
done
for f in stored asked expired chain; do
	at_least "$f: asked each time" "$(requests "/$f")" 3
done
sleep 2.1
for f in silent aged; do
	ok "$f: a piece, later" piece "$M/$f" /x 6000000 1000
done
is 'silent: asked once' "$(requests /silent)" 1
is 'aged: asked again' "$(requests /aged)" 2
ok 'busy: a piece' piece "$M/busy" /x 0 1000
at_most 'busy: the target is waited for' "$(requests /later)" 2
n=$(requests /busy)
ok 'busy: another' piece "$M/busy" /x 4000000 1000
is 'busy: and asked again' "$(requests /busy)" $((n + 1))
done_testing
