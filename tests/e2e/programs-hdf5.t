#!/usr/bin/env bash
# h5ls and h5dump: what is in a file, and one value of it.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/programs.sh"
need h5import h5dump h5ls

local_files
for i in 1 2 3; do
	"$FORMULA" cat 1 "/$i" 0 0 10000000 >"$T/data$i"
	args+=("$T/data$i" -dims 2500000 -path "group/part$i" -type UIN -size 32)
done
h5import "${args[@]}" -outfile "$T/local/x.h5" || bail 'h5import makes no file'
show_files
program 'h5ls' 'h5ls -r x.h5' x.h5
program 'one value' 'h5dump -d /group/part2 -s 1234567 -c 1 x.h5' x.h5
program 'header' 'h5dump -H x.h5' x.h5
done_testing
