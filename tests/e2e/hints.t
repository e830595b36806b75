#!/usr/bin/env bash
# What somebody hears who does not know the program yet: help by name, the word that was meant, options that can't be right,
# a URL in the place of a list, a cache or a mount that somebody else uses, the end of an order.
. "$(dirname "$0")/lib.sh"

said() { # WANT-STATUS COMMAND…: its one line on standard error, or what is wrong with it
	local want=$1 status
	shift
	"$@" >/dev/null 2>"$T/err"
	status=$?
	[ "$status $(wc -l <"$T/err")" = "$want 1" ] || { printf 'status %s, %s\n' "$status" "$(cat "$T/err")" && return; }
	cat "$T/err"
}
is 'help COMMAND' "$("$RGETFS" help fill)" "$("$RGETFS" fill --help)"
is 'help' "$("$RGETFS" help)" "$("$RGETFS" --help)"
is 'a command' "$(said 2 "$RGETFS" stauts)" 'rgetfs: stauts: no such command (did you mean status?)'
is 'help of one' "$(said 2 "$RGETFS" help umount)" 'rgetfs: umount: no such command (did you mean unmount?)'
is 'an option' "$(said 2 "$RGETFS" mount --cache-sise=1G a b)" \
	'rgetfs: mount: no such option: --cache-sise=1G (did you mean --cache-size?)'
is 'an option of fstab' "$(said 2 "$RGETFS" mount -o ro,cache_dri=/x a b)" \
	'rgetfs: mount: no such mount option: cache_dri (did you mean cache-dir?)'
is 'nothing is near' "$(said 2 "$RGETFS" qqq)" 'rgetfs: qqq: no such command (rgetfs --help lists them)'

for proxy in 'http://' 'gopher://h' 'h:99999' 'h:0' 'h:' 'h/path' 'a b' '[::1'; do
	is "no proxy: $proxy" "$(said 2 "$RGETFS" mount --proxy="$proxy" "$T/list" "$M")" \
		"rgetfs: mount: --proxy=$proxy (it takes a proxy such as http://host:3128 or socks5h://host)"
done
origin_start '/a size=100000' '/b size=5000000' '/slow size=100000000 rate=100K'
list /a /b /slow
for o in cacert cert key netrc-file; do
	is "--$o" "$(said 2 "$RGETFS" mount --$o="$T/nowhere" "$T/list" "$M")" \
		"rgetfs: mount: --$o=$T/nowhere (it takes a file that can be read)"
done
for jar in /nope/x "$T"; do
	is "--cookie-jar=$jar" "$(said 2 "$RGETFS" mount --cookie-jar="$jar" "$T/list" "$M")" \
		"rgetfs: mount: --cookie-jar=$jar (it takes a file that can be read and written, or made)"
done
for proxy in h 'h:3128' 'http://u:p@h:3128/' 'socks5h://[::1]:1080' 'HTTPS://h'; do
	like "a proxy: $proxy" "$(said 1 "$RGETFS" mount --proxy="$proxy" "$T/nowhere" "$M")" "^rgetfs: $T/nowhere: No such file"
done
like 'a URL in the place of a list' "$(said 1 "$RGETFS" mount --cache-dir="$T/cache" "$U/b" "$M")" \
	"^rgetfs: $U/b:1: .*\(a manifest is a list of URLs; to mount one file: echo URL \| rgetfs mount - MOUNTPOINT\)$"
ok 'as it says' eval 'echo "$U/a" | "$RGETFS" mount --cache-dir="$T/cache" - "$M"'
ok 'reads' content "$M/a" /a
ok 'unmounted' unmnt

must_mnt --fill=none --cache-name=mine
head -c 1 "$M/a" >/dev/null
wait_for 5 eval '[ "$(total connections)" = 0 ]'
# As many as it says; two of them, or more, have an s.
n=$(total requests)
[ "$n" = 1 ] && s= || s=s
like 'one, not many' "$("$RGETFS" status "$M" | grep fetched)" " by $n request$s"'( |,|$)'
like 'none, or many' "$("$RGETFS" status "$M" | grep now)" ' over 0 connections, 0 reads waiting$'
"$RGETFS" fill "$M/a" >"$T/out"
like 'one file' "$(cat "$T/out")" '^1 of 1 file complete and durable, '
is 'one that is forgotten' "$("$RGETFS" drop "$M/a")" '98 KiB of 1 file forgotten'
like 'prune of a cache in use' "$(said 1 "$RGETFS" cache prune --cache-dir="$T/cache" mine)" \
	"^rgetfs: $T/cache/mine: in use by [0-9]+ on .*$M \(unmount that first\)$"
like 'to be pruned' "$(said 1 "$RGETFS" cache prune --dry-run --cache-dir="$T/cache" mine)" ': in use by '
ok 'of all of them it just stays' "$RGETFS" cache prune --cache-dir="$T/cache"
ok 'it is there' test -d "$T/cache/mine"
# A name that is none: one line, nothing to sum up.
for c in fill drop verify; do
	is "$c of nothing" "$("$RGETFS" "$c" "$M/nonexist" 2>&1)" "rgetfs: $M/nonexist: no such file in the mount"
