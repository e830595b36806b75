#!/usr/bin/env bash
# drop and verify while somebody waits for a server that is silent: they end at once, and the other files' pages are gone too.
. "$(dirname "$0")/lib.sh"

size=4000000
origin_start "/* size=$size"
list /slow "size=$size" /a "size=$size" /b "size=$size"
must_mnt --retry-time=60s --stall-timeout=60s --fill=none
pages() { "$BUILD/tests/e2e/access" blocks "$1" | cut -d' ' -f1; }
ok 'a' content "$M/a" /a
ok 'b' content "$M/b" /b
pread "$M/slow" 0 65536 >/dev/null
settled slow
settled a
settled b
ctl "/slow size=$size fault=hang"
pread "$M/slow" 2000000 1000 >"$T/piece" &
reader=$!
waits() { [ "$(total parked)" -ge 1 ] 2>/dev/null || [ "$(stat_of active)" -ge 1 ]; }
ok 'somebody waits' wait_for 5 waits
sleep 0.2
at_least 'pages of a' "$(pages "$M/a")" 1
at_most 'drop of that file, ms' "$(took_ms timeout 30 "$RGETFS" drop "$M/slow")" 3000
is 'nothing of it is cached' "$(of_file slow bytes_cached)" 0
at_most 'verify, ms' "$(took_ms timeout 30 "$RGETFS" verify "$M")" 3000
pread "$M/slow" 3000000 1000 >"$T/piece2" &
second=$!
sleep 0.5
at_most 'drop of all, ms' "$(took_ms timeout 30 "$RGETFS" drop "$M")" 3000
is 'pages of the others' "$(pages "$M/a") $(pages "$M/b")" '0 0'
ok 'they are read again' content "$M/a" /a
kill -0 "$reader"
is 'the reader still waits' $? 0
ctl "/slow size=$size" 'release'
ended 'its reader' "$reader"
"$FORMULA" cat 1 /slow 0 2000000 1000 >"$T/right"
ok 'gets the right bytes' cmp "$T/piece" "$T/right"
ended 'the second one' "$second"
ok 'and the file is read whole' content "$M/slow" /slow
unmnt
done_testing
