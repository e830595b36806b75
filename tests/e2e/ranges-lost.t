#!/usr/bin/env bash
# A server that answered ranges yesterday and does not today: one stream, and what is had is kept.
. "$(dirname "$0")/lib.sh"

size=6000000
origin_start "/x size=$size"
list /x "size=$size"
must_mnt --fill=none
ok 'a piece with ranges' piece "$M/x" /x 1000000 1000000
quiet
settled x
remnt --offline
ok 'the piece is kept' piece "$M/x" /x 1000000 1000000
ctl "/x size=$size ranges=no"
remnt --retry-time=20s --fill=none
n=$(requests /x)
ok 'all of it without ranges' content "$M/x" /x
at_most 'requests for the rest' $(($(requests /x) - n)) 4
done_testing
