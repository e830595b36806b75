#!/usr/bin/env bash
# That a server gives no length was found out by somebody who has gone since: whoever was shown the file can open it.
. "$(dirname "$0")/lib.sh"

size=900000
origin_start "/file size=$size ranges=no fault=chunked rate=1M"
list /file
must_mnt --retry-time=20s
for round in 1 2 3; do
	"$RGETFS" fill "$M/file" >/dev/null 2>&1 &
	pid=$!
	ok "$round: the fill is under way" wait_for 10 grep -q 'fill lease begins' "$T/log"
	if [ "$round" = 3 ]; then
		ls -l "$M" >/dev/null
	else
		stat "$M/file" >/dev/null
	fi
	kill "$pid"
	wait "$pid" 2>/dev/null
	ok "$round: the fill is over" wait_for 10 grep -q 'lease ended' "$T/log"
	cat "$M/file" >"$T/copy"
	is "$round: all of it" "$(stat -c %s "$T/copy")" "$size"
	ok "$round: the bytes" content "$T/copy" /file
	unmnt
	rm -rf "$T/cache" "$T/log"
	mkdir -m 700 "$T/cache"
	must_mnt --retry-time=20s
done
done_testing
