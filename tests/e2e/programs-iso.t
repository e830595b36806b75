#!/usr/bin/env bash
# An ISO image, mounted from the mount by fuseiso.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/programs.sh"
need genisoimage fuseiso

local_files
mkdir -p "$T/in/dir"
for i in $(seq 30); do
	"$FORMULA" cat 1 "/$i" 0 0 $((300000 + i)) >"$T/in/dir/f$i"
done
genisoimage -quiet -R -o "$T/local/x.iso" "$T/in" || bail 'genisoimage makes no file'
show_files
mkdir "$T/inside"
ok 'mount' fuseiso "$M/x.iso" "$T/inside"
is 'names' "$(find "$T/inside" -type f | wc -l)" 30
ok 'a file' cmp "$T/inside/dir/f20" "$T/in/dir/f20"
quiet
at_most 'bytes sent so far' "$(all_sent)" 3000000
ok 'all of it' diff -r "$T/in" "$T/inside"
ok 'umount' fusermount3 -u "$T/inside"
done_testing
