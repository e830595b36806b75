#!/usr/bin/env bash
# reload: new names appear, removed ones go, open files live on, what is cached stays; a wrong manifest is refused whole.
. "$(dirname "$0")/lib.sh"

size=1000000
origin_start "/* size=$size"
names() { find "$M" -type f -printf '%P\n' | sort | tr '\n' ' '; }
list /a /b /c 'out=d/c'
must_mnt --fill=none
ok 'fill' "$RGETFS" fill -q "$M"
n="$(requests /b) $(requests /c)"
exec 8<"$M/a"
list /b /c 'out=d/c2' /e
ok 'reload' "$RGETFS" reload "$M"
is 'names' "$(names)" 'b d/c2 e '
ok 'an open one lives on' content - /a <&8
exec 8<&-
ok 'one that stays' content "$M/b" /b
ok 'one that moved' content "$M/d/c2" /c
is 'both from the cache' "$(requests /b) $(requests /c)" "$n"
ok 'a new one' content "$M/e" /e
list /f9 'nonsense=1'
"$RGETFS" reload "$M" 2>"$T/err"
is 'a wrong one: exit status' $? 1
like 'with its line' "$(cat "$T/err")" "^rgetfs: $T/list:2: "
is 'one line' "$(wc -l <"$T/err")" 1
is 'refused whole' "$(names)" 'b d/c2 e '
rm "$T/list"
fails 'without a manifest' "$RGETFS" reload "$M"
is 'nothing changes either' "$(names)" 'b d/c2 e '
list /a
ok 'from below the mountpoint: its path' eval 'cd "$M" && "$RGETFS" reload .'
is 'names at last' "$(names)" 'a '
"$RGETFS" reload "$T" 2>/dev/null
is 'no mount' $? 1
"$RGETFS" reload 2>/dev/null
is 'bad usage' $? 2
done_testing
