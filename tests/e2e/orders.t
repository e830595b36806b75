#!/usr/bin/env bash
# fill, drop, verify, status and the attributes of files.
. "$(dirname "$0")/lib.sh"

size=3000000
origin_start "/* size=$size"
list /a /b /c "$(sum_of /c $size)"
must_mnt --fill=none
ok 'fill' "$RGETFS" fill "$M/a" "$M/c"
is 'complete' "$(of_file a state)" complete
is 'all of it durable' "$(of_file a bytes_durable)" "$size"
n=$(all_requests)
ok 'reads' content "$M/a" /a
is 'without a request' "$(all_requests)" "$n"
ok 'verify' "$RGETFS" verify "$M/a" "$M/c"
is 'url attribute' "$(xattr url "$M/a")" "$U/a"
is 'the desktop has it too' "$(getfattr --only-values -n user.xdg.origin.url "$M/a")" "$U/a"
is 'state attribute' "$(xattr state "$M/a")" complete
is 'cached' "$(xattr cached "$M/a")" "$size"
is 'durable' "$(xattr durable "$M/a")" "$size"
ok 'drop' "$RGETFS" drop "$M/a"
is 'nothing cached' "$(of_file a bytes_cached)" 0
ok 'and right when read again' content "$M/a" /a
is 'files in status' "$(status --all | jq '.files | length')" 3
is 'totals' "$(total files) $(total bytes)" "3 $((size * 3))"
like 'a table for people' "$("$RGETFS" status "$M")" "$M"
ctl '/b fault=status:404'
"$RGETFS" fill "$M/b" 2>"$T/err"
is 'fill of what is not there fails' $? 1
is 'with one line' "$(wc -l <"$T/err")" 1
"$RGETFS" fill "$T/nowhere" 2>/dev/null
is 'outside of a mount: fails' $? 1
"$RGETFS" fill 2>/dev/null
is 'bad usage' $? 2
ok 'offline' remnt --offline
ok 'cached bytes' content "$M/a" /a
fails 'the others are an error' cat "$M/b"
for c in mount unmount status fill drop verify reload; do
	"$RGETFS" "$c" --help >"$T/help" 2>&1
	is "$c --help" $? 0
done
done_testing