done
is 'prune of nothing' "$("$RGETFS" cache prune --cache-dir="$T/cache" nope 2>&1)" \
	"rgetfs: $T/cache/nope: no such cache (rgetfs cache list names them)"
is 'a root of caches that is none' "$(said 1 "$RGETFS" cache list --cache-dir=/nonexist)" 'rgetfs: /nonexist: No such file or directory'
is 'before the first cache' "$("$RGETFS" cache list)" "no caches in $T/xdg-cache/rgetfs"
# Nobody listens there: said once, and where.
mkdir "$T/nobody"
ok 'a list whose server is none' "$RGETFS" mount --cache-dir="$T/cache2" --retry-time=1s - "$T/nobody" <<<'http://127.0.0.1:1/x'
cat "$T/nobody/x" >/dev/null 2>&1
like 'status says why' "$("$RGETFS" status "$T/nobody")" 'no connection to the server \(127\.0\.0\.1:1(: Connection refused)?\)'
ok 'its end' "$RGETFS" unmount "$T/nobody"

# A rate is of now.
head -c 1000000 "$M/slow" >/dev/null &
reader=$!
ok 'a rate' wait_for 10 eval '[ "$(total rate_bps)" -gt 0 ]'
ctl '/slow size=100000000 fault=hang'
kill -STOP "${ORIGIN_PID[$O]}"
sleep 3
at_most 'nothing comes: hardly any' "$(total rate_bps)" 30000
kill -CONT "${ORIGIN_PID[$O]}"
kill "$reader"
wait "$reader" 2>/dev/null
ok 'nobody reads: none' wait_for 10 eval '[ "$(total rate_bps)" = 0 ]'

# Ctrl-C. (Bash lets what runs in the background ignore SIGINT.)
python3 - "$RGETFS" "$M/slow" >"$T/out" <<'PYTHON'
import signal, subprocess, sys, time
p = subprocess.Popen([sys.argv[1], "fill", sys.argv[2]], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                     preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
time.sleep(1)
p.send_signal(signal.SIGINT)
print(p.communicate()[1].strip(), p.returncode)
PYTHON
is 'fill, interrupted: what becomes of it' "$(cat "$T/out")" \
	'rgetfs: fill: given up; what has come stays (--no-wait lets the mount go on by itself) -2'

if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
	chmod 755 "$T"
	cp "$RGETFS" "$T/rgetfs"
	other=(setpriv --reuid=65534 --regid=65534 --clear-groups "$T/rgetfs")
	is 'unmount of what is another user'\''s' "$(said 1 "${other[@]}" unmount "$M")" \
		"rgetfs: $M: mounted by root (only they and root may unmount it)"
	is 'unmount --force of it' "$(said 1 "${other[@]}" unmount --force "$M")" \
		"rgetfs: $M: mounted by root (only they and root may unmount it)"
	like 'mount where they may not' "$(said 1 "${other[@]}" mount --cache-dir=/tmp/none - /usr <<<"$U/a")" \
		'^rgetfs: (/dev/fuse: Permission denied \(chmod 666 /dev/fuse, as root\)|/usr: only who may write there and root may mount there .*)$'
	is 'status' "$(said 1 "${other[@]}" status "$M")" "rgetfs: $M: mounted by root (only they and root may ask)"
	is 'reload' "$(said 1 "${other[@]}" reload "$M")" "rgetfs: $M: mounted by root (only they and root may ask)"
else
	skip 'what is another user'\''s' 'needs root and setpriv'
fi

# The set-up commands build beside the tree, and in it where it is configured.
built_in() { env "$@" bash -c '. "$0/contrib/common.sh" && printf "%s\n" "$build"' "$T/tree"; }
mkdir -p "$T/tree/contrib"
cp "$E2E_SRC/../../contrib/common.sh" "$T/tree/contrib/"
is 'a fresh tree' "$(built_in -u BUILD)" "$T/tree/build"
touch "$T/tree/config.status"
is 'a configured one' "$(built_in -u BUILD)" "$T/tree"
is 'as told' "$(built_in BUILD=/x)" /x

# What make check left: failures by name.
mkdir -p "$T/build/tests"
printf ':test-result: FAIL\n:test-result: PASS\n' >"$T/build/tests/x.trs"
printf 'ok 1 - good\nnot ok 2 - a bad one\n' >"$T/build/tests/x.log"
printf ':test-result: FAIL\n' >"$T/build/tests/y.trs"
printf ':test-result: SKIP\n' >"$T/build/tests/z.trs"
printf '1..0 # SKIP needs root\n' >"$T/build/tests/z.log"
is 'count-tests' "$("$E2E_SRC/../../tools/count-tests" "$T/build" | sed "s#$T/build/tests/##g")" \
	"FAILED: x 2 - a bad one
FAILED: y (FAIL; see y.log)
skipped: z 1..0 # SKIP needs root
1 passed, 2 failed, 1 skipped"
done_testing
