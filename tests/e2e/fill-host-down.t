#!/usr/bin/env bash
# fill from a host that is not there: told after the retry time and not ten times that, all files of a directory together; it
# goes on by itself where the host comes back in time.
. "$(dirname "$0")/lib.sh"

origin_start '/* size=300000'
for i in $(seq 100); do
	printf '%s/f%d\n size=300000\n out=down/f%d\n' "$U" "$i" "$i"
done >"$T/list"
origin_stop
retry=4 # s
must_mnt --retry-time=${retry}s
failing() { ! "$RGETFS" fill "$@" 2>"$T/err"; }
ms=$(took_ms failing "$M/down/f1")
at_least 'a file: the retry time, ms' "$ms" $((retry * 1000 / 2))
at_most 'a file: and not much more, ms' "$ms" $((retry * 3000))
like 'the message names host and reason' "$(cat "$T/err")" 'down/f1: .*no connection to the server'
at_most 'a hundred files after it, ms' "$(took_ms failing "$M/down")" $((retry * 3000))
is 'each is told' "$(grep -c 'no connection to the server' "$T/err")" 100
origin_restart() {
	sleep 2
	origin_start '/* size=300000'
}
remnt --retry-time=60s
"$RGETFS" fill "$M/down" >"$T/out" 2>"$T/err" &
pid=$!
origin_restart
ended 'the host comes back while it waits' "$pid"
ok 'the bytes' content "$M/down/f100" /f100
done_testing
