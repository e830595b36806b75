#!/usr/bin/env bash
# 206 that does not tell the total: the size is found in another way. 416 that does, and has what was asked for: asked again.
. "$(dirname "$0")/lib.sh"

size=3000000
origin_start "/star size=$size rate=4M fault=star-total" "/stream size=$size fault=star-total fault=chunked" \
	"/never size=$size fault=star-total fault=status:500@2-" "/slice content=/star size=$size fault=star-total" \
	"/denied size=$size fault=status:416@every=2" "/told size=$size fault=status:416@every=2" \
	"/mute size=$size fault=status:416@2-"
list /star /stream /never /slice 'range=1000000-' 'out=slice' /denied /told "size=$size" /mute
must_mnt --retry-time=4s --fill=none
is 'star: size' "$(stat -c %s "$M/star")" "$size"
at_most 'star: requests for it' "$(requests /star)" 2
ok 'star: all' content "$M/star" /star
is 'star: nothing wrong' "$(of_file star error)" ''
quiet
at_most 'star: bytes sent' "$(sent /star)" $((size + size / 2))
ok 'slice: all' content - /star 0 1000000 <"$M/slice"
is 'slice: size' "$(stat -c %s "$M/slice")" $((size - 1000000))
at_least 'stream: an unknown size is not 0' "$(stat -c %s "$M/stream")" 1
ok 'stream: all' content "$M/stream" /stream
ok 'stream: the size is learned' wait_for 5 eval '[ "$(stat -c %s "$M/stream")" = '$size' ]'
fails 'never: no size is an error' stat "$M/never"
like 'never: status says why' "$(of_file never error)" '^server: .*500'

for f in denied told; do
	ok "$f: a piece" piece "$M/$f" "/$f" 2000000 1000
	ok "$f: all" content "$M/$f" "/$f"
done
ok 'mute: the size' [ "$(stat -c %s "$M/mute")" = "$size" ]
ms=$(took_ms head -c 1000 "$M/mute")
at_least 'mute: is asked again for a while, ms' "$ms" 3000
at_most 'mute: and ends in time, ms' "$ms" 10000
like 'mute: status says why' "$(of_file mute error)" '^denies-range: '
done_testing
