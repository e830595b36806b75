#!/usr/bin/env bash
# The benches' judgement can fail: on made-up figures, and on a program that is slow.
. "$(dirname "$0")/lib.sh"

bench=$E2E_SRC/../bench/downloads
for program in curl wget jq; do
	type -P "$program" >/dev/null || skip_all "$program is missing"
done
[ -n "$(type -P time)" ] || skip_all "time is missing"

judge() { # OPTION WHAT MEASURED le|ge BOUND : "MISSES ASKED"
	# shellcheck disable=SC2016 # for the other shell
	BUILD=$BUILD bash -c '. "$1" ${2:+"$2"}; : >"$work/rows"; asked "${@:3}" >/dev/null; echo "$missed $(jq .asked "$work/rows")"' \
		bash "$bench" "$@"
}
is 'kept' "$(judge '' 'of the best' 0.99 le 1)" '0 1'
is 'missed' "$(judge '' 'of the best' 1.01 le 1)" '1 1'
is 'missed, at least' "$(judge '' 'times as fast' 7.7 ge 7.8)" '1 7.8'
is 'the guard is not so strict' "$(judge --guard 'of the best' 1.1 le 1)" '0 1.15'
is 'but it is' "$(judge --guard 'of the best' 1.16 le 1)" '1 1.15'
is 'nor for at least' "$(judge --guard 'times as fast' 6.7 ge 7.8)" '1 6.786'
is 'a process costs some ms' "$(judge --guard '16K: ms more than wget' 11 le 4)" '0 12'
is 'bytes in vain' "$(judge --guard 'percent sent in vain' 0.3 le 0.01)" '1 0.21'
if type -P aria2c >/dev/null; then
	printf '#!/bin/sh\nsleep 0.3\nexec "%s" "$@"\n' "$RGETFS" >"$T/slow"
	chmod +x "$T/slow"
	fails 'a slow program' env BUILD="$BUILD" RGETFS="$T/slow" ROUNDS=1 OUT="$T/slow.json" DISK="$T" MEMORY="$T" \
		"$bench" --guard eight
	is 'which row it was' "$(jq -c '[.rows[] | select(.ok == false).what]' "$T/slow.json")" \
		'["1 connections: of aria2'"'"'s time","4 connections: of aria2'"'"'s time"]'
else
	skip 'a slow program' 'aria2c is missing'
fi
done_testing
