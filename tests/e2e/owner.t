#!/usr/bin/env bash
# Whose the files are and what may be done with them: --uid, --gid, --mode, --dir-mode, and --allow-other, which has the kernel
# hold everybody to that.
. "$(dirname "$0")/lib.sh"

size=100000
origin_start "/* size=$size"
list /d/a 'dir=d' /d/x 'dir=d' 'mode=0555'
show() { stat -c '%u %g %a' "$@"; }

must_mnt --user-agent=somebody/1.0
is 'a file is the caller'\''s and readable' "$(show "$M/d/a")" "$(id -u) $(id -g) 444"
is 'a program is executable' "$(show "$M/d/x")" "$(id -u) $(id -g) 555"
is 'a directory, and the root' "$(show "$M/d" "$M" | sort -u)" "$(id -u) $(id -g) 555"
ok 'read' content "$M/d/a" /d/a
is 'as whom it was asked for' "$(logged '.path == "/d/a"' | jq -r .user_agent | sort -u)" somebody/1.0

remnt --uid=65534 --gid=12 --mode=0440 --dir-mode=0550
is 'another owner' "$(show "$M/d/a")" '65534 12 440'
is 'of directories too' "$(show "$M/d")" '65534 12 550'
is 'what the manifest says goes before' "$(show "$M/d/x")" '65534 12 555'

if [ "$(id -u)" -ne 0 ]; then
	skip 'others' 'needs another user'
	unmnt
	if grep -qx user_allow_other /etc/fuse.conf 2>/dev/null; then
		skip 'the plain line' '/etc/fuse.conf allows it'
	else
		mnt --allow-other 2>"$T/err"
		is 'allow-other where fuse.conf forbids it' $? 1
		like 'a plain line' "$(cat "$T/err")" '^rgetfs: .*/etc/fuse\.conf'
		is 'one' "$(wc -l <"$T/err")" 1
	fi
	done_testing
fi
need setpriv
as() { # UID GID COMMAND…
	local uid=$1 gid=$2
	shift 2
	setpriv --reuid="$uid" --regid="$gid" --clear-groups "$@"
}
chmod 711 "$T"
fails 'without --allow-other nobody else gets in' as 65534 12 cat "$M/d/a"
remnt --allow-other --uid=65534 --gid=12 --mode=0440 --dir-mode=0550
ok 'with it the owner reads' as 65534 65534 cmp "$M/d/a" "$M/d/a"
ok 'the group reads' as 1 12 cmp "$M/d/a" "$M/d/a"
fails 'a third does not' as 1 1 cat "$M/d/a"
fails 'nor list' as 1 1 ls "$M/d"
done_testing
