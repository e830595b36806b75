#!/usr/bin/env bash
# drop: cached bytes go, for good, with the kernel's own copy and the room on the disk; readers of the file live on.
. "$(dirname "$0")/lib.sh"

size=5000000
origin_start "/* size=$size"
list /a 'out=d/a' /b 'out=d/b' /c
must_mnt --fill=none
ok 'fill' "$RGETFS" fill -q "$M"
content "$M/d/a" /a
room=$(du -s --block-size=1 "$T/cache" | cut -f1)
exec 8<"$M/d/a"
is 'a directory' "$("$RGETFS" drop --json "$M/d" | jq -c '[.files_dropped, .bytes]')" "[2,$((2 * size))]"
is 'nothing of it cached' "$(of_file d/a bytes_cached) $(of_file d/b bytes_durable)" '0 0'
is 'the other one is' "$(of_file c bytes_cached)" "$size"
is 'stat says so' "$(stat -c %b "$M/d/a")" 1
at_most 'room on the disk' "$(du -s --block-size=1 "$T/cache" | cut -f1)" $((room - 2 * size + 1000000))
n=$(requests /a)
ok 'an open file reads on' content - /a <&8
exec 8<&-
at_least 'by fetching again' "$(requests /a)" $((n + 1))
ok 'again' "$RGETFS" drop "$M/d/a"
crash
must_mnt --fill=none --offline
is 'forgotten, also after a crash' "$(of_file d/a bytes_cached)" 0
is 'the size is remembered' "$(stat -c %s "$M/d/a")" "$size"
fails 'not readable offline' cat "$M/d/a"
ok 'the other one is' content "$M/c" /c
unmnt
must_mnt --fill=none
ok 'right when read again' content "$M/d/a" /a

ctl "/* size=$size rate=2M"
cat "$M/d/b" >"$T/copy" &
pid=$!
wait_for 10 eval '[ "$(of_file d/b bytes_cached)" -gt 500000 ]'
ok 'while it is being read' "$RGETFS" drop "$M/d/b"
ended 'its reader' "$pid"
ok 'gets the right bytes' content "$T/copy" /b
is 'all of them' "$(stat -c %s "$T/copy")" "$size"
"$RGETFS" drop "$M/nowhere" 2>"$T/err"
is 'what is not there' $? 1
is 'one line' "$(wc -l <"$T/err")" 1
"$RGETFS" drop 2>/dev/null
is 'bad usage' $? 2

# Many files take few commits.
unmnt
for i in $(seq 1000); do printf '%s/n/%d\n size=1000\n' "$U" "$i"; done >"$T/list"
ctl '/n/* size=1000'
must_mnt --fill=none --cache-name=many
ok 'a thousand files' "$RGETFS" fill -q "$M"
at_most 'dropping them, ms' "$(took_ms "$RGETFS" drop "$M")" 5000
is 'all of them' "$(total bytes_cached)" 0
ok 'they come again' content "$M/500" /n/500
done_testing
