#!/usr/bin/env bash
# As a line of fstab, by mount(8): options by -o, and the exit status only after the mount is usable.
. "$(dirname "$0")/lib.sh"
[ "$(id -u)" -eq 0 ] || skip_all 'needs root: mount(8)'

origin_start '/* size=100000'
list /a
export PATH=$BUILD:$PATH
ok '-o of the command' "$RGETFS" mount "$T/list" "$M" -o "cache-dir=$T/cache,fill=none,ro,noauto,_netdev,nofail,x-systemd.automount"
ok 'reads' content "$M/a" /a
ok 'unmount' unmnt
ok 'mount -t fuse.rgetfs' mount -t fuse.rgetfs "$T/list" "$M" -o "cache-dir=$T/cache,allow_other,_netdev,nofail"
ok 'reads at once' content "$M/a" /a
is 'type' "$(awk -v m="$M" '$2 == m { print $3 }' /proc/mounts)" fuse.rgetfs
ok 'umount' umount "$M"
printf '%s %s fuse.rgetfs cache-dir=%s,_netdev,nofail,noauto,x-systemd.automount 0 0\n' "$T/list" "$M" "$T/cache" >"$T/fstab"
ok 'mount --fstab' wait_for 5 mount --fstab "$T/fstab" "$M"
ok 'reads from it' content "$M/a" /a
ok 'umount again' umount "$M"
printf 'not a manifest' >"$T/list"
fails 'a bad manifest: mount(8) fails' mount -t fuse.rgetfs "$T/list" "$M" -o "cache-dir=$T/cache"
fails 'and nothing is mounted' mounted
done_testing
