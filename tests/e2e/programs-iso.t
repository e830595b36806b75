#!/usr/bin/env bash
# An ISO image in the mount: read by fuseiso, through a loop device, and mounted by the kernel where it knows such file systems.
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

if [ "$(id -u)" -ne 0 ]; then
	skip 'a loop device over it' 'needs root'
else
	remnt
	"$RGETFS" drop "$M/x.iso"
	loop=$(losetup -r -f --show "$M/x.iso") || bail 'no loop device over a file of the mount'
	ok 'a loop device over it' fuseiso "$loop" "$T/inside"
	ok 'a file, through it' cmp "$T/inside/dir/f7" "$T/in/dir/f7"
	fusermount3 -u "$T/inside"
	ok 'all of it, through it' cmp "$loop" "$T/local/x.iso"
	if grep -qw iso9660 /proc/filesystems; then
		ok 'mount -o loop' mount -t iso9660 -o ro "$loop" "$T/inside"
		ok 'all of it, by the kernel' diff -r "$T/in" "$T/inside"
		umount "$T/inside"
	else
		skip 'mount -o loop' 'this kernel knows no iso9660 (programs-squashfs.t mounts by loop)'
	fi
	losetup -d "$loop"
fi
done_testing
