#!/usr/bin/env bash
# Two files of a server are answered with 503, always: the others do not wait for these.
. "$(dirname "$0")/lib.sh"

origin_start '/f* size=20000' '/busy* size=20000 fault=status:503'
for i in $(seq 60); do
	case $i in 3 | 20) list_line=/busy$i ;; *) list_line=/f$i ;; esac
	printf '%s%s\n' "$U" "$list_line"
done >"$T/list"

mkdir "$T/dl"
"$RGETFS" get -q -d "$T/dl" -i "$T/list" >"$T/out" 2>&1 &
pid=$!
complete() { find "$T/dl" -name 'f*' ! -name '*.part' | wc -l; }
ok 'the others, by get' wait_for 20 eval '[ "$(complete)" = 58 ]'
kill "$pid"
wait "$pid"
at_most 'requests for the two' $(($(requests /busy3) + $(requests /busy20))) 60

must_mnt
cat "$M/busy3" "$M/busy20" >/dev/null 2>&1 &
pid=$!
sleep 0.5
right=0
began=$(now_ms)
for i in $(seq 21 50); do
	content "$M/f$i" "/f$i" && right=$((right + 1))
done
is 'the others, by mount' "$right" 30
at_most 'ms for these' $(($(now_ms) - began)) 10000
kill "$pid"
wait "$pid"
ok 'unmounted' unmnt
done_testing
