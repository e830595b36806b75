#!/usr/bin/env bash
# A server's clock off by an hour either way: its dates are judged against its own Date.
. "$(dirname "$0")/lib.sh"

size=100000
O=a origin_start "/x size=$size fault=status:503:date=2@1 fault=date:3600"
O=b origin_start "/y size=$size fault=status:503:date=2@1 fault=date:-3600"
printf 'http://127.0.0.1:%s/x\n size=%s\nhttp://127.0.0.1:%s/y\n size=%s\n' "${PORT[a]}" $size "${PORT[b]}" $size >"$T/list"
must_mnt --retry-time=30s
for f in x y; do
	began=$(now_ms)
	ok "$f: comes after the ban" timeout 25 "$FORMULA" check 1 "/$f" 0 "$M/$f"
	ms=$(($(now_ms) - began))
	[ "$f" = x ] && at_least "$f: not before it, ms" "$ms" 900
	at_most "$f: soon after it, ms" "$ms" 15000
done
done_testing
