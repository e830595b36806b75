#!/usr/bin/env bash
# What looks at a file without reading it costs little, and nothing the second time.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/programs.sh"
need file

local_files
"$FORMULA" cat 1 /data 0 0 60000000 >"$T/local/data"
cp "$T/local/data" "$T/local/data2"
cp "$T/local/data" "$T/local/data3"
"$FORMULA" cat 1 /parquet 0 0 84934656 >"$T/local/parquet"
show_files
program 'head -c1' 'head -c1 data | xxd' data
program 'tail -c1' 'tail -c1 data2 | xxd' data2
program 'file' 'file data3' data3
program 'stat' 'stat -c "%s %F" data data2' data
program 'a few random reads' 'for o in 10000000 50000000 20000000 40000000; do dd if=data bs=4096 count=1 skip=$o iflag=skip_bytes status=none; done | sha256sum' data
# As DuckDB reads a row group of an 81 MiB file: the footer's length, the footer, three column chunks one after another.
program 'a Parquet footer and a row group' 'piece() { dd if=parquet iflag=skip_bytes,count_bytes,fullblock bs=1M skip=$1 count=$2 status=none; }
	{ piece 84930560 4096; piece 84914176 16384; piece 42000000 300000; piece 42700000 350000; piece 43500000 280000; } | sha256sum' parquet
is 'HEAD, OPTIONS, PROPFIND' "$(logged_count '.method != "GET"')" 0
done_testing
