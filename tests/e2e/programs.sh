# shellcheck shell=bash disable=SC2034
# programs.sh - run people's programs on a mount and on a local copy, and compare. Source it after lib.sh.
#
#   local_files [SIZE]           $T/local, where fixtures are made: without read-ahead, where root can make a file system
#   show_files [OPTION]…         the origin serves them, $T/list has all of them, and it is mounted
#   same NAME COMMAND            COMMAND (bash) in both directories gives the same output and status
#   program NAME COMMAND FILE…   the same, and frugal. Bytes: at most twice the blocks of 64 KiB that COMMAND touches of
#                                FILEs, and 128 KiB after each run of them, which the kernel reads ahead; and not more
#                                than FILEs hold, but for 1/20. Requests: at most one for each READ that had to wait,
#                                two for each MiB touched (windows), and eight. Done again it makes none

local_files() { # SIZE of the file system
	local loop
	exact=
	mkdir -p "$T/local"
	[ "$(id -u)" -eq 0 ] || return 0
	truncate -s "${1:-300M}" "$T/image"
	mkfs.ext4 -q -F -m 0 "$T/image" || bail 'no mkfs.ext4'
	loop=$(losetup -f --show "$T/image") || bail 'no loop device'
	echo 0 >"/sys/block/${loop#/dev/}/queue/read_ahead_kb"
	mount -o noatime "$loop" "$T/local" || bail 'no mount of a loop device'
	rmdir "$T/local/lost+found"
	exact=yes
}

show_files() { # [OPTION of mount]…
	local f
	sync -f "$T/local"
	origin_start "/f/* dir=$T/local"
	(cd "$T/local" && find . -type f -printf '%P\n') | while IFS= read -r f; do
		printf '%s/f/%s\n out=%s\n size=%s\n' "$U" "$f" "$f" "$(stat -c %s "$T/local/$f")"
	done >"$T/list"
	must_mnt "$@"
}

run_in() { # DIRECTORY COMMAND: its output and status
	(cd "$1" && bash -c "$2") 2>&1
	printf 'status %d\n' $?
}

same() { # NAME COMMAND
	run_in "$T/local" "$2" >"$T/want"
	run_in "$M" "$2" >"$T/got"
	ok "$1: as on a local copy" cmp "$T/got" "$T/want"
}

program() { # NAME COMMAND FILE…
	local name=$1 command=$2 blocks runs misses most n before
	shift 2
	(cd "$T/local" && "$BUILD/tests/e2e/access" forget "$@") >/dev/null
	run_in "$T/local" "$command" >"$T/want"
	blocks=$(cd "$T/local" && "$BUILD/tests/e2e/access" blocks "$@")
	most=$(cd "$T/local" && stat -c %s "$@" | awk '{ s += $1 } END { print int(s + s / 20 + 65536) }')
	runs=$(cd "$T/local" && "$BUILD/tests/e2e/access" runs "$@")
	[ "$most" -lt $((blocks * 65536 * 2 + runs * 131072)) ] || most=$((blocks * 65536 * 2 + runs * 131072))
	misses=$(status | jq '.totals.reads - .totals.read_hits')
	before=$(all_sent)
	n=$(all_requests)
	run_in "$M" "$command" >"$T/got"
	ok "$name: as on a local copy" cmp "$T/got" "$T/want"
	quiet
	misses=$(($(status | jq '.totals.reads - .totals.read_hits') - misses))
	before=$(($(all_sent) - before))
	n=$(($(all_requests) - n))
	if [ -z "$exact" ]; then
		skip "$name: bytes over blocks touched" 'needs root: a loop device without read-ahead'
		skip "$name: requests over READs" 'needs root: a loop device without read-ahead'
	else
		at_most "$name: bytes sent for $blocks blocks" "$before" "$most"
		at_most "$name: requests for $misses READs of $blocks blocks" "$n" $((misses + blocks / 8 + 8))
	fi
	drop_page_cache_of "$@"
	n=$(all_requests)
	run_in "$M" "$command" >"$T/got"
	ok "$name: the same again" cmp "$T/got" "$T/want"
	is "$name: again without a request" "$(all_requests)" "$n"
}

drop_page_cache_of() { (cd "$M" && "$BUILD/tests/e2e/access" forget "$@") >/dev/null 2>&1; }
