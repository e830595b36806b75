#!/usr/bin/env bash
# ls -l of files without a size whose host refuses connections: one short wait for all of them, and when it is back they appear.
. "$(dirname "$0")/lib.sh"

origin_start '/* size=3000'
for i in $(seq 50); do
	printf '%s/f%d\n out=down/f%d\n' "$U" "$i" "$i"
done >"$T/list"
printf 'http://no-such-host.invalid/n%d\n out=nameless/n%d\n' 1 1 2 2 3 3 >>"$T/list"
printf '%s/known\n size=3000\n out=known\n' "$U" >>"$T/list"
origin_stop
retry=40 # s
must_mnt --retry-time=${retry}s
ms=$(took_ms ls -l "$M/down")
at_least 'a host that refuses is given a moment, ms' "$ms" 1000
at_most 'then all are told at once, ms' "$ms" $((retry * 1000 / 4))
ms=$(took_ms ls -l "$M/down")
at_most 'and again, ms' "$ms" $((retry * 1000 / 8))
at_most 'a name that does not resolve, ms' "$(took_ms ls -l "$M/nameless")" $((retry * 1000 / 2))
is 'that is no ENOENT' "$(stat "$M/down/f1" 2>&1 | grep -c 'Input/output error')" 1
# shellcheck disable=SC2012 # the names are known
is 'all names are there' "$(ls "$M/down" | wc -l)" 50
like 'status says why' "$(of_file down/f1 error)" '^connect: '
# Much later, when bans are long: still no long wait.
sleep 6
at_most 'later, ms' "$(took_ms ls -l "$M/down")" $((retry * 1000 / 4))

origin_start '/* size=3000'
ok 'back: a file that had failed appears' wait_for 60 stat "$M/down/f1"
at_most 'back: and all others with it, ms' "$(took_ms ls -l "$M/down")" $((retry * 1000 / 4))
is 'back: with their sizes' "$(find "$M/down" -size -3001c -size +2999c | wc -l)" 50
ok 'back: their bytes' content "$M/down/f50" /f50
ok 'back: and those of others' content "$M/known" /known
done_testing
