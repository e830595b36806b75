#!/usr/bin/env bash
# A body that ends early, with and without the end of the connection, and by a reset: what came is kept, the rest fetched.
. "$(dirname "$0")/lib.sh"

size=4000000
origin_start --rate=8M '/close size=4000000 fault=close:30%@1-3' '/reset size=4000000 fault=reset:50%@1-3' \
	'/short size=4000000 fault=short:70000@1-2' '/odd size=4000000 fault=close:100001@1-10' \
	'/often size=4000000 fault=close:60%@p=0.3 fault=reset:10%@p=0.2' '/unsized size=4000000 fault=unsized fault=close:50%@1' \
	'/nothing size=4000000 fault=close:0@1-2' '/drop size=4000000 fault=drop@1-2'
names='close reset short odd often nothing drop'
for f in $names unsized; do
	printf '%s/%s\n size=%d\n' "$U" "$f" $size
done >"$T/list"
must_mnt --stall-timeout=1s --retry-time=30s
for f in $names unsized; do
	ok "$f: all bytes" content "$M/$f" "/$f"
done
quiet
for f in $names; do
	# Fetched twice are blocks that a cut left unfinished, one for each (ten of /odd), and what was
	# under way when we cut. Starting over would be all of it.
	at_most "$f: bytes sent" "$(sent "/$f")" $((size + size / 5))
	settled "$f"
done
n=$(all_requests)
remnt
for f in $names unsized; do
	ok "$f: after a remount" content "$M/$f" "/$f"
done
is 'no request after the remount' "$(all_requests)" "$n"
done_testing
