#!/usr/bin/env bash
# As many connections as are asked for; by themselves more where each is slow, one where one is enough; never above the ceilings.
. "$(dirname "$0")/lib.sh"

size=16000000
origin_start "/* size=$size" "/slow* size=$size rate=3M" '/small* size=100000'
list /one "size=$size" /four "size=$size" /slow "size=$size" /slow1 "size=$size" /slow2 "size=$size" /slow3 "size=$size" \
	/small "size=100000"
must_mnt --connections=1
ok 'one: all bytes' content "$M/one" /one
is 'one: at once' "$(peak /one)" 1
remnt --connections=4
ctl "/four size=$size rate=4M"
ok 'four: all bytes' content "$M/four" /four
at_least 'four: at once' "$(peak /four)" 4
at_most 'four: at once' "$(peak /four)" 4
remnt
ok 'auto, slow responses: all bytes' content "$M/slow" /slow
at_least 'auto, slow responses: at once' "$(peak /slow)" 3
ok 'auto, small: all bytes' content "$M/small" /small
is 'auto, small: requests' "$(requests /small)" 1
unmnt
ctl reset
must_mnt --connections=8 --max-connections=5
for f in 1 2 3; do
	content "$M/slow$f" "/slow$f" >"$T/read-$f" &
done
wait_for 60 eval '[ -z "$(jobs -r | grep content)" ]'
quiet
at_most 'requests at once under --max-connections=5' "$(stat_of peak)" 5
unmnt
ctl reset
must_mnt --connections=8 --max-connections-per-host=3
"$RGETFS" drop "$M/slow1" "$M/slow2" "$M/slow3"
pids=()
for f in 1 2 3; do
	content "$M/slow$f" "/slow$f" >"$T/read-$f" 2>&1 &
	pids+=($!)
done
for i in 0 1 2; do
	ended "under --max-connections-per-host=3, three files: all bytes of slow$((i + 1))" "${pids[i]}"
done
quiet
at_least 'requests at once under it' "$(stat_of peak)" 3
at_most 'requests at once under it' "$(stat_of peak)" 3
done_testing
