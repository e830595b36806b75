#!/usr/bin/env bash
# Servers that accept and never answer, or stop amid the body, with more readers than all the connections: a cold file of another
# server is read as without them, also where few connections are allowed, and ls, df, stat and status answer.
. "$(dirname "$0")/lib.sh"

size=$((512 * 1048576))
sick=(s1 s2 s3 s4)
for O in "${sick[@]}"; do
	origin_start "/slow-$O size=$size"
	printf '%s/slow-%s\n size=%s\n' "$U" "$O" "$size"
done >"$T/list"
O=well origin_start '/cold* size=500000'
for i in $(seq 20); do printf '%s/cold%d\n size=500000\n' "http://127.0.0.1:${PORT[well]}" "$i"; done >>"$T/list"
pids=()
next=0

# All wait for --stall-timeout otherwise, which is fifteen times this.
others() { # NAME
	local i file
	for i in 1 2; do
		next=$((next + 1))
		file=$M/cold$next
		at_most "$1: cold file $i of another server, ms" "$(took_ms timeout 60 cat "$file")" 2000
		ok "$1: and it is right" timeout 60 "$FORMULA" check 1 "/cold$next" 0 "$file"
	done
	at_most "$1: ls -l, ms" "$(took_ms timeout 10 ls -l "$M")" 2000
	at_most "$1: df, ms" "$(took_ms timeout 10 df "$M")" 2000
	at_most "$1: stat, ms" "$(took_ms timeout 10 stat "$M/slow-s1")" 2000
	at_most "$1: status, ms" "$(took_ms timeout 10 "$RGETFS" status "$M")" 2000
}
park() { # READERS ORIGIN…
	local n=$1 o
	shift
	for o in "$@"; do
		"$BUILD/tests/e2e/access" park "$M/slow-$o" 16M "$n" >/dev/null 2>&1 &
		pids+=($!)
	done
	wait_for 10 eval '[ "$(total reads_waiting)" -ge '$((n * $#))' ]'
	ok "$n readers of each of $# servers wait" [ "$(total reads_waiting)" -ge $((n * $#)) ]
	sleep 0.5
}
leave() {
	local p
	for p in "${pids[@]}"; do kill -9 "$p" 2>/dev/null; done
	wait "${pids[@]}" 2>/dev/null
	pids=()
	ok 'unmounted' wait_for 10 unmnt
	rm -rf "$T/cache"/*
}
sicken() { # FAULT
	for O in "${sick[@]}"; do ctl reset "/slow-$O size=$size fault=$1"; done
}

for fault in hang stall:1; do
	sicken "$fault"
	must_mnt --fill=none --stall-timeout=30s --retry-time=60s
	park 18 "${sick[@]}"
	others "$fault"
	leave
	must_mnt --fill=none --stall-timeout=30s --retry-time=60s --max-connections=8
	park 18 s1
	others "$fault, eight connections"
	leave
done

# All connections were given to fills, for each of which somebody waits by now.
sicken hang
must_mnt --fill=none --stall-timeout=30s --retry-time=60s --connections=16
for O in "${sick[@]}"; do "$RGETFS" fill --no-wait "$M/slow-$O"; done
running() {
	local n=0
	for O in "${sick[@]}"; do n=$((n + $(stat_of active))); done
	echo $n
}
wait_for 10 eval '[ "$(running)" -ge 64 ]'
is 'connections of fills' "$(running)" 64
park 32 "${sick[@]}"
others 'fills'
leave
done_testing
