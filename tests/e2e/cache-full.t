#!/usr/bin/env bash
# The cache's disk is full: reads go on uncached, right, and status says why.
. "$(dirname "$0")/lib.sh"
[ "$(id -u)" -eq 0 ] || skip_all 'needs root: a small file system to fill'

size=12000000
origin_start "/* size=$size"
list /a /b /c
mkdir -p "$T/small"
mount -t tmpfs -o size=8M,mode=0700 none "$T/small" || bail 'no tmpfs'
must_mnt --cache-dir="$T/small/cache" --min-free=1M --retry-time=20s
ok 'a: all bytes' content "$M/a" /a
ok 'b: all bytes' content "$M/b" /b
ok 'a: again' content "$M/a" /a
at_least 'min-free is kept, bytes' "$(df --output=avail --block-size=1 "$T/small" | tail -n 1)" 900000
is 'evicting is enough: nothing to complain of' "$(total degraded)" null

# Somebody else fills the rest of it, and there is nothing that could be evicted.
"$RGETFS" drop "$M/a" "$M/b" >/dev/null
dd if=/dev/zero of="$T/small/other" bs=64K status=none 2>/dev/null
ok 'with not a byte left: b' content "$M/b" /b
like 'with not a byte left: status says why' "$(total degraded)" 'No space left'
like 'and so for a person' "$("$RGETFS" status "$M")" 'No space left'
ok 'ls' ls "$M"
rm "$T/small/other"
no_complaint() { [ "$(total degraded)" = null ]; }
ok 'with room again: nothing to complain of, before anything is read' wait_for 5 no_complaint
off=0
again() { # what the kernel has not kept
	off=$((off + 200000))
	pread "$M/c" "$off" 1000 >/dev/null && [ "$(total degraded)" = null ] && [ "$(total bytes_cached)" -gt 0 ]
}
ok 'with room again: cached again, and nothing to complain of' wait_for 20 again
unmnt
must_mnt --cache-dir="$T/small/cache" --min-free=1M --retry-time=20s
ok 'after a remount' content "$M/a" /a

# What is durable outlasts it all: others take so much that no eviction could make room, and a file is read; then without the server.
list /a /b /c '/d' 'size=3000000'
ctl '/d size=3000000'
unmnt
rm -rf "$T/small/cache"
full=(--cache-dir="$T/small/cache" --fill=none --min-free=1M)
must_mnt "${full[@]}" --retry-time=20s
ok 'd: all bytes' content "$M/d" /d
settled d
dd if=/dev/zero of="$T/small/other" bs=64K count=64 status=none
ok 'hardly any room: a' content "$M/a" /a
like 'hardly any room: status says why' "$(total degraded)" 'No space left'
is 'hardly any room: nothing was evicted for nothing' "$(total bytes_evicted)" 0
unmnt
origin_stop
must_mnt "${full[@]}" --retry-time=1s
ok 'after a remount on the full disk, without the server: d' content "$M/d" /d
unmnt
rm "$T/small/other"
must_mnt "${full[@]}" --retry-time=1s --offline
ok 'after a remount, without the server: d' content "$M/d" /d
unmnt

# Not a byte left from the beginning: what is there is served, with the server and without it.
fill_disk() { dd if=/dev/zero of="$T/small/other" bs=64K status=none 2>/dev/null; dd if=/dev/zero of="$T/small/rest" bs=1K status=none 2>/dev/null; }
fill_disk
ok 'a full disk from the beginning' mnt "${full[@]}" --retry-time=1s --offline
ok 'd, without the server' content "$M/d" /d
unmnt
origin_start "/* size=$size" '/d size=3000000'
ok 'and again' mnt "${full[@]}" --retry-time=20s
ok 'what is not there: c' content "$M/c" /c
like 'status says why' "$(total degraded)" 'No space left'
rm "$T/small/other" "$T/small/rest"
ok 'with room again: cached' wait_for 20 again
settled c
crash
must_mnt "${full[@]}" --retry-time=20s
ok 'after a crash: c' content "$M/c" /c
ok 'and d' content "$M/d" /d
unmnt
# A new cache needs room for its database.
fill_disk
like 'a new cache on a full disk' "$(mnt --cache-dir="$T/small/new" 2>&1)" \
	"^rgetfs: $T/small/new/[^:]*: the cache can't be opened: No space left on device \(make room for its database, or give another --cache-dir\)$"
mount -o remount,ro "$T/small"
like 'a cache that is read-only' "$(mnt "${full[@]}" 2>&1)" \
	"^rgetfs: $T/small/cache/[^:]*: the cache can't be opened: Read-only file system \(give another --cache-dir\)$"
done_testing
