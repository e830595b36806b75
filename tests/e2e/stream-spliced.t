#!/usr/bin/env bash
# sendfile, splice and private mappings end at the size that the kernel knows, and of a stream that is not its length:
# they are refused while it is unknown, and whoever then reads instead gets every byte. Never less, and no error.
. "$(dirname "$0")/lib.sh"

size=900000
access=$BUILD/tests/e2e/access
origin_start "/fresh size=$size ranges=no fault=chunked rate=2M" "/grown size=$size ranges=no fault=chunked rate=500K" \
	"/closed size=$size ranges=no fault=unsized rate=2M" "/copied size=$size ranges=no fault=chunked rate=2M"
list /fresh /grown /closed /copied
must_mnt --retry-time=20s
all_or_error() { # WAY FILE
	rm -f "$T/copy"
	"$access" "$1" "$M/$2" "$T/copy" >/dev/null 2>&1 || return 0
	[ "$(stat -c %s "$T/copy")" = "$size" ] && content "$T/copy" "/$2"
}
ok 'sendfile: all or an error' all_or_error sendfile fresh
ok 'splice: all or an error' all_or_error splice closed
fails 'a private mapping shows no less either' "$access" map-private "$M/fresh" 4096 1
exec 3<"$M/grown"
dd of="$T/begin" bs=65536 count=3 iflag=fullblock status=none <&3
is 'the beginning of it' "$(stat -c %s "$T/begin")" 196608
at_least 'what has come by then is shown' "$(stat -c %s "$M/grown")" 65536
ok 'sendfile while it grows: all or an error' all_or_error sendfile grown
ok 'splice while it grows: all or an error' all_or_error splice grown
cat <&3 >"$T/rest"
cat "$T/begin" "$T/rest" >"$T/whole"
is 'read to the end meanwhile' "$(stat -c %s "$T/whole")" "$size"
ok 'its bytes' content "$T/whole" /grown
exec 3<&-
if command -v python3 >/dev/null; then
	python3 -c 'import shutil, sys; shutil.copyfile(*sys.argv[1:])' "$M/copied" "$T/copy"
	is 'a copy by a program that tries sendfile first' "$(stat -c %s "$T/copy")" "$size"
	ok 'its bytes' content "$T/copy" /copied
else
	skip 'a copy by a program that tries sendfile first' 'no python3'
fi
for f in fresh closed grown; do
	cat "$M/$f" >"$T/copy"
	ok "$f: its length is known now" wait_for 5 eval "[ \"\$(stat -c %s '$M/$f')\" = $size ]"
	for how in sendfile splice; do
		rm -f "$T/copy"
		ok "$f: $how of a file whose length is known" "$access" "$how" "$M/$f" "$T/copy"
		is "$f: all of it" "$(stat -c %s "$T/copy")" "$size"
		ok "$f: the bytes" content "$T/copy" "/$f"
	done
done
done_testing
