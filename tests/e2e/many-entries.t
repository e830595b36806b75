#!/usr/bin/env bash
# Ten thousand entries: ls -lR, find and du of them make no request.
. "$(dirname "$0")/lib.sh"

origin_start '/* size=16384'
for i in $(seq 10000); do
	printf '%s/d%d/f%d\n size=16384\n out=d%d/f%d\n' "$U" $((i % 100)) "$i" $((i % 100)) "$i"
done >"$T/list"
ms=$(took_ms must_mnt)
at_most 'mount, ms' "$ms" 10000
is 'names' "$(find "$M" -type f | wc -l)" 10000
is 'directories' "$(find "$M" -mindepth 1 -type d | wc -l)" 100
ok 'ls -lR' eval 'ls -lR "$M" >"$T/ls"'
is 'of as many lines' "$(grep -c '^-r--r--r--.* 16384 ' "$T/ls")" 10000
is 'inode numbers are different' "$(find "$M" -printf '%i\n' | sort -u | wc -l)" 10101
is 'no request' "$(all_requests)" 0
find "$M" -printf '%P %i\n' | sort >"$T/inodes"
ok 'a file of them' content "$M/d77/f77" /d77/f77
remnt
find "$M" -printf '%P %i\n' | sort >"$T/inodes2"
ok 'the same inode numbers after a remount' cmp "$T/inodes" "$T/inodes2"
done_testing
