#!/usr/bin/env bash
# Unmounted right after the last read, and mounted again: nothing is fetched twice. So with the signals that end a mount: SIGTERM
# and SIGINT anywhere, the loss of its terminal for one in the foreground. In the background SIGHUP is ignored.
. "$(dirname "$0")/lib.sh"
need script

origin_start '/* size=3000000'
list /a /b /c
for i in 1 2 3 4 5; do
	must_mnt --fill=none --fill-after=1T
	ok "round $i: a" content "$M/a" /a
	ok "round $i: unmount" unmnt
	n=$(requests /a)
	must_mnt --fill=none
	ok "round $i: a again" content "$M/a" /a
	is "round $i: without a request" "$(requests /a)" "$n"
	[ "$i" -eq 5 ] || "$RGETFS" drop "$M/a" >/dev/null
	unmnt
done

must_mnt
for sig in TERM INT; do
	"$RGETFS" drop "$M/b" >/dev/null
	pid=$(daemon_pid)
	ok "$sig: b" content "$M/b" /b
	quiet
	kill -"$sig" "$pid"
	ok "$sig: ends the mount" wait_for 5 eval '! mounted'
	n=$(requests /b)
	must_mnt
	ok "$sig: b again" content "$M/b" /b
	is "$sig: without a request" "$(requests /b)" "$n"
done
pid=$(daemon_pid)
kill -HUP "$pid"
sleep 0.5
ok 'HUP: the mount in the background lives' kill -0 "$pid"
ok 'HUP: and serves' content "$M/b" /b
unmnt

# In the foreground of a terminal that goes away: script(1) is the terminal.
printf 'exec %q mount -f --cache-dir=%q --log-file=%q %q %q\n' "$RGETFS" "$T/cache" "$T/log" "$T/list" "$M" >"$T/command"
script -q -c "exec bash $T/command" /dev/null </dev/null >"$T/screen" 2>&1 &
terminal=$!
ok '-f: mounts' wait_for 10 mounted
pid=$(daemon_pid)
ok '-f: c' content "$M/c" /c
quiet
kill -9 "$terminal"
ok '-f: ends with its terminal' wait_for 5 eval '! mounted'
ok '-f: and its process, too' wait_for 5 gone "$pid"
n=$(requests /c)
must_mnt
ok '-f: c again' content "$M/c" /c
is '-f: without a request' "$(requests /c)" "$n"
done_testing
