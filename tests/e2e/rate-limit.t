#!/usr/bin/env bash
# --limit-rate is a ceiling for everything, also for what readers wait for; --fill-rate for the background alone.
. "$(dirname "$0")/lib.sh"

size=64M
rate=$((2 * 1048576))
origin_start "/* size=$size"
list /bulk /random /filled
allowed() { echo $((rate * 115 * $1 / 100000 + 1048576)); } # MS: bytes, with what may come at once at the beginning

must_mnt --fill=none --limit-rate=2M
stat "$M/bulk" "$M/random" >/dev/null
t=$(now_ms)
ok 'a sequential reader: right bytes' piece - /bulk 0 8388608 < <(dd if="$M/bulk" bs=1M count=8 status=none)
ms=$(($(now_ms) - t))
at_most 'bytes fetched in its time' "$(total bytes_fetched)" "$(allowed $ms)"
at_least 'and not far below what it may' $((8388608 * 1000 / ms)) $((rate / 3))

before=$(total bytes_fetched)
t=$(now_ms)
pids=()
for _ in 1 2 3 4; do
	(while [ $(($(now_ms) - t)) -lt 3000 ]; do
		pread "$M/random" $(((RANDOM * 32768 + RANDOM) % 16000 * 4096)) 4096 >"$T/bytes-$BASHPID" || exit 1
	done) &
	pids+=($!)
done
wait "${pids[@]}"
after=$(total bytes_fetched)
ms=$(($(now_ms) - t))
at_most 'random reads: bytes fetched in their time' $((after - before)) "$(allowed $ms)"
at_least 'and they do read' $((after - before)) $((rate / 2))

"$RGETFS" fill --no-wait "$M/filled"
wait_for 10 eval '[ "$(of_file filled bytes_cached)" -gt 0 ]'
before=$(total bytes_fetched)
t=$(now_ms)
dd if="$M/bulk" iflag=skip_bytes skip=32M bs=1M count=4 of=/dev/null status=none
ms=$(($(now_ms) - t))
after=$(total bytes_fetched)
at_most 'a reader beside a filling: bytes of both' $((after - before)) "$(allowed $(($(now_ms) - t)))"
diag "the reader took $ms ms"
unmnt
done_testing
