#!/usr/bin/env bash
# What was durable before an unmount is served after it without a request, even with the server gone.
. "$(dirname "$0")/lib.sh"

origin_start '/* size=2000000'
list /a /b
must_mnt
ok 'read a whole' content "$M/a" /a
ok 'read a piece of b' piece "$M/b" /b 1000000 5
quiet
remnt
n=$(requests /a)
ok 'a whole again' content "$M/a" /a
is 'no request for it' "$(requests /a)" "$n"
origin_stop
remnt --retry-time=1s
ok 'a with the server gone' content "$M/a" /a
ok 'the piece of b' piece "$M/b" /b 1000000 5
is 'sizes' "$(stat -c %s "$M/a" "$M/b" | tr '\n' ' ')" '2000000 2000000 '
fails 'what never came is an error, not zeros' cat "$M/b"
ok 'unmount' unmnt
must_mnt --offline
ok 'offline: a' content "$M/a" /a
fails 'offline: the rest of b' pread "$M/b" 0 10
done_testing
