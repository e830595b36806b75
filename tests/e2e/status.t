#!/usr/bin/env bash
# status: for people and as JSON, all mounts and those named, what happens to files nobody opened, watching, secrets.
. "$(dirname "$0")/lib.sh"

size=3000000
origin_start "/* size=$size" '/slow size=20M rate=1M' '/missing fault=status:404'
list /a /b "/c?token=swordfish" 'out=c' /slow /missing
sed -i 's,http://\(.*/b\)$,http://user:hunter2@\1,' "$T/list"
must_mnt --fill=none
ok 'fill' "$RGETFS" fill -q "$M/a" "$M/c"
ok 'what failed is known, unasked' wait_for 10 eval '[ "$(of_file missing state)" = failed ]'

status >"$T/json"
is 'one line' "$(wc -l <"$T/json")" 1
is 'fields' "$(jq -r 'keys_unsorted | join(" ")' "$T/json")" 'mountpoint manifest cache_dir pid uptime_s totals origins files'
for f in files bytes bytes_cached bytes_durable bytes_fetched bytes_discarded requests retries connections rate_bps reads read_hits; do
	is "totals: $f" "$(jq -r ".totals.$f | type" "$T/json")" number
done
is 'a file' "$(jq -r '.files[0] | keys_unsorted | join(" ")' "$T/json")" \
	'path url size bytes_cached bytes_durable state connections rate_bps validator error'
is 'those with cached bytes, and what failed' "$(jq -r '[.files[].path] | join(" ")' "$T/json")" 'a c missing'
like 'why it failed' "$(jq -r '.files[] | select(.path == "missing").error' "$T/json")" 'no such file .HTTP 404'
is 'cached' "$(jq .totals.bytes_cached "$T/json")" $((2 * size))
is 'durable' "$(jq .totals.bytes_durable "$T/json")" $((2 * size))
is 'complete' "$(jq .totals.files_complete "$T/json")" 2
is 'every one' "$(status --all | jq -r '[.files[].path] | join(" ")')" 'a b c missing slow'
is 'no secrets' "$(status --all | grep -cE 'swordfish|hunter2')" 0
is 'nor for people' "$("$RGETFS" status --all "$M" | grep -cE 'swordfish|hunter2')" 0

remnt --fill=none
is 'what an earlier mount cached' "$(status | jq -r '[.files[] | select(.path != "missing") | "\(.path) \(.state) \(.bytes_durable)"] | join(",")')" \
	"a complete $size,c complete $size"
at_most 'next to nothing was fetched for that' "$(total bytes_fetched)" 1000

"$RGETFS" status "$M" >"$T/text"
like 'the mount' "$(cat "$T/text")" "$M: $T/list, pid [0-9]+, up "
like 'its files' "$(cat "$T/text")" 'complete +2.9 MiB +2.9 MiB 100%'
fails 'no escape codes in a file' grep -q $'\033' "$T/text"
cat "$M/missing" 2>/dev/null
head -c1 "$M/slow" >/dev/null &
reader=$!
"$RGETFS" fill -q "$M/slow" &
pid=$!
ok 'what is at work' wait_for 10 eval '"$RGETFS" status "$M" | grep -E "filling .* slow$"'
is 'it has connections' "$(of_file slow connections | sed 's/[1-9][0-9]*/some/')" some
kill "$pid"
wait "$pid" "$reader"

"$RGETFS" status "$T" 2>"$T/err"
is 'no mountpoint: exit status' $? 1
is 'one line' "$(wc -l <"$T/err")" 1
like 'which says so' "$(cat "$T/err")" "^rgetfs: $T: not a mountpoint of rgetfs"
"$RGETFS" status --nonsense 2>/dev/null
is 'bad usage' $? 2

mkdir "$T/mnt2"
printf '%s/a\n' "$U" >"$T/other"
ok 'a second mount' "$RGETFS" mount --cache-dir="$T/cache" "$T/other" "$T/mnt2"
is 'both, in order' "$("$RGETFS" status --json | jq -r .mountpoint | grep "^$T/" | tr '\n' ' ')" "$M $T/mnt2 "
is 'those named, in their order' "$("$RGETFS" status --json "$T/mnt2" "$M" | jq -r .mountpoint | tr '\n' ' ')" "$T/mnt2 $M "

# Watching: appended lines, and Ctrl-C is its end. (Bash lets what runs in the background ignore SIGINT.)
python3 - "$RGETFS" "$M" >"$T/watched" <<'PYTHON'
import signal, subprocess, sys, time
p = subprocess.Popen([sys.argv[1], "status", "--watch", sys.argv[2]], stdout=subprocess.PIPE, text=True,
                     preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
lines = [p.stdout.readline() for _ in range(3)]
p.send_signal(signal.SIGINT)
p.wait()
print(p.returncode, sum(": " in l and " cached, " in l for l in lines))
PYTHON
is 'watch: lines, and status 0 when interrupted' "$(cat "$T/watched")" '0 3'

# On a terminal: redrawn within its width, coloured unless NO_COLOR.
need script
unset NO_COLOR
TERM=xterm script -qec "stty cols 60 rows 20; '$RGETFS' status --watch '$M' & sleep 1.5; kill \$!" /dev/null >"$T/screen"
like 'moves up' "$(cat "$T/screen")" $'\033\\[[0-9]+A'
like 'has colours' "$(cat "$T/screen")" $'\033\\[32mcomplete'
is 'no line is wider' "$(sed -e 's/\x1b\[[0-9;]*[A-Za-z]//g' -e 's/\r//g' "$T/screen" | awk 'length > 59' | wc -l)" 0
NO_COLOR=1 TERM=xterm script -qec "'$RGETFS' status '$M'" /dev/null >"$T/screen"
fails 'no colours with NO_COLOR' grep -q $'\033' "$T/screen"

"$RGETFS" unmount "$T/mnt2"
ctl '/* fault=status:503:20'
cat "$M/slow" >/dev/null 2>&1 &
ok 'an origin in trouble' wait_for 10 eval '[ "$(status | jq ".origins | length")" = 1 ]'
like 'is named' "$("$RGETFS" status "$M")" "origin +$U: in trouble, not asked for [0-9]+ s"
is 'and counted' "$(total origins_in_trouble)" 1

crash
"$RGETFS" status "$M" 2>/dev/null
is 'a dead mount: exit status' $? 1
done_testing
