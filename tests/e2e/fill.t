#!/usr/bin/env bash
# fill: files and directories, durable when it returns, failures by name, cancelled with its client, in the background.
. "$(dirname "$0")/lib.sh"

size=3000000
origin_start "/* size=$size" '/slow size=30M rate=2M' '/missing fault=status:404' '/unsized size=400000 fault=unsized'
list /a 'out=d/a' /b 'out=d/e/b' /c /slow /missing /unsized /x 'out=d/with space' /y 'out=50%' /z $'out=d/z\xff\x80'
must_mnt --fill=none --checkpoint=60s
ok 'a directory' "$RGETFS" fill "$M/d"
ok 'a name that is no UTF-8' "$RGETFS" fill "$M/d/z"$'\xff\x80'
is 'its files are durable' "$(for f in d/a d/e/b 'd/with space'; do of_file "$f" bytes_durable; done | tr '\n' ' ')" "$size $size $size "
is 'and no other' "$(of_file c bytes_cached)" 0
n=$(all_requests)
is 'again: nothing to do' "$("$RGETFS" fill --json "$M/d" "$M/d/a" | jq -c '[.files, .files_done, .files_failed]')" '[4,4,0]'
is 'without a request' "$(all_requests)" "$n"
content "$M/d/a" /a
crash
must_mnt --fill=none --offline
ok 'it outlives a crash' content "$M/d/e/b" /b
unmnt

must_mnt --fill=none --retry-time=5s
cd "$M/d" || bail 'no directory'
ok 'a relative path, and what the manifest encodes' "$RGETFS" fill ../c '../50%'
cd "$T" || bail 'no directory'
is 'complete' "$(of_file c state) $(of_file 50% state)" 'complete complete'
ln -s "$M/unsized" "$T/link"
ok 'through a link; a file without a length' "$RGETFS" fill "$T/link"
ok 'its bytes' content "$M/unsized" /unsized

"$RGETFS" fill "$M/missing" "$M/c" "$M/nowhere" >"$T/out" 2>"$T/err"
is 'one is missing: exit status' $? 1
is 'a line for each' "$(wc -l <"$T/err")" 2
like 'the reason' "$(cat "$T/err")" "^rgetfs: $M/nowhere: no such file in the mount"$'\n'"rgetfs: $M/missing: .*no such file \\(HTTP 404"
like 'and the result' "$(cat "$T/out")" '^1 of 2 files complete'
is 'as JSON' "$("$RGETFS" fill --json "$M/missing" 2>/dev/null | jq -r '.files_failed, .failures[].path' | tr '\n' ' ')" "1 $M/missing "
ctl "/missing size=$size"
ok 'and when the server has it' wait_for 30 "$RGETFS" fill -q "$M/missing"

"$RGETFS" fill "$M/slow" &
pid=$!
wait_for 10 eval '[ "$(of_file slow bytes_cached)" -gt 2000000 ]'
kill "$pid"
wait "$pid" 2>/dev/null
ok 'ended with its client' wait_for 5 eval '[ "$(of_file slow connections)" = 0 ]'
before=$(sent /slow)
settled slow
at_least 'what has come stays' "$(of_file slow bytes_durable)" 2000000
quiet
at_most 'and nothing more comes' "$(sent /slow)" $((before + 8000000))

ok 'in the background' "$RGETFS" fill --no-wait "$M/slow"
ok 'it is at work' wait_for 5 eval '[ "$(of_file slow state)" = filling ]'
ctl '/slow size=30M'
ok 'unmounting does not wait for it' unmnt
must_mnt --fill=none
ok 'background again' "$RGETFS" fill --no-wait "$M"
ok 'everything is complete' wait_for 20 eval '[ "$(total files_complete)" = "$(total files)" ]'
ok 'right bytes' content "$M/slow" /slow

"$RGETFS" drop -q "$M/slow"
ctl '/slow size=30M rate=8M fault=status:503:2s@1'
"$RGETFS" fill -q "$M/slow" 2>"$T/err" &
pid=$!
ok 'an order waits for the server' wait_for 5 eval '[ "$(of_file slow state)" = filling ]'
ok 'drop what has nothing yet' "$RGETFS" drop "$M/slow"
wait "$pid"
is 'ends the order' $? 1
like 'which says so' "$(cat "$T/err")" 'slow: dropped'
sleep 3
is 'nothing comes back' "$(of_file slow bytes_cached) $(of_file slow state)" '0 idle'
ctl '/slow size=30M rate=8M'
if command -v script >/dev/null; then
	TERM=xterm script -qec "stty cols 70 rows 20; '$RGETFS' fill '$M/slow'" /dev/null >"$T/screen"
	like 'on a terminal: a bar for the file' "$(cat "$T/screen")" 'slow +\[=+>'
	is 'no line is wider' "$(sed -e 's/\x1b\[[0-9;]*[A-Za-z]//g' -e 's/\r//g' "$T/screen" | awk 'length > 69' | wc -l)" 0
else
	skip 'on a terminal: a bar for the file' 'script is not installed'
	skip 'no line is wider' 'script is not installed'
fi
"$RGETFS" fill "$T/list" 2>"$T/err"
is 'outside of a mount' $? 1
like 'says so' "$(cat "$T/err")" 'not in a mount of rgetfs'
done_testing
