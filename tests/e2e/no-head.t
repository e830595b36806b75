#!/usr/bin/env bash
# HEAD is answered 405, 403 or late by many servers: none is ever sent, and sizes are learned all the same.
. "$(dirname "$0")/lib.sh"

origin_start '/a size=1000000 fault=status:405@head' '/b size=70000 fault=hang@head' '/c size=0' '/d size=1 ranges=no'
list /a /b /c /d
must_mnt
is 'sizes' "$(cd "$M" && stat -c %s a b c d | tr '\n' ' ')" '1000000 70000 0 1 '
for f in a b c d; do
	ok "$f" content "$M/$f" "/$f"
done
is 'methods used' "$(jq -r .method "$T/origin-a.log" | sort -u)" GET
done_testing
