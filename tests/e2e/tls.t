#!/usr/bin/env bash
# Over TLS: the certificate is checked, --cacert and --insecure do what curl's do, and https is not redirected to http.
. "$(dirname "$0")/lib.sh"

origin_start --tls '/x size=5000000' '/y size=1000' '/down redirect=port1:/y'
S=https://127.0.0.1:${TLS_PORT[a]}
printf '%s\n' "$S/x" ' size=5000000' "$S/y" ' size=1000' "$S/down" ' size=1000' >"$T/list"
must_mnt --retry-time=2s
fails 'an unknown authority' cat "$M/x"
like 'status says why' "$(of_file x error)" '^tls: .*certificate'
remnt --retry-time=5s --cacert="$T/ca.pem" --connections=4
ok 'all bytes' content "$M/x" /x
fails 'no way down to http' cat "$M/down"
like 'and why' "$(of_file down error)" '^scheme: '
remnt --insecure --retry-time=2s
ok 'the other file, insecure' content "$M/y" /y
done_testing
