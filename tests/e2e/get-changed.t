#!/usr/bin/env bash
# What somebody else does to a part while it is fetched, or between two runs: it is fetched again, or left alone and said;
# the name is never on other bytes.
. "$(dirname "$0")/lib.sh"

SIZE=3000000
mkdir "$T/dl" && cd "$T/dl" || exit 99
how=(--retry-time=5s --connections=1 --checkpoint=50ms -q)
get() { "$RGETFS" get "${how[@]}" "$@" 2>"$T/err"; }
arrived() { [ "$(stat -c %b "$1.part")" -gt 2400 ]; } # in half KiB
slow() { # NAME: in the background: $pid; a good part of it is there
	ctl "/$1 size=$SIZE rate=2M"
	"$RGETFS" get "${how[@]}" "$U/$1" 2>"$T/err" &
	pid=$!
	wait_for 10 arrived "$1" || bail "$1 does not come"
}
whole() { content "$1" "/$1" && [ "$(stat -c %s "$1")" = "$SIZE" ]; }
nothing_left() { [ -z "$(find . -name '*.part')$(find "$T/state" -type f)" ]; }
ended_right() { # NAME
	wait "$pid"
	is "$1: exit status" "$? $(cat "$T/err")" '0 '
	ok "$1: right" whole "$1"
	ok "$1: nothing is left" nothing_left
}
origin_start

# ---- while it is fetched ----
slow emptied
: >emptied.part
ended_right emptied
slow shortened
truncate -s 500000 shortened.part
ended_right shortened
if fallocate -l 65536 probe && fallocate -p -o 0 -l 65536 probe 2>/dev/null; then
	slow punched
	fallocate -p -o 0 -l 1000000 punched.part
	ended_right punched
fi
rm -f probe

# ---- between two runs: the number of the file that is gone may be the next one's ----
again() { # NAME: killed, its part removed
	slow "$1"
	kill -9 "$pid"
	wait "$pid" 2>/dev/null
	rm "$1.part"
	ctl "/$1 size=$SIZE"
}
for i in 1 2 3 4; do
	again reused
	head -c "$SIZE" /dev/zero | tr '\0' m >reused.part
	sum=$(md5sum <reused.part)
	get "$U/reused"
	is "another's part of the same size, $i: refused" "$? $(wc -l <"$T/err")" '1 1'
	is "another's part of the same size, $i: untouched" "$(md5sum <reused.part)" "$sum"
	fails "another's part of the same size, $i: no name" test -e reused
	rm -f reused reused.part
	"$RGETFS" get -q --forget reused 2>/dev/null
done

# ---- a file that becomes empty on the server ----
again empty
echo mine >empty.part
ctl '/empty size=0'
get "$U/empty"
is 'it is empty by now, but for another'\''s part: refused' "$? $(wc -l <"$T/err")" '1 1'
is 'it is empty by now, but for another'\''s part: untouched' "$(cat empty.part)" mine
rm empty.part
get "$U/empty"
is 'out of the way: empty' "$? $(stat -c %s empty)" '0 0'
ok 'out of the way: nothing is left' nothing_left
done_testing
