#!/usr/bin/env bash
# As a line of fstab, by mount(8): options by -o, and the exit status only after the mount is usable.
# In a mount namespace of its own, where rgetfs and its helper are installed as a package would.
if [ "$(id -u)" -eq 0 ] && [ -z "${FSTAB_NS-}" ] && unshare -m --propagation private true; then
	FSTAB_NS=yes exec unshare -m --propagation private bash "$0" "$@"
fi
. "$(dirname "$0")/lib.sh"
[ "$(id -u)" -eq 0 ] || skip_all 'needs root: mount(8)'
[ -n "${FSTAB_NS-}" ] || skip_all 'needs a mount namespace; in a chroot that is no mount point there is none'

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
	fails "$1: not a second time" mount -t fuse.rgetfs "$T/list" "$M" -o "cache-dir=$T/cache2"
	like "$1: why" "$(mount -t fuse.rgetfs "$T/list" "$M" -o "cache-dir=$T/cache2" 2>&1)" \
		"^rgetfs: $M: $T/list is mounted there already \(rgetfs unmount $M ends that\)"
	is "$1: nothing is stacked" "$(awk -v m="$M" '$2 == m' /proc/mounts | wc -l)" 1
	is "$1: type" "$(awk -v m="$M" '$2 == m { print $3 }' /proc/mounts)" fuse.rgetfs
	ok "$1: umount" umount "$M"
}
by_mount8 'with the helper'
printf '%s %s fuse.rgetfs cache-dir=%s,_netdev,nofail,noauto,x-systemd.automount 0 0\n' "$T/list" "$M" "$T/cache" >"$T/fstab"
printf '%s %s fuse.rgetfs cache-dir=%s,_netdev,nofail,x-systemd.automount 0 0\n' "$T/list" "$M" "$T/cache" >"$T/auto"
ok 'mount --fstab' wait_for 5 mount --fstab "$T/fstab" "$M"
ok 'reads from it' content "$M/a" /a
ok 'umount again' umount "$M"
ok 'mount -a' mount -a --fstab "$T/auto"
ok 'reads from that' content "$M/a" /a
ok 'mount -a once more' mount -a --fstab "$T/auto"
is 'mounts nothing twice' "$(awk -v m="$M" '$2 == m' /proc/mounts | wc -l)" 1
ok 'umount of that' umount "$M"

# Whether by hand, with a home, or at boot, without one: one cache.
mkdir "$T/var-cache"
mount --bind "$T/var-cache" /var/cache || bail 'no bind mount'
one_place() { # HOW
	local e
	for e in "HOME=$T/home XDG_CACHE_HOME=$T/home/cache" "-u HOME -u XDG_CACHE_HOME"; do
		# shellcheck disable=SC2086
		ok "$1, $e: mount" env $e mount -t fuse.rgetfs "$T/list" "$M"
		ok "$1, $e: umount" umount "$M"
	done
	is "$1: the cache of both" "$(find /var/cache/rgetfs -mindepth 1 -maxdepth 1 -type d | wc -l)" 1
	fails "$1: none at home" test -e "$T/home"
	sleep 1 # the daemon's last checkpoint
	rm -rf /var/cache/rgetfs
}
one_place 'with the helper'
rm /usr/sbin/mount.fuse.rgetfs
if [ -e /usr/sbin/mount.fuse ]; then
	by_mount8 "with fuse's own"
	one_place "with fuse's own"
else
	skip "with fuse's own" 'fuse3 has none here'
fi
printf 'not a manifest' >"$T/list"
fails 'a bad manifest: mount(8) fails' mount -t fuse.rgetfs "$T/list" "$M" -o "cache-dir=$T/cache"
fails 'and nothing is mounted' mounted
done_testing
