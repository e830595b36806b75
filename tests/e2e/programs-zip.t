#!/usr/bin/env bash
# unzip: the list, one file, all of them.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/programs.sh"
need zip unzip

local_files
mkdir "$T/in"
for i in $(seq 60); do
	"$FORMULA" cat 1 "/$i" 0 0 $((400000 + i)) >"$T/in/f$i"
done
(cd "$T/in" && zip -q -r "$T/local/a.zip" .)
show_files
program 'list' 'unzip -l a.zip' a.zip
program 'one file' 'unzip -p a.zip f30 | sha256sum' a.zip
program 'test all' 'unzip -tq a.zip' a.zip
done_testing
