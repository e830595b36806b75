#!/usr/bin/env bash
# Bodies that stall at 60 % and at 99 % on many connections at once: the range goes to another connection; others do not notice.
. "$(dirname "$0")/lib.sh"

size=8000000
origin_start "/mid size=$size rate=20M fault=stall:60%@1-6" "/late size=$size rate=20M fault=stall:99%@1-6" "/head size=$size fault=hang@1-4" '/other size=300000'
list /mid "size=$size" /late "size=$size" /head "size=$size" /other 'size=300000'
must_mnt --stall-timeout=1s --retry-time=40s --connections=4
for f in mid late head; do
	content "$M/$f" "/$f" >"$T/read-$f" 2>&1 &
	eval "pid_$f=\$!"
done
sleep 0.3
at_most 'ls meanwhile, ms' "$(took_ms ls -l "$M")" 2000
ok 'another file meanwhile' timeout 10 "$FORMULA" check 1 /other 0 "$M/other"
for f in mid late head; do
	pid=pid_$f
	ended "$f: all bytes" "${!pid}" || diag "$(cat "$T/read-$f")"
done
quiet
for f in mid late; do
	at_most "$f: bytes sent" "$(sent "/$f")" $((size + size / 4))
done
done_testing
