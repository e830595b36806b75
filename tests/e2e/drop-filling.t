#!/usr/bin/env bash
# What a fill order in the background has not come to yet is not fetched after a drop of it; the rest of the order goes on.
. "$(dirname "$0")/lib.sh"

origin_start '/d/* size=100000 delay=100ms' '/k/* size=100000 delay=100ms'
for i in $(seq 300); do printf '%s/d/%d\n dir=d\n size=100000\n' "$U" "$i"; done >"$T/list"
for i in $(seq 30); do printf '%s/k/%d\n dir=k\n size=100000\n' "$U" "$i"; done >>"$T/list"
must_mnt --fill=none --max-connections-per-host=8
"$RGETFS" fill --no-wait "$M" >"$T/out"
is 'the order' "$(cat "$T/out")" '330 files are being fetched (rgetfs status shows how far)'
ok 'it is at work' wait_for 10 eval '[ "$(total bytes_cached)" -ge 300000 ]'
ok 'drop of some that it has not come to' "$RGETFS" drop -q "$M"/d/{201..300}
ok 'the others are filled' wait_for 30 eval '[ "$(total files_complete)" = 230 ]'
quiet
is 'those that were dropped are not' "$(status --all | jq '[.files[] | select(.bytes_cached == 0) | .path] | length')" 100
is 'nor asked for' "$(logged '.path | test("^/d/(2[0-9][1-9]|2[1-9]0|300)$")' | wc -l)" 0
ok 'right bytes' content "$M/k/1" /k/1
ok 'and can be had again' content "$M/d/300" /d/300

# With somebody who waits: he hears of each.
"$RGETFS" drop -q "$M"
("$RGETFS" fill -q "$M" 2>"$T/err"; echo $? >"$T/status") &
ok 'at work again' wait_for 10 eval '[ "$(total bytes_cached)" -ge 300000 ]'
ok 'drop of all' "$RGETFS" drop -q "$M"
ok 'the order ends' wait_for 20 test -s "$T/status"
is 'as a failure' "$(cat "$T/status")" 1
like 'of files by name' "$(sort "$T/err" | tail -n 1)" "^rgetfs: $M/k/[0-9]+: dropped by another order$"
sleep 1
is 'nothing comes back' "$(total bytes_cached)" 0
done_testing
