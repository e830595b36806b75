#!/usr/bin/env bash
# Programs that read files whole, one after another and several at once: cp, tar, rsync, checksums, grep, diff.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/programs.sh"
need rsync tar

local_files
for i in 1 2 3 4 5; do
	"$FORMULA" cat 1 "/$i" 0 0 $((i * i * 700001)) >"$T/local/f$i"
done
mkdir "$T/local/deep"
seq 200000 >"$T/local/deep/text"
: >"$T/local/deep/empty"
show_files
program 'sha256sum' 'sha256sum f1' f1
program 'cmp and wc' 'wc -c f2; wc -l deep/text; cmp f1 f2' f1 f2 deep/text
program 'grep' 'grep -c 99 deep/text' deep/text
program 'tail' 'tail -n 2 deep/text; head -n 2 deep/text' deep/text
program 'several at once' 'for i in 1 2 3 4; do md5sum f$i & done | sort; wait' f1 f2 f3 f4
program 'tar' 'tar --sort=name --owner=0 --group=0 --mode=0 --mtime=@0 -cf - . | sha256sum' f1 f2 f3 f4 f5 deep/text deep/empty
mkdir "$T/out" "$T/out2"
ok 'cp -r' cp -r "$M/." "$T/out/"
ok 'the same' diff -r "$T/local" "$T/out"
ok 'rsync -a' rsync -a "$M/" "$T/out2/"
ok 'the same again' diff -r "$T/local" "$T/out2"
is 'rsync finds nothing to do' "$(rsync -ain --no-perms --no-owner --no-group "$M/" "$T/out2/")" ''
done_testing
