#!/usr/bin/env bash
# --help of each command: on a screen of 80 by 24, to standard output, exit 0; a manual page for each; errors in one line.
. "$(dirname "$0")/lib.sh"

screen() { awk 'length > 80 { exit 1 } END { exit NR > 24 }' "$1"; }
"$RGETFS" --help >"$T/help" 2>"$T/err"
is '--help' $? 0
ok 'on one screen' screen "$T/help"
is 'nothing on standard error' "$(cat "$T/err")" ''
mapfile -t commands < <(sed -n 's/^  rgetfs \([a-z]*\) .*/\1/p' "$T/help")
at_least 'commands' "${#commands[@]}" 8
doc=$E2E_SRC/../../doc
for c in "${commands[@]}"; do
	"$RGETFS" "$c" --help >"$T/help" 2>"$T/err"
	is "$c --help" "$? $(cat "$T/err")" '0 '
	ok "$c: one screen" screen "$T/help"
	is "$c: begins with its usage" "$(head -n 1 "$T/help" | cut -d' ' -f1-3)" "Usage: rgetfs $c"
	ok "$c: has a manual page" test -f "$doc/rgetfs-$c.1"
	ok "$c: is in rgetfs(1)" grep -q "^\.It Ic $c\b" "$doc/rgetfs.1"
	missing=
	while read -r o; do
		grep -qE -- "^\.(It )?.*(Fl|,) -${o#--}( |$)" "$doc/rgetfs-$c.1" || missing+=" $o"
	done < <(sed -n '/^$/,$p' "$T/help" | grep -oE -- '--[a-z-]+' | sort -u)
	is "$c: the page has every option" "$missing" ''
	"$RGETFS" "$c" --no-such-option >"$T/out" 2>"$T/err"
	is "$c: a wrong option" "$? $(wc -l <"$T/err") $(wc -c <"$T/out")" '2 1 0'
	like "$c: says where to look" "$(cat "$T/err")" "^rgetfs: $c: no such option: --no-such-option \(rgetfs $c --help lists them\)$"
done
for c in mount unmount fill get drop verify reload index cache; do
	"$RGETFS" "$c" >"$T/out" 2>"$T/err"
	is "$c without operands" "$? $(wc -l <"$T/err") $(wc -c <"$T/out")" '2 1 0'
done
"$RGETFS" nonsense 2>"$T/err"
is 'no such command' "$? $(cat "$T/err")" '2 rgetfs: nonsense: no such command (rgetfs --help lists them)'
"$RGETFS" >"$T/out" 2>"$T/err"
is 'nothing: usage, as an error' "$? $(wc -c <"$T/out")" '2 0'
like 'versions' "$("$RGETFS" --version)" '^rgetfs [0-9.]+'$'\n''libfuse .*libcurl .*SQLite'
done_testing
