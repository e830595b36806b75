#!/usr/bin/env bash
# A read does not queue behind a fill that takes the whole link, and the fill is not lost by it.
. "$(dirname "$0")/lib.sh"

size=40000000
origin_start --total-rate=6M "/* size=$size"
list /bulk "size=$size" /wanted "size=$size"
must_mnt --connections=4 --fill=none
"$RGETFS" fill --no-wait "$M/bulk"
sleep 1.5
worst=0
for i in $(seq 10); do
	ms=$(took_ms pread "$M/wanted" $((i * 3000000)) 4096)
	[ "$ms" -le "$worst" ] || worst=$ms
done
# All that is queued before it would be seconds.
at_most 'slowest of ten reads beside a fill, ms' "$worst" 1500
at_least 'the fill goes on' "$(of_file bulk bytes_cached)" 1000000
ok 'and ends' "$RGETFS" fill "$M/bulk"
ok 'with right bytes' content "$M/bulk" /bulk
at_most 'bytes sent for it' "$(sent /bulk)" $((size + size / 10))
done_testing
