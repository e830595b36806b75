#!/usr/bin/env bash
# A body without a length that is longer or shorter than the file: found out at its end, and not a byte of it is trusted.
. "$(dirname "$0")/lib.sh"

size=1000000
whole=1048576
plain='ranges=no etag=none last-modified=none'
origin_start "/long size=$((size * 2)) $plain fault=chunked" "/longer size=$((size * 2)) $plain fault=unsized" \
	"/blocks size=$((whole + 1)) $plain fault=chunked" "/short size=$((size - 100000)) $plain fault=chunked" \
	"/right size=$size $plain fault=chunked" "/close size=$size $plain fault=unsized" "/even size=$whole $plain fault=chunked" \
	"/mirror content=/right size=$size $plain fault=chunked" "/grows size=$size $plain etag='\"x\"'"
bad='long longer blocks short'
list /long "size=$size" /longer "size=$size" /blocks "size=$whole" /short "size=$size" /right "size=$size" /close "size=$size" \
	/even "size=$whole" /grows
for f in long short; do
	printf '%s/%s\t%s/mirror\n size=%d\n out=mirrored-%s\n id=m-%s\n' "$U" "$f" "$U" "$size" "$f" "$f" >>"$T/list"
done
must_mnt --retry-time=5s --fill=none
for f in $bad; do
	fails "$f: a copy is an error" cat "$M/$f"
	like "$f: status says why" "$(of_file "$f" error)" '^size: .*manifest says'
	is "$f: failed" "$(of_file "$f" state)" failed
	ok "$f: nothing of it is kept" wait_for 5 eval '[ "$(of_file '"$f"' bytes_cached)" = 0 ]'
	fails "$f: and the next copy is an error" cat "$M/$f"
	at_most "$f: requests" "$(requests "/$f")" 2
	fails "$f: an order is one, too" "$RGETFS" fill "$M/$f"
done
for f in right close; do
	ok "$f: the right one" content "$M/$f" "/$f"
done
ok 'even: the right one' content "$M/even" /even
for f in long short; do
	cat "$M/mirrored-$f" >/dev/null 2>&1
	ok "$f: the other mirror has it" wait_for 10 content "$M/mirrored-$f" /right
done

is 'grows: as it was' "$(stat -c %s "$M/grows")" "$size"
ctl "/grows size=$((size + 5000)) $plain etag='\"x\"' fault=chunked"
right_or_error "$M/grows" /grows "$size"
ok 'grows: and soon as it is' wait_for 10 eval 'content "$M/grows" /grows && [ "$(stat -c %s "$M/grows")" = '$((size + 5000))' ]'

for f in $bad; do
	ctl "/$f size=$([ "$f" = blocks ] && echo $whole || echo $size) $plain fault=chunked"
done
for f in $bad; do
	ok "$f: put right, it is asked again" wait_for 20 content "$M/$f" "/$f"
	is "$f: nothing wrong any more" "$(of_file "$f" error)" ''
done
done_testing
