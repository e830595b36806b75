#!/usr/bin/env bash
# get -i: the files of a list, several at once, each below the directory; what fails has its line; events as JSON.
. "$(dirname "$0")/lib.sh"

mkdir "$T/dl" && cd "$T/dl" || exit 99
get() { "$RGETFS" get --retry-time=3s "$@" >"$T/out" 2>"$T/err"; }
origin_start '/* size=30000' '/f50 fault=status:404'
{
	for i in $(seq 100); do printf '%s/f%d\n dir=d%d/sub\n' "$U" "$i" "$((i % 3))"; done
} >"$T/list"
right() { # DIR: 99 of them
	local i
	for i in $(seq 100); do
		[ "$i" -eq 50 ] || content "$1/d$((i % 3))/sub/f$i" "/f$i" || return 1
	done
}
get -d "$T/plain" -i "$T/list"
is 'one is gone: exit status' "$?" 1
is 'one line' "$(wc -l <"$T/err")" 1
like 'with its path' "$(cat "$T/err")" "^rgetfs: $T/plain/d2/sub/f50: .*404"
ok 'the others are right' right "$T/plain"
is 'and nothing else' "$(find "$T/plain" -type f | wc -l)" 99
is 'a line for each, and one for all' "$(wc -l <"$T/out")" 100
like 'that counts' "$(tail -n 1 "$T/out")" '^99 of 100 files complete, '
at_most 'connections' "$(connections)" 16
get -d "$T/plain" -i "$T/list"
is 'again: exit status' "$?" 1
is 'again: there already' "$(grep -c ', there already$' "$T/out")" 99

# ---- events ----
get --json -d "$T/json" -i - <"$T/list"
is 'events: exit status' "$?" 1
ok 'events: each line is an object' jq -e 'type == "object"' "$T/out"
events() { jq -r "select($1) | .path // \"end\"" "$T/out" | wc -l; }
is 'begin' "$(events '.event == "begin"')" 100
is 'done' "$(events '.event == "done" and .size == 30000 and .bytes == 30000 and .error == null')" 99
is 'failed' "$(jq -r 'select(.event == "failed") | .path' "$T/out")" "$T/json/d2/sub/f50"
like 'why' "$(jq -r 'select(.event == "failed") | .error' "$T/out")" 404
is 'the end' "$(tail -n 1 "$T/out" | jq -c '[.event, .files, .done, .there, .failed, .bytes, .stopped]')" '["end",100,99,0,1,2970000,false]'
is 'the line of an error too' "$(wc -l <"$T/err")" 1

ctl '/* size=200000 rate=100000'
ctl reset
get --connections=1 -j 2 -d "$T/few" "$U/a" "$U/b" "$U/c" "$U/d"
is 'no more files at once than asked for' "$? $(stat_of peak)" '0 2'
get --json -j 2 -d "$T/slow" "$U/a" "$U/b"
is 'slow ones' "$?" 0
at_least 'progress is told' "$(events '.event == "progress"')" 2
at_most 'once a second' "$(events '.event == "progress"')" 8
ctl '/* size=100'

# ---- directories, layout, refusals ----
printf '{"path":"empty/in/it/"}\n{"path":"x","url":"%s/x"}\n' "$U" | "$RGETFS" get -q -d "$T/dirs" -i -
ok 'an empty directory' test -d "$T/dirs/empty/in/it"
ok 'and a file' content "$T/dirs/x" /x
printf '%s/a/n\n%s/b/n\n' "$U" "$U" >"$T/list"
get -d "$T/two" -i "$T/list"
is 'two of one name' "$? $(wc -l <"$T/err")" '1 1'
like 'with the line' "$(cat "$T/err")" "^rgetfs: $T/list:2: .*--layout=url"
get --layout=url -d "$T/two" -i "$T/list"
is '--layout=url' "$? $(cd "$T/two" && find . -type f | sort | tr '\n' ' ')" "0 ./127.0.0.1:${PORT[a]}/a/n ./127.0.0.1:${PORT[a]}/b/n "
printf '%s/x\n out=../x\n' "$U" >"$T/list"
get -d "$T/out-of" -i "$T/list"
is 'out of the directory' "$? $(find "$T/out-of" 2>/dev/null | wc -l)" '1 0'
printf '%s/x\n %s\n' "$U" "$(sum_of /y 100)" >"$T/list"
get -d "$T/sum" -i "$T/list"
is 'another checksum' "$? $(find "$T/sum" -name x)" '1 '
cp "$T/list" "$T/served"
ctl "/served file=$T/served" '/list size=0'
printf '%s/u1\n%s/u2\n' "$U" "$U" >"$T/served"
get -d "$T/by-url" -i "$U/served"
ok 'a list by URL' eval 'content "$T/by-url/u1" /u1 && content "$T/by-url/u2" /u2'
printf '# nothing\n' >"$T/list"
get -i "$T/list"
is 'an empty list' "$? $(cat "$T/out")" '0 nothing to get'
done_testing
