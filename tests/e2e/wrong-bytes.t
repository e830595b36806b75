#!/usr/bin/env bash
# A true header over wrong bytes: with a checksum in the manifest the file ends as fetched from elsewhere or as an error,
# never as good.
. "$(dirname "$0")/lib.sh"

size=2000000
origin_start '/good size=2000000' '/all content=/good size=2000000 fault=corrupt' \
	'/bit content=/good size=2000000 fault=corrupt:1234567:1'
list /all "size=$size" "$(sum_of /good $size)" 'out=alone' \
	/bit "size=$size" "$(sum_of /good $size)" 'out=bit' 'id=bit'
printf '%s/bit\t%s/good\n size=%d\n out=mirrored\n id=mirrored\n %s\n' "$U" "$U" "$size" "$(sum_of /good $size)" >>"$T/list"
must_mnt --retry-time=3s
fails 'fill of a wrong source fails' "$RGETFS" fill "$M/alone"
fails 'fill of one wrong bit fails' "$RGETFS" fill "$M/bit"
fails 'it is not complete' test "$(of_file alone state)" = complete
fails 'nor is the one with a wrong bit' test "$(of_file bit state)" = complete
like 'status says why' "$(of_file bit error)" '^checksum: '
like 'of the other one, too' "$(of_file alone error)" '^checksum: '
ok 'fill goes to the other mirror' "$RGETFS" fill "$M/mirrored"
ok 'which gives the right bytes' content "$M/mirrored" /good
is 'complete' "$(of_file mirrored state)" complete
remnt --offline
ok 'and they stay' content "$M/mirrored" /good
ok 'no wrong byte comes back' eval '! cat "$M/bit" >"$T/out" 2>/dev/null || content "$T/out" /good'
done_testing
