#!/usr/bin/env bash
# 206 of other bytes than asked for, or that does not say of which: what overlaps may be used, the rest is refused by name.
. "$(dirname "$0")/lib.sh"

size=3000000
used='earlier zero star'
refused='later late total no-header bad-header unit multipart'
origin_start '/good size=3000000' \
	'/earlier content=/good size=3000000 fault=range-shift:-1000@tail' \
	'/zero content=/good size=3000000 fault=range-zero' \
	'/star content=/good size=3000000 fault=star-total' \
	'/later content=/good size=3000000 fault=range-shift:1' \
	'/late content=/good size=3000000 fault=range-shift:70000' \
	'/total content=/good size=3000000 fault=wrong-total:100' \
	'/no-header content=/good size=3000000 fault=no-content-range' \
	'/bad-header content=/good size=3000000 fault=bad-content-range' \
	"/unit content=/good size=3000000 'fault=bad-content-range:blocks 0-9/10'" \
	'/multipart content=/good size=3000000 fault=multipart'
for f in $used $refused; do
	printf '%s/%s\n size=%d\n' "$U" "$f" "$size"
done >"$T/list"
# The same sources as the first of two: the second is a good one.
for f in $refused; do
	printf '%s/%s\t%s/good\n size=%d\n out=mirrored/%s\n id=mirrored-%s\n' "$U" "$f" "$U" "$size" "$f" "$f"
done >>"$T/list"
must_mnt --retry-time=3s
for f in $used; do
	ok "$f: a piece" piece "$M/$f" /good 2000000 1000
	ok "$f: all" content "$M/$f" /good
done
for f in $refused; do
	ok "$f: right or an error" right_or_error "$M/$f" /good "$size"
	ok "$f: a piece, right or an error" eval '! pread "$M/$f" 2000000 1000 >"$T/piece" 2>/dev/null || content - /good 0 2000000 1000 <"$T/piece"'
	is "$f: status says why" "$([ -n "$(of_file "$f" error)" ] && echo said)" said
	ok "$f: the other mirror serves" content "$M/mirrored/$f" /good
done
for f in $used $refused; do
	settled "$f"
done
remnt --offline
for f in $used; do
	ok "$f: after a remount" content "$M/$f" /good
done
for f in $refused; do
	ok "$f: after a remount, right or an error" right_or_error "$M/$f" /good "$size"
done
done_testing
