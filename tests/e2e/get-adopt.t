#!/usr/bin/env bash
# What aria2 and wget have begun is gone on with: only what is missing is fetched, where a checksum or the server's date proves
# the rest; else it stays as it is.
. "$(dirname "$0")/lib.sh"
need aria2c wget

size=20000000
old=$(($(date +%s) - 86400)) new=$(($(date +%s) + 3600))
origin_start --rate=8M "/old size=$size last-modified=$old" "/new size=$size last-modified=$new" "/none size=$size last-modified=none" \
	"/prefix size=$size last-modified=$old" "/lie size=$size last-modified=none" "/whole size=$size last-modified=$old" \
	"/full size=$size last-modified=$old"
mkdir "$T/to"
cd "$T/to" || bail "no directory"
begin() { # NAME: aria2 has come some way
	aria2c -q --file-allocation=none -x4 -s4 -k1M "$U/$1" &
	local pid=$!
	wait_for 10 eval "[ \"\$(stat -c %b '$1' 2>/dev/null || echo 0)\" -gt 8000 ]" || bail "aria2 does not begin"
	kill -INT "$pid"
	wait "$pid" 2>/dev/null
	[ -e "$1.aria2" ] || bail "aria2 left no control file"
}
sum() { "$FORMULA" cat 1 "/$1" 0 0 "$size" | sha256sum | cut -d' ' -f1; }
goes_on() { # NAME OPTION…
	local name=$1 before
	shift
	before=$(sent "/$name")
	"$RGETFS" get --json "$@" "$U/$name" >"$T/events" 2>"$T/err"
	is "$name: exit status" $? 0
	diag "$name: $before bytes sent before, $(($(sent "/$name") - before)) by ours"
	ok "$name: the bytes" content "$name" "/$name"
	at_least "$name: of them from before" "$(jq 'select(.event == "done").resumed' "$T/events")" 1000000
	at_most "$name: fetched and kept" "$(jq 'select(.event == "end") | .fetched - .discarded' "$T/events")" \
		$((size - $(jq 'select(.event == "done").resumed' "$T/events")))
	is "$name: nothing else is left" "$(ls "$name"*)" "$name"
}
stays() { # NAME WHY OPTION…
	local name=$1 why=$2 before
	shift 2
	before=$(sha256sum "$name"*)
	fails "$name: refused" "$RGETFS" get -q "$@" "$U/$name"
	like "$name: why" "$("$RGETFS" get -q "$@" "$U/$name" 2>&1)" "$why"
	is "$name: as it was" "$(sha256sum "$name"*)" "$before"
}

begin old
stays old 'exists already' --retry-time=5s
goes_on old --continue-from=aria2
begin new
stays new 'proves' --continue-from=aria2
goes_on new --continue-from=aria2 --checksum "sha-256=$(sum new)"
begin none
stays none 'proves' --continue-from=aria2
printf 'x' | dd of=none.aria2 conv=notrunc status=none
stays none 'control file' --continue-from=aria2 --checksum "sha-256=$(sum none)"

wget -q "$U/prefix" &
pid=$!
wait_for 10 eval '[ "$(stat -c %s prefix 2>/dev/null || echo 0)" -gt 4000000 ]'
kill "$pid"
wait "$pid" 2>/dev/null
goes_on prefix --continue-from=prefix

# All pieces have come: ours fetches a block of it at most.
"$FORMULA" cat 1 /full 0 0 "$size" >full
printf '\0\1\0\0\0\0\0\0\0\0\0\20\0\0\0\0\0\0\1\61\55\0\0\0\0\0\0\0\0\0\0\0\0\3\377\377\360\0\0\0\0' >full.aria2
goes_on full --continue-from=aria2
at_most 'full: bytes sent' "$(sent /full)" 131072

head -c 5000000 /dev/zero >lie
fails 'another beginning, a checksum: no file' "$RGETFS" get -q --continue-from=prefix --checksum "sha-256=$(printf '%064d' 0)" "$U/lie"
fails 'another beginning: not shown' test -e lie
"$RGETFS" get -q --forget lie 2>/dev/null
head -c 5000000 /dev/zero >lie
ok 'another beginning and the right checksum: fetched anew' "$RGETFS" get -q --continue-from=prefix --checksum "sha-256=$(sum lie)" "$U/lie"
ok 'another beginning and the right checksum: the bytes' content lie /lie
ok 'nothing there: as ever' "$RGETFS" get -q --continue-from=aria2 "$U/whole"
ok 'all there: as ever' "$RGETFS" get -q --continue-from=prefix "$U/whole"
ok 'all there: the bytes' content whole /whole
is 'no state is left' "$("$RGETFS" get --list --json)" ''
done_testing
