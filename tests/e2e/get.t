#!/usr/bin/env bash
# get: into files, several connections, mirrors, a checksum, a resume after kill -9; the name appears only when all is right.
. "$(dirname "$0")/lib.sh"

size=8000000
origin_start "/* size=$size" "/slow size=$size rate=2M" "/bad content=/x size=$size fault=corrupt" "/missing fault=status:404"
mkdir "$T/out"
cd "$T/out" || bail 'no directory'
ok 'one' "$RGETFS" get -q "$U/x"
ok 'its bytes' content x /x
ok '-O' "$RGETFS" get -q -O named "$U/x"
ok 'the same' cmp x named
ok '-d, several' "$RGETFS" get -q -d "$T/out/d" "$U/y" "$U/z"
ok 'y' content d/y /y
ok 'z' content d/z /z
ok 'a right checksum' "$RGETFS" get -q -O sum "$(sum_of /x $size | sed 's/^/--/')" "$U/x"
"$RGETFS" get -q -O wrong "$(sum_of /x $size | sed 's/^/--/')" "$U/bad" 2>err
is 'a wrong one: exit status' $? 1
fails 'and no file of that name' test -e wrong
is 'one line' "$(wc -l <err)" 1
ok 'a mirror that is missing' "$RGETFS" get -q -O mirrored "$U/missing" "$U/x"
ok 'the other one is used' content mirrored /x
"$RGETFS" get -q "$U/missing" 2>err
is 'missing: exit status' $? 1
"$RGETFS" get 2>/dev/null
is 'bad usage' $? 2

"$RGETFS" get -q -O resumed "$U/slow" &
pid=$!
sleep 1.7
kill -9 "$pid"
wait "$pid" 2>/dev/null
fails 'killed: no file of that name' test -e resumed
ok 'but a part' test -s resumed.part
quiet
like 'listed' "$("$RGETFS" get --list)" 'resumed'
ctl reset "/slow size=$size"
ok 'again' "$RGETFS" get -q -O resumed "$U/slow"
ok 'all bytes' content resumed /slow
at_most 'not from the start' "$(sent /slow)" $((size - 500000))
fails 'no part left' test -e resumed.part
ok 'over a file of somebody else: refused or resumed, never mixed' eval 'printf x >stranger; "$RGETFS" get -q -O stranger "$U/x" 2>/dev/null; [ "$(cat stranger)" = x ] || content stranger /x'
done_testing
