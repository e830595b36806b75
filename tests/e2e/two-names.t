#!/usr/bin/env bash
# One URL under two names is one file to fetch, and whatever becomes of it both names show.
. "$(dirname "$0")/lib.sh"

size=3000000
origin_start "/a size=$size"
list /a out=x /a out=d/y
must_mnt --revalidate=always --fill=none
ok 'one name' content "$M/x" /a
n=$(all_sent)
ok 'the other' content "$M/d/y" /a
at_most 'fetched once' "$(($(all_sent) - n))" 100
ok 'complete' wait_for 10 eval '[ "$(xattr state "$M/x") $(xattr state "$M/d/y")" = "complete complete" ]'
# The kernel may show what it was told within the last second.
ok 'both show it' wait_for 2 eval "[ \"\$(stat -c '%s %b' '$M/x' '$M/d/y' | sort -u)\" = '$size $(((size + 511) / 512))' ]"

for f in d/y x; do
	[ "$f" = x ] && other=d/y || other=x
	ok "dropped as $f" "$RGETFS" drop "$M/$f"
	is "stat of $f says so" "$(stat -c %b "$M/$f")" 1
	is "stat of $other says so" "$(stat -c %b "$M/$other")" 1
	n=$(sent /a)
	ok "$f is right" content "$M/$f" /a
	at_least "$f is fetched again, not kept by the kernel" $(($(sent /a) - n)) "$size"
	ok "dropped as $f again" "$RGETFS" drop "$M/$f"
	n=$(sent /a)
	ok "$other is right" content "$M/$other" /a
	at_least "$other is fetched again" $(($(sent /a) - n)) "$size"
	ok "and $f is right" content "$M/$f" /a
	ok 'complete again' wait_for 10 eval '[ "$(xattr state "$M/x")" = complete ]'
	stat "$M/x" "$M/d/y" >/dev/null
done

ctl "/a size=$((size + 5000)) version=1"
ok 'another version, seen by one name' wait_for 10 content "$M/x" /a 1
is 'its size by that name' "$(stat -c %s "$M/x")" $((size + 5000))
ok 'its size by the other' wait_for 3 eval "[ \$(stat -c %s '$M/d/y') = $((size + 5000)) ]"
ok 'the other has it' content "$M/d/y" /a 1
done_testing
