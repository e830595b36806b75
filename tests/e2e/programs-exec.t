#!/usr/bin/env bash
# Mappings shared and private from four threads, strides, one descriptor for four threads, sendfile, splice, and programs that are
# executed from the mount.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/programs.sh"

local_files
"$FORMULA" cat 1 /data 0 0 24000001 >"$T/local/data"
printf '#!/bin/sh\necho "script $1"\n' >"$T/local/script"
cp "$FORMULA" "$T/local/binary"
sync -f "$T/local"
origin_start "/f/* dir=$T/local"
printf '%s\n' "$U/f/data" " size=24000001" "$U/f/script" ' mode=0555' "$U/f/binary" ' mode=0555' >"$T/list"
must_mnt
chmod +x "$T/local/script" "$T/local/binary"
export A=$BUILD/tests/e2e/access
program 'a script' './script x' script
program 'a binary' './binary cat 1 /y 0 0 10' binary
# What these cost is in strided.t: the kernel asks for more than they touch, and not always for the same.
same 'mapping, strides of 512 KiB, four threads' '"$A" map data 512K 4'
same 'private mapping' '"$A" map-private data 300K 4'
same 'one descriptor, four threads' '"$A" pread data 200000 4'
same 'mapping of every page' '"$A" map data 4096 4'
# Never direct I/O for files of known size: it would refuse a shared mapping.
printf '%s\n' "$U/f/data" ' out=learned' "$U/f/data" ' out=told' ' size=24000001' "$U/f/data" ' out=nothing' >"$T/list2"
mkdir "$T/mnt2"
"$RGETFS" mount --cache-dir="$T/cache" --fill=none "$T/list2" "$T/mnt2" || bail 'the second mount failed'
want=$("$A" map "$T/local/data" 512K 4)
for f in told learned; do
	is "a shared mapping of what has nothing cached: $f" "$("$A" map "$T/mnt2/$f" 512K 4)" "$want"
	cat "$T/mnt2/$f" >/dev/null
	is "of what is complete: $f" "$("$A" map "$T/mnt2/$f" 512K 4)" "$want"
done
"$RGETFS" unmount "$T/mnt2"
program 'sendfile' '"$A" sendfile data "$HOME/out" && cmp data "$HOME/out"' data
program 'splice' '"$A" splice data "$HOME/out" && cmp data "$HOME/out"' data
done_testing
