#!/usr/bin/env bash
# An open asks in the background whether its file has changed. The answer counts although the program has read and
# closed the file long before it comes.
. "$(dirname "$0")/lib.sh"

size=100000
origin_start "/a size=$size" "/b size=$size"
list /a /b
must_mnt --revalidate=always --fill=none --retry-time=3s
for f in a b; do
	ok "$f" content "$M/$f" "/$f"
	settled $f
done
remnt --revalidate=always --fill=none --retry-time=3s
ctl "/a size=$size version=1 delay=400ms"
ok 'read and closed before the answer' content "$M/a" /a
sleep 1
ok 'the next open has the new version' content "$M/a" /a 1
at_most 'questions about it, and the new version' "$(requests /a)" 4

n=$(requests /b)
ctl "/b size=$size version=1 delay=60s"
exec 9<"$M/b"
ok 'no answer: the file stays as it is' content "$M/b" /b
ok 'asked' wait_for 3 eval "[ \$(requests /b) -gt $n ]"
ok 'which is said in the end' wait_for 8 eval '[ "$(of_file b state)" = stale ]'
exec 9<&-
ctl "/b size=$size version=1"
ok 'asked again' wait_for 10 content "$M/b" /b 1
done_testing
