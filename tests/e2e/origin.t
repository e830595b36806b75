#!/usr/bin/env bash
# The fault server itself: each behaviour that its manual names, as curl sees it.
. "$(dirname "$0")/lib.sh"

size=1000000
origin_start --tls --port=0 --port=0 "/x size=$size" '/huge size=9007199254740992' "/v size=$size version=1" \
	"/close size=$size fault=close:3000@1" "/reset size=$size fault=reset:50%@1" "/stall size=$size fault=stall:60%" \
	"/stall-on size=$size fault=stall:10%:300ms" "/multi size=$size fault=multipart" "/shift size=$size fault=range-shift:-100@tail" \
	"/zero size=$size fault=range-zero" "/whole size=$size fault=ignore-range@tail" "/enc size=$size fault=ignore-range@encoded" \
	'/busy size=10 fault=status:503:7@1-2' '/date size=10 fault=status:429:date=60' '/odds* size=1 fault=status:500@p=0.3' \
	'/sign redirect=/signed sign=:2' '/signed size=10 signed=403' '/endless redirect=endless' '/other redirect=port2:/x' \
	'/tls redirect=tls:/x' '/auth size=10 auth=u:p' "/chunked size=$size fault=chunked" "/unsized size=$size fault=unsized" \
	'/etag size=10 fault=etag:b@every=2' "/corrupt size=$size content=/x fault=corrupt:777:1" '/late size=10 delay=300ms' \
	"/rate size=$size rate=500K" '/headers size=1 fault=big-header:1M' '/garbage size=1 fault=garbage' '/drop size=1 fault=drop' \
	'/ver size=10 fault=version:1@3-' "/dir/* dir=$E2E_SRC" "/zip file=$E2E_SRC/lib.sh fault=encoding:gzip" '/total size=10 fault=wrong-total:5' \
	'/none size=10 fault=no-content-range' '/bad size=10 fault=bad-content-range' '/star size=10 fault=star-total'
get() { curl -sS --max-time 5 "$@"; }
code() { curl -s --max-time 3 -o /dev/null -w '%{http_code} %{size_download}' "$@"; }
field() { # NAME URL…
	local name=$1
	shift
	curl -s --max-time 3 -o /dev/null -D - "$@" | tr -d '\r' | sed -n "s/^$name: //Ip"
}

