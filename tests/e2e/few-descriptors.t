#!/usr/bin/env bash
# Few descriptors: a mount that can't live with them is refused in a line; with 64 or 128 it reads five hundred files and serves
# hundreds of waiting readers, and commands are answered all the same.
. "$(dirname "$0")/lib.sh"

origin_start '/f* size=200000' '/slow size=943718400 fault=hang'
names=()
for i in $(seq 500); do names+=("/f$i"); done
list "${names[@]}"
printf '%s\n' "$U/slow" ' size=943718400' >>"$T/list"

limited() ( # SOFT HARD COMMAND…
	ulimit -Sn "$1" && ulimit -Hn "$2" && shift 2 && "$@"
)
limited 24 24 "$RGETFS" mount --cache-dir="$T/cache" "$T/list" "$M" >"$T/out" 2>"$T/err"
is 'too few: refused' "$? $(wc -l <"$T/err")" '1 1'
like 'in a line that says what to do' "$(cat "$T/err")" '^rgetfs: [0-9]+ file descriptors are left of the 24 that are allowed, and [0-9]+ are needed \(raise ulimit -n'
fails 'nothing is mounted' mounted

files() { find "/proc/$(daemon_pid)/fd" -type l | wc -l; }
all_right() {
	local n
	for n in "${names[@]}"; do
		content "$M$n" "$n" || { diag "$n is wrong" && return 1; }
	done
}
# Many at once: each descriptor of a reader keeps a file of the cache in use.
all_open() (
	fds=() i=0
	ulimit -Sn 2000
	for n in "${names[@]}"; do
		exec {fd}<"$M$n" && fds+=("$fd") && dd bs=50000 count=2 status=none <&"$fd" >/dev/null || return 1
	done
	for n in "${names[@]}"; do
		cat <&"${fds[i++]}" >"$T/copy"
		content "$T/copy" "$n" 0 100000 || { diag "$n is wrong" && return 1; }
	done
)

limited 24 2000 mnt --fill=none >"$T/err" 2>&1
is 'a soft limit is raised' "$? $(cat "$T/err")" '0 '
ok 'a limit of 24, soft: reads' content "$M/f1" /f1
ok 'unmounted' unmnt
rm -rf "$T/cache"/*

for limit in 64 128; do
	limited "$limit" "$limit" mnt --fill=none --retry-time=60s --stall-timeout=60s || bail 'the mount failed'
	before=$(all_sent)
	ok "$limit: five hundred files" all_right
	at_most "$limit: descriptors" "$(files)" "$limit"
	[ "$limit" -ne 64 ] || ok "$limit: five hundred open at once" all_open
	is "$limit: nothing was refused by the cache" "$(grep -c "can't" "$T/log")" 0
	ok "$limit: all of it is in the cache" eval '[ "$(total bytes_cached)" -ge 100000000 ]'
	at_most "$limit: hardly anything was fetched twice, bytes" $(($(all_sent) - before)) 110000000
	"$BUILD/tests/e2e/access" park "$M/slow" 1M 400 >/dev/null 2>&1 &
	reader=$!
	wait_for 10 eval '[ "$(total reads_waiting)" -ge 300 ]'
	at_least "$limit: readers wait" "$(total reads_waiting)" 300
	at_most "$limit: status, ms" "$(took_ms "$RGETFS" status --json "$M")" 2000
	# More commands at once than there is room for: each gets an answer or an end.
	clients=()
	for _ in $(seq 60); do
		timeout 10 "$RGETFS" fill "$M/slow" >/dev/null 2>&1 &
		clients+=($!)
	done
	sleep 1
	at_most "$limit: status beside sixty commands, ms" "$(took_ms timeout 20 "$RGETFS" status --json "$M")" 2000
	ok "$limit: and it has an answer" status
	kill "${clients[@]}" 2>/dev/null
	kill -9 "$reader"
	wait "${clients[@]}" "$reader" 2>/dev/null
	wait_for 5 gone "$reader"
	at_most "$limit: unmount, ms" "$(took_ms wait_for 10 "$RGETFS" unmount "$M")" 2000
	fails "$limit: it is gone" mounted
	rm -rf "$T/cache"/*
done

# From the cache, without the server: a file that was closed to save its descriptor is the same file.
must_mnt --fill=none
ok 'filled' all_right
ok 'unmounted' unmnt
limited 64 64 mnt --offline || bail 'the mount failed'
ok 'offline: each is right' all_right
ok 'offline: five hundred open at once' all_open
done_testing
