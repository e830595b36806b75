#!/usr/bin/env bash
# Files of every critical size: at block boundaries whole, beyond 2 GiB, 4 GiB and at 2^53 by their ends.
. "$(dirname "$0")/lib.sh"

small='0 1 2 4095 4096 4097 65535 65536 65537 131071 131072 131073 1048577'
big='2147483647 2147483648 2147483649 4294967295 4294967296 4294967297 1099511627776 9007199254740991 9007199254740992'
origin_start
for s in $small $big; do
	ctl "/s$s size=$s"
	printf '%s/s%s\n' "$U" "$s"
done >"$T/list"
for s in $big; do # and with the size in the manifest
	printf '%s/s%s\n size=%s\n out=told/s%s\n' "$U" "$s" "$s" "$s"
done >>"$T/list"
must_mnt --fill=none
for s in $small; do
	is "$s: size" "$(stat -c %s "$M/s$s")" "$s"
	ok "$s: bytes" content "$M/s$s" "/s$s"
done
for s in $big; do
	is "$s: size" "$(stat -c %s "$M/s$s")" "$s"
	ok "$s: the beginning" piece "$M/s$s" "/s$s" 0 4096
	ok "$s: the end" piece "$M/s$s" "/s$s" $((s - 5000)) 5000
	ok "$s: the last byte" piece "$M/told/s$s" "/s$s" $((s - 1)) 1
	for b in 2147483648 4294967296 1099511627776 4503599627370496; do
		[ "$b" -lt "$s" ] || continue
		ok "$s: across $b" piece "$M/s$s" "/s$s" $((b - 100)) $((s - b < 100 ? s - b + 100 : 200))
	done
done
quiet
at_most 'bytes sent' "$(all_sent)" 40000000
n=$(all_requests)
sleep 1
remnt --offline
uncached=
for s in $small; do
	ok "$s: after a remount" content "$M/s$s" "/s$s"
done
for s in $big; do
	is "$s: size after a remount" "$(stat -c %s "$M/s$s")" "$s"
	# No sparse file of 2^53 bytes on ext4: then such a file is read without a cache.
	if truncate -s "$s" "$T/sparse" 2>/dev/null; then
		ok "$s: the end after a remount" piece "$M/s$s" "/s$s" $((s - 5000)) 5000
	else
		uncached="$uncached $s"
	fi
done
is 'no request after the remount' "$(all_requests)" "$n"
remnt --fill=none
for s in $uncached; do
	ok "$s: the end after a remount, fetched again" piece "$M/s$s" "/s$s" $((s - 5000)) 5000
done
done_testing
