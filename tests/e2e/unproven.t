#!/usr/bin/env bash
# Whole bodies that nothing proves to be of one version, neither ETag nor date nor, of a stream, a length: one that goes
# on after another that was cut must have the other's bytes, or it is a new version. Two are never mixed.
. "$(dirname "$0")/lib.sh"

size=2000000
rule() { # KIND THEN OTHER-VALUES…
	local fault="fault=$1"
	[ "$1" != sized ] || fault=
	printf '/%s ranges=no etag=none last-modified=none rate=8M %s %s\n' "$1-$2" "$fault" "${*:3}"
}
cut() { # KIND THEN: read the beginning of a body that is cut behind it
	exec 3<"$M/$1-$2"
	dd of="$T/copy" bs=64K count=12 iflag=fullblock status=none <&3
	is "$1, $2: the beginning" "$(stat -c %s "$T/copy")" 786432
	ok "$1, $2: the body was cut" wait_for 10 grep -q "$1-$2: .* lease ended" "$T/log"
}
rest() { # read on to the end
	cat <&3 >>"$T/copy" 2>/dev/null
}
whole() { # FILE SIZE VERSION: read anew it is this
	cat "$M/$1" >"$T/again" 2>/dev/null && [ "$(stat -c %s "$T/again")" = "$2" ] && content "$T/again" "/$1" "$3"
}
rules=()
for kind in chunked unsized sized; do
	for then in same other shorter; do
		rules+=("$(rule "$kind" "$then" "size=$size" fault=reset:60%)")
	done
done
origin_start "${rules[@]}"
list /chunked-{same,other,shorter} /unsized-{same,other} /sized-{same,other}
must_mnt --retry-time=20s --fill=none
for kind in chunked unsized sized; do
	cut "$kind" same
	ctl "$(rule "$kind" same "size=$size")"
	ok "$kind, the same again: no error" rest
	is "$kind, the same again: all of it" "$(stat -c %s "$T/copy")" "$size"
	ok "$kind, the same again: the bytes" content "$T/copy" "/$kind-same"
	cut "$kind" other
	ctl "$(rule "$kind" other "size=$size" version=1)"
	fails "$kind, another: an error" rest
	ok "$kind, another: after a right beginning" content "$T/copy" "/$kind-other"
	ok "$kind, another: then all of that" wait_for 10 whole "$kind-other" "$size" 1
done
# Of a body that says itself where it ends; of one that ends with its connection nothing tells a shorter one from a cut.
cut chunked shorter
ctl "$(rule chunked shorter size=600000)"
fails "chunked, shorter: an error" rest
ok "chunked, shorter: after a right beginning" content "$T/copy" /chunked-shorter
ok "chunked, shorter: then what it is now" wait_for 10 whole chunked-shorter 600000 0
done_testing
