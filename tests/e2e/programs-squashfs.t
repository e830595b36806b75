#!/usr/bin/env bash
# A squashfs image, mounted from the mount through a loop device: a file, the tree, all of it.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/programs.sh"
need mksquashfs
[ "$(id -u)" -eq 0 ] || skip_all 'needs root: a loop device'
grep -qw squashfs /proc/filesystems || skip_all 'this kernel has no squashfs'

local_files
mkdir -p "$T/in/dir"
for i in $(seq 40); do
	"$FORMULA" cat 1 "/$i" 0 0 $((300000 + i)) >"$T/in/dir/f$i"
done
mksquashfs "$T/in" "$T/local/x.sqfs" -quiet -no-progress >/dev/null || bail 'mksquashfs makes no file'
show_files
mkdir "$T/inside"
ok 'mount' mount -o loop,ro -t squashfs "$M/x.sqfs" "$T/inside"
is 'names' "$(find "$T/inside" -type f | wc -l)" 40
ok 'a file' cmp "$T/inside/dir/f20" "$T/in/dir/f20"
quiet
at_most 'bytes sent so far' "$(all_sent)" 3000000
ok 'all of it' diff -r "$T/in" "$T/inside"
ok 'umount' umount "$T/inside"
ok 'unmount' wait_for 5 unmnt
done_testing
