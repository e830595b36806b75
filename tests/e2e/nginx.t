#!/usr/bin/env bash
# The same against nginx: sizes, ranges, remount, a changed file, many connections, and a directory of small files.
. "$(dirname "$0")/lib.sh"
need nginx

mkdir -p "$T/www/small"
for s in 0 1 65535 65536 65537 20000001; do
	"$FORMULA" cat 1 "/s$s" 0 0 "$s" >"$T/www/s$s"
done
for i in $(seq 200); do
	"$FORMULA" cat 1 "/small/$i" 0 0 3000 >"$T/www/small/$i"
done
nginx_start </dev/null
{
	printf "$N/s%s\n" 0 1 65535 65536 65537 20000001
	for i in $(seq 200); do
		printf '%s/small/%d\n out=small/%d\n' "$N" "$i" "$i"
	done
} >"$T/list"
asked() { wc -l <"$T/nginx/access.log"; }
must_mnt --connections=4
for s in 0 1 65535 65536 65537; do
	is "$s: size" "$(stat -c %s "$M/s$s")" "$s"
	ok "$s: bytes" content "$M/s$s" "/s$s"
done
ok 'a piece' piece "$M/s20000001" /s20000001 15000000 100000
ok 'all' content "$M/s20000001" /s20000001
ok 'two hundred small files' diff -r "$T/www/small" "$M/small"
settled s20000001
sleep 0.5
n=$(asked)
remnt
ok 'after a remount' content "$M/s20000001" /s20000001
ok 'small files after a remount' diff -r "$T/www/small" "$M/small"
is 'without a request' "$(asked)" "$n"
"$FORMULA" cat 1 /s65537 1 0 80000 >"$T/new"
mv "$T/new" "$T/www/s65537"
remnt --revalidate=always
ok 'a changed file shows its new version soon' wait_for 10 content "$M/s65537" /s65537 1 ||
	diag "$("$RGETFS" status --json "$M/s65537" | jq -c .) $(tail -n 3 "$T/nginx/access.log" "$T/nginx/error.log"; curl -sI "$N/s65537")"
is 'with its size' "$(stat -c %s "$M/s65537")" 80000
nginx_stop
ok 'with the server gone' content "$M/s20000001" /s20000001
done_testing
