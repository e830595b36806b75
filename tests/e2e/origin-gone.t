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
like 'could not ask: says so' "$(of_file c error)" '^connect: '
is 'could not ask what is not in the manifest: a failure' "$(stat -c %s "$M/b" 2>&1 | grep -c 'No such file')" 0
ok 'ls' ls -l "$M"
# shellcheck disable=SC2012 # the names are known
is 'and shows all names' "$(ls "$M" | tr '\n' ' ')" 'a b c '
origin_start '/* size=300000 fault=status:404'
asked() { head -c1 "$M/c" 2>/dev/null || [[ $(of_file c error) != connect:* ]]; }
ok 'asked again, soon' wait_for 20 asked
like 'gone: says so' "$(of_file c error)" '^gone: .*404'
is 'gone: failed' "$(of_file c state)" failed
n=$(requests /c)
fails 'gone: the read is an error' head -c1 "$M/c"
at_most 'a 404 is final: requests' $(($(requests /c) - n)) 1
ok 'cached bytes of what is gone' content "$M/a" /a
ctl '/* size=300000'
ok 'and when it is back' wait_for 15 content "$M/c" /c
is 'nothing wrong any more' "$(of_file c error)" ''
done_testing
