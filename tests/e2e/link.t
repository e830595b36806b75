#!/usr/bin/env bash
# The emulated link of tests/net: what was asked for is what TCP meets, and nothing of it is left behind.
. "$(dirname "$0")/lib.sh"
[ "$(id -u)" -eq 0 ] || skip_all 'needs root: network namespaces'
[ -c /dev/net/tun ] || skip_all 'needs /dev/net/tun'
need ip nsenter ss
unshare --net ip tuntap add dev lab0 mode tun || skip_all 'may not make network namespaces with TUN devices here'

lab() { RGETFS_BUILD=$BUILD "$E2E_SRC/../net/lab" --stats="$T/stats" "$@"; }
counted() { jq ".$1" "$T/stats"; }
URL=http://192.0.2.2
mib=1048576

# ---- delay and rate: bounds that a busy machine can't break ----
out=$(lab --rtt=20ms --origin='--rule=/* size=1' curl -sS -o "$T/one" -w '%{time_total}\n' "$URL/[1-20]")
is 'twenty answers, each a round trip or later (deliveries may be 0.2 ms early)' \
	"$(awk '$1 >= 0.0196' <<<"$out" | wc -l)" 20
less() { awk "BEGIN { exit !($1 < $2) }"; }
ok 'and some not much later' less "$(sort -n <<<"$out" | head -n 1)" 0.04
ms=$(took_ms lab --rate=8M --rtt=2ms --origin="--rule=/x size=$((4 * mib))" curl -sS -o "$T/x" "$URL/x")
ok 'content' content "$T/x" /x
at_least '4 MiB at 8 MiB/s, ms' "$ms" 500
at_least 'bytes that went down' "$(counted down.delivered.bytes)" $((4 * mib * 1500 / 1448))
is 'nothing lost, nothing dropped beside the queue' \
	"$(counted down.lost.packets) $(counted up.lost.packets) $(counted up.dropped.packets) $(counted down.refused) $(counted down.tun_dropped)" \
	'0 0 0 0 0'
out=$(lab --loss=2% --up-loss=2% --rtt=2ms --origin="--rule=/x size=$mib" curl -sS -o "$T/x" "$URL/x" 2>&1)
ok 'content in spite of loss' content "$T/x" /x
at_least 'packets lost' "$(counted down.lost.packets)" 1

# ---- loss and queue: datagrams to nobody behind the link, each one packet of 1028 bytes ----
burst() { # PACKETS LAB-OPTION…
	local n=$1
	shift
	lab --no-origin "$@" bash -c 'exec 3>/dev/udp/192.0.2.3/9; text=$(printf "%1000s")
		for ((i = 0; i < $1; i++)); do printf %s "$text" >&3; done' burst "$n"
}
lost() { # SEED
	burst 2000 --up-loss=5% --seed="$1"
	printf '%s of %s\n' "$(counted up.lost.packets)" "$(counted up.entered.packets)"
}
first=$(lost 1)
like 'loss of 5 %' "$first" '^([6-9][0-9]|1[0-3][0-9]) of 2000$'
is 'the same again with the same seed' "$(lost 1)" "$first"
[ "$(lost 2)" != "$first" ] || [ "$(lost 3)" != "$first" ]
result $? 'another one with another seed'
burst 500 --up-rate=100 --up-queue=102800
dropped=$(counted up.dropped.packets)
at_most 'a queue of 100 packets: dropped of 500' "$dropped" 400
at_least 'and no more go on than time allows' "$dropped" 390
at_most 'bytes in the queue' "$(counted up.queue_peak)" 102800
burst 10 --up-rate=1M --up-queue=2bdp --rtt=100ms --delay=0
is 'a queue in round trips' "$(counted up.queue_bytes)" 104857

# ---- what COMMAND finds ----
is 'exit status of the command' "$(lab true; echo $?) $(lab sh -c 'exit 7'; echo $?)" '0 7'
is 'TLS' "$(lab --origin=--tls --origin='--rule=/x size=1000' bash -c 'curl -sS --cacert "$LAB_CA" "$LAB_TLS_URL/x" | wc -c')" 1000
is 'its standard input' "$(echo word | lab --no-origin cat)" word
is 'congestion control as asked, on both sides' "$(lab --cc=reno bash -c 'exec 3<>/dev/tcp/192.0.2.2/80
	ss -tinH dst 192.0.2.2; nsenter --net=/run/netns/$LAB_SERVER_NS ss -tinH src 192.0.2.2' | grep -o '\<reno\>' | wc -l)" 2
is 'buffers' "$(lab --no-origin --server-buffer=1M --client-buffer=2M bash -c 'cut -f3 /proc/sys/net/ipv4/tcp_rmem
	nsenter --net=/run/netns/$LAB_SERVER_NS cut -f3 /proc/sys/net/ipv4/tcp_wmem' | xargs)" "$((2 * mib)) $mib"
is 'counts on demand' "$(lab bash -c 'curl -s -o /dev/null $LAB_URL; kill -USR1 $LAB_LINK_PID
	until [ -s "$LAB_COUNTS" ]; do sleep 0.02; done; jq ".up.delivered.packets > 4" "$LAB_COUNTS"')" true

# ---- side by side ----
lab --stats="$T/slow" --rtt=40ms --origin='--rule=/slow size=200000' curl -sS -o "$T/x" "$URL/slow" &
other=$!
ok 'one link' lab --origin='--rule=/quick size=300000' curl -sS -o "$T/y" "$URL/quick"
ended 'another beside it' "$other"
ok 'content of the one' content "$T/y" /quick
ok 'content of the other' content "$T/x" /slow

# ---- the way down ----
none_left() { # PID of a lab
	[ ! -e "/run/netns/rgetfs-$1-client" ] && [ ! -e "/run/netns/rgetfs-$1-server" ] &&
		! grep -slzxF "LAB_CLIENT_NS=rgetfs-$1-client" /proc/[0-9]*/environ && ! ls -d "$T"/rgetfs-lab-*
}
export TMPDIR=$T
for how in INT TERM KILL; do
	rm -f "$T/up"
	RGETFS_BUILD=$BUILD env --default-signal=INT "$E2E_SRC/../net/lab" --stats="$T/stats" \
		bash -c 'setsid sleep 1000 & touch "$1"; wait' wait "$T/up" 2>/dev/null &
	pid=$!
	wait_for 10 test -e "$T/up" || bail 'the lab does not start'
	ok "before SIG$how there are two" test -e "/run/netns/rgetfs-$pid-client" -a -e "/run/netns/rgetfs-$pid-server"
	kill -s "$how" "$pid"
	wait "$pid" 2>/dev/null
	is "exit status after SIG$how" $? $((128 + $(kill -l "$how")))
	ok "nothing is left after SIG$how" wait_for 10 none_left "$pid"
done
for wrong in --cc=nothing --loss=101% --rate=fast --origin=--wrong; do
	lab "$wrong" true 2>"$T/err" &
	wait $!
	is "$wrong: no lab" $? 125
	ok 'and nothing is left' wait_for 10 none_left $!
done
done_testing
