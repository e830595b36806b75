#!/usr/bin/env bash
# Every answer names another version: the questions come apart, readers hear of it in time, and when it holds still it is read.
. "$(dirname "$0")/lib.sh"

size=3000000
origin_start "/unsized size=$size last-modified=none fault=etag:new" "/sized size=$size last-modified=none fault=etag:new fault=close:500000" \
	"/twice size=$size fault=version:1@2-"
list /unsized /sized "size=$size" /twice
must_mnt --fill=all --retry-time=2s --connections=1
sleep 5
for f in unsized sized; do
	at_most "$f: requests in five seconds" "$(requests "/$f")" 12
	at_least "$f: but it is asked again" "$(requests "/$f")" 5
	like "$f: status says why" "$(of_file "$f" error)" '^changed: '
	for _ in 1 2; do
		ms=$(took_ms head -c 1000 "$M/$f")
		at_most "$f: a reader hears of it in time, ms" "$ms" 4000
	done
done
is 'one change is none of that' "$(of_file twice error)" ''
ok 'and is followed at once' content "$M/twice" /twice 1
is 'the log tells of it once for a file' "$(grep -c 'unsized: .*replaced by another version' "$T/log")" 1
ctl "/unsized size=$size" "/sized size=$size"
for f in unsized sized; do
	ok "$f: holds still: it is filled" wait_for 40 eval '[ "$(of_file '$f' state)" = complete ]'
	ok "$f: and right" content "$M/$f" "/$f"
	is "$f: nothing wrong any more" "$(of_file "$f" error)" ''
done
done_testing