ok 'content' eval 'get $U/x | content - /x'
ok 'a range' eval 'get -r 1001-2000 $U/x | content - /x 0 1001 1000'
ok 'a suffix' eval 'get -r -77 $U/x | content - /x 0 $((size - 77)) 77'
ok 'an open range' eval 'get -r 999000- $U/x | content - /x 0 999000 1000'
ok 'at 2^53' eval 'get -r 9007199254740000- $U/huge | content - /huge 0 9007199254740000 992'
is 'behind the end' "$(code -r 1000000- "$U/x")" '416 99'
is 'and its size' "$(field Content-Range -r 1000000- "$U/x")" "bytes */$size"
like 'check tells zeros' "$(head -c 100 /dev/zero | content - /x)" 'byte 0 is wrong, 100 bytes of zeros'
like 'check tells an offset' "$(get -r 5-200 "$U/x" | content - /x)" 'at 5 .another offset'
like 'check tells a version' "$(get "$U/v" | content - /v)" 'version 1 at 0 .another version'
like 'check tells the end' "$(get "$U/x" | content - /x 0 0 1000001)" 'ends at byte 1000000'
is 'close' "$(code "$U/close")" '200 3000'
is 'and then not' "$(code "$U/close")" "200 $size"
is 'reset' "$(code "$U/reset")" '200 500000'
is 'stall' "$(code -m 1 "$U/stall")" '200 600000'
ok 'stall and go on' eval 'get $U/stall-on | content - /stall-on'
like 'multipart' "$(field Content-Type -r 5-9 "$U/multi")" 'multipart/byteranges; boundary=origin-part'
is 'earlier' "$(field Content-Range -r 500-900 "$U/shift")" "bytes 400-900/$size"
is 'always 0-' "$(field Content-Range -r 500-900 "$U/zero")" "bytes 0-900/$size"
is '200 for 206' "$(code -r 10-19 "$U/whole")" "200 $size"
is 'but not from 0' "$(code -r 0-19 "$U/whole")" '206 20'
is '200 when encodings are accepted' "$(code --compressed -r 5-9 "$U/enc") $(code -r 5-9 "$U/enc")" "200 $size 206 5"
is 'wrong total' "$(field Content-Range -r 0-4 "$U/total")" 'bytes 0-4/15'
is 'no Content-Range' "$(field Content-Range -r 0-4 "$U/none")" ''
is 'a bad one' "$(field Content-Range -r 0-4 "$U/bad")" 'bytes twelve-thirteen/many'
is 'unknown total' "$(field Content-Range -r 0-4 "$U/star")" 'bytes 0-4/*'
is 'Retry-After' "$(field Retry-After "$U/busy")" 7
is 'twice, then good' "$(code "$U/busy") $(code "$U/busy")" '503 97 200 10'
like 'as a date' "$(field Retry-After "$U/date")" '^[A-Z][a-z]{2}, .* GMT$'
seq -f "$U/odds%g" 200 | xargs curl -s >/dev/null
bad=$(logged_count '.status == 500')
at_least 'one in three fails' "$bad" 35
at_most 'not more' "$bad" 90
is 'a signature for two uses' "$(sig=$(field Location "$U/sign"); code "$U$sig"; code "$U$sig"; code "$U$sig")" '200 10200 10403 87'
is 'endless redirects' "$(code -L --max-redirs 20 "$U/endless" | cut -d' ' -f1)" 302
is 'to another port' "$(code -L "$U/other")" "200 $size"
is 'to TLS' "$(code -L --cacert "$T/ca.pem" "$U/tls")" "200 $size"
is 'auth' "$(code "$U/auth" | cut -c1-3) $(code -u u:p "$U/auth")" '401 200 10'
is 'logged' "$(logged '.path == "/auth" and .status == 200' | jq -r .authorization)" 'Basic dTpw'
ok 'chunked' eval 'get $U/chunked | content - /chunked'
is 'without a length' "$(field Content-Length "$U/chunked" "$U/unsized")" ''
ok 'unsized' eval 'get $U/unsized | content - /unsized'
is 'ETags alternate' "$(for _ in 1 2 3 4; do field ETag "$U/etag"; done | sort | uniq -c | awk '{ print $1 }' | tr '\n' ' ')" '2 2 '
like 'a corrupt byte' "$(get "$U/corrupt" | content - /x)" 'byte 777 is wrong'
at_least 'delay, ms' "$(took_ms get "$U/late")" 300
at_least 'rate: 600 KB at 500 KiB/s, ms' "$(took_ms get -r 0-599999 "$U/rate")" 1100
fails 'headers of 1 MiB' get "$U/headers"
fails 'garbage' get "$U/garbage"
fails 'drop' get "$U/drop"
is 'version from the third on' "$(for _ in 1 2 3 4; do field ETag "$U/ver"; done | uniq -c | awk '{ print $1 }' | tr '\n' ' ')" '2 2 '
ok 'files of a directory' eval 'get $U/dir/lib.sh | cmp - "$E2E_SRC/lib.sh"'
is 'none of that name' "$(code "$U/dir/nothing" | cut -c1-3)" 404
is 'Content-Encoding' "$(field Content-Encoding "$U/zip")" gzip
etag=$(field ETag "$U/x")
is 'If-Range, right' "$(code -r 0-9 -H "If-Range: $etag" "$U/x")" '206 10'
is 'If-Range, wrong' "$(code -r 0-9 -H 'If-Range: "other"' "$U/x")" "200 $size"
is 'If-None-Match' "$(code -H "If-None-Match: $etag" "$U/x")" '304 0'
is 'If-Match' "$(code -H 'If-Match: "other"' "$U/x" | cut -c1-3)" 412
is 'HEAD' "$(curl -sI "$U/x" | tr -d '\r' | sed -n 's/^Content-Length: //p')" "$size"
ctl '/new size=5' 'set total-rate=1M'
ok 'a rule set later' eval 'get $U/new | content - /new'
at_least 'common rate: two of 500 KB at 1 MiB/s, ms' "$(took_ms get -r 0-499999 -o /dev/null "$U/x" -r 0-499999 -o /dev/null "$U/huge")" 900
ctl 'set total-rate=0 max-per-client=1 busy=503'
get -m 2 "$U/stall" >/dev/null 2>&1 &
sleep 0.5
is 'one connection per client' "$(code "$U/x" | cut -c1-3)" 503
wait $!
ctl 'set max-per-client=0' reset
is 'counts' "$(get "$U/x" | wc -c) $(requests /x) $(sent /x)" "$size 1 $size"
O=b
origin_start --address=127.0.0.2 --tls "/x size=$size" '/tls redirect=tls:/x'
U=http://127.0.0.2:${PORT[b]}
ok 'another address' eval 'get $U/x | content - /x'
is 'and not the usual one' "$(code "http://127.0.0.1:${PORT[b]}/x")" '000 0'
is 'its certificate, and redirects to it' "$(code -L --cacert "$T/ca.pem" "$U/tls")" "200 $size"
done_testing
