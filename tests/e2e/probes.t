#!/usr/bin/env bash
# What looks at a file without reading it costs little, and nothing the second time.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/programs.sh"
need file

local_files
"$FORMULA" cat 1 /data 0 0 60000000 >"$T/local/data"
cp "$T/local/data" "$T/local/data2"
cp "$T/local/data" "$T/local/data3"
show_files
program 'head -c1' 'head -c1 data | xxd' data
program 'tail -c1' 'tail -c1 data2 | xxd' data2
program 'file' 'file data3' data3
program 'stat' 'stat -c "%s %F" data data2' data
program 'a few random reads' 'for o in 10000000 50000000 20000000 40000000; do dd if=data bs=4096 count=1 skip=$o iflag=skip_bytes status=none; done | sha256sum' data
is 'HEAD, OPTIONS, PROPFIND' "$(logged_count '.method != "GET"')" 0
done_testing
