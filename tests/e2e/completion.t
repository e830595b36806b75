#!/usr/bin/env bash
# The bash completion: every command and option that --help tells, values, mountpoints, paths.
. "$(dirname "$0")/lib.sh"

PATH=$(dirname "$RGETFS"):$PATH
. "$E2E_SRC/../../contrib/completion/rgetfs.bash"
compopt() { :; } # only while bash completes by itself
complete_line() { # WORD…: what could come at the place of the last
	COMP_WORDS=("$@")
	COMP_CWORD=$(($# - 1))
	_rgetfs
	printf '%s\n' "${COMPREPLY[@]}" | sort
}

"$RGETFS" --help >"$T/help"
mapfile -t commands < <(sed -n 's/^  rgetfs \([a-z]*\) .*/\1/p' "$T/help")
at_least 'commands' "${#commands[@]}" 8
is 'all of them' "$(complete_line rgetfs '' | grep -v '^--' | tr '\n' ' ')" "$(printf '%s\n' "${commands[@]}" | sort | tr '\n' ' ')"
is 'by their beginning' "$(complete_line rgetfs unm)" unmount
for c in "${commands[@]}"; do
	is "options of $c" "$(complete_line rgetfs "$c" -- | tr '\n' ' ')" \
		"$( ("$RGETFS" "$c" --help | sed -n '/^$/,$p' | grep -oE -- '--[a-z-]+'; echo --help) | sort -u | tr '\n' ' ')"
done
is 'values' "$(complete_line rgetfs mount --fill '' | tr '\n' ' ')" 'all none opened '
is 'values behind a sign' "$(complete_line rgetfs mount --layout = u)" url
is 'a number is nobody'\''s to guess' "$(complete_line rgetfs mount --max-connections '')" ''
mkdir "$T/some dir" && touch "$T/some file"
is 'a directory' "$(complete_line rgetfs mount --cache-dir "$T/some")" "$T/some dir"
is 'a list' "$(complete_line rgetfs get --input "$T/some f")" "$T/some file"
is 'files' "$(complete_line rgetfs fill "$T/some" | tr '\n' ',')" "$T/some dir,$T/some file,"
is 'verbs of cache' "$(complete_line rgetfs cache '' | tr '\n' ' ')" 'check list prune '

is 'mount options' "$(complete_line rgetfs mount -o 'fi' | tr '\n' ' ')" 'fill-after= fill-rate= fill= '
is 'a flag takes nothing' "$(complete_line rgetfs mount -o allow-)" allow-other
is 'behind a comma' "$(complete_line rgetfs mount -o ro,cache-d)" ro,cache-dir=
is 'a value of it' "$(complete_line rgetfs mount -o ro,fill = a)" all
is 'a directory of it' "$(complete_line rgetfs mount -o cache-dir = "$T/some")" "$T/some dir"
is 'behind a value' "$(complete_line rgetfs mount -o fill = all,lay)" all,layout=
is 'the second value' "$(complete_line rgetfs mount -o fill = all,layout = f)" flat
is 'what follows the list' "$(complete_line rgetfs mount -o fill = all "$T/some" | head -n 1)" "$T/some dir"

origin_start '/* size=1000'
list /a
M="$T/a mount"
mkdir "$M"
must_mnt
for c in unmount status reload; do
	is "$c: mountpoints" "$(complete_line rgetfs "$c" "$T")" "$M"
done
is 'what is no mountpoint: directories' "$(complete_line rgetfs status "$T/some")" "$T/some dir"
is 'paths in a mount' "$(complete_line rgetfs verify "$M/")" "$M/a"

name=$("$RGETFS" cache list --json --cache-dir="$T/cache" | jq -r .name)
for c in list check prune; do
	is "cache $c: caches" "$(complete_line rgetfs cache "$c" --cache-dir = "$T/cache" '')" "$name"
done
is 'not of another root' "$(complete_line rgetfs cache prune '')" ''

# A bash of its own takes it as it is installed.
is 'registered' "$(bash -c '. "$1" && complete -p rgetfs' - "$E2E_SRC/../../contrib/completion/rgetfs.bash")" 'complete -F _rgetfs rgetfs'
done_testing
