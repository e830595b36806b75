#!/usr/bin/env bash
# get: one file, whole and right under its name; what is told of it; -O, -d, -q, mirrors, checksums, exit status.
. "$(dirname "$0")/lib.sh"
need script

mkdir "$T/dl" && cd "$T/dl" || exit 99
get() { "$RGETFS" get --retry-time=3s "$@" >"$T/out" 2>"$T/err"; }
left() { find "$T/dl" "$T/state" -mindepth 1 ! -type d 2>/dev/null | wc -l; }

origin_start '/* size=1000' '/s0 size=0' '/s1 size=1' '/s65535 size=65535' '/s65536 size=65536' '/s65537 size=65537' \
	'/big size=5000000' '/hollow size=0' '/streamed size=0 fault=unsized' '/gone fault=status:404' \
	'/m2 content=/big size=5000000' '/slash/ content=/big size=5000000'
for n in 0 1 65535 65536 65537; do
	get "$U/s$n"
	is "$n bytes" "$? $(cat "$T/err")" '0 '
	ok "$n bytes: right" content "s$n" "/s$n"
	is "$n bytes: all" "$(stat -c %s "s$n")" "$n"
	is "$n bytes: one request" "$(requests "/s$n")" 1
done
get "$U/big"
is '5 MB' "$? $(cat "$T/err")" '0 '
ok '5 MB: right' content big /big
is '5 MB: all' "$(stat -c %s big)" 5000000
like 'one line, with size, time and rate' "$(cat "$T/out")" '^big: 4\.8 MiB in [0-9.]+ m?s, [0-9.]+ [KMG]?i?B/s$'
is 'the date is the server'\''s' "$(stat -c %Y big)" 1600000000
is 'nothing else is left' "$(left)" 6

get -q "$U/quiet"
is 'quiet' "$? $(cat "$T/out" "$T/err")" '0 '
get -q --log-file="$T/log-file" --log-level=debug "$U/logged"
is 'a log: nothing on the terminal' "$? $(cat "$T/out" "$T/err")" '0 '
ok 'a log: what was asked of whom' grep -q "logged: .* lease begins, .*, from $U" "$T/log-file"
get --log-level=debug "$U/logged"
is 'a level without a log' "$? $(grep -c 'for --log-file' "$T/err")" '2 1'
get --log-file="$T/no/where" "$U/unlogged"
is 'a log that cannot be' "$? $(cat "$T/err")" \
	"1 rgetfs: $T/no/where: No such file or directory (give another --log-file)"
get -d a/b "$U/f"
is '-d: made' "$? $(cat "$T/err")" '0 '
ok '-d: right' content a/b/f /f
get -O 'o/an other' "$U/f"
ok '-O' content 'o/an other' /f
get -d a -O named "$U/slash/"
ok '-O below -d, of a URL without a name' content a/named /big
get "$U/one" "$U/two" "$U/one"
is 'several' "$? $(tail -n 1 "$T/out" | cut -d, -f1)" '0 2 of 2 files complete'
ok 'several: each' eval 'content one /one && content two /two'

get -O mirrored "$U/gone" "$U/big" "$U/m2"
is 'mirrors, one of them gone' "$? $(cat "$T/err")" '0 '
ok 'mirrors: right' content mirrored /big
sum=$("$FORMULA" cat 1 /big 0 0 5000000 | sha256sum | cut -d' ' -f1)
get --checksum "sha-256=$sum" -O summed "$U/big"
is 'a right checksum' "$? $(cat "$T/err")" '0 '
ok 'a right checksum: there' content summed /big
get --checksum "sha-256=${sum//[0-9]/0}" -O wrong "$U/big"
is 'a wrong checksum' "$?" 1
is 'one line' "$(wc -l <"$T/err")" 1
like 'it tells which file' "$(cat "$T/err")" '^rgetfs: wrong: .*checksum'
fails 'the file does not appear' test -e wrong
for hollow in "$U/hollow" "$U/streamed"; do
	get --checksum "sha-256=$sum" -O wrong "$hollow"
	is "an empty one of another checksum: ${hollow##*/}" "$? $(wc -l <"$T/err")" '1 1'
	like "it tells why: ${hollow##*/}" "$(cat "$T/err")" '^rgetfs: wrong: .*checksum'
	fails "it does not appear: ${hollow##*/}" test -e wrong
done
get --checksum md5=d41d8cd98f00b204e9800998ecf8427e -O nothing "$U/hollow"
is 'an empty one of its checksum' "$? $(stat -c %s nothing)" '0 0'
get --checksum "sha-256=$sum" -O other "$U/hollow" "$U/big"
is 'a mirror that is empty' "$? $(cat "$T/err")" '0 '
ok 'a mirror that is empty: right by the other one' content other /big
for n in 4900000 5100000 65536; do
	ctl "/lie size=$n"
	get --checksum "sha-256=$sum" -O "not-$n" "$U/lie" "$U/big"
	is "a mirror with other bytes, $n" "$? $(cat "$T/err")" '0 '
	ok "a mirror with other bytes, $n: right by the other one" content "not-$n" /big
done

before=$(left)
get "$U/gone"
is 'gone' "$?" 1
like 'a line' "$(cat "$T/err")" '^rgetfs: gone: .*404'
is 'of a file that is not there nothing is kept' "$(find . -name 'gone*' | wc -l) $(left)" "0 $before"
get "$U/f1" "$U/gone" "$U/f2"
is 'one of three' "$? $(wc -l <"$T/err")" '1 1'
ok 'the others are there' eval 'content f1 /f1 && content f2 /f2'

# ---- a terminal ----
TERM=xterm script -qec "'$RGETFS' get --limit-rate=4M -O shown '$U/big'" /dev/null >"$T/screen"
like 'a terminal sees a bar' "$(tr '\r' '\n' <"$T/screen")" '\[=+>? *\] +[0-9]+%'
is 'and in the end one line' "$(tr -d '\r' <"$T/screen" | tail -n 1 | sed 's/.*\(shown: 4.8 MiB\).*/\1/')" 'shown: 4.8 MiB'

TERM=xterm timeout 60 script -qec "'$RGETFS' get --retry-time=3s http://127.0.0.1:1/down" /dev/null >"$T/screen"
like 'what it waits for' "$(cat "$T/screen")" 'waiting: connect: http://127'
like 'and at last fails of' "$(cat "$T/screen")" 'rgetfs: down: connect: '

# ---- bad usage: one line, 2, and no request ----
ctl reset
while read -r args; do
	read -r -a words <<<"$args"
	words=("${words[@]//@/$U}")
	get "${words[@]//^/$T}"
	is "refused: get $args" "$? $(wc -l <"$T/err") $(wc -c <"$T/out")" '2 1 0'
done <<-'END'

	@/
	-O - @/u
	-O ^ @/u
	-O x/ @/u
	notes.txt
	-i x @/u
	--list @/u
	--list --resume-all
	--max-concurrent-files=0 @/u
	--max-concurrent-files=65 @/u
	--checksum=md5=1 @/u
	--checksum=md5=d41d8cd98f00b204e9800998ecf8427e @/u @/v
	@/u @/x/u
	gopher://h/a
END
get "$U/dir/"
like 'a URL without a name names -O' "$(cat "$T/err")" "^rgetfs: $U/dir/: .*name.*-O"
get -O "$T" "$U/u"
like 'a directory names -d' "$(cat "$T/err")" "^rgetfs: $T: a directory \(-d "
is 'nothing was asked' "$(all_requests)" 0
done_testing
