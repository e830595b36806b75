#!/usr/bin/env bash
# A file that is opened and closed again and again: what was learned of its server is learned once.
. "$(dirname "$0")/lib.sh"

size=20000000
origin_start "/moved redirect=/there" "/there content=/moved size=$size" \
	"/no-ranges size=$size ranges=no rate=20M" "/conditional size=$size etag=strong if-range=200 rate=4M" "/sliding size=$size etag=one last-modified=5 fault=etag:two@every=2"
list /moved "size=$size" /no-ranges "size=$size" /conditional "size=$size" /sliding "size=$size"
must_mnt --fill=none
for i in $(seq 0 9); do
	for f in moved conditional sliding; do
		piece "$M/$f" "/$f" $((i * 1900000)) 4096 || printf '%s\n' "$f $i" >>"$T/wrong"
	done
done
for i in 0 1 2 3; do
	piece "$M/no-ranges" /no-ranges $((i * 4000000)) 4096 || printf '%s\n' "no-ranges $i" >>"$T/wrong"
	quiet
done
fails 'all pieces are right' test -s "$T/wrong"
at_most 'the redirect is asked once' "$(requests /moved)" 2
at_most 'bodies that come whole to a condition' "$(logged_count '.path == "/conditional" and .status == 200')" 3
at_most 'ranges asked of one that has none' "$(logged_count '.path == "/no-ranges" and .range != null')" 2
at_most 'requests of a server whose ETags disagree' "$(requests /sliding)" 16
done_testing
