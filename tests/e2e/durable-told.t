#!/usr/bin/env bash
# What is not yet committed is not told as durable or complete: with a checkpoint far off, all of a file is cached and none of it
# durable, and a kill shows that it was so.
. "$(dirname "$0")/lib.sh"

size=5000000
origin_start "/* size=$size"
list /a "size=$size" /b "size=$size" /c "size=$size"
must_mnt --checkpoint=1h --fill=none
ok 'read all of it' content "$M/a" /a
sleep 1.5
is 'cached' "$(xattr cached "$M/a")" "$size"
is 'durable' "$(xattr durable "$M/a")" 0
fails 'not told complete' test "$(xattr state "$M/a")" = complete
is 'status: durable' "$(of_file a bytes_durable)" 0
fails 'status: not complete' test "$(of_file a state)" = complete
is 'totals: durable' "$(total bytes_durable)" 0
ok 'fill ends when it is durable' "$RGETFS" fill "$M/b"
is 'and says so' "$(xattr durable "$M/b")" "$size"
is 'complete' "$(xattr state "$M/b")" complete
n=$(requests /b)
crash
must_mnt --checkpoint=1h --fill=none
ok 'b after the kill' content "$M/b" /b
is 'without a request' "$(requests /b)" "$n"
ok 'a after the kill' content "$M/a" /a

# Read, closed, then ordered: the order ends when what was there already is durable as well.
durable_all() { [ "$(xattr cached "$M/$1")" = "$size" ] && [ "$(xattr durable "$M/$1")" = "$size" ]; }
ok 'read all of c' content "$M/c" /c
fails 'c: cached only' durable_all c
ok 'c: fill' "$RGETFS" fill "$M/c"
ok 'c: durable' durable_all c
crash
must_mnt --offline
ok 'c after the kill, offline' content "$M/c" /c
done_testing
