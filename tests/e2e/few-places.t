#!/usr/bin/env bash
# A server that takes one or two connections of a client: our own idle ones do not keep us out.
. "$(dirname "$0")/lib.sh"

size=2000000
for n in 1 2; do
	for busy in 503 reset; do
		O=$n-$busy
		origin_start "--max-per-client=$n" "--busy=$busy" "/* size=$size"
		list /a /b /c
		must_mnt --fill=none --retry-time=15s
		for f in a b c; do
			ok "$n, $busy: $f" content "$M/$f" "/$f"
		done
		is "$n, $busy: sizes" "$(stat -c %s "$M"/[abc] | sort -u)" "$size"
		unmnt
		origin_stop
		rm -rf "$T/cache"/*
	done
done
done_testing
