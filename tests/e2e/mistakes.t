#!/usr/bin/env bash
# What somebody new gives wrongly is answered with one line that says where, what, and what to do.
. "$(dirname "$0")/lib.sh"

printf 'http://127.0.0.1:9/a\n' >"$T/list"
mkdir -p "$M"
says() { # NAME LINE ARGUMENT… : refused with status 1 and just that line, an extended regular expression
	local name=$1 line=$2 out
	shift 2
	out=$("$RGETFS" "$@" 2>&1)
	is "$name: exit status" $? 1
	is "$name: one line" "$(wc -l <<<"$out")" 1
	like "$name: the line" "$out" "^rgetfs: $line$"
}
says 'a directory as the manifest' "$T: Is a directory \(give a file with URLs, one a line\)" \
	mount --cache-dir="$T/cache" "$T" "$M"
says 'a file as the root of the caches' "$T/list/[^:]*: Not a directory \(give another --cache-dir\)" \
	mount --cache-dir="$T/list" "$T/list" "$M"
says 'a file above the root of the caches' "$T/list/x: Not a directory \(give another --cache-dir\)" \
	mount --cache-dir="$T/list/x" "$T/list" "$M"
says 'a log nowhere' "$T/none/log: No such file or directory \(give another --log-file\)" \
	mount --cache-dir="$T/cache" --log-file="$T/none/log" "$T/list" "$M"
says 'a directory as the log' "$T: Is a directory \(give another --log-file\)" \
	mount --cache-dir="$T/cache" --log-file="$T" "$T/list" "$M"
for command in status reload; do
	says "$command of no mount" "$T: not a mountpoint of rgetfs \(rgetfs status lists them\)" "$command" "$T"
done
ok 'nothing was mounted' eval '! mountpoint -q "$M"'
done_testing
