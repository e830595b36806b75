#!/usr/bin/env bash
# Unmounted right after the last read, and mounted again: nothing is fetched twice.
. "$(dirname "$0")/lib.sh"

origin_start '/* size=3000000'
list /a /b
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
done_testing
