#!/usr/bin/env bash
# Streams without a length that end before, at and after the borders of blocks and of reads: exactly their bytes.
. "$(dirname "$0")/lib.sh"

sizes=(0 1 4095 4096 65535 65536 65537 70000 98304 131071 131072 131073 196607 196608 200000 262143 262145)
rules=()
paths=()
for s in "${sizes[@]}"; do
	rules+=("/chunked-$s size=$s ranges=no fault=chunked delay=20ms" "/closed-$s size=$s ranges=no fault=unsized delay=20ms")
	paths+=("/chunked-$s" "/closed-$s")
done
origin_start "${rules[@]}"
list "${paths[@]}"
must_mnt --retry-time=20s
exact() { # FILE SIZE COMMAND…: what it prints is the file
	local f=$1 size=$2
	shift 2
	"$@" >"$T/copy" || return 1
	[ "$(stat -c %s "$T/copy")" = "$size" ] || {
		printf '%s bytes\n' "$(stat -c %s "$T/copy")"
		return 1
	}
	content "$T/copy" "/$f"
}
for s in "${sizes[@]}"; do
	ok "chunked, $s bytes: cat" exact "chunked-$s" "$s" cat "$M/chunked-$s"
	ok "chunked, $s bytes: again" exact "chunked-$s" "$s" cat "$M/chunked-$s"
	ok "until the end of the connection, $s bytes: dd" exact "closed-$s" "$s" dd if="$M/closed-$s" bs=1M status=none
	ok "until the end of the connection, $s bytes: tail" exact "closed-$s" "$s" tail -c +1 "$M/closed-$s"
done
done_testing
