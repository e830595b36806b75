#!/usr/bin/env bash
# A redirect to a signed URL that dies: asked again from the manifest's, nothing lost; when that is revoked too, cached bytes live.
. "$(dirname "$0")/lib.sh"

size=8000000
origin_start "/file redirect=/blob sign=2s" "/blob content=/file size=$size rate=20M signed=403 fault=status:405@head" \
	"/few redirect=/blob2 sign=:3" "/blob2 content=/few size=$size signed=400" \
	"/ends redirect=/blob3 sign=1s" "/blob3 content=/ends size=$size signed=403"
list /file "size=$size" /few "size=$size" /ends "size=$size"
must_mnt --fill=none --retry-time=5s
ok 'a piece' piece "$M/file" /file 0 1000000
sleep 2.2
ok 'a piece after the signature died' piece "$M/file" /file 4000000 1000000
ok 'all' content "$M/file" /file
ok 'signatures for three requests: all' content "$M/few" /few
quiet
at_most 'bytes sent' "$(sent /blob)" $((size + size / 8))
n=$(logged_count '.path == "/file"')
at_most 'the redirect is shared, not asked for each range' "$n" 6
is 'no HEAD' "$(logged_count '.method == "HEAD"')" 0

ok 'another: a piece' piece "$M/ends" /ends 0 1000000
settled ends
ctl '/ends fault=status:403'
sleep 1.1
ok 'revoked: cached bytes are still readable' piece "$M/ends" /ends 0 1000000
fails 'the others are an error' pread "$M/ends" 6000000 10
remnt --fill=none --retry-time=2s
ok 'after a remount, too' piece "$M/ends" /ends 0 1000000
fails 'and the others still an error' pread "$M/ends" 6000000 10
ok 'ls goes on' ls -l "$M"
done_testing
