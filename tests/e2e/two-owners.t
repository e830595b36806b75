#!/usr/bin/env bash
# One cache directory, one owner: a second mount of the manifest is refused by name, a second manifest is not.
. "$(dirname "$0")/lib.sh"

origin_start '/* size=100000'
list /a
must_mnt
cp "$T/list" "$T/other"
mkdir "$T/mnt2"
out=$("$RGETFS" mount --cache-dir="$T/cache" "$T/list" "$T/mnt2" 2>&1)
is 'the second is refused' $? 1
like 'by pid' "$out" "$(daemon_pid)"
like 'and mountpoint' "$out" "$M"
ok 'another manifest on the same root' "$RGETFS" mount --cache-dir="$T/cache" "$T/other" "$T/mnt2"
ok 'reads there' content "$T/mnt2/a" /a
ok 'reads here' content "$M/a" /a
is 'status lists both' "$("$RGETFS" status --json | jq -r .mountpoint | grep -c "^$T/")" 2
ok 'unmount the second' "$RGETFS" unmount "$T/mnt2"
ok 'unmount the first' unmnt
ok 'and then it may be mounted elsewhere' "$RGETFS" mount --cache-dir="$T/cache" "$T/list" "$T/mnt2"
done_testing
