#!/usr/bin/env bash
# Where a redirect led is asked directly; when that becomes something else, the manifest's URL says where the object is.
. "$(dirname "$0")/lib.sh"

size=3000000
origin_start "/old-* content=/x size=$size" "/new content=/x size=$size" \
	'/page redirect=/old-page' '/gone redirect=/old-gone' '/moved redirect=/old-moved' '/later redirect=/old-later'
names='page gone moved later'
for f in $names; do
	printf '%s/%s\n' "$U" "$f"
done >"$T/list"
must_mnt --fill=none
for f in $names; do
	ok "$f: a piece" piece "$M/$f" /x 0 1000
done
exec 8<"$M/page" 9<"$M/gone"
ctl '/old-page size=20 content=/login' '/old-gone fault=status:416' '/old-moved redirect=/login' '/login size=20' \
	"/old-later content=/x size=$size version=1"
for f in $names; do
	ctl "/$f redirect=/new"
done
for f in $names; do
	ok "$f: another piece" piece "$M/$f" /x 2000000 1000
	is "$f: its size" "$(stat -c %s "$M/$f")" "$size"
	is "$f: home was asked once more" "$(requests "/$f")" 2
done
ok 'page: an open descriptor' content - /x <&8
ok 'gone: an open descriptor' content - /x <&9
exec 8<&- 9<&-
done_testing
