#!/usr/bin/env bash
# reload brings a new link, header, size, ETag or checksum to a file whose object is in use, or was: new opens, and reads
# that wait, go by the new entry, and what an id names stays cached.
. "$(dirname "$0")/lib.sh"

size=8000000
entry() { # URL-PATH [KEY=VALUE]…: one file of one name and content
	list "$1" 'out=f' 'id=content' "${@:2}"
}
reload() { # NAME
	ok "$1: reload" "$RGETFS" reload "$M"
}
begin() { # MOUNT-OPTION…: a cache of its own
	rm -rf "$T/cache"
	mkdir -m 700 "$T/cache"
	must_mnt --fill=none "$@"
}

origin_start "/* content=/f size=$size" "/key content=/f size=$size auth=user:word"

# ---- a link that is signed anew while the file is open ----
entry /old "size=$size"
begin
exec 8<"$M/f"
ok 'link: the beginning' piece "$M/f" /f 0 65536
settled f
ctl "/old content=/f size=$size fault=status:403"
fails 'link: the old one has died' pread "$M/f" 6000000 1000
entry /new "size=$size"
reload link
ok 'link: a new open' piece "$M/f" /f 2000000 1000000
ok 'link: all through the open descriptor' content - /f <&8
exec 8<&-
is 'link: what was cached is not asked again' "$(logged_count '.path == "/new" and .first < 65536')" 0
is 'link: no error is left' "$(of_file f error)" ''
unmnt

# ---- a read that waits, on a server that does not answer ----
ctl '/slow content=/f size='$size' fault=hang' "/quick content=/f size=$size"
entry /slow "size=$size"
begin --retry-time=60s
pread "$M/f" 1000000 100000 >"$T/piece" &
reader=$!
wait_for 10 eval '[ "$(requests /slow)" -gt 0 ]'
entry /quick "size=$size"
reload waiting
ended 'waiting: the read ends well' "$reader"
ok 'waiting: with its bytes' piece "$T/piece" /f 1000000 0
unmnt

# ---- a header ----
entry /key "size=$size"
begin
exec 8<"$M/f"
fails 'header: refused without it' pread "$M/f" 0 1000
entry /key "size=$size" "header=Authorization: Basic $(printf user:word | base64)"
reload header
ok 'header: read with it' content "$M/f" /f
exec 8<&-
unmnt

# ---- a size, put right while the file is open ----
entry /sized "size=$((size - 5))"
begin
exec 8<"$M/f"
fails 'size: the wrong one' pread "$M/f" 0 1000
entry /sized "size=$size"
reload size
is 'size: stat' "$(stat -c %s "$M/f")" "$size"
ok 'size: all' content "$M/f" /f
entry /sized
reload 'size left out'
is 'size left out: stat' "$(stat -c %s "$M/f")" "$size"
ok 'size left out: all' content "$M/f" /f
exec 8<&-
unmnt

# ---- a checksum ----
ctl "/sum content=/f size=$size"
entry /sum "size=$size" "$(sum_of /f "$size")"
begin
exec 8<"$M/f"
ok 'checksum: all' content "$M/f" /f
ctl "/sum content=/f size=$size version=1"
entry /sum "size=$size" "$(sum_of /f "$size" 1)"
reload checksum
ok 'checksum: the new content' content "$M/f" /f 1
exec 8<&-
entry /sum "size=$size" "$(sum_of /f "$size" 2)"
remnt --fill=none
ctl "/sum content=/f size=$size version=2"
ok 'checksum: nor are cached bytes of another served after a remount' content "$M/f" /f 2
entry /sum "size=$size"
reload 'checksum left out'
ok 'checksum left out: what is cached' content "$M/f" /f 2
unmnt
done_testing
