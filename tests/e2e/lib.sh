# shellcheck shell=bash disable=SC2034
# lib.sh - what the end-to-end tests share. Source it first; end a test with done_testing.
#
# A test gets a directory of its own ($T), servers on free ports of the loopback, and everything it started or
# mounted is gone when it ends, however it ends. Run one by hand: RGETFS_BUILD=build tests/e2e/NAME.t
#
#   ok/fails NAME COMMAND…     passes when the command succeeds / fails
#   is NAME GOT WANT           equal strings; at_most, at_least, less: numbers
#   skip NAME WHY, skip_all WHY, diag TEXT, wait_for SECONDS COMMAND…
#   origin_start [OPTION|RULE]…, ctl LINE…, requests PATH, sent PATH, logged JQ-CONDITION, origin_stop
#   mnt [OPTION]…, unmnt, remnt, crash: the manifest $T/list on $M; content FILE PATH [VERSION [OFF [LEN]]]
set -u

# The whole test runs under a time limit: the signal goes to its process group, the clean-up below runs.
if [ -z "${E2E_DIR-}" ]; then
	E2E_DIR=$(mktemp -d "${TMPDIR:-/tmp}/rgetfs-XXXXXX") || exit 99
	export E2E_DIR
	exec timeout -k 20 "${TEST_TIMEOUT:-120}" bash "$0" "$@"
fi

T=$E2E_DIR
M=$T/mnt
E2E_SRC=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
BUILD=$(cd "${RGETFS_BUILD:-.}" && pwd) || exit 99
RGETFS=${RGETFS:-$BUILD/rgetfs}
FORMULA=$BUILD/tests/origin/formula
export LC_ALL=C.UTF-8 HOME=$T XDG_CACHE_HOME=$T/xdg-cache XDG_STATE_HOME=$T/state XDG_RUNTIME_DIR=$T/run NO_COLOR=1
unset http_proxy https_proxy all_proxy no_proxy
# A daemon has no stderr to report to; what a sanitizer finds is looked for at the end.
for tap_name in ASAN LSAN UBSAN TSAN; do
	export "${tap_name}_OPTIONS=$(printenv "${tap_name}_OPTIONS"):log_path=$T/sanitizer"
done
mkdir -p "$M" "$T/run" "$T/cache"
chmod 700 "$T/run" "$T/cache"

tap_count=0
tap_failed=0
tap_done=0

# ---- results ----
diag() { printf '%s\n' "$*" | sed 's/^/# /'; }

result() { # 0|1 NAME
	tap_count=$((tap_count + 1))
	if [ "$1" -eq 0 ]; then
		printf 'ok %d - %s\n' "$tap_count" "$2"
	else
		printf 'not ok %d - %s\n' "$tap_count" "$2"
		tap_failed=1
	fi
	return "$1"
}

ok() { # NAME COMMAND…
	local name=$1 out status
	shift
	out=$("$@" 2>&1)
	status=$?
	[ "$status" -eq 0 ] || diag "exit status $status: $*"$'\n'"${out:0:2000}"
	result $((status != 0)) "$name"
}

ended() { # NAME PID [0|1]: that background process of this shell ended well (or with an error)
	local status
	wait "$2"
	status=$?
	diag "$1: exit status $status"
	[ "$((status != 0))" -eq "${3-0}" ]
	result $? "$1"
}

fails() { # NAME COMMAND…
	local name=$1 out status
	shift
	out=$("$@" 2>&1)
	status=$?
	[ "$status" -ne 0 ] || diag "succeeded: $*"$'\n'"${out:0:2000}"
	result $((status == 0)) "$name"
}

is() { # NAME GOT WANT
	[ "$2" = "$3" ] || diag "got:  $2"$'\n'"want: $3"
	[ "$2" = "$3" ]
	result $? "$1"
}

like() { # NAME GOT REGEX
	[[ $2 =~ $3 ]] || diag "got: $2"$'\n'"does not match: $3"
	[[ $2 =~ $3 ]]
	result $? "$1"
}

