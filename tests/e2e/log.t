#!/usr/bin/env bash
# The log: a bad verdict once, with its server and without a secret; with --log-level=debug leases, cuts, checkpoints, evictions.
. "$(dirname "$0")/lib.sh"

origin_start '/* size=4M' '/missing size=4M fault=status:404' '/busy size=4M fault=status:503' '/slow size=64M'
printf '%s\n' "http://user:hunter2@127.0.0.1:${PORT[a]}/missing?sig=hunter3" "$U/good" "$U/busy" "$U/slow" >"$T/list"
sed -i 's/$/\n size=4M/' "$T/list"
sed -i '$s/4M/64M/' "$T/list"
said() { grep -c -e "$1" "$T/log"; }

must_mnt --fill=none --retry-time=3s --cache-size=8M
for _ in 1 2 3; do
	cat "$M/missing" >"$T/none" 2>/dev/null
done
cat "$M/good" >"$T/good"
is 'what is missing: one line' "$(said "missing: gone: http://127.0.0.1:${PORT[a]}: .*404")" 1
at_least 'each lease begins' "$(said 'good: demand lease begins, 0 to ')" 1
at_least 'and ends with a verdict' "$(said 'good: [a-z]* lease ended, 0 to .*: part, ')" 1
wait_for 5 eval '[ "$(said "checkpoint: [1-9][0-9]* bytes of 1 files, ")" -gt 0 ]'
at_least 'checkpoints' "$(said 'checkpoint: [1-9][0-9]* bytes of 1 files, [0-9]* ms')" 1
head -c 20000000 "$M/slow" >"$T/none"
wait_for 5 eval '[ "$(said "eviction: [1-9][0-9]* bytes went")" -gt 0 ]'
at_least 'evictions' "$(said 'eviction: [1-9][0-9]* bytes went')" 1
# Last: it bans the server for the others, too.
cat "$M/busy" >"$T/none" 2>/dev/null
at_least 'what is busy: it is named' "$(said 'busy: [a-z-]*: http.*503')" 1
is 'no secret' "$(said 'hunter')" 0
unmnt

rm "$T/log"
"$RGETFS" mount --cache-dir="$T/cache" --log-file="$T/log" --fill=none --retry-time=3s "$T/list" "$M" || bail 'the mount failed'
cat "$M/missing" >"$T/none" 2>/dev/null
cat "$M/good" >/dev/null
is 'without debug: the verdict' "$(said 'missing: gone: ')" 1
is 'and no leases' "$(said ' lease ')" 0
unmnt
done_testing
