#!/usr/bin/env bash
# Several threads with interleaved offsets on one descriptor, and strided page faults: requests below three times and bytes below one
# and a half times the union of what the kernel asks for.
. "$(dirname "$0")/lib.sh"

size=64000000
origin_start "/* size=$size delay=5ms"
list /pread "size=$size" /map "size=$size"
"$FORMULA" cat 1 /pread 0 0 $size >"$T/pread"
"$FORMULA" cat 1 /map 0 0 $size >"$T/map"
export A=$BUILD/tests/e2e/access
must_mnt --fill=none
ok 'pread: the same as local' eval '[ "$("$A" pread "$M/pread" 1M 4)" = "$("$A" pread "$T/pread" 1M 4)" ]'
quiet
# 4 KiB each MiB: one block each.
reads=$(((size + 1048575) / 1048576))
at_most 'pread: bytes sent' "$(sent /pread)" $((reads * 65536 * 3 / 2))
at_most 'pread: requests' "$(requests /pread)" $((reads * 3))
ok 'map: the same as local' eval '[ "$("$A" map "$M/map" 1M 4)" = "$("$A" map "$T/map" 1M 4)" ]'
quiet
# A fault brings 128 KiB around it.
at_most 'map: bytes sent' "$(sent /map)" $((reads * 131072 * 3 / 2 + 131072))
at_most 'map: requests' "$(requests /map)" $((reads * 3))
done_testing
