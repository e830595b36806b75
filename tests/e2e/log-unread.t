#!/usr/bin/env bash
# A log that nobody reads: the daemon in the foreground goes on when the pipe of its standard error is full.
. "$(dirname "$0")/lib.sh"
need python3

size=5000000
origin_start "/* size=$size"
list /a /b
mkfifo "$T/fifo"
# As small as a pipe can be, before anything is in it; not read until there is the file "said.go".
python3 -c '
import fcntl, os, sys, time
fd = os.open(sys.argv[1], os.O_RDONLY | os.O_NONBLOCK)
fcntl.fcntl(fd, 1031, 4096)  # F_SETPIPE_SZ
os.set_blocking(fd, True)
open(sys.argv[2] + ".small", "w").close()
while not os.path.exists(sys.argv[2] + ".go"):
	time.sleep(0.05)
with open(sys.argv[2], "wb") as said:
	while data := os.read(fd, 65536):
		said.write(data)
		said.flush()
' "$T/fifo" "$T/said" &
wait_for 10 test -e "$T/said.small" || bail 'no reader'
"$RGETFS" mount -f --log-level=debug --cache-dir="$T/cache" "$T/list" "$M" 2>"$T/fifo" &
daemon=$!
wait_for 10 mounted || bail 'no mount'
for i in $(seq 8); do
	ok "a file, time $i" content "$M/a" /a
	"$RGETFS" drop -q "$M/a"
done
touch "$T/said.go"
ok 'another file' content "$M/b" /b
ok 'what was lost is said' wait_for 10 grep -q 'rgetfs: [0-9]* lines of the log were lost' "$T/said"
ok 'unmounts' "$RGETFS" unmount "$M"
ended 'the daemon' "$daemon"
done_testing
