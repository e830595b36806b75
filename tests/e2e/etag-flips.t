#!/usr/bin/env bash
# Equal bytes under an ETag that differs from node to node, or only in W/: nothing good is thrown away.
. "$(dirname "$0")/lib.sh"

size=4000000
common="size=$size rate=20M"
origin_start "/flip $common fault=etag:b@every=2" "/weak $common fault=etag:W/@every=2" "/always-weak $common etag=weak" \
	"/pinned $common last-modified=none fault=etag:b@every=2 fault=etag:c@every=3" \
	"/streak $common fault=etag:b@2-6" \
	"/ignored $common if-range=200" "/none $common etag=none last-modified=none"
list /streak /flip /weak /always-weak /pinned "size=$size" "$(sum_of /pinned $size)" /ignored /none
must_mnt --retry-time=10s --connections=4
for f in streak flip weak always-weak pinned ignored none; do
	ok "$f: a piece" piece "$M/$f" "/$f" 3000000 70000
	ok "$f: all" content "$M/$f" "/$f"
done
quiet
# What was on its way of five bodies that If-Range had not asked for.
at_most 'streak: bytes sent' "$(sent /streak)" $((size * 7 / 4))
for f in flip weak always-weak pinned ignored none; do
	at_most "$f: bytes sent" "$(sent "/$f")" $((size + size / 8))
done
for f in streak flip weak always-weak pinned ignored; do
	settled "$f"
	is "$f: complete" "$(of_file "$f" state)" complete
done
n=$(all_requests)
remnt --revalidate=never
for f in streak flip weak always-weak pinned ignored; do
	ok "$f: after a remount" content "$M/$f" "/$f"
done
is 'no request after the remount' "$(all_requests)" "$n"
done_testing
