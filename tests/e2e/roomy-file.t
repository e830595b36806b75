#!/usr/bin/env bash
# A cache file with more room on the disk than its bytes need is checked block by block after a mount: its bytes are
# right, nothing is fetched again, and it is as complete as before.
. "$(dirname "$0")/lib.sh"

size=3000000
origin_start "/* size=$size"
list /a /b
must_mnt
ok 'read all' content "$M/a" /a
ok 'read all of the other' content "$M/b" /b
unmnt
roomy() { find "$T/cache" -path '*/files/*' -type f -exec fallocate -n -o 4M -l 4M {} \; ; }
: >"$T/probe"
fallocate -n -l 64K "$T/probe" 2>/dev/null || skip_all 'this file system does not reserve room'
roomy
must_mnt
n=$(requests /a)
ok 'right bytes' content "$M/a" /a
is 'without a request' "$(requests /a)" "$n"
ok 'complete' wait_for 5 eval '[ "$(of_file a state)" = complete ]'
unmnt
roomy
ctl "/* size=$size version=1"
must_mnt --revalidate=always
ok 'a new version is noticed' wait_for 10 content "$M/b" /b 1
done_testing
