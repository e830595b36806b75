#!/usr/bin/env bash
# get: names from URLs, from Content-Disposition only when asked for; nothing is written outside of the directory.
. "$(dirname "$0")/lib.sh"

mkdir "$T/dl" && cd "$T/dl" || exit 99
get() { "$RGETFS" get --retry-time=3s "$@" >"$T/out" 2>"$T/err"; }
names() { find "${1:-.}" -mindepth 1 -printf '%P\n' | sort | tr '\n' ,; }
disposition() { printf "%s size=100 header='Content-Disposition: attachment; %s'" "$1" "$2"; }
origin_start '/* size=100' "$(disposition /plain 'filename="given name.txt"')" "$(disposition /up 'filename="../../up.txt"')" \
	"$(disposition /root 'filename="/etc/absolute.txt"')" "$(disposition /dots 'filename=".."')" "$(disposition /hidden 'filename=".profile"')" \
	"$(disposition /dos 'filename="C:\\\\x\\\\dos.txt"')" \
	"/steer size=100 header=Content-Disposition:attachment;filename*=UTF-8\"'\"\"'\"a%1bb%0ac"

get "$U/a%20b%25c"
is 'percent signs' "$? $(names)" '0 a b%c,'
rm ./*
get "$U/q?name=x/y&z=1" "$U/file%3Fq"
is 'a query is no name' "$? $(names)" '0 file?q,q,'
rm ./*
get "$U/%c3%bc"
is 'UTF-8' "$? $(names)" '0 ü,'
rm ./*
for bad in '%2e%2e' '%2F' 'a%2fb' 'a%00b' 'a%0ab' 'a%1bb' '%zz' ''; do
	get "$U/$bad"
	is "refused: /$bad" "$? $(wc -l <"$T/err") $(names)" '2 1 '
done
get "$U/$(printf 'x%.0s' {1..255})"
is 'a name without room for .part' "$? $(wc -l <"$T/err") $(names)" '1 1 '

# ---- Content-Disposition ----
get "$U/plain"
is 'not without the option' "$? $(names)" '0 plain,'
rm ./*
get --content-disposition "$U/plain"
is 'with it' "$? $(names)" '0 given name.txt,'
like 'and told so' "$(cat "$T/out")" '^given name\.txt: '
get --content-disposition "$U/plain"
is 'again: it is there' "$? $(cat "$T/out")" '0 given name.txt: 100 B, there already'
rm ./*
get --content-disposition -O mine "$U/plain"
is '-O goes before it' "$? $(names)" '0 mine,'
rm ./*
for one in up root dots hidden dos steer; do
	mkdir -p "$T/box/in" && cd "$T/box/in" || exit 99
	get --content-disposition "$U/$one"
	is "hostile: $one" "$? $(find "$T/box" -type f ! -path "$T/box/in/*" | wc -l) $(find . -name '.?*' | wc -l)" '0 0 0'
	is "hostile: $one: one file, and the right one" "$(find . -type f | wc -l)" 1
	ok "hostile: $one: right" content "$(find . -type f)" "/$one"
	diag "$one is called $(names)"
	is "hostile: $one: a plain name" "$(names | tr -d '[:alnum:]._ ,')" ''
	cd "$T/dl" && rm -r "$T/box"
done
fails 'nothing at the root' test -e /etc/absolute.txt

# ---- links below the directory ----
mkdir "$T/outside" "$T/into" "$T/real"
ln -s "$T/outside" "$T/into/link"
printf '%s/x\n out=link/x\n' "$U" >"$T/list"
get -d "$T/into" -i "$T/list"
is 'a link below the directory' "$? $(wc -l <"$T/err")" '1 1'
is 'is not followed' "$(names "$T/outside")" ''
printf '{"path":"link/empty/"}' >"$T/list"
get -d "$T/into" -i "$T/list"
is 'nor for a directory' "$? $(names "$T/outside")" '1 '
ln -s "$T/real" "$T/chosen"
get -d "$T/chosen" "$U/x"
is 'one that the user names is' "$? $(names "$T/real")" '0 x,'
get -O "$T/chosen/y" "$U/x"
is 'also of -O' "$? $(names "$T/real")" '0 x,y,'
done_testing
