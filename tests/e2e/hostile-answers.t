#!/usr/bin/env bash
# A drip of a byte a second, headers without end, 64 MiB of headers, endless redirects, no HTTP at all: bounded, named, and
# the mount lives.
. "$(dirname "$0")/lib.sh"

declare -A why=([drip]=stall [endless]=headers [big]=headers [redirects]=redirects [loop]=redirects [garbage]=protocol
	[interim]=headers)
origin_start '/drip size=1000000 fault=rate:1' '/endless size=1000 fault=endless-header' '/big size=1000 fault=big-header:64M' \
	'/redirects redirect=endless' '/loop redirect=/loop2' '/loop2 redirect=/loop' '/garbage size=1000 fault=garbage' \
	'/interim size=1000 fault=interim:1000000' '/fine size=100000' '/hints size=1000 fault=interim:2'
list /drip 'size=1000000' /endless /big /redirects /loop /garbage /interim /fine /hints
must_mnt --stall-timeout=1s --retry-time=3s
for f in "${!why[@]}"; do
	cat "$M/$f" >/dev/null 2>"$T/err-$f" &
	eval "pid_$f=\$!"
done
ok 'a fine file meanwhile' content "$M/fine" /fine
ok 'early hints are skipped' content "$M/hints" /hints
at_most 'ls meanwhile, ms' "$(took_ms timeout 10 ls "$M")" 2000
for f in "${!why[@]}"; do
	pid=pid_$f
	if wait_for 40 gone "${!pid}"; then
		ended "$f is an error" "${!pid}" 1
	else
		result 1 "$f ends"
	fi
	like "$f says why" "$(of_file "$f" error)" "^${why[$f]}: "
done
rss=$(awk '/^RssAnon/ { print $2 }' "/proc/$(daemon_pid)/status")
at_most 'memory of the daemon, KiB' "$rss" 65536
ok 'the mount lives' content "$M/fine" /fine
done_testing
