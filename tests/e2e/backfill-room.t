#!/usr/bin/env bash
# Filling in the background ends where the cache is full: file after file as far as they fit, nothing evicted, nothing in vain.
# An order by the user takes the place of others, and says so where a file can't fit at all.
. "$(dirname "$0")/lib.sh"

size=5M
n=5242880
origin_start "/* size=$size" '/huge size=60M'
for i in 0 1 2 3 4 5 6 7 8 9; do
	printf '%s/f%d\n size=%s\n' "$U" "$i" "$size"
done >"$T/list"
printf '%s/huge\n size=60M\n' "$U" >>"$T/list"
must_mnt --fill=all --cache-size=20M
complete() { total files_complete; }
ok 'as many as fit become complete' wait_for 20 eval '[ "$(complete)" = 3 ]'
sleep 2.5
is 'and no more' "$(complete)" 3
is 'nothing was begun that does not fit' "$(total bytes_cached)" $((3 * n))
is 'nothing was fetched in vain' "$(all_sent)" $((3 * n))
is 'nothing was evicted' "$(grep -c eviction: "$T/log")" 0
whole=$(status | jq -r '.files[] | select(.state == "complete") | .path')

ok 'an order evicts others' "$RGETFS" fill "$M/f7" "$M/f8" "$M/f9" "$M/f6"
is 'and each of its files was fetched once' "$(for f in f6 f7 f8 f9; do sent /$f; done | awk '{ s += $1 } END { print (s >= 4 * '$n' && s <= 5 * '$n') }')" 1
at_least 'evictions' "$(grep -c eviction: "$T/log")" 1
at_most 'the limit holds' "$(total bytes_cached)" $((20 * 1048576))
"$RGETFS" fill "$M/huge" 2>"$T/err"
is 'what can not fit: exit status' $? 1
is 'the reason' "$(cat "$T/err")" "rgetfs: $M/huge: larger than the cache may become (--cache-size, --min-free)"
is 'and nothing of it was fetched' "$(sent /huge)" 0
ok 'right bytes' content "$M/f9" /f9
ok 'a reader evicts too' content "$M/huge" /huge
diag "complete at first: $whole"
unmnt
done_testing
