#!/usr/bin/env bash
# As a line of fstab, by mount(8): options by -o, and the exit status only after the mount is usable.
# In a mount namespace of its own, where rgetfs and its helper are installed as a package would.
if [ "$(id -u)" -eq 0 ] && [ -z "${FSTAB_NS-}" ]; then
	FSTAB_NS=yes exec unshare -m --propagation private bash "$0" "$@"
fi
. "$(dirname "$0")/lib.sh"
[ "$(id -u)" -eq 0 ] || skip_all 'needs root: mount(8)'

for d in bin sbin; do
	mkdir "$T/over-$d" "$T/work-$d"
	mount -t overlay overlay -o "lowerdir=/usr/$d,upperdir=$T/over-$d,workdir=$T/work-$d" "/usr/$d" || bail 'no overlay'
done
install "$RGETFS" /usr/bin/rgetfs
install "$E2E_SRC/../../contrib/mount.fuse.rgetfs" /usr/sbin/mount.fuse.rgetfs

origin_start '/* size=100000'
list /a
ok '-o of the command' "$RGETFS" mount "$T/list" "$M" -o "cache-dir=$T/cache,fill=none,ro,noauto,_netdev,nofail,x-systemd.automount"
ok 'reads' content "$M/a" /a
ok 'unmount' unmnt
by_mount8() { # HOW
	ok "$1: mount -t fuse.rgetfs" mount -t fuse.rgetfs "$T/list" "$M" -o "cache-dir=$T/cache,allow_other,_netdev,nofail"
	ok "$1: reads at once" content "$M/a" /a
	is "$1: type" "$(awk -v m="$M" '$2 == m { print $3 }' /proc/mounts)" fuse.rgetfs
	ok "$1: umount" umount "$M"
}
by_mount8 'with the helper'
printf '%s %s fuse.rgetfs cache-dir=%s,_netdev,nofail,noauto,x-systemd.automount 0 0\n' "$T/list" "$M" "$T/cache" >"$T/fstab"
ok 'mount --fstab' wait_for 5 mount --fstab "$T/fstab" "$M"
ok 'reads from it' content "$M/a" /a
ok 'umount again' umount "$M"
rm /usr/sbin/mount.fuse.rgetfs
if [ -e /usr/sbin/mount.fuse ]; then
	by_mount8 "with fuse's own"
else
	skip "with fuse's own" 'fuse3 has none here'
fi
printf 'not a manifest' >"$T/list"
fails 'a bad manifest: mount(8) fails' mount -t fuse.rgetfs "$T/list" "$M" -o "cache-dir=$T/cache"
fails 'and nothing is mounted' mounted
done_testing
