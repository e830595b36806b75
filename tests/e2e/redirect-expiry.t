#!/usr/bin/env bash
# How long a redirect is used again: as its answer says (RFC 9111), but 10 s at least; where it says nothing, until its
# target fails.
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
for f in $hints; do
	is "$f: asked once" "$(requests "/$f")" 1
done
sleep 10.2 # at least so long, whatever they say
for f in silent permanent aged stored asked expired chain; do
	ok "$f: a piece, later" piece "$M/$f" /x 6000000 1000
done
for f in silent permanent; do
	is "$f: asked once" "$(requests "/$f")" 1
done
for f in aged stored asked expired chain; do
	is "$f: asked again" "$(requests "/$f")" 2
done
ok 'busy: a piece' piece "$M/busy" /x 0 1000
at_most 'busy: the target is waited for' "$(requests /later)" 2
n=$(requests /busy)
sleep 10.2
ok 'busy: another' piece "$M/busy" /x 4000000 1000
is 'busy: and asked again' "$(requests /busy)" $((n + 1))
done_testing