at_most() { # NAME GOT BOUND
	diag "$1: $2 (at most $3)"
	[ -n "$2" ] && [ "$2" -le "$3" ]
	result $? "$1"
}

at_least() { # NAME GOT BOUND
	diag "$1: $2 (at least $3)"
	[ -n "$2" ] && [ "$2" -ge "$3" ]
	result $? "$1"
}

skip() { # NAME WHY
	tap_count=$((tap_count + 1))
	printf 'ok %d - %s # SKIP %s\n' "$tap_count" "$1" "$2"
}

skip_all() { # WHY
	printf '1..0 # SKIP %s\n' "$*"
	tap_done=1
	exit 0
}

done_testing() {
	diag "took $SECONDS s"
	printf '1..%d\n' "$tap_count"
	tap_done=1
	exit "$tap_failed"
}

bail() {
	diag "$*"
	exit 99
}

need() { # PROGRAM…: the test is about them
	local p
	for p in "$@"; do
		command -v "$p" >/dev/null || skip_all "$p is not installed"
	done
}

wait_for() { # SECONDS COMMAND…: until it succeeds
	local until=$((SECONDS + $1 + 1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ "$SECONDS" -lt "$until" ] || return 1
		sleep 0.05
	done
}

now_ms() { printf '%d\n' "$((${EPOCHREALTIME/./} / 1000))"; }

took_ms() { # COMMAND…: prints how long it took, whatever became of it
	local t
	t=$(now_ms)
	"$@" >/dev/null 2>&1
	printf '%d\n' $(($(now_ms) - t))
}

# ---- clean-up ----
mounts_below() { awk -v d="$1" '{ if (index($5, d) == 1) print $5 }' /proc/self/mountinfo | tac; }

# Processes that inherited this test's environment, daemons too; not this shell.
own_processes() {
	local f files pid
	mapfile -t files < <(grep -slzxF "E2E_DIR=$T" /proc/[0-9]*/environ)
	for f in "${files[@]}"; do
		pid=${f#/proc/}
		pid=${pid%/environ}
		case $pid in "$$" | "$BASHPID" | "$PPID") ;; *) [ -e "/proc/$pid" ] && printf '%s\n' "$pid" ;; esac
	done
}

cleanup() {
	local status=$? m pid loop
	trap '' TERM INT HUP
	[ "$status" -eq 0 ] || [ ! -s "$T/log" ] || { diag "the daemon's log:" && tail -n 30 "$T/log" | sed 's/^/#   /'; }
	[ "$tap_done" -eq 1 ] || printf 'Bail out! the test ended before its end (status %s)\n' "$status"
	for m in $(mounts_below "$T"); do
		timeout 5 fusermount3 -u "$m" 2>/dev/null || timeout 5 umount "$m" 2>/dev/null || umount -l "$m" 2>/dev/null ||
			fusermount3 -u -z "$m"
	done
	[ -z "$NGINX_PID" ] || nginx_stop # its title has overwritten its environment
	for pid in $(own_processes); do
		kill "$pid" 2>/dev/null
	done
	wait_for 3 eval '[ -z "$(own_processes)" ]' || for pid in $(own_processes); do
		kill -9 "$pid" 2>/dev/null
	done
	for m in "$T"/sanitizer.*; do
		[ -e "$m" ] || continue
		head -n 60 "$m" | sed 's/^/#   /'
		status=1
	done
	while IFS=: read -r loop _; do
		losetup -d "$loop"
	done < <(losetup -a 2>/dev/null | grep -F "$T/")
	for m in $(mounts_below "$T"); do
		umount -l "$m" 2>/dev/null
	done
	cd / && rm -rf --one-file-system "$T"
	exit "$status"
}
trap cleanup EXIT
trap 'exit 124' TERM INT HUP

# ---- the fault server; $O names which, where a test has several ----
O=a
declare -A PORT TLS_PORT PORT2 ORIGIN_PID
U= # URL of origin a, or of the one started last

