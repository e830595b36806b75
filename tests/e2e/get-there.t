#!/usr/bin/env bash
# get never writes over a file: the same one counts as done, another one fails; a stranger's part is left alone.
. "$(dirname "$0")/lib.sh"

mkdir "$T/dl" && cd "$T/dl" || exit 99
get() { "$RGETFS" get --retry-time=3s "$@" >"$T/out" 2>"$T/err"; }
state() { stat -c '%i %s %Y' "$1" && md5sum "$1"; }
origin_start '/* size=100000'

get "$U/f"
before=$(state f)
ctl reset
get "$U/f"
is 'the same: exit status' "$? $(cat "$T/err")" '0 '
is 'the same: told' "$(cat "$T/out")" 'f: 98 KiB, there already'
is 'the same: untouched' "$(state f)" "$before"
at_most 'the same: one question' "$(all_requests)" 1
at_most 'the same: nothing fetched' "$(all_sent)" 65536
get --json "$U/f"
is 'the same: event' "$(jq -r .event "$T/out" | tr '\n' ' ')" 'begin there end '

touch -d @1500000000 f
get --checksum "$(sum_of /f 100000 | cut -d= -f2-)" -O f "$U/f"
is 'right by its checksum, whatever its date' "$? $(cat "$T/out")" '0 f: 98 KiB, there already'

refused() { # NAME FILE…: exit 1, one line, untouched
	local name=$1 before
	shift
	before=$(state f)
	get "$U/f"
	is "$name: failed" "$? $(wc -l <"$T/err")" '1 1'
	like "$name: named" "$(cat "$T/err")" '^rgetfs: f: '
	is "$name: untouched" "$(state f)" "$before"
	is "$name: no part" "$(find . -name '*.part')" ''
}
refused 'of another date'
printf 'mine\n' >f
refused 'of another size'
touch -d @1600000000 f
refused 'of another size and the same date'
head -c 100000 /dev/zero >f
touch -d @1600000000 f
get --checksum "$(sum_of /f 100000 | cut -d= -f2-)" -O f "$U/f"
is 'of another checksum: failed' "$? $(wc -l <"$T/err")" '1 1'
is 'of another checksum: untouched' "$(tr -d '\0' <f | wc -c) $(stat -c %s f)" '0 100000'
rm f
mkdir f
get "$U/f"
is 'a directory: failed' "$? $(wc -l <"$T/err")" '1 1'
rmdir f
ln -s "$T/elsewhere" f
get "$U/f"
is 'a link: failed' "$? $(readlink f)" "1 $T/elsewhere"
fails 'a link: not followed' test -e "$T/elsewhere"
rm f

printf 'somebody'\''s\n' >f.part
get "$U/f"
is 'a part that is not ours: failed' "$? $(wc -l <"$T/err")" '1 1'
like 'a part that is not ours: named' "$(cat "$T/err")" '^rgetfs: f: .*f\.part'
is 'a part that is not ours: untouched' "$(cat f.part; ls)" "somebody's"$'\n'"f.part"
rm f.part
ln -s "$T/elsewhere" f.part
get "$U/f"
is 'a link for a part: failed' "$?" 1
fails 'a link for a part: not followed' test -e "$T/elsewhere"
rm f.part
get "$U/f"
is 'out of the way: done' "$? $(cat "$T/err")" '0 '
ok 'out of the way: right' content f /f
done_testing
