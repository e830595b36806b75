#!/usr/bin/env bash
# git on a packed bare repository: a log, an old file, a clone.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/programs.sh"
need git

local_files
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
git config --global safe.directory '*'
git config --global init.defaultBranch main
git init -q "$T/work"
for i in $(seq 60); do
	"$FORMULA" cat 1 "/$i" 0 0 40000 | base64 >"$T/work/f$((i % 7))"
	git -C "$T/work" add . && git -C "$T/work" commit -qm "change $i"
done
git clone -q --bare "$T/work" "$T/local/r.git"
git -C "$T/local/r.git" repack -qadf
git -C "$T/local/r.git" pack-refs --all || bail 'git makes no repository'
rm -rf "$T/local/r.git/hooks"
mkdir -p "$T/local/r.git/refs"
# Files only: a directory without files is told by a line of its own in a JSON manifest; git wants refs and objects.
: >"$T/local/r.git/refs/.keep"
show_files
pack=$(cd "$T/local" && find r.git/objects/pack -type f)
# shellcheck disable=SC2086
program 'log' 'git --git-dir=r.git log -3 --stat --format=%s' $pack
# shellcheck disable=SC2086
program 'an old file' 'git --git-dir=r.git show main~30:f3 | sha256sum' $pack
ok 'clone' git clone -q "$M/r.git" "$T/clone"
ok 'the same files' diff -r --exclude=.git "$T/work" "$T/clone"
ok 'fsck' git -C "$T/clone" fsck
done_testing
