#!/usr/bin/env bash
# index asks all sizes once, and a mount of what it wrote asks none; reload takes an edited manifest over without unmounting.
. "$(dirname "$0")/lib.sh"

for i in $(seq 40); do
	rules+=("/f$i size=$((i * 1000))")
	paths+=("/f$i")
done
origin_start "${rules[@]}" '/gone fault=status:404'
list "${paths[@]}"
ok 'index' "$RGETFS" index -o "$T/out.json" "$T/list"
at_most 'requests of it' "$(all_requests)" 40
is 'sizes in it' "$(jq -s '[.. | objects | select(has("size")) | .size] | add' "$T/out.json")" 820000
n=$(all_requests)
cp "$T/out.json" "$T/list"
must_mnt
is 'sizes' "$(find "$M" -type f -printf '%s\n' | awk '{ s += $1 } END { print s }')" 820000
is 'no request' "$(all_requests)" "$n"
ok 'the bytes' content "$M/f7" /f7
unmnt

list /f1 /f2
must_mnt
exec 8<"$M/f1"
list /f2 /f3
ok 'reload' "$RGETFS" reload "$M"
is 'names' "$(find "$M" -type f -printf '%f\n' | sort | tr '\n' ' ')" 'f2 f3 '
ok 'a new one reads' content "$M/f3" /f3
ok 'an open one lives on' content - /f1 <&8
exec 8<&-
list /f9 'nonsense=1'
fails 'a wrong one is refused' "$RGETFS" reload "$M"
is 'whole' "$(find "$M" -type f -printf '%f\n' | sort | tr '\n' ' ')" 'f2 f3 '
list /f2 /gone
"$RGETFS" index -o "$T/out2.json" "$T/list" 2>"$T/err"
is 'index with one that is gone: exit status' $? 1
like 'and its name' "$(cat "$T/err")" 'gone'
done_testing
