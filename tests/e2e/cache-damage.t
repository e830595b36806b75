#!/usr/bin/env bash
# Database cut off, a page of it overwritten, its WAL gone, not a database; backing file gone, older, shortened, a bit flipped:
# started cold or in part, said so, and never a wrong byte.
. "$(dirname "$0")/lib.sh"

size=1500000
origin_start "/* size=$size"
list /a /b
must_mnt
cat "$M/a" "$M/b" >/dev/null
settled a
settled b
ok 'unmount' unmnt
cp -a "$T/cache" "$T/saved"
database() { find "$T/cache" -name '*.db' -type f | head -n 1; }
backing() { find "$T/cache" -type f -size +1000k -not -name '*.db*' | sort | head -n 1; }
[ -f "$(database)" ] || bail "no database in the cache: $(find "$T/cache" -type f)"
[ -f "$(backing)" ] || bail 'no backing file in the cache'

cut_off() { truncate -s 5000 "$(database)"; }
emptied() { truncate -s 0 "$(database)"; }
page_overwritten() { head -c 4096 /dev/urandom | dd of="$(database)" bs=4096 seek=1 conv=notrunc status=none; }
header_overwritten() { printf 'This is no database' | dd of="$(database)" conv=notrunc status=none; }
wal_gone() { rm -f "$(database)-wal" "$(database)-shm"; }
database_gone() { rm -f "$(database)"*; }
newer_version() { sqlite3 "$(database)" 'PRAGMA user_version = 9999'; }
backing_gone() { rm "$(backing)"; }
backing_short() { truncate -s 400000 "$(backing)"; }
backing_replaced() { head -c "$(stat -c %s "$(backing)")" /dev/urandom >"$T/new" && mv "$T/new" "$(backing)"; }
backing_zeroed() { dd if=/dev/zero of="$(backing)" bs=65536 count=3 seek=2 conv=notrunc status=none; }
backing_punched() { fallocate -p -o 131072 -l 131072 "$(backing)"; }
bit_flipped() { printf 'X' | dd of="$(backing)" bs=1 seek=777777 conv=notrunc status=none; }
for damage in cut_off emptied page_overwritten header_overwritten wal_gone database_gone newer_version backing_gone backing_short \
	backing_replaced backing_zeroed backing_punched bit_flipped; do
	rm -rf "$T/cache"
	cp -a "$T/saved" "$T/cache"
	"$damage" || diag "$damage could not be done"
	ok "$damage: mounts" mnt
	ok "$damage: a" content "$M/a" /a
	ok "$damage: b" content "$M/b" /b
	ok "$damage: unmount" unmnt
	origin_stop
	ok "$damage: mounts without the server" mnt --retry-time=1s
	ok "$damage: a is cached again" content "$M/a" /a
	unmnt
	origin_start "/* size=$size"
done

# Under a running daemon: what SQLite has mapped would be SIGBUS, so it has nothing mapped.
ok 'mounts again' mnt
truncate -s 0 "$(dirname "$(database)")"/*.db*
ok 'database cut off under the daemon: a is forgotten' "$RGETFS" drop "$M/a"
ok 'database cut off under the daemon: a' content "$M/a" /a
done_testing
