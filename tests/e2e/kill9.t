#!/usr/bin/env bash
# kill -9 of the daemon at random instants, fifty times on one cache: what status told durable is there afterwards, right, and
# not fetched again; so is a file that was read to its end and closed before the kill.
TEST_TIMEOUT=300
. "$(dirname "$0")/lib.sh"

size=3000000
done_size=700000
rounds=${KILL9_ROUNDS:-50}
seed=${KILL9_SEED:-$$}
RANDOM=$seed
diag "KILL9_SEED=$seed"
origin_start "/* size=$size rate=4M" "/done* size=$done_size"
for i in $(seq "$rounds"); do
	printf '/a%d size=%d /b%d size=%d /done%d size=%d ' "$i" "$size" "$i" "$size" "$i" "$done_size"
done >"$T/paths"
# shellcheck disable=SC2046
list $(cat "$T/paths")

# All that status knows: {"a1":BYTES_DURABLE…}
told() { "$RGETFS" status --json "$M" | jq -c '[.files[] | {(.path): .bytes_durable}] | add // {}'; }
# How many different bytes were sent, of lines of the log: what two transfers of one daemon had both under way is no matter here.
distinct() {
	jq -r '[.path, .first, .first + .sent] | @tsv' | sort -k1,1 -k2,2n |
		awk '$1 != p { p = $1; end = 0 } { from = $2 > end ? $2 : end } $3 > from { sum += $3 - from; end = $3 } END { print sum + 0 }'
}

# What the round before left, in a mount of its own daemon.
after_kill() { # ROUND
	local f sent want line
	told >"$T/told-now" || return 1
	jq -e -n --slurpfile was "$T/told" --slurpfile is "$T/told-now" \
		'[$was[0] | to_entries[] | select(.value > ($is[0][.key] // 0))] | if length > 0 then . else empty end' >"$T/err" &&
		{ lost=$((lost + 1)) && diag "round $1: told durable and not there: $(jq -c . "$T/err")"; }
	wait_for 5 eval '[ "$(stat_of active)" = 0 ]' # the server counts at the end of what it sends
	line=$(($(wc -l <"$T/origin-a.log") + 1))
	for f in "a$1" "b$1" "done$1"; do
		content "$M/$f" "/$f" >"$T/err" || { wrong=$((wrong + 1)) && diag "round $1: $(cat "$T/err")"; }
	done
	wait_for 5 eval '[ "$(stat_of active)" = 0 ]'
	read -r durable_a durable_b durable_done < <(jq -r --arg i "$1" '[.["a" + $i, "b" + $i, "done" + $i] // 0] | @tsv' "$T/told")
	want=$((2 * size + done_size - durable_a - durable_b - durable_done))
	sent=$(tail -n +"$line" "$T/origin-a.log" | distinct)
	[ "$sent" -le "$want" ] || { refetched=$((refetched + 1)) && diag "round $1: $want bytes were missing, $sent were sent"; diag "$(tail -n +"$line" "$T/origin-a.log" | jq -c '[.time, .took, .conn, .path, .status, .range, .first, .end, .sent, .aborted]')"; }
	whole=$((whole + (durable_done == done_size)))
	part=$((part + (durable_a > 0 && durable_a < size)))
}

wrong=0 refetched=0 lost=0 dead=0 whole=0 part=0
echo '{}' >"$T/told"
for i in $(seq "$rounds"); do
	mnt --checkpoint=100ms --fill=none --connections=2 || { dead=$((dead + 1)) && continue; }
	[ "$i" -eq 1 ] || after_kill $((i - 1))
	cat "$M/a$i" >"$T/copy-a" 2>/dev/null &
	readers=$!
	cat "$M/b$i" >"$T/copy-b" 2>/dev/null &
	readers="$readers $!"
	content "$M/done$i" "/done$i" >"$T/err" || { wrong=$((wrong + 1)) && diag "round $i: $(cat "$T/err")"; }
	sleep "$(printf '0.%03d' $((RANDOM % 300)))"
	told >"$T/told"
	crash
	# shellcheck disable=SC2086
	wait $readers
	for f in a b; do
		content "$T/copy-$f" "/$f$i" >"$T/err" || { wrong=$((wrong + 1)) && diag "round $i: $(cat "$T/err")"; }
	done
	ctl "/a$i size=$size" "/b$i size=$size"
done
must_mnt --fill=none
after_kill "$rounds"
is 'wrong bytes' "$wrong" 0
is 'files with less durable than was told' "$lost" 0
is 'files with durable bytes fetched again' "$refetched" 0
is 'mounts that failed after a kill' "$dead" 0
at_least 'kills after a whole file was durable' "$whole" $((rounds / 5))
at_least 'kills in the middle of one' "$part" $((rounds / 5))
for f in a b "done"; do
	for i in $(seq "$rounds"); do
		content "$M/$f$i" "/$f$i" >"$T/err" || diag "$f$i: $(cat "$T/err")"
		[ -s "$T/err" ] && wrong=$((wrong + 1))
	done
done
is 'wrong bytes in the end' "$wrong" 0
ok 'verify finds nothing' "$RGETFS" verify "$M"
done_testing
