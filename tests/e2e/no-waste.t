#!/usr/bin/env bash
# Readers at random places, a fill of the whole and steals between workers: no byte is fetched twice.
. "$(dirname "$0")/lib.sh"

size=24000000
origin_start "/* size=$size rate=4M delay=10ms"
list /a "size=$size" /b "size=$size"
must_mnt --connections=4
"$RGETFS" fill --no-wait "$M/a"
wrong=0
for i in $(seq 40); do
	off=$((i * 7919 * 4093 % (size - 70000)))
	piece "$M/a" /a "$off" 70000 >>"$T/wrong" || wrong=$((wrong + 1))
done
is 'pieces at random' "$wrong" 0
ok 'a: all' content "$M/a" /a
ok 'b: all, in order' content "$M/b" /b
quiet
# Each of the 40 may cut a running response, of which a quarter of a block is on its way.
at_most 'a: bytes sent' "$(sent /a)" $((size + size / 50 + 40 * 16384))
at_most 'b: bytes sent' "$(sent /b)" $((size + size / 50))
diag "a: $(requests /a) requests, b: $(requests /b)"
for f in a b; do
	is "$f: complete" "$(of_file $f state)" complete
done
done_testing
