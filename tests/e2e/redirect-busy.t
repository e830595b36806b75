#!/usr/bin/env bash
# A redirects to B, B is busy: B is left alone for as long as it asks, also by what leads there; A's own files are read.
. "$(dirname "$0")/lib.sh"

size=2000000
O=b
origin_start "/* size=$size" "/r1 size=$size fault=status:503:4@1"
B=$U
O=a
origin_start "/* size=$size" "/r1 redirect=$B/r1"
list /r1 "size=$size" /local "size=$size" "$B/direct" "size=$size"
must_mnt --fill=none --retry-time=30s
t=$(now_ms)
pread "$M/r1" 0 1000 >"$T/r1" &
reader=$!
wait_for 5 eval '[ "$(O=b requests /r1)" = 1 ]'
sleep 0.2
ok 'a file of A meanwhile' piece "$M/local" /local 0 1000
at_most 'and at once, ms' "$(($(now_ms) - t))" 3000
is 'A is not in trouble' "$(status | jq -r --arg u "$U" '[.origins[] | select(.origin == $u)] | length')" 0
is 'B is' "$(status | jq -r --arg u "$B" '[.origins[] | select(.origin == $u)] | length')" 1
n=$(O=b all_requests)
ok 'a file of B itself' piece "$M/direct" /direct 0 1000
at_least 'waits for B, ms' "$(($(now_ms) - t))" 3900
ended 'the redirected one' "$reader"
ok 'and it is right' content "$T/r1" /r1
is 'requests of B in the time it asked for' "$n" 1
at_most 'requests of A for the redirected one' "$(requests /r1)" 2
done_testing
