#!/usr/bin/env bash
# The origin is gone right after a restart: cached bytes are served; "could not ask" is no "gone", and a 404 is.
. "$(dirname "$0")/lib.sh"

origin_start '/* size=300000'
list /a /b /c 'size=300000'
must_mnt --fill=none
cat "$M/a" >/dev/null
settled a
origin_stop
remnt --retry-time=1s --connect-timeout=1s --revalidate=always
ok 'cached, although it cannot be asked' content "$M/a" /a
like 'could not ask: no ENOENT' "$( (head -c1 <"$M/c") 2>&1)" 'Input/output error'
ok 'ls' ls -l "$M"
origin_start '/* size=300000 fault=status:404'
ok 'gone says so, soon' wait_for 20 eval '! head -c1 "$M/c" 2>/dev/null && of_file c error | grep -E "404|gone"'
ok 'cached bytes of what is gone' content "$M/a" /a
ctl '/* size=300000'
ok 'and when it is back' wait_for 15 content "$M/c" /c
done_testing
