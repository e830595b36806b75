#!/usr/bin/env bash
# Authorization, Cookie and netrc never follow a redirect to another host or port, and never show in status or log.
. "$(dirname "$0")/lib.sh"

O=b origin_start '/target size=200000 content=/target' '/open size=1000'
O=a origin_start "/bearer redirect=http://127.0.0.1:${PORT[b]}/target" "/userinfo auth=user:secret1 size=1000" \
	"/named redirect=http://localhost:${PORT[b]}/target" "/netrc auth=net:secret4 size=1000" \
	"/netrc-away redirect=http://127.0.0.1:${PORT[b]}/target" '/same redirect=/after' '/after size=1000 auth=user:secret1'
A=127.0.0.1:${PORT[a]}
printf 'machine 127.0.0.1 login net password secret4\n' >"$T/.netrc"
chmod 600 "$T/.netrc"
cat >"$T/list" <<L
http://$A/bearer
 header=Authorization: Bearer secret2
 header=Cookie: session=secret3
http://user:secret1@$A/userinfo
http://user:secret1@$A/named
http://user:secret1@$A/same
http://$A/netrc
http://$A/netrc-away
L
must_mnt --netrc --retry-time=3s --header='X-Api: secret5'
for f in bearer named netrc-away; do
	ok "$f" content "$M/$f" /target
done
ok 'user info is used' content "$M/userinfo" /userinfo
ok 'and on a redirect to the same host and port' content "$M/same" /after
ok 'netrc is used' content "$M/netrc" /netrc
O=a
is 'the first host gets the header' "$(logged '.path == "/bearer"' | jq -r .authorization | sort -u)" 'Bearer secret2'
is 'and the cookie' "$(logged '.path == "/bearer"' | jq -r .cookie | sort -u)" 'session=secret3'
is 'the first host gets what --header says' "$(logged '.path == "/bearer"' | jq -r .x_api | sort -u)" secret5
O=b
is 'the other port gets neither' "$(jq -c 'select(.authorization != null or .cookie != null or .x_api != null)' "$T/origin-b.log")" ''
printf 'default login any password secret6\n' >>"$T/.netrc"
printf 'http://127.0.0.1:%s/bearer\n out=again\n id=again\n' "${PORT[a]}" >"$T/list"
remnt --netrc --retry-time=3s
ok 'with a default entry' content "$M/again" /target
is 'a default entry does not leak either' "$(jq -c 'select(.authorization != null)' "$T/origin-b.log")" ''

# A cookie jar: what the first host has set, and what the file holds for it, does not go to the other one.
O=c origin_start '/away size=1000'
O=a ctl "/sets size=1000 header='Set-Cookie: fresh=secret7'" '/gets size=1000' "/leads redirect=http://localhost:${PORT[c]}/away"
printf '# Netscape HTTP Cookie File\n127.0.0.1\tFALSE\t/\tFALSE\t0\tstored\tsecret8\n' >"$T/jar"
printf '%s\n size=1000\n' "http://$A/sets" "http://$A/gets" "http://$A/leads" >"$T/list"
remnt --cookie-jar="$T/jar" --retry-time=3s
ok 'one that sets a cookie' content "$M/sets" /sets
ok 'one of the same host' content "$M/gets" /gets
ok 'one that leads away' content "$M/leads" /away
O=a
is 'the cookies of the jar and of an answer go to their host' \
	"$(logged '.path == "/gets"' | jq -r .cookie | tr -d ' ' | tr ';' '\n' | sort | tr '\n' ' ')" 'fresh=secret7 stored=secret8 '
is 'and not to another' "$(jq -r 'select(.cookie != null) | .cookie' "$T/origin-c.log")" ''
secrets=$(grep -c 'secret[0-9]' "$T/log")
is 'no secret in the log' "$secrets" 0
is 'nor in status' "$(status --all | grep -c 'secret[0-9]')" 0
is 'nor in attributes' "$(getfattr -d -m - "$M"/* 2>/dev/null | grep -c 'secret[0-9]')" 0
is 'nor in the cache' "$(grep -rc 'secret[0-9]' "$T/cache" | grep -v ':0$')" ''
done_testing
