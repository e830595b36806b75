#!/usr/bin/env bash
# Redirects to ever new hosts: what is remembered of them has a bound, and the server itself is read as ever.
. "$(dirname "$0")/lib.sh"

origin_start '/fine size=100000'
for i in $(seq 600); do
	printf '/r%d redirect=http://127.1.%d.%d:9/x\n' "$i" $((i / 200)) $((i % 200 + 1))
done >"$T/rules"
curl -sS --data-binary "@$T/rules" "$U/_ctl"
list $(seq -f '/r%g' 600) /fine
sed -i 's/\(.*\/r[0-9]*\)$/\1\n size=1000/' "$T/list"
must_mnt --fill=none --retry-time=1s --log-level=info
known() { status | jq '.origins | length'; }
seq -f "$M/r%g" 600 | xargs -P 100 -n 1 head -c1 2>/dev/null >&2
is 'all were tried' "$(for i in 1 300 600; do requests "/r$i"; done | tr '\n' ' ' | sed 's/[1-9][0-9]*/n/g')" 'n n n '
at_least 'they are in trouble' "$(known)" 1
ok 'but not all are remembered' wait_for 15 eval '[ "$(known)" -le 450 ]'
diag "remembered: $(known)"
ok 'the server is read as ever' content "$M/fine" /fine
fails 'and the others fail as ever' head -c1 "$M/r7"
like 'by name' "$(of_file r7 error)" '^connect: http://127.1.0.8:9: '
done_testing
