#!/usr/bin/env bash
# verify: a flipped byte in the cache is found, dropped and fetched again; content that differs from the manifest's checksum too.
. "$(dirname "$0")/lib.sh"

size=5000000
origin_start "/* size=$size"
list /a 'id=a' /b 'id=b' "$(sum_of /b $size)" /c
must_mnt --fill=none
ok 'fill' "$RGETFS" fill -q "$M"
is 'all right' "$("$RGETFS" verify --json "$M" | jq -c '[.files, .blocks, .blocks_bad, .checksums, .checksums_bad]')" '[3,231,0,1,0]'
n=$(all_requests)
like 'in words' "$("$RGETFS" verify "$M/c")" '^77 blocks \(4.8 MiB\) checked in .*, 0 dropped; 0 files checked'
is 'nothing is fetched for it' "$(all_requests)" "$n"
remnt --fill=none --revalidate=always
n=$(all_requests)
ok 'where each open asks' "$RGETFS" verify -q "$M"
quiet
is 'it asks nobody' "$(all_requests)" "$n"

# The backing file of /a is the one with its bytes: flip one in the third block.
"$FORMULA" cat 1 /a 0 0 100000 >"$T/head"
file=
while IFS= read -r f; do
	cmp -s -n 100000 "$f" "$T/head" && file=$f
done < <(find "$T/cache" -type f -size +1000k)
[ -n "$file" ] || bail 'no backing file'
printf 'X' | dd of="$file" bs=1 seek=150000 conv=notrunc status=none
"$RGETFS" verify "$M" >"$T/out" 2>"$T/err"
is 'a wrong byte: exit status' $? 1
is 'its file by name' "$(cat "$T/err")" "rgetfs: $M/a: 1 of 77 blocks were wrong and were dropped"
like 'the result' "$(cat "$T/out")" '^231 blocks .* 1 dropped;'
is 'one block less' "$(of_file a bytes_cached)" $((size - 65536))
is 'counted' "$(total blocks_bad)" 1
like 'and shown' "$("$RGETFS" status "$M")" '1 was wrong in the cache and was dropped'
ok 'right when read' content "$M/a" /a
ok 'and verified' "$RGETFS" verify "$M/a"

# Complete without a checksum; now the manifest has one, and it is another content's.
list /a 'id=a' /b 'id=b' "$(sum_of /b $size)" /c 'id=c'
remnt --fill=none
ok 'c, without a checksum' content "$M/c" /c
settled c
is 'complete' "$(of_file c state)" complete
list /a 'id=a' /b 'id=b' "$(sum_of /b $size)" /c 'id=c' "$(sum_of /x $size)"
remnt --fill=none --offline
"$RGETFS" verify --json "$M" 2>"$T/err" >"$T/out"
is 'a wrong checksum: exit status' $? 1
is 'its file by name' "$(cat "$T/err")" "rgetfs: $M/c: the content differs from its checksum and was dropped"
is 'the result' "$(jq -c '[.checksums, .checksums_bad]' "$T/out")" '[2,1]'
is 'nothing of it is left' "$(of_file c bytes_cached)" 0
fails 'and nothing of it comes back' head -c1 "$M/c"
is 'the right one is still complete' "$(of_file b state)" complete
"$RGETFS" verify "$T" 2>/dev/null
is 'outside of a mount' $? 1
"$RGETFS" verify 2>/dev/null
is 'bad usage' $? 2
done_testing
