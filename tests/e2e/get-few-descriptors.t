#!/usr/bin/env bash
# get with few descriptors: fewer files at once than asked for, but all of them.
. "$(dirname "$0")/lib.sh"

mkdir "$T/dl" && cd "$T/dl" || exit 99
origin_start --delay=20ms '/* size=300000'
for i in {1..40}; do
	printf '%s/f%d\n' "$U" "$i"
done >"$T/list"
for n in 64 100 256; do
	(ulimit -n "$n" && exec "$RGETFS" get -j 64 --checkpoint=50ms --retry-time=5s -d "$n" -i "$T/list" >"$T/out" 2>"$T/err")
	is "$n descriptors: exit status" "$?" 0
	like "$n descriptors: told" "$(cat "$T/err")" 'at most [0-9]+ files? at once \(ulimit -n\)'
	is "$n descriptors: files" "$(find "$n" -type f | wc -l)" 40
	fails "$n descriptors: no complaint of a file" grep -q '^rgetfs: .*f[0-9]*:' "$T/err"
done
done_testing
