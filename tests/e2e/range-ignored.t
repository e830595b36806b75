#!/usr/bin/env bash
# 200 with the whole body to a range request: used from 0 or not at all, never put at the offset asked for.
. "$(dirname "$0")/lib.sh"

origin_start --rate=8M '/always size=5000000 fault=ignore-range' '/tail size=5000000 fault=ignore-range@tail' \
	'/encoded size=5000000 fault=ignore-range@encoded' '/never size=5000000 ranges=no etag=none' \
	'/first size=5000000 fault=ignore-range@1'
names='always tail encoded never first'
list /always /tail /encoded /never /first
must_mnt --retry-time=20s
for f in $names; do
	ok "$f: a piece at 3000000" piece "$M/$f" "/$f" 3000000 1000
	ok "$f: the end" piece "$M/$f" "/$f" 4999990 10
	ok "$f: all of it" content "$M/$f" "/$f"
done
quiet
for f in $names; do
	at_most "$f: bytes sent" "$(sent "/$f")" 10500000
done
for f in $names; do
	settled "$f"
done
n=$(all_requests)
remnt
for f in $names; do
	ok "$f: all of it after a remount" content "$M/$f" "/$f"
done
is 'no request after the remount' "$(all_requests)" "$n"
done_testing
