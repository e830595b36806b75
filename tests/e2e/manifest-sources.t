#!/usr/bin/env bash
# A manifest from standard input, from a URL (and its last good copy when that is gone), as JSON and as JSON Lines.
. "$(dirname "$0")/lib.sh"

origin_start '/* size=70000' "/list file=$T/list"
list /a /b 'out=d/b'
is 'another scheme' "$("$RGETFS" mount --cache-dir="$T/cache" ftp://127.0.0.1/list "$M" 2>&1)" \
	'rgetfs: ftp://127.0.0.1/list: a manifest is a file, - or an http or https URL'
ok 'standard input' eval '"$RGETFS" mount --cache-dir="$T/cache" - "$M" <"$T/list"'
ok 'reads' content "$M/d/b" /b
unmnt
url_mnt() { "$RGETFS" mount --cache-dir="$T/cache" --retry-time=2s "$U/list" "$M"; }
ok 'a URL' url_mnt
ok 'reads from it' content "$M/a" /a
sleep 1
unmnt
ctl '/list fault=status:503'
ok 'the URL does not answer: the last good copy' url_mnt
ok 'reads what is cached' content "$M/a" /a
is 'reload of it' "$("$RGETFS" reload "$M" 2>"$T/err")" "$M: 2 entries"
like 'says so' "$(cat "$T/err")" "^rgetfs: $M: the manifest can't be fetched: .*503.*; the copy of its last good state is used$"
ctl "/list file=$T/list"
is 'reload of the list itself' "$("$RGETFS" reload "$M" 2>&1)" "$M: 2 entries"
ctl '/list fault=status:503'
unmnt
printf '{"version":1,"entries":[{"path":"x/a","url":"%s/a","size":70000,"mtime":1000000000,"mode":"0555"},{"path":"empty/"}]}\n' "$U" >"$T/list"
must_mnt
ok 'JSON' content "$M/x/a" /a
is 'mtime' "$(stat -c %Y "$M/x/a")" 1000000000
is 'mode' "$(stat -c %a "$M/x/a")" 555
ok 'an empty directory' test -d "$M/empty"
unmnt
printf '{"path":"l/%s","urls":["%s/a","%s/b"],"id":"%s"}\n' 1 "$U" "$U" 1 >"$T/list"
printf '{"path":"l/2","url":"%s/b"}\n' "$U" >>"$T/list"
must_mnt
ok 'JSON Lines' content "$M/l/2" /b

# All of a cache goes, the copy of its manifest too; what is not the cache's stays, and then so does the cache.
unmnt
cache() { "$RGETFS" cache "$@" --cache-dir="$T/cache"; }
kept=$(dirname "$(find "$T/cache" -name manifest)")
touch "$kept/mine"
fails 'prune: a stranger in it' cache prune "${kept##*/}"
like 'is said' "$(cache prune "${kept##*/}" 2>&1)" "^rgetfs: $kept: something lies in it that is not the cache's"
ok 'it is a cache still' eval 'cache list --json | jq -r .name | grep -qx "${kept##*/}"'
ok 'with its manifest' test -s "$kept/manifest"
rm "$kept/mine"
ok 'prune' cache prune
is 'nothing is left' "$(find "$T/cache" -mindepth 1)" ''
done_testing
