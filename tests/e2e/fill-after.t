#!/usr/bin/env bash
# --fill-after counts bytes of the file, not how often they are read nor how often it is opened.
. "$(dirname "$0")/lib.sh"
[ "$(id -u)" -eq 0 ] || skip_all 'only root can drop the page cache'

size=60000000
origin_start "/* size=$size"
list /a "size=$size" /b "size=$size" /c "size=$size"
must_mnt --fill-after=4M
pieces() { # FILE: twenty ranges of it
	for i in $(seq 0 19); do
		pread "$1" $((i * 2097152)) 262144
	done >/dev/null
}
complete() { [ "$(xattr state "$M/$1")" = complete ]; }
exec 4<"$M/a" 5<"$M/b"
for _ in $(seq 80); do
	pread "$M/a" 0 65536 >/dev/null
	drop_page_cache
done
pieces "$M/b"
ok 'twenty ranges: the rest follows' wait_for 20 complete b
pieces "$M/c"
ok 'by twenty openings, too' wait_for 20 complete c
quiet
at_most 'one range, eighty times' "$(sent /a)" 4000000
fails 'is not read' complete a
done_testing
