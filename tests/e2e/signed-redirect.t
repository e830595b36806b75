#!/usr/bin/env bash
# A redirect to a signed URL that dies: asked again from the manifest's, nothing lost; when that is revoked too, cached bytes live.
. "$(dirname "$0")/lib.sh"

size=8000000
origin_start "/file redirect=/blob sign=2s" "/blob content=/file size=$size rate=20M signed=403 fault=status:405@head" \
	"/few redirect=/blob2 sign=:3" "/blob2 content=/few size=$size signed=400" \
	"/shared redirect=/blob4 sign=600s" "/blob4 content=/shared size=$size signed=403" \
	"/ends redirect=/blob3 sign=1s" "/blob3 content=/ends size=$size signed=403"
list /file "size=$size" /few "size=$size" /ends "size=$size" /shared "size=$size"
must_mnt --fill=none --retry-time=5s
lived=$(now_ms)
ok 'a piece' piece "$M/file" /file 0 1000000
sleep 2.2
ok 'a piece after the signature died' piece "$M/file" /file 4000000 1000000
ok 'all' content "$M/file" /file
lived=$(($(now_ms) - lived))
ok 'signatures for three requests: all' content "$M/few" /few
quiet
at_most 'bytes sent' "$(sent /blob)" $((size + size / 8))
# Asked at first, and again when a signature has died; each lives for two seconds.
at_least 'it died' "$(requests /file)" 2
at_most 'the redirect is shared while it lives' "$(requests /file)" $((1 + lived / 2000))
for off in 0 4000000 2000000 6000000; do
	ok "shared: a piece at $off" piece "$M/shared" /shared "$off" 200000
done
at_least 'shared: ranges of the target' "$(requests /blob4)" 4
is 'shared: the redirect is asked for once' "$(requests /shared)" 1
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
