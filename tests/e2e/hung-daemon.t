#!/usr/bin/env bash
# A daemon that hangs: no command hangs with it, each ends with a line; --force frees the mount.
. "$(dirname "$0")/lib.sh"

origin_start '/* size=100000'
list /a /b out=dir/b /c
must_mnt --fill=none
pid=$(daemon_pid)
ok 'reads' content "$M/a" /a
kill -STOP "$pid"
ask() { # WORD…: in the background, its status and lines in files
	(
		cd "$T" || exit
		timeout 50 "$RGETFS" "$@" >"$T/out-$1" 2>"$T/err-$1"
		echo $? >"$T/status-$1"
	) &
}
ask status "$M"
ask fill "$M/dir/b"
ask drop mnt/a
ask verify "$M"
ask reload "$M"
ask unmount "$M"
wait %2 %3 %4 %5 %6 %7
for c in status fill drop verify reload unmount; do
	is "$c has ended, and failed" "$(cat "$T/status-$c")" 1
	is "$c: says why" "$(cat "$T/err-$c")" "rgetfs: $M: the daemon does not answer (rgetfs unmount --force frees the mount)"
done
ok 'it is mounted still' mounted
# Several of them (and perhaps some of other tests): all are asked at once, and named.
for m in 2 3; do
	mkdir "$T/mnt$m"
	"$RGETFS" mount --cache-dir="$T/cache$m" --fill=none "$T/list" "$T/mnt$m" || bail 'no second mount'
done
mapfile -t hung < <(daemon_pid)
ok 'one that answers beside it' eval '[ "$(timeout 50 "$RGETFS" status --json 2>/dev/null | jq -r .mountpoint | grep -F "$T/" | tr "\n" " ")" = "$T/mnt2 $T/mnt3 " ]'
kill -STOP "${hung[@]}"
at_most 'status of three that hang, ms' "$(took_ms timeout 50 "$RGETFS" status)" 16000
timeout 50 "$RGETFS" status >"$T/out" 2>"$T/err"
is 'status of all: exit status' $? 1
is 'each is named' "$(grep -F "$T/" "$T/err")" "$(for m in mnt mnt2 mnt3; do
	echo "rgetfs: $T/$m: the daemon does not answer (rgetfs unmount --force frees the mount)"
done)"
at_most 'two by name, ms' "$(took_ms timeout 50 "$RGETFS" status "$T/mnt2" "$T/mnt3")" 14000
kill -CONT "${hung[@]}"
ok 'the others end' "$RGETFS" unmount "$T/mnt2" "$T/mnt3"
ok 'it goes on' timeout 5 "$RGETFS" status "$M"
ok 'and reads' content "$M/dir/b" /b
# A command that was there when it began to hang.
ctl '/c size=100000 fault=hang'
(timeout 60 "$RGETFS" fill "$M/c" >"$T/out" 2>"$T/err"; echo $? >"$T/status") &
wait_for 5 eval '[ "$(total connections)" -ge 1 ]'
kill -STOP "$pid"
at_most 'unmount --force, ms' "$(took_ms timeout 20 "$RGETFS" unmount --force "$M")" 5000
fails 'it is gone' mounted
kill -CONT "$pid"
ok 'and so is the daemon' wait_for 10 gone "$pid"
wait_for 10 test -s "$T/status"
is 'and the command, which failed' "$(cat "$T/status")" 1
done_testing
