#!/usr/bin/env bash
# Somebody shortens a cache file under a running mount, makes holes in it or writes over it: readers get right bytes, or without the
# server an error, never a zero; status counts what was lost.
. "$(dirname "$0")/lib.sh"

block=65536
declare -A size=([nothing]=1500001 [page]=1500002 [block]=1500003 [even]=1500004 [punched]=1500005 [zeroed]=1500006 [offline]=1500007)
rules=()
for f in "${!size[@]}"; do
	rules+=("/$f size=${size[$f]}")
done
origin_start "${rules[@]}"
files=("${!size[@]}")
list "${files[@]/#//}"
must_mnt --fill=none --retry-time=2s
backing() { find "$T/cache" -type f -path '*/files/*' -size "${size[$1]}c"; } # FILE
# They are held open: what nobody has open is not trusted at all if its length is wrong. The kernel keeps what was read of a file: only
# its begin was.
for f in "${files[@]}"; do
	exec {fd}<"$M/$f"
	held+=("$fd")
	ok "$f: its begin" content "$M/$f" "/$f" 0 0 1000
done
ok 'all of it is fetched' "$RGETFS" fill -q "$M"
is 'complete' "$(total bytes_cached)" "$((${size[@]/#/+}))"
for f in "${files[@]}"; do
	[ -f "$(backing "$f")" ] || bail "no backing file of $f"
done

harm() { # FILE BLOCKS COMMAND…: it happens to its backing file, and as many blocks are lost by that
	local before f=$1 blocks=$2 file
	before=$(total blocks_bad)
	file=$(backing "$f")
	shift 2
	"$@" "$file" || bail "$* failed"
	ok "$f: all bytes are right" content "$M/$f" "/$f"
	is "$f: what was lost is counted" $(($(total blocks_bad) - before)) "$blocks"
	is "$f: its cache file has its length" "$(stat -c %s "$file")" "${size[$f]}"
	ok "$f: complete again" wait_for 10 eval '[ "$(of_file '"$f"' bytes_cached)" = '"${size[$f]}"' ]'
}
n=$((1500000 / block + 1))
# What is in the page cache is not read: the kernel asked for the first 128 KiB at most.
harm page $((n - 5)) truncate -s $((5 * block + 4096 + 77))
harm block $((n - 9)) truncate -s $((9 * block + 3 * 4096))
harm even $((n - 12)) truncate -s $((12 * block))
harm punched 2 fallocate -p -o $((7 * block + 8192)) -l $block
zeros() { head -c 5000 /dev/zero | dd of="$1" bs=1000 seek=1000 conv=notrunc status=none; }
harm zeroed 1 zeros
before=$(total blocks_bad)
truncate -s 0 "$(backing nothing)"
ok 'nothing: all bytes are right' content "$M/nothing" /nothing
at_least 'nothing: blocks counted' $(($(total blocks_bad) - before)) $((n - 3))
like 'status shows it' "$("$RGETFS" status "$M")" '(was|were) wrong in the cache and'
ok 'the log says it' grep -q 'changed by somebody else' "$T/log"

file=$(backing offline)
origin_stop
truncate -s $((10 * block + 100)) "$file"
ok 'without the server: what is left' content "$M/offline" /offline 0 0 $((10 * block))
fails 'without the server: what is gone is an error' pread "$M/offline" $((10 * block)) 50
fails 'without the server: no zeros' pread "$M/offline" $((15 * block)) 50
for fd in "${held[@]}"; do
	exec {fd}<&-
done
origin_start "${rules[@]}"
ok 'with the server: all of it' wait_for 20 content "$M/offline" /offline
# The kernel's copy is gone with the mount.
remnt --fill=none
truncate -s 100000 "$(backing offline)"
ok 'shortened while nobody has it open' content "$M/offline" /offline
settled offline
remnt --fill=none --offline
for f in "${files[@]}"; do
	ok "$f: after a remount, without the server" content "$M/$f" "/$f"
done
is 'after a remount: nothing is wrong' "$(total blocks_bad)" 0
unmnt
done_testing
