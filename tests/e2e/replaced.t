#!/usr/bin/env bash
# The object is replaced while it is read: a reader gets bytes of one version or an error, and the next open the new version.
. "$(dirname "$0")/lib.sh"

size=6000000
one_version() { # FILE PATH: a whole copy is of one version, or fails
	cat "$1" >"$T/copy" 2>/dev/null || return 0
	content "$T/copy" "$2" 0 || content "$T/copy" "$2" 1
}
origin_start "/strong size=$size rate=20M" "/date size=$size etag=none rate=20M" \
	"/size size=$size etag=none last-modified=none rate=20M" "/other-size size=$size rate=20M"
list /strong /date /other-size
must_mnt --revalidate=always --retry-time=5s --fill=none
for f in strong date other-size; do
	exec 9<"$M/$f"
	head -c 1000000 <&9 >"$T/begin"
	ok "$f: the beginning is version 0" content "$T/begin" "/$f" 0
	[ "$f" = other-size ] && more=5000 || more=0
	etag=
	[ "$f" = date ] && etag='etag=none'
	ctl "/$f size=$((size + more)) version=1 $etag"
	cat <&9 >"$T/rest" 2>/dev/null
	ok "$f: the old descriptor goes on with version 0 or ends with an error" content - "/$f" 0 1000000 <"$T/rest"
	exec 9<&-
	ok "$f: a copy is of one version" one_version "$M/$f" "/$f"
	ok "$f: soon the new version is there" wait_for 10 content "$M/$f" "/$f" 1
	is "$f: with its size" "$(stat -c %s "$M/$f")" $((size + more))
done
unmnt

ctl "/strong size=$size fault=version:1@3-"
list /strong 'out=midway'
rm -rf "$T/cache"
mkdir -m 700 "$T/cache"
must_mnt --retry-time=5s
ok 'a change between two requests: one version or an error' one_version "$M/midway" /strong
ok 'and in the end the new one' wait_for 10 content "$M/midway" /strong 1
remnt --offline
ok 'what was kept is of one version' one_version "$M/midway" /strong
done_testing
