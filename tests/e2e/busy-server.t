#!/usr/bin/env bash
# 503 and 429 for a while, with Retry-After in seconds and as a date: one ban for the origin, then on; never ENOENT.
. "$(dirname "$0")/lib.sh"

size=1000000
O=a origin_start "/plain size=$size fault=status:503@for=2s"
O=b origin_start "/seconds size=$size fault=status:503:2@for=2s" "/seconds2 size=$size fault=status:503:2@for=2s"
O=c origin_start "/date size=$size fault=status:429:date=3@for=2s"
O=d origin_start "/reset size=$size fault=status:429:reset=2@for=2s"
for o in a:plain b:seconds b:seconds2 c:date d:reset; do
	printf 'http://127.0.0.1:%s/%s\n size=%s\n' "${PORT[${o%%:*}]}" "${o#*:}" "$size"
done >"$T/list"
must_mnt --retry-time=30s
read_all() {
	local f pids=()
	for f in "$@"; do
		content "$M/$f" "/$f" >"$T/read-$f" 2>&1 &
		pids+=($!)
	done
	for f in "${pids[@]}"; do
		wait "$f" || return 1
	done
}
ok 'all come in the end' read_all plain seconds seconds2 date reset
for o in b c d; do
	at_most "$o: refused requests in the banned time" "$(O=$o logged_count '.status == 503 or .status == 429')" 4
done
at_most 'a without a word when: requests are spaced' "$(O=a logged_count '.status == 503')" 12

# The manifest's own server is well; the one it redirects to is busy.
O=e origin_start "/target* size=$size fault=status:503:2@for=2s"
O=a ctl "/via* redirect=http://127.0.0.1:${PORT[e]}/target" "/well size=$size"
printf 'http://127.0.0.1:%s/%s\n size=%s\n' "${PORT[a]}" via1 $size "${PORT[a]}" via2 $size "${PORT[a]}" well $size >"$T/list"
remnt --retry-time=30s
content "$M/via1" /target >"$T/read-via1" 2>&1 &
via=$!
wait_for 10 eval '[ "$(O=e all_requests)" -ge 1 ]'
ok 'while the other is busy, the first serves' timeout 2 "$FORMULA" check 1 /well 0 "$M/well"
is 'and is not banned' "$(status | jq --arg p ":${PORT[a]}" '[.origins[] | select((.origin | contains($p)) and .state == "banned")] | length')" 0
ok 'its other redirect comes' content "$M/via2" /target
ended 'and the one that met the busy one' "$via"
at_most 'requests of the busy one in its banned time' "$(O=e logged_count '.status == 503')" 4
O=b ctl "/seconds size=$size fault=status:503:1@for=1s"
for o in a:plain b:seconds; do
	printf 'http://127.0.0.1:%s/%s\n size=%s\n' "${PORT[${o%%:*}]}" "${o#*:}" "$size"
done >"$T/list"
remnt
"$RGETFS" drop "$M/seconds" >/dev/null 2>&1
like 'while it is banned a read is no ENOENT' "$( (head -c1 <"$M/seconds") 2>&1 | grep -c 'No such file')" '^0$'
done_testing
