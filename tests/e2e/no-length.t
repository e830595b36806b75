#!/usr/bin/env bash
# No Content-Length, chunked, no ranges: one stream into the cache, the size is learned, stat never says 0 for unknown.
. "$(dirname "$0")/lib.sh"

size=700000
origin_start "/chunked size=$size ranges=no fault=chunked rate=700K" "/unsized size=$size ranges=no fault=unsized" \
	"/fast size=$size ranges=no fault=chunked" "/told size=$size ranges=no fault=chunked"
list /chunked /unsized /fast /told "size=$size"
must_mnt --retry-time=20s
at_least 'an unknown size is not 0' "$(stat -c %s "$M/chunked")" 1
for f in chunked unsized fast told; do
	cat "$M/$f" >"$T/copy"
	ok "$f: the bytes" content "$T/copy" "/$f"
	is "$f: all of them" "$(stat -c %s "$T/copy")" "$size"
done
for f in chunked unsized fast told; do
	ok "$f: the size is learned" wait_for 5 eval "[ \"\$(stat -c %s '$M/$f')\" = $size ]"
	at_most "$f: requests" "$(requests "/$f")" 3
	settled "$f"
done
n=$(all_requests)
remnt
for f in chunked unsized fast told; do
	is "$f: size after a remount" "$(stat -c %s "$M/$f")" "$size"
	ok "$f: bytes after a remount" content "$M/$f" "/$f"
done
is 'no request after the remount' "$(all_requests)" "$n"
done_testing
