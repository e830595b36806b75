#!/usr/bin/env bash
# Nobody reads any more: a body that can only come whole ends, read-ahead of a closed file ends, and neither becomes the fetching of
# a file that was not really read.
. "$(dirname "$0")/lib.sh"

none_comes() { [ "$(stat_of active)" = 0 ]; }
look() { dd if="$M/$1" of=/dev/null bs=64K count="$2" status=none; }

origin_start '/whole size=100G ranges=no rate=4M' '/begun size=60000000 delay=20ms fault=stall:0:2s@at=13000000-60000000'
list /whole size=100G /begun size=60000000
must_mnt --fill=none --retry-time=1s
fails 'whole: far behind what comes in time' pread "$M/whole" 90000000000 4096
ok 'it ends' wait_for 8 none_comes
ok 'its beginning' look whole 112
ok 'some of the rest' dd if="$M/whole" of=/dev/null bs=64K skip=200 count=2 status=none
ok 'ends again' wait_for 8 none_comes

remnt --fill=opened
ok 'twelve megabytes of a file' look begun 192
n=$(xattr cached "$M/begun")
sleep 4
ok 'nothing follows' none_comes
at_most 'but what was on its way' "$(($(xattr cached "$M/begun") - n))" 2500000
done_testing
