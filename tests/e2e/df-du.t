#!/usr/bin/env bash
# df and du: the manifest's total and what is cached, without the network.
. "$(dirname "$0")/lib.sh"

origin_start '/* size=1000000' '/hang* fault=hang size=1000000'
for i in $(seq 20); do
	printf '%s/f%d\n size=1000000\n' "$U" "$i"
done >"$T/list"
must_mnt --fill=none
total=$(stat -f -c '%b %S' "$M" | awk '{ print $1 * $2 }')
at_least 'df: total' "$total" 20000000
at_most 'df: total is not far from the sum' "$total" 21000000
before=$(stat -f -c '%f %S' "$M" | awk '{ print $1 * $2 }')
at_least 'du of nothing cached: st_blocks' "$(stat -c %b "$M/f1")" 1
is 'no request so far' "$(all_requests)" 0
cat "$M/f1" "$M/f2" >/dev/null
ok 'st_blocks of a cached file, soon' wait_for 4 eval '[ "$(stat -c %b "$M/f1")" -ge 1900 ]'
free=$(stat -f -c '%f %S' "$M" | awk '{ print $1 * $2 }')
at_most 'df: still to fetch became less' "$free" $((before - 1900000))
is 'df works on it' "$(df --output=fstype "$M" | tail -n 1)" fuse.rgetfs
unmnt
printf '%s/hang\n size=1000000\n' "$U" >"$T/list"
must_mnt
cat "$M/hang" >/dev/null 2>&1 &
sleep 0.3
at_most 'df beside a stalled read, ms' "$(took_ms df "$M")" 1000
ctl release
done_testing
