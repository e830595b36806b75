#!/usr/bin/env bash
# drop on a disk with not a byte left: it makes room, durably; and where it can't, nothing is lost and the line says what to do.
. "$(dirname "$0")/lib.sh"
[ "$(id -u)" -eq 0 ] || skip_all 'needs root: a small file system to fill'

size=5000000
origin_start "/* size=$size"
list /a 'out=d/a' /b 'out=d/b' /c
mkdir -p "$T/small"
mount -t tmpfs -o size=32M,mode=0700 none "$T/small" || bail 'no tmpfs'
files() { du -s --block-size=1 "$T"/small/cache/*/files 2>/dev/null | cut -f1; }
fill_disk() { dd if=/dev/zero of="$T/small/other" bs=4K status=none 2>/dev/null; dd if=/dev/zero of="$T/small/rest" bs=4K status=none 2>/dev/null; }
must_mnt --cache-dir="$T/small/cache" --fill=none
ok 'fill' "$RGETFS" fill -q "$M"
fill_disk
is 'not a byte left' "$(df --output=avail --block-size=1 "$T/small" | tail -n 1 | tr -d ' ')" 0
before=$(files)
is 'drop' "$("$RGETFS" drop --json "$M/d" | jq -c '[.files_failed, .files_dropped, .bytes]')" "[0,2,$((2 * size))]"
at_least 'bytes given back' $((before - $(files))) $((2 * size - 200000))
is 'the other one is still there' "$(of_file c bytes_durable)" "$size"
crash
origin_stop
must_mnt --cache-dir="$T/small/cache" --fill=none --offline
is 'forgotten for good' "$(of_file d/a bytes_cached)" 0
ok 'the other one is not' content "$M/c" /c

# Without a reserve (somebody took even that) it can't be noted.
unmnt
rm -f "$T"/small/cache/*/extents.db-reserve
mkdir "$(echo "$T"/small/cache/*/files/..)/extents.db-reserve"
must_mnt --cache-dir="$T/small/cache" --fill=none --offline
fill_disk
"$RGETFS" drop "$M/c" >"$T/out" 2>"$T/err"
is 'without a reserve: exit status' $? 1
like 'without a reserve: what to do' "$(cat "$T/err")" "^rgetfs: $M/c: the disk of the cache is too full .* make a little room"
is 'without a reserve: still durable' "$(of_file c bytes_cached) $(of_file c bytes_durable)" "$size $size"
ok 'without a reserve: and served' content "$M/c" /c
rm -f "$T/small/other" "$T/small/rest"
unmnt
must_mnt --cache-dir="$T/small/cache" --fill=none --offline
ok 'also after a remount' content "$M/c" /c
ok 'with room again: drop' "$RGETFS" drop -q "$M/c"
at_most 'with room again: bytes left' "$(files)" 200000
unmnt
done_testing
