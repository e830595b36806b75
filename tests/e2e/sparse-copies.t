#!/usr/bin/env bash
# Copies by programs that look for holes, with nothing, one block, half and all of the file cached: equal bytes, four times.
. "$(dirname "$0")/lib.sh"
need rsync tar

size=2000000
origin_start "/* size=$size"
"$FORMULA" cat 1 /x 0 0 $size >"$T/local"
# Long runs of zeros are where such programs could go wrong in the other direction.
{ head -c 300000 /dev/zero && head -c 200000 "$T/local" && head -c 500000 /dev/zero; } >"$T/zeros"
ctl "/zeros file=$T/zeros"
list /x /zeros
copies() { # STATE
	local f
	for f in x:local zeros:zeros; do
		rm -rf "$T/out"
		mkdir "$T/out"
		"$@" "$M/${f%%:*}" || return 1
		cmp "$T/out/${f%%:*}" "$T/${f#*:}" || return 1
	done
}
by_cp() { cp "$1" "$T/out/"; }
by_sparse_cp() { cp --sparse=always "$1" "$T/out/"; }
by_reflink_cp() { cp --reflink=auto "$1" "$T/out/"; }
by_tar() { tar -C "$M" -cSf - "${1##*/}" | tar -C "$T/out" -xf -; }
by_rsync() { rsync -S "$1" "$T/out/"; }
by_dd() { dd if="$1" of="$T/out/${1##*/}" conv=sparse bs=64K status=none; }
fresh() { # make the state anew
	must_mnt --fill=none
	"$RGETFS" drop "$M/x" "$M/zeros" >/dev/null
	"$@"
}
nothing() { :; }
one_block() { piece "$M/x" /x 700000 10 && pread "$M/zeros" 700000 10 >/dev/null; }
half() { piece "$M/x" /x 0 1000000 && pread "$M/zeros" 0 500000 >/dev/null; }
everything() { cat "$M/x" "$M/zeros" >/dev/null; }
for state in nothing one_block half everything; do
	for how in by_cp by_sparse_cp by_reflink_cp by_tar by_rsync by_dd; do
		fresh "$state" || diag "state $state can't be made"
		ok "$state cached: ${how#by_}" copies "$how"
		unmnt
	done
done
must_mnt --fill=none
at_least 'st_blocks of a file with nothing cached' "$("$RGETFS" drop "$M/x" >/dev/null; stat -c %b "$M/x")" 1
done_testing
