#!/usr/bin/env bash
# index: asks all once and in parallel, keeps what the manifest says, names what failed, writes whole or nothing.
. "$(dirname "$0")/lib.sh"
need script

origin_start '/* size=12345 delay=20ms' '/gone fault=status:404' '/weak size=100 etag=weak' '/sum size=3000' \
	'/old size=77 last-modified=1000000000' '/private size=5 auth=user:hunter2'
{
	for i in $(seq 200); do printf '%s/f%d\n' "$U" "$i"; done
	printf '%s/gone\n%s/weak\n' "$U" "$U"
	printf '%s/slice\n range=10-19\n mode=0555\n' "$U"
	printf '%s/sum\n %s\n out=d/sum\n' "$U" "$(sum_of /sum 3000)"
	printf '%s/wrong\n size=17\n' "$U"
	printf '%s/old\n header=X-A: b\n' "$U"
} >"$T/list"
chmod 640 "$T/list"
"$RGETFS" index --retry-time=3s -o "$T/out.json" "$T/list" >"$T/out" 2>"$T/err"
is 'exit status' $? 1
is 'what failed' "$(sed 's/^rgetfs: \([a-z]*\): .*HTTP.*/rgetfs: \1: HTTP/' "$T/err" | sort | tr '\n' ';')" \
	'rgetfs: gone: HTTP;rgetfs: wrong: the manifest says 17 bytes, the server 12345;'
is 'the result' "$(cat "$T/out")" "$T/out.json: 206 entries, 2 of them without an answer"
at_most 'requests' "$(all_requests)" 208
at_most 'on kept connections' "$(connections)" 32
e() { jq -c --arg p "$1" '.entries[] | select(.path == $p) | del(.url)' "$T/out.json"; }
like 'size, date, ETag' "$(e f7)" '^\{"path":"f7","size":12345,"mtime":1600000000,"etag":"\\"[0-9a-f-]+\\""\}$'
is 'no answer: as it was' "$(e gone)" '{"path":"gone"}'
is 'another size: as it was' "$(e wrong)" '{"path":"wrong","size":17}'
is 'no weak ETag' "$(e weak)" '{"path":"weak","size":100,"mtime":1600000000}'
like 'a slice' "$(e slice)" '"size":10,.*"mode":"0555","range":"10-19"'
like 'a checksum stays' "$(e d/sum)" '"size":3000,.*"checksum":"sha-256=[0-9a-f]{64}"'
like 'a header too' "$(e old)" '"size":77,"mtime":1000000000,.*"headers":\["X-A: b"\]'
is 'readable as the list is' "$(stat -c %a "$T/out.json")" 640
is 'nothing is left of it' "$(find "$T" -maxdepth 1 -name 'out.json.*' | wc -l)" 0

is 'to standard output' "$("$RGETFS" index --retry-time=3s - <"$T/list" 2>/dev/null | jq '.entries | length')" 206
jq -c '{version, entries: [.entries[] | select(.size != null and .path != "wrong")]}' "$T/out.json" >"$T/list"
is 'of its own output: the same' "$("$RGETFS" index "$T/list" | jq -cS .)" "$(jq -cS . "$T/list")"
ctl reset
must_mnt --fill=none
is 'a mount of it' "$(find "$M" -type f -size 12345c | wc -l)" 200
is 'asks nothing' "$(all_requests)" 0
ok 'reads' content "$M/f9" /f9
unmnt

printf '%s/private\n' "$U" >"$T/list"
fails 'credentials are asked for' "$RGETFS" index -o "$T/none.json" "$T/list"
ok 'and given' "$RGETFS" index --header "Authorization: Basic $(printf user:hunter2 | base64)" -o "$T/priv.json" "$T/list"
is 'but not written' "$(grep -c -e Basic -e hunter2 "$T/priv.json")" 0

ctl '/* size=12345 delay=60s'
printf '%s/f1\n' "$U" >"$T/list"
mkdir "$T/tmp"
TMPDIR=$T/tmp "$RGETFS" index -o "$T/late.json" "$T/list" 2>"$T/err" &
pid=$!
sleep 0.7
kill "$pid"
ended 'interrupted' "$pid" 1
is 'one line' "$(cat "$T/err")" 'rgetfs: interrupted, nothing was written'
is 'no file, nothing left' "$(find "$T" -maxdepth 1 -name 'late*'; find "$T/tmp" -mindepth 1)" ''
"$RGETFS" index -o "$T/nowhere/x" "$T/list" 2>"$T/err"
is 'a place that can not be written to: at once' $? 1
is 'and named' "$(cat "$T/err")" "rgetfs: $T/nowhere/x: No such file or directory"
# Hosts that are not there: some seconds for all of their files, as for a look at one; on a terminal it is said meanwhile.
printf 'http://127.0.0.1:1/%s\n' a b c d >"$T/list"
printf 'http://no-such-host.invalid/%s\n' e f >>"$T/list"
TERM=xterm timeout 60 script -qec "'$RGETFS' index --retry-time=50s -o '$T/down.json' '$T/list'" /dev/null >"$T/screen" &
pid=$!
at_most 'hosts that are not there, ms' "$(took_ms timeout 60 "$RGETFS" index --retry-time=50s -o "$T/down2.json" "$T/list")" 20000
"$RGETFS" index --retry-time=50s -o "$T/down3.json" "$T/list" 2>"$T/err"
is 'each entry is named' "$(grep -c '^rgetfs: ' "$T/err")" 6
ended 'on a terminal' "$pid" 1
like 'says what it waits for' "$(cat "$T/screen")" 'waiting: (connect|name): http://'
printf 'nonsense\n' >"$T/list"
"$RGETFS" index "$T/list" 2>"$T/err"
like 'a wrong manifest' "$(cat "$T/err")" "^rgetfs: $T/list:1: "
"$RGETFS" index 2>/dev/null
is 'bad usage' $? 2
done_testing
