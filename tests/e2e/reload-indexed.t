#!/usr/bin/env bash
# Files that changed on their server, indexed again and reloaded: once more after a version changed in this mount, and while
# a descriptor of the old version is open.
. "$(dirname "$0")/lib.sh"

size=8000000
index() { # /PATH…
	list "$@"
	cp "$T/list" "$T/plain"
	"$RGETFS" index -q -o "$T/list.json" "$T/plain" || bail 'no index'
	cp "$T/list.json" "$T/list"
}
version() { # N SIZE
	ctl "/f size=$2 version=$1"
}

origin_start "/f size=$size"
index /f
must_mnt --fill=none
ok 'version 0' piece "$M/f" /f 0 65536
for v in 1 2 3; do
	version "$v" $((size + v % 2))
	index /f
	exec 8<"$M/f"
	fails "version $v: not what the manifest says" eval 'pread "$M/f" 6000000 1000 >/dev/null'
	exec 8<&-
	ok "version $v: reload" "$RGETFS" reload "$M"
	is "version $v: size" "$(stat -c %s "$M/f")" $((size + v % 2))
	ok "version $v: its bytes" piece "$M/f" /f 100000 1000 "$v"
done

ok 'all of the last one' content "$M/f" /f 3
version 4 $((size + 7))
exec 8<"$M/f"
index /f
ok 'open: reload' "$RGETFS" reload "$M"
is 'open: the size' "$(stat -c %s "$M/f")" $((size + 7))
ok 'open: all' content "$M/f" /f 4
ok 'open: the old descriptor goes on with what it had' content - /f 3 <&8
exec 8<&-
is 'no error is left' "$(of_file f error)" ''
remnt --fill=none
ok 'after a remount' content "$M/f" /f 4
unmnt

# By a list without sizes the version changes by itself; then an index and two more changes.
list /g 'id=g'
ctl "/g size=$size"
must_mnt --fill=none --revalidate=always
ok 'plain: version 0' content "$M/g" /g
ctl "/g size=$size version=1"
cat "$M/g" >/dev/null
ok 'plain: version 1' wait_for 10 content "$M/g" /g 1
for v in 2 3; do
	ctl "/g$v content=/g size=$((size + v)) version=$v" "/g fault=status:403"
	list "/g$v" 'out=g' 'id=g' "size=$((size + v))"
	ok "plain: reload $v" "$RGETFS" reload "$M"
	is "plain: size $v" "$(stat -c %s "$M/g")" $((size + v))
	ok "plain: version $v" content "$M/g" /g "$v"
done
done_testing
