#!/usr/bin/env bash
# Files of a list are there at once, hold the right bytes at any offset, and are fetched once.
. "$(dirname "$0")/lib.sh"

origin_start '/* size=3000001 rate=20M' '/empty size=0' '/one size=1'
list /a /dir/b 'out=sub/b' /empty /one
ok 'mount returns when the mount is usable' mnt
is 'names' "$(cd "$M" && find . -type f | sort | tr '\n' ' ')" './a ./empty ./one ./sub/b '
is 'size' "$(stat -c %s "$M/a")" 3000001
is 'an empty file' "$(stat -c %s "$M/empty")" 0
ok 'an empty file reads as nothing' cmp "$M/empty" /dev/null
ok 'one byte' content "$M/one" /one
ok 'a whole file' content "$M/a" /a
ok 'a file in a directory' content "$M/sub/b" /dir/b
ok 'the last byte' piece "$M/a" /a 3000000 1
is 'nothing behind the end' "$(pread "$M/a" 3000001 10 | wc -c)" 0
quiet
at_most 'bytes sent for a file of 3000001' "$(sent /a)" 3300000
n=$(all_requests)
ok 'again' content "$M/a" /a
is 'without a request' "$(all_requests)" "$n"
is 'read-only' "$( (echo x >"$M/a") 2>&1 | grep -o 'Read-only file system')" 'Read-only file system'
ok 'unmount' unmnt
fails 'it is gone' mounted
done_testing
