#!/usr/bin/env bash
# Names are decoded once; odd but legal ones survive; the others are refused with their line, before anything is mounted.
. "$(dirname "$0")/lib.sh"

origin_start '/* size=100'
long=$(printf 'n%.0s' $(seq 255))
good=('/percent%25sign' '/back%5Cslash' '/space%20' '/%20lead' '/caf%C3%A9' '/cafe%CC%81' '/bad%FFutf8' '/_under' '/%5Bbracket'
	'/-dash' "/$long" '/%2500' '/tilde~' '/a%26b' '/.hidden' '/...' '/semi;colon' '/%E2%80%AE')
names=('percent%sign' 'back\slash' 'space ' ' lead' $'caf\xc3\xa9' $'cafe\xcc\x81' $'bad\xffutf8' '_under' '[bracket'
	'-dash' "$long" '%00' 'tilde~' 'a&b' '.hidden' '...' 'semi;colon' $'\xe2\x80\xae')
list "${good[@]}"
ok 'odd but legal names mount' mnt
for i in "${!good[@]}"; do
	ok "${good[i]:0:40}" content "$M/${names[i]}" "${good[i]}"
done
is 'and no others are there' "$(find "$M" -mindepth 1 -printf x)" "$(printf 'x%.0s' "${good[@]}")"
ok 'unmount' unmnt

refused() { # NAME LINE TEXT: a manifest that is refused, naming that line
	local out status
	printf '%b' "$3" >"$T/list"
	out=$(mnt 2>&1)
	status=$?
	[ "$status" -eq 0 ] && unmnt
	fails "$1: refused" test "$status" -eq 0
	like "$1: names the line" "$out" "list:$2: ."
	is "$1: one line on stderr" "$(printf '%s\n' "$out" | wc -l)" 1
	fails "$1: nothing is mounted" mounted
}
refused 'encoded slash' 1 "$U/a%2Fb\n"
refused 'encoded NUL' 1 "$U/a%00b\n"
refused 'encoded parent directories' 2 "$U/x\n$U/..%2f..%2fetc%2fpasswd\n"
refused 'parent directory' 1 "$U/..\n"
refused 'parent directory in out' 4 "$U/x\n\n$U/y\n out=a/../../b\n"
refused 'control byte' 1 "$U/a%0Ab\n"
refused '256 bytes' 2 "$U/x\n$U/n$long\n"
refused 'no name' 1 "$U/\n"
refused 'a file beside a directory of its name' 2 "$U/a\n$U/b\n out=a/b\n"
refused 'the same name twice' 2 "$U/1/a\n$U/2/a\n"
like 'and the message names --layout=url' "$(mnt 2>&1)" 'layout=url'
refused 'an unknown key' 2 "$U/a\n nonsense=1\n"
refused 'a key without an entry' 1 " size=1\n"
refused 'a size that is none' 2 "$U/a\n size=many\n"
refused 'CR LF in a header' 2 "$U/a\n header=A: b\\rX: y\n"

printf '%s\n' "$U/1/a" "$U/2/a" >"$T/list"
ok '--layout=url' mnt --layout=url
ok 'and both are there' content "$M/127.0.0.1:${PORT[a]}/1/a" /1/a
find "$M" -type f | sed 's/^/# /'
done_testing
