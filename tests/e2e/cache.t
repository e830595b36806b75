#!/usr/bin/env bash
# cache: what there is and who uses it, damage is found, what nobody uses is removed and nothing else.
. "$(dirname "$0")/lib.sh"

size=3000000
origin_start "/* size=$size"
list /a
must_mnt --fill=none
ok 'fill' "$RGETFS" fill -q "$M/a"
printf '%s/b\n' "$U" >"$T/other"
mkdir "$T/mnt2" "$T/cache/strangers-own"
touch "$T/cache/strangers-own/precious"
ok 'another mount' "$RGETFS" mount --cache-dir="$T/cache" --cache-name=other --fill=none "$T/other" "$T/mnt2"
ok 'with bytes' "$RGETFS" fill -q "$T/mnt2"
ok 'that ends' "$RGETFS" unmount "$T/mnt2"
cache() { "$RGETFS" cache "$@" --cache-dir "$T/cache"; }

cache list --json >"$T/json"
is 'both' "$(jq -r .name "$T/json" | sed 's/-[0-9a-f]*$//' | tr '\n' ' ')" 'list other '
is 'one in use' "$(jq -r .used "$T/json" | tr '\n' ' ')" 'true false '
like 'by whom' "$(jq -r 'select(.used).owner' "$T/json")" "^$(daemon_pid) on .*$M$"
is 'for which manifest the other was' "$(jq -r 'select(.used | not).description' "$T/json")" "$T/other on $T/mnt2"
at_least 'how much' "$(jq 'select(.name == "other").bytes' "$T/json")" "$size"
like 'for people' "$(cache list)" 'free +other'
ok 'check' cache check
is 'all blocks, of both' "$(cache check --json | jq -c '[.blocks, .blocks_bad, (.problems | length)]' | tr '\n' ' ')" '[46,0,0] [46,0,0] '

"$FORMULA" cat 1 /b 0 0 100000 >"$T/head"
file=
while IFS= read -r f; do
	cmp -s -n 100000 "$f" "$T/head" && file=$f
done < <(find "$T/cache/other" -type f -size +1000k)
[ -n "$file" ] || bail 'no backing file'
printf 'X' | dd of="$file" bs=1 seek=150000 conv=notrunc status=none
cache check other >"$T/out" 2>"$T/err"
is 'a wrong byte: exit status' $? 1
like 'where' "$(cat "$T/err")" "^rgetfs: $T/cache/other: "
is 'in one block' "$(cache check other --json 2>/dev/null | jq .blocks_bad)" 1

is 'what would be removed' "$(cache prune --dry-run --json | jq -r 'select(.removed).name')" other
ok 'is still there' test -d "$T/cache/other"
ok 'prune' cache prune
fails 'it is gone' test -d "$T/cache/other"
ok 'not what is in use' content "$M/a" /a
ok 'nor what is none of ours' test -e "$T/cache/strangers-own/precious"
is 'one is left' "$(cache list --json | wc -l)" 1
cache check nowhere 2>"$T/err"
is 'no such cache' "$? $(wc -l <"$T/err")" '1 1'
"$RGETFS" cache list --cache-dir "$T/nowhere" >"$T/out" 2>"$T/err"
is 'a root that is none' "$? $(cat "$T/out" "$T/err")" "1 rgetfs: $T/nowhere: No such file or directory"
"$RGETFS" cache sweep 2>/dev/null
is 'bad usage' $? 2
done_testing