origin_start() { # [--OPTION… | /RULE…]…
	local args=() a
	for a in "$@"; do
		case $a in
		/*) args+=("--rule=$a") ;;
		*) args+=("$a") ;;
		esac
	done
	rm -f "$T/origin-$O.ports"
	"$BUILD/tests/origin/origin" --port="${PORT[$O]-0}" --port-file="$T/origin-$O.ports" --log="$T/origin-$O.log" \
		--ca-file="$T/ca.pem" "${args[@]}" &
	ORIGIN_PID[$O]=$!
	wait_for 10 test -s "$T/origin-$O.ports" || bail "the origin does not start"
	PORT[$O]=$(awk '$1 == "http" { print $2; exit }' "$T/origin-$O.ports")
	PORT2[$O]=$(awk '$1 == "http" { n++; if (n == 2) print $2 }' "$T/origin-$O.ports")
	TLS_PORT[$O]=$(awk '$1 == "https" { print $2; exit }' "$T/origin-$O.ports")
	U=http://127.0.0.1:${PORT[$O]}
}

origin_stop() {
	kill "${ORIGIN_PID[$O]}" 2>/dev/null
	wait "${ORIGIN_PID[$O]}" 2>/dev/null
	ORIGIN_PID[$O]=
}

ctl() { # LINE…: rules and orders
	local out
	out=$(printf '%s\n' "$@" | curl -sS --data-binary @- "http://127.0.0.1:${PORT[$O]}/_ctl") || bail "the origin does not answer"
	[ -z "$out" ] || bail "the origin: $out"
}

stat_of() { # NAME [PATH]
	curl -sS "http://127.0.0.1:${PORT[$O]}/_stats${2:+?$2}" | jq ".$1"
}
requests() { stat_of requests "$1"; }
sent() { stat_of bytes "$1"; }
all_requests() { stat_of requests; }
all_sent() { stat_of bytes; }
peak() { stat_of peak "$1"; } # most requests at once
connections() { stat_of connections; }

quiet() { # until no request is being answered for a moment
	local before
	for _ in $(seq 100); do
		before=$(all_requests)
		sleep 0.3
		[ "$(stat_of active)" = 0 ] && [ "$(all_requests)" = "$before" ] && return 0
	done
	return 1
}

logged() { jq -c "select($1)" "$T/origin-$O.log"; } # JQ-CONDITION
logged_count() { logged "$1" | wc -l; }

content() { # FILE PATH [VERSION [OFF [LEN]]]
	"$FORMULA" check 1 "$2" "${3-0}" "$1" "${@:4}"
}

# ---- nginx, serving $T/www; what else the server block holds comes from standard input ----
NGINX_PID=
nginx_start() {
	local port try
	command -v nginx >/dev/null || return 1
	mkdir -p "$T/www" "$T/nginx"
	cat >"$T/nginx/server"
	for try in 1 2 3 4 5 6 7 8; do
		port=$((20000 + (RANDOM * 32768 + RANDOM) % 12000))
		cat >"$T/nginx/conf" <<-CONF
			daemon off; pid $T/nginx/pid; error_log $T/nginx/error.log; worker_processes 1;
			events { worker_connections 2048; }
			http {
				access_log $T/nginx/access.log; sendfile on; default_type application/octet-stream;
				client_body_temp_path $T/nginx/body; proxy_temp_path $T/nginx/proxy; fastcgi_temp_path $T/nginx/fastcgi;
				uwsgi_temp_path $T/nginx/uwsgi; scgi_temp_path $T/nginx/scgi;
				server { listen 127.0.0.1:$port; root $T/www; $(cat "$T/nginx/server") }
			}
		CONF
		# As root its workers would be another user, who can't enter $T.
		[ "$(id -u)" -ne 0 ] || sed -i '1i user root;' "$T/nginx/conf"
		nginx -c "$T/nginx/conf" -e "$T/nginx/error.log" &
		NGINX_PID=$!
		for _ in $(seq 100); do
			if ! kill -0 "$NGINX_PID" 2>/dev/null; then
				break
			elif [ -s "$T/nginx/pid" ] && curl -s -o /dev/null "http://127.0.0.1:$port/"; then
				N=http://127.0.0.1:$port
				return 0
			fi
			sleep 0.05
		done
		kill "$NGINX_PID" 2>/dev/null
		diag "port $port, attempt $try: $(tail -n 1 "$T/nginx/error.log")"
	done
	bail "nginx does not start"
}
nginx_stop() { # also twice
	[ -z "$NGINX_PID" ] || kill "$NGINX_PID" 2>/dev/null
	wait "$NGINX_PID" 2>/dev/null
	NGINX_PID=
}

# ---- the mount: $T/list on $M ----
list() { # /PATH…: writes $T/list, one URL of the origin a line; indented KEY=VALUE arguments belong to the one before
	local a
	for a in "$@"; do
		case $a in
		/*) printf '%s%s\n' "$U" "$a" ;;
		*://*) printf '%s\n' "$a" ;;
		*) printf ' %s\n' "$a" ;;
		esac
	done >"$T/list"
}

mnt() { # OPTION…
	"$RGETFS" mount --cache-dir="$T/cache" --log-file="$T/log" --log-level=debug "$@" "$T/list" "$M"
}
must_mnt() { mnt "$@" || bail "the mount failed"; }
mounted() { awk -v m="${1:-$M}" '$5 == m { found = 1 } END { exit !found }' /proc/self/mountinfo; }
unmnt() { "$RGETFS" unmount "$M"; }
remnt() { # OPTION…
	unmnt || bail "the unmount failed"
	must_mnt "$@"
}
status() { "$RGETFS" status --json "$@" "$M"; }
total() { status | jq ".totals.$1"; }
of_file() { status --all | jq -r --arg p "$1" ".files[] | select(.path == \$p) | .$2"; } # PATH FIELD
daemon_pid() { # of the one mount of this test: the process with threads (the keeper has none)
	local pid threads
	for pid in $(own_processes); do
		threads=("/proc/$pid/task/"*)
		[[ $(cat "/proc/$pid/comm" 2>/dev/null) == rgetfs* ]] && [ "${#threads[@]}" -gt 3 ] && printf '%s\n' "$pid"
	done
}
# PID: it has ended, although the init of a container may be slow to collect it.
gone() { [ ! -e "/proc/$1" ] || grep -q '^State:[[:space:]]*[ZX]' "/proc/$1/status" 2>/dev/null; }
crash() { # kill -9 the daemon, free the mountpoint
	local pid
	pid=$(daemon_pid)
	kill -9 "$pid"
	wait_for 5 gone "$pid" || bail "the daemon survives SIGKILL"
	mounted || return 0
	fusermount3 -u "$M" 2>/dev/null || ! mounted || umount -l "$M"
}
right_or_error() { # FILE PATH SIZE [VERSION]: all of it and right, or a right beginning and an error
	local s
	cat "$1" >"$T/copy" 2>"$T/copy.err"
	s=$?
	content "$T/copy" "$2" "${4-0}" || return 1
	[ "$s" -ne 0 ] || [ "$(stat -c %s "$T/copy")" = "$3" ]
}
sum_of() { # PATH SIZE [VERSION]: what a manifest says of it
	printf 'checksum=sha-256=%s' "$("$FORMULA" cat 1 "$1" "${3-0}" 0 "$2" | sha256sum | cut -d' ' -f1)"
}
xattr() { getfattr --only-values -n "user.rgetfs.$1" "$2" 2>/dev/null; }
durable() { xattr durable "$1"; }
settled() { # NAME: every cached byte is durable
	wait_for 10 eval '[ "$(xattr cached "$M/'"$1"'")" = "$(xattr durable "$M/'"$1"'")" ]'
}
drop_page_cache() { [ "$(id -u)" -ne 0 ] || echo 1 >/proc/sys/vm/drop_caches; }

pread() { # FILE OFF LEN: to standard output, in one read
	dd if="$1" iflag=skip_bytes,count_bytes,fullblock skip="$2" count="$3" bs="$3" status=none
}
piece() { # FILE PATH OFF LEN [VERSION]: that piece is right
	content "$1" "$2" "${5-0}" "$3" "$4"
}
