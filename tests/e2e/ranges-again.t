#!/usr/bin/env bash
# A whole body in answer to a range is no verdict for ever: If-Range may have been refused, or it was a bad moment.
. "$(dirname "$0")/lib.sh"

size=100000000000
origin_start "/refuses size=$size if-range=200 rate=50M" "/moment size=$size fault=ignore-range@2 rate=50M" \
	"/start size=$size fault=ignore-range@1 rate=50M" "/never size=$size ranges=no rate=20M"
list /refuses "size=$size" /moment "size=$size" /start "size=$size" /never "size=$size"
must_mnt --fill=none --retry-time=5s
for f in refuses moment start; do
	for at in 0 50000000000 20000000000 99999990000; do
		ok "$f: a piece at $at" piece "$M/$f" "/$f" "$at" 5000
	done
	at_most "$f: requests" "$(requests "/$f")" 10
done
remnt --fill=none --retry-time=1s
ok 'never: the start' piece "$M/never" /never 0 5000
fails 'never: far off' pread "$M/never" 50000000000 10
like 'and status says why' "$(of_file never error)" 'whole'
at_most 'never: requests' "$(requests /never)" 8
done_testing
