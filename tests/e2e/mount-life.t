#!/usr/bin/env bash
# The life of a mount: what is refused before it, how it ends, and what frees it when it can't end by itself.
. "$(dirname "$0")/lib.sh"

origin_start '/* size=300000' '/hang fault=hang size=300000'
list /f 'size=300000' /hang 'size=300000'

refused() { # NAME PATTERN COMMAND…: exit 1, one line that matches, nothing mounted
	local name=$1 want=$2 out status
	shift 2
	out=$("$@" 2>&1)
	status=$?
	is "$name: exit status" "$status" 1
	like "$name: why" "$out" "^rgetfs: .*$want"
	is "$name: one line" "$(wc -l <<<"$out")" 1
	fails "$name: nothing is mounted" mounted
}
control() { # JSON: a request to the mount's socket, its answer
	python3 -c '
import os, socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(os.getxattr(sys.argv[1], "user.rgetfs.control"))
s.sendall(sys.argv[2].encode() + b"\n")
print(s.makefile().readline(), end="")' "$M" "$1"
}
pid_of() { control '{"command":"ping"}' | jq .result.pid; }
sockets() { find "$T/run/rgetfs" -name '*.sock' | wc -l; }

# ---- refused ----
refused 'no mountpoint' 'No such file' "$RGETFS" mount "$T/list" "$T/nothing"
refused 'a file as mountpoint' 'not a directory' "$RGETFS" mount "$T/list" "$T/list"
refused 'no manifest' 'No such file' "$RGETFS" mount "$T/nothing" "$M"
refused 'the cache inside' 'inside the mountpoint' "$RGETFS" mount --cache-dir="$M/cache" "$T/list" "$M"
ln -s "$M" "$T/link"
refused 'the cache inside, by a symlink' 'inside the mountpoint' "$RGETFS" mount --cache-dir="$T/link/a/b" "$T/list" "$M"
refused 'the log inside' 'inside the mountpoint' mnt --log-file="$M/log"
cp "$T/list" "$M/list"
refused 'the manifest inside' 'inside the mountpoint' "$RGETFS" mount --cache-dir="$T/cache" "$M/list" "$M"
rm "$M/list"
refused 'a bad name for the cache' 'cache-name' mnt --cache-name=a/b
"$RGETFS" mount --no-such-thing "$T/list" "$M" 2>/dev/null
is 'bad usage: exit status' $? 2
"$RGETFS" mount -o no_such_thing "$T/list" "$M" 2>/dev/null
is 'a bad mount option: exit status' $? 2
"$RGETFS" unmount "$M" 2>/dev/null
is 'unmount of nothing: exit status' $? 1

# ---- it lives ----
must_mnt --fill=none
pid=$(pid_of)
mkdir "$T/other"
refused_twice=$("$RGETFS" mount --cache-dir="$T/cache" "$T/list" "$T/other" 2>&1)
like 'mounted twice: names PID and mountpoint' "$refused_twice" "$pid .*$M"
for other in "$M" "$T/link"; do # another cache: nothing else refuses it
	there=$("$RGETFS" mount --cache-dir="$T/cache2" "$T/list" "$other" 2>&1)
	is 'a mount lies there: exit status' $? 1
	is 'a mount lies there: what, and how it ends' "$there" \
		"rgetfs: $M: $T/list is mounted there already (rgetfs unmount $M ends that)"
done
is 'nothing is stacked' "$(awk -v m="$M" '$5 == m' /proc/self/mountinfo | wc -l)" 1
is 'an error for what is no request' "$(control 'nonsense' | jq .ok)" false
is 'an error for an unknown command' "$(control '{"command":"x"}' | jq -r .errno)" 38
ok 'checkpoint' eval '[ "$(control "{\"command\":\"checkpoint\"}" | jq .ok)" = true ]'
is 'status: files' "$(control '{"command":"status","all":true}' | jq '.result.files | length')" 2
is 'the socket is its owner'"'"'s alone' "$(stat -c %a "$T/run/rgetfs")" 700
ok 'in read-only mode, nosuid, nodev' grep -q " $M fuse.rgetfs ro,nosuid,nodev" /proc/mounts
if [ "$(id -u)" -eq 0 ] && [ -d /sys/fs/fuse/connections ] && mountpoint -q /sys/fs/fuse/connections; then
	minor=$(awk -v m="$M" '$5 == m { split($3, d, ":"); print d[2] }' /proc/self/mountinfo)
	is 'max_background' "$(cat "/sys/fs/fuse/connections/$minor/max_background")" 4096
	is 'congestion_threshold' "$(cat "/sys/fs/fuse/connections/$minor/congestion_threshold")" 3072
fi

