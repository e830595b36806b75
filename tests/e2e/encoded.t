#!/usr/bin/env bash
# gzip although identity was asked for, on 206 and on 200: never decoded, never taken for the file unless it is its stored form.
. "$(dirname "$0")/lib.sh"

yes 'a line that compresses well' | head -c 900000 >"$T/plain"
gzip -c "$T/plain" >"$T/plain.gz"
stored=$(stat -c %s "$T/plain.gz")
origin_start "/whole file=$T/plain ranges=no fault=encoding:gzip:$T/plain.gz" \
	"/part file=$T/plain fault=encoding:gzip:$T/plain.gz" \
	"/when-asked file=$T/plain fault=encoding:gzip:$T/plain.gz@encoded" \
	"/stored.gz file=$T/plain.gz fault=encoding:gzip" "/good file=$T/plain"
printf '%s/whole\n size=900000\n%s/part\n size=900000\n%s/when-asked\n%s/stored.gz\n size=%s\n' "$U" "$U" "$U" "$U" "$stored" >"$T/list"
printf '%s/whole\n out=learned\n%s/part\t%s/good\n out=mirrored\n id=mirrored\n size=900000\n' "$U" "$U" "$U" >>"$T/list"
must_mnt --retry-time=3s
never_wrong() { # FILE: an error, or the file
	! cat "$1" >"$T/out" 2>/dev/null || cmp "$T/out" "$T/plain"
}
for f in whole part when-asked; do
	ok "$f: the file or an error" never_wrong "$M/$f"
done
ok 'size learned: the file, an error, or the stored form by its own size' eval \
	'! cat "$M/learned" >"$T/out" 2>/dev/null || cmp "$T/out" "$T/plain" || cmp "$T/out" "$T/plain.gz"'
for f in whole part; do
	like "$f: status says why" "$(of_file "$f" error)" 'compressed form'
done
ok 'the other mirror serves' cmp "$M/mirrored" "$T/plain"
is 'asked for identity or nothing' "$(jq -r 'select(.accept_encoding != null) | .accept_encoding' "$T/origin-a.log" | sort -u)" identity
remnt --offline
for f in whole part when-asked; do
	ok "$f: after a remount" never_wrong "$M/$f"
done
done_testing
