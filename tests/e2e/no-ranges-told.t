#!/usr/bin/env bash
# A server without ranges is named, by status for as long as that is what is known, and once in the log.
. "$(dirname "$0")/lib.sh"

size=3000000
O=b origin_start "/* size=$size"
B=$U
origin_start "/* size=$size ranges=no" "/small size=1000 ranges=no"
list /x /y "$B/fine" /small "size=1000"
must_mnt --fill=none --retry-time=20s --log-level=info
named() { "$RGETFS" status "$M" | grep -c "origin .*$1: no ranges"; }
said() { grep -c "$1: does not support ranges" "$T/log"; }

ok 'small: all asked for, all sent' content "$M/small" /small
is 'says nothing of ranges' "$(requests /small) $(of_file small error)" '1 '
for f in x y fine; do
	ok "$f: a piece" piece "$M/$f" "/$f" 2000000 1000
	ok "$f: all" content "$M/$f" "/$f"
done
quiet
is 'the one is named' "$(named "$U")" 1
is 'the other is not' "$(named "$B")" 0
is 'as JSON' "$(status | jq -rc '.origins[] | [.origin, .state, .ranges]')" "[\"$U\",\"ok\",false]"
is 'that is no trouble' "$(total origins_in_trouble)" 0
sleep 2
is 'nor does that change when nothing is read' "$(named "$U")" 1
is 'the log tells it once' "$(said "$U")" 1
is 'of the other nothing' "$(said "$B")" 0
ctl "/z size=$size"
list /x /y "$B/fine" /small "size=1000" /z
ok 'one more' "$RGETFS" reload "$M"
ok 'z: with ranges' piece "$M/z" /z 2000000 1000
is 'not any more' "$(named "$U")" 0
done_testing