# ---- it ends ----
ok 'cached' content "$M/f" /f
exec 5<"$M/f"
busy=$("$RGETFS" unmount "$M" 2>&1)
is 'busy: exit status' $? 1
like 'busy: names who' "$busy" "\($$\)"
ok 'busy: still there' content "$M/f" /f
ok 'lazy' "$RGETFS" unmount --lazy "$M"
fails 'lazy: gone' mounted
ok 'lazy: what is open goes on' eval '[ "$(wc -c <&5)" = 300000 ]'
like 'lazy: who mounts it again hears whom to end' "$(mnt 2>&1)" \
	"^rgetfs: $T/list: its cache is in use by $pid on .*that is unmounted: end the programs that still use its files"
exec 5<&-
ok 'lazy: the daemon ends with the last file' wait_for 10 gone "$pid"
is 'no socket is left' "$(sockets)" 0

must_mnt --fill=none
pid=$(pid_of)
ok 'unmount' unmnt
ok 'unmount: the daemon has ended' wait_for 2 gone "$pid"

# By a link, absolute or relative or to another link; several at once; a dead one by a link.
mkdir "$T/far"
ln -s ../link "$T/far/link"
must_mnt --fill=none
ok 'status by a link' "$RGETFS" status "$T/far/link"
ok 'unmount by a link' "$RGETFS" unmount "$T/far/link"
fails 'by a link: gone' mounted
must_mnt --fill=none
pid=$(pid_of)
kill -STOP "$pid" # a look at the mountpoint would wait
ok 'force by a link' timeout 5 "$RGETFS" unmount --force "$T/link"
fails 'force by a link: gone' mounted
kill -CONT "$pid" 2>/dev/null
wait_for 10 gone "$pid"
must_mnt --fill=none
ok 'a second one' "$RGETFS" mount --cache-dir="$T/cache2" "$T/list" "$T/other"
out=$("$RGETFS" unmount "$T/none" "$T/other" "$M" 2>&1)
is 'several, one is none: exit status' $? 1
is 'one line' "$out" "rgetfs: $T/none: no rgetfs is mounted there"
is 'the others are gone' "$(mounts_below "$T")" ''
ln -s loop "$T/loop"
is 'a loop of links' "$("$RGETFS" unmount "$T/loop" 2>&1)" "rgetfs: $T/loop: Too many levels of symbolic links"

for end in TERM INT unmount-request umount; do
	must_mnt --fill=none
	pid=$(pid_of)
	cat "$M/hang" >/dev/null 2>&1 &
	reader=$!
	wait_for 5 eval '[ "$(active /hang)" = 1 ]'
	case $end in
	umount) kill -9 "$reader" && wait_for 5 eval "fusermount3 -u '$M' || umount '$M'" ;;
	unmount-request) control '{"command":"unmount"}' >/dev/null ;;
	*) kill -"$end" "$pid" ;;
	esac
	ok "$end: ends, with a reader that waits" wait_for 5 gone "$pid"
	fails "$end: nothing is mounted" mounted
	ok "$end: the reader has its error" wait_for 5 gone "$reader"
	wait "$reader"
	ok "$end: no socket is left" eval '[ "$(sockets)" = 0 ]'
	ctl release
done

# ---- it can't end ----
must_mnt --fill=none
pid=$(pid_of)
kill -STOP "$pid"
cat "$M/f" >/dev/null 2>&1 &
reader=$!
at_most 'force, with a stopped daemon, ms' "$(took_ms "$RGETFS" unmount --force "$M")" 2000
fails 'force: gone' mounted
ok 'force: the reader has its error' wait_for 5 gone "$reader"
wait "$reader"
kill -CONT "$pid" 2>/dev/null
ok 'force: the daemon ends as well' wait_for 10 gone "$pid"

must_mnt --fill=none
pid=$(pid_of)
kill -9 "$pid"
wait_for 5 gone "$pid"
dead=$(mnt 2>&1)
like 'dead: named, with the line that frees it' "$dead" "$M: .*dead.*rgetfs unmount $M"
ok 'dead: unmount frees it' unmnt
fails 'dead: gone' mounted
must_mnt --fill=none
ok 'mounted again, from the cache' content "$M/f" /f
ok 'unmount at the end' unmnt

# ---- in the foreground ----
"$RGETFS" mount -f --cache-dir="$T/cache" "$T/list" "$M" >/dev/null 2>"$T/err" &
pid=$!
ok 'foreground: mounted' wait_for 5 mounted
ok 'foreground: reads' content "$M/f" /f
kill -HUP "$pid"
ok 'foreground: the loss of the terminal ends it' wait_for 5 gone "$pid"
wait "$pid"
is 'foreground: exit status' $? 0
fails 'foreground: nothing is mounted' mounted
done_testing
