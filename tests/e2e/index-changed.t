#!/usr/bin/env bash
# A file that changes on its server after its manifest was indexed: an error, never other bytes; status and log say why and
# what to do, and that helps.
. "$(dirname "$0")/lib.sh"

size=8000000
origin_start "/* size=$size"
list /same /grown /cached
cp "$T/list" "$T/plain"
"$RGETFS" index -q -o "$T/list.json" "$T/plain" || bail 'no index'
cp "$T/list.json" "$T/list"
must_mnt --fill=none
pread "$M/same" 0 65536 >"$T/piece"
ok 'as indexed' piece "$T/piece" /same 0 65536
content "$M/cached" /cached || bail 'not read'
ctl "/same size=$size version=1" '/grown size=8000001 version=1' "/cached size=$size version=1"
fails 'another content of the same size' pread "$M/same" 4000000 65536
fails 'another size' pread "$M/grown" 4000000 65536
like 'status: what and what to do' "$(of_file same error)" \
	"^changed: $U: another version than the manifest's ETag says \\(index it again, then rgetfs reload\\)\$"
like 'status: the size' "$(of_file grown error)" \
	"^size: $U: the manifest says 8000000 bytes, the server 8000001 \\(correct the manifest, or index it again; then rgetfs reload\\)\$"
is 'state' "$(of_file same state) $(of_file grown state)" 'failed failed'
is 'the log too' "$(grep -c -e "same: changed: $U" -e "grown: size: $U" "$T/log")" 2
ok 'what was cached stays what it was' content "$M/cached" /cached

"$RGETFS" index -q -o "$T/list.json" "$T/plain" || bail 'no index'
cp "$T/list.json" "$T/list"
ok 'indexed again and reloaded' "$RGETFS" reload "$M"
ok 'the same size: its bytes' content "$M/same" /same 1
ok 'another size: its bytes' content "$M/grown" /grown 1
is 'that size' "$(stat -c %s "$M/grown")" 8000001
is 'no error is left' "$(of_file same error)$(of_file grown error)" ''
ok 'what was cached is the new one' content "$M/cached" /cached 1
remnt --fill=none
ok 'after a remount' content "$M/same" /same 1
unmnt
done_testing
