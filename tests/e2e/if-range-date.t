#!/usr/bin/env bash
# Without an ETag a date is the condition of a range, where the first answer was a minute younger than the date by the server's own
# clock (RFC 9110 8.8.2.2); where it was not, none is.
. "$(dirname "$0")/lib.sh"

size=8000000
now=$(date +%s)
origin_start "/old size=$size etag=none last-modified=$((now - 3600)) rate=8M" "/young size=$size etag=none last-modified=$((now - 5))" \
	"/refused size=$size etag=none last-modified=5 if-range=200"
list /old "size=$size" /young "size=$size" /refused "size=$size"
must_mnt --fill=none
for f in old young refused; do
	for i in 0 7 3 5; do
		ok "$f: piece $i" piece "$M/$f" "/$f" $((i * 1000000)) 4096
	done
done
at_least 'old: conditions' "$(logged_count '.path == "/old" and .if_range != null')" 3
is 'young: conditions' "$(logged_count '.path == "/young" and .if_range != null')" 0
at_most 'refused: conditions' "$(logged_count '.path == "/refused" and .if_range != null')" 2
ctl "/old size=$size etag=none last-modified=$((now - 1800)) version=1"
fails 'old: replaced' piece "$M/old" /old 6500000 4096
ok 'its new content' content "$M/old" /old 1
done_testing
