#!/usr/bin/env bash
# One in ten of a list answers 404, 401 or 500: the others work, and those say why.
. "$(dirname "$0")/lib.sh"

origin_start '/* size=50000' '/f7 fault=status:404' '/f17 fault=status:401' '/f27 fault=status:500' '/f3 fault=status:410'
for i in $(seq 30); do
	printf '%s/f%d\n' "$U" "$i"
done >"$T/list"
must_mnt --retry-time=2s
good=0
for i in $(seq 30); do
	case $i in 3 | 7 | 17 | 27) continue ;; esac
	content "$M/f$i" "/f$i" && good=$((good + 1))
done
is 'the others work' "$good" 26
declare -A why=([3]='gone: .*410' [7]='gone: .*404' [17]='denied: .*401' [27]='server: .*500')
for i in 3 7 17 27; do
	fails "f$i is an error" cat "$M/f$i"
	like "f$i says why" "$(of_file "f$i" error)" "^${why[$i]}"
	is "f$i is failed" "$(of_file "f$i" state)" failed
done
like 'ls shows all names' "$(find "$M" -type f | wc -l)" '^30$'
done_testing
