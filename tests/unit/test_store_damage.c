/*
 * test_store_damage.c - what is found out when somebody tampered with the directory, and what then
 * happens
 *
 * In each case: no wrong byte, no hang, and what can't be trusted is a gap.
 */
#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "store_util.h"

#define MIB	(UINT64_C(1) << 20)
#define SIZE	(8 * MIB)
#define SEVERAL 16

static char dir[DIR_MAX];
static struct store_config cfg;
static struct store *s;
static atomic_uint lost_count;

static void on_lost(void *ctx, struct version *v)
{
	(void)ctx;
	(void)v;
	atomic_fetch_add(&lost_count, 1);
}

static struct version *open_version(uint32_t object)
{
	struct object_key key = test_key(object);
	struct validator val = test_validator(1, SIZE);
	struct version *v = NULL;

	ck_assert_int_eq(store_version_open(s, &key, &val, SIZE, false, &v), 0);
	return v;
}

static void fill(uint32_t object, uint64_t len)
{
	struct version *v = open_version(object);

	for (uint64_t at = 0; at < len; at += MIB)
		ck_assert_int_eq(test_write(v, at, MIB, object, 1), 0);
	version_put(v);
}

static void remember(uint32_t object)
{
	struct object_key key = test_key(object);
	struct store_record rec = {.size = SIZE, .mtime = 1, .asked_s = 2};

	rec.validator = test_validator(1, SIZE);
	ck_assert_int_eq(store_remember(s, &key, &rec), 0);
}

static void close_store(void)
{
	struct store *closing = s;

	s = NULL; /* not again by teardown() when this fails */
	ck_assert_int_eq(store_close(closing), 0);
}

static void setup(void)
{
	temp_dir(dir);
	cfg = test_config(dir);
	cfg.lost = on_lost;
	s = test_open(&cfg);
	/* Objects and their versions in enough rows to fill some pages. */
	for (uint32_t i = 2; i < SEVERAL; i++)
		fill(i, MIB);
	for (uint32_t i = 100; i < 400; i++)
		remember(i);
	fill(1, 4 * MIB);
	close_store();
}

static void teardown(void)
{
	if (s)
		store_close(s);
	s = NULL;
	temp_dir_remove(dir);
}

static char *in_dir(const char *name)
{
	static char path[DIR_MAX * 2];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static bool moved_aside(void)
{
	DIR *d = opendir(dir);
	struct dirent *de;
	bool found = false;

	while ((de = readdir(d)) != NULL)
		found |= strstr(de->d_name, ".bad-") != NULL;
	closedir(d);
	return found;
}

/* Right or absent, and the whole object can be filled and read. How much was there. */
static uint64_t usable(uint32_t object)
{
	struct version *v = open_version(object);
	uint64_t there = 0;

	for (uint64_t at = 0; at < SIZE; at += BLOCK_SIZE) {
		if (test_present(v, at, BLOCK_SIZE, object, 1))
			there += BLOCK_SIZE;
	}
	/* Blocks found wrong are forgotten in the background: until then they can't be written. */
	ck_assert_int_eq(store_checkpoint(s), 0);
	for (uint64_t at = 0; at < SIZE; at += MIB)
		ck_assert_int_eq(test_write(v, at, MIB, object, 1), 0);
	ck_assert_int_eq(test_read_now(v, 0, MIB, object, 1), 0);
	ck_assert_int_eq(store_checkpoint(s), 0);
	for (uint64_t at = 0; at < SIZE; at += MIB)
		ck_assert_int_eq(test_read_now(v, at, MIB, object, 1), 0);
	version_put(v);
	return there;
}

START_TEST(database_gone)
{
	unlink(in_dir("extents.db"));
	s = test_open(&cfg);
	ck_assert_uint_eq(usable(1), 0);
}
END_TEST

START_TEST(database_empty)
{
	ck_assert_int_eq(truncate(in_dir("extents.db"), 0), 0);
	s = test_open(&cfg);
	ck_assert_uint_eq(usable(1), 0);
}
END_TEST

START_TEST(database_cut_off)
{
	struct stat st;
	off_t len;

	ck_assert_int_eq(stat(in_dir("extents.db"), &st), 0);
	len = st.st_size * _i / 8;
	ck_assert_int_eq(truncate(in_dir("extents.db"), len - len % 512 + (_i % 2 ? 100 : 0)), 0);
	s = test_open(&cfg);
	usable(1);
	usable(SEVERAL - 1);
}
END_TEST

START_TEST(database_is_garbage)
{
	int fd = open(in_dir("extents.db"), O_WRONLY);
	char junk[8192];

	memset(junk, 0x5a, sizeof(junk));
	ck_assert_int_eq(pwrite(fd, junk, sizeof(junk), 0), sizeof(junk));
	close(fd);
	s = test_open(&cfg);
	ck_assert(moved_aside());
	ck_assert_uint_eq(usable(1), 0);
}
END_TEST

/* One page after the other is overwritten, or has a bit flipped in its middle. */
START_TEST(database_page_damaged)
{
	int fd = open(in_dir("extents.db"), O_RDWR);
	unsigned char page[4096];
	struct stat st;
	off_t at;

	ck_assert_int_eq(fstat(fd, &st), 0);
	at = (off_t)(_i / 2) * 4096;
	if (at < st.st_size) {
		ck_assert_int_eq(pread(fd, page, sizeof(page), at), sizeof(page));
		if (_i % 2)
			memset(page + 100, 0xff, 2000);
		else
			for (size_t i = 64; i < sizeof(page); i += 61)
				page[i] ^= 0x10;
		ck_assert_int_eq(pwrite(fd, page, sizeof(page), at), sizeof(page));
	}
	close(fd);
	s = test_open(&cfg);
	for (uint32_t i = 1; i < SEVERAL; i += 7)
		usable(i);
}
END_TEST

static void run_sql(const char *sql)
{
	sqlite3 *db = NULL;

	ck_assert_int_eq(sqlite3_open(in_dir("extents.db"), &db), SQLITE_OK);
	ck_assert_int_eq(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

START_TEST(database_of_a_newer_version)
{
	run_sql("PRAGMA user_version=99");
	s = test_open(&cfg);
	ck_assert(moved_aside());
	ck_assert_uint_eq(usable(1), 0);
}
END_TEST

START_TEST(database_of_another_program)
{
	unlink(in_dir("extents.db"));
	run_sql("CREATE TABLE notes(text); INSERT INTO notes VALUES('mine')");
	s = test_open(&cfg);
	ck_assert(moved_aside());
	ck_assert_uint_eq(usable(1), 0);
}
END_TEST

START_TEST(database_with_another_schema)
{
	run_sql("CREATE TABLE more(a)");
	s = test_open(&cfg);
	ck_assert(moved_aside());
}
END_TEST

/* Rows that say too much: extents past the size, overlapping, with sums missing, of blocks never
 * written. */
START_TEST(rows_that_lie)
{
	run_sql("UPDATE extents SET count=count+7 WHERE id%3=0;"
		"UPDATE extents SET block=block+5 WHERE id%3=1;"
		"INSERT INTO extents(version, block, count, source, atime, sums) "
		"SELECT id, 100, 2, 0, 0, zeroblob(16) FROM versions");
	s = test_open(&cfg);
	for (uint32_t i = 1; i < SEVERAL; i += 4)
		usable(i);
}
END_TEST

START_TEST(sizes_that_lie)
{
	struct object_key key = test_key(1);
	struct store_record rec;

	run_sql("UPDATE versions SET size=size+1; UPDATE objects SET mtime=3, size=3");
	s = test_open(&cfg);
	ck_assert_int_eq(store_lookup(s, &key, &rec), -ENOENT);
	ck_assert_uint_eq(usable(1), 0);
}
END_TEST

START_TEST(log_deleted)
{
	pid_t pid;

	/* A log is left only by an owner that was killed. */
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		struct version *v;

		s = test_open(&cfg);
		v = open_version(1);
		for (uint64_t at = 4 * MIB; at < SIZE; at += MIB)
			test_write(v, at, MIB, 1, 1);
		store_checkpoint(s);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	ck_assert_int_eq(access(in_dir("extents.db-wal"), F_OK), 0);
	if (_i == 0)
		unlink(in_dir("extents.db-wal"));
	else
		ck_assert_int_eq(truncate(in_dir("extents.db-wal"), 5000), 0);
	s = test_open(&cfg);
	usable(1);
	usable(2);
}
END_TEST

static bool backing_of(uint32_t object, char path[DIR_MAX * 2])
{
	/* The fixture fills object 1 last, so its file has the largest id; ids count up from 1. */
	DIR *d;
	struct dirent *de;
	char prefix[32];
	bool found = false;

	snprintf(prefix, sizeof(prefix), "%x-", object == 1 ? SEVERAL - 1 : object - 1);
	d = opendir(in_dir("files"));
	while ((de = readdir(d)) != NULL) {
		if (strncmp(de->d_name, prefix, strlen(prefix)) == 0) {
			snprintf(path, (size_t)DIR_MAX * 2, "%s/files/%.64s", dir, de->d_name);
			found = true;
		}
	}
	closedir(d);
	return found;
}

START_TEST(file_deleted)
{
	char path[DIR_MAX * 2];

	ck_assert(backing_of(1, path));
	unlink(path);
	s = test_open(&cfg);
	ck_assert_uint_eq(usable(1), 0);
	ck_assert_uint_eq(usable(2), MIB);
}
END_TEST

START_TEST(file_shortened)
{
	char path[DIR_MAX * 2];

	ck_assert(backing_of(1, path));
	ck_assert_int_eq(truncate(path, 2 * MIB), 0);
	s = test_open(&cfg);
	ck_assert_uint_eq(usable(1), 0);
}
END_TEST

START_TEST(file_replaced_by_a_copy)
{
	char path[DIR_MAX * 2], cmd[DIR_MAX * 9];

	ck_assert(backing_of(1, path));
	snprintf(cmd, sizeof(cmd), "cp '%s' '%s.x' && mv '%s.x' '%s'", path, path, path, path);
	ck_assert_int_eq(system(cmd), 0);
	s = test_open(&cfg);
	ck_assert_uint_eq(usable(1), 0);
}
END_TEST

/* Same inode, other bytes: only the checksums can tell. */
START_TEST(file_holds_older_bytes)
{
	char path[DIR_MAX * 2], zeros[2 * BLOCK_SIZE] = {0};
	struct store_stats st;
	int fd;

	ck_assert(backing_of(1, path));
	fd = open(path, O_WRONLY);
	ck_assert_int_eq(pwrite(fd, zeros, sizeof(zeros), BLOCK_SIZE), sizeof(zeros));
	ck_assert_int_eq(pwrite(fd, "x", 1, 20 * (off_t)BLOCK_SIZE + 77), 1);
	close(fd);
	s = test_open(&cfg);
	ck_assert_uint_eq(usable(1), 4 * MIB - 3 * BLOCK_SIZE);
	store_stats(s, &st);
	ck_assert_uint_eq(st.blocks_bad, 3);
	ck_assert_uint_gt(atomic_load(&lost_count), 0);
}
END_TEST

START_TEST(file_has_a_hole)
{
	char path[DIR_MAX * 2];
	int fd;

	ck_assert(backing_of(1, path));
	fd = open(path, O_WRONLY);
	ck_assert_int_eq(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 8192, 4096), 0);
	close(fd);
	s = test_open(&cfg);
	ck_assert_uint_eq(usable(1), 4 * MIB - BLOCK_SIZE);
}
END_TEST

START_TEST(verify_finds_what_nobody_read)
{
	struct object_key key = test_key(1);
	uint64_t blocks = 0, bad = 0;
	char path[DIR_MAX * 2];
	int fd;

	ck_assert(backing_of(1, path));
	fd = open(path, O_WRONLY);
	ck_assert_int_eq(pwrite(fd, "wrong", 5, 3 * (off_t)BLOCK_SIZE), 5);
	close(fd);
	s = test_open(&cfg);
	ck_assert_int_eq(store_verify(s, &key, &blocks, &bad), 0);
	ck_assert_uint_eq(blocks, 4 * MIB / BLOCK_SIZE);
	ck_assert_uint_eq(bad, 1);
	ck_assert_int_eq(store_verify(s, &key, &blocks, &bad), 0);
	ck_assert_uint_eq(blocks, 4 * MIB / BLOCK_SIZE - 1);
	ck_assert_uint_eq(bad, 0);
	ck_assert_uint_eq(usable(1), 4 * MIB - BLOCK_SIZE);
}
END_TEST

/* A reader that meets a wrong block waits for the right one. */
START_TEST(reader_gets_the_refetched_block)
{
	char path[DIR_MAX * 2];
	struct test_read r;
	struct version *v;
	struct range gap;
	int fd;

	ck_assert(backing_of(1, path));
	fd = open(path, O_WRONLY);
	ck_assert_int_eq(pwrite(fd, "wrong", 5, 3 * (off_t)BLOCK_SIZE), 5);
	close(fd);
	s = test_open(&cfg);
	v = open_version(1);
	test_wait_loaded(v);
	atomic_store(&lost_count, 0);
	test_read_init(&r, 2 * BLOCK_SIZE, 3 * BLOCK_SIZE, 1, 1);
	ck_assert_int_eq(version_read(v, &r.waiter), -EINPROGRESS);
	while (atomic_load(&lost_count) == 0)
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	ck_assert_int_eq(version_next_gap(v, range_make(0, SIZE), &gap), 0);
	ck_assert_uint_eq(gap.off, 3 * BLOCK_SIZE);
	ck_assert_uint_eq(gap.end, 4 * BLOCK_SIZE);
	ck_assert_int_eq(test_write(v, gap.off, BLOCK_SIZE, 1, 1), 0);
	ck_assert_int_eq(test_read_wait(&r), 0);
	version_put(v);
}
END_TEST

START_TEST(strangers_are_removed)
{
	int fd = open(in_dir("files/1234-0123456789abcdef"), O_CREAT | O_WRONLY, 0600);

	ck_assert_int_ge(fd, 0);
	close(fd);
	run_sql("UPDATE state SET value=0");
	s = test_open(&cfg);
	ck_assert_int_eq(store_checkpoint(s), 0); /* a round of upkeep, with the sweep in it */
	ck_assert_int_ne(access(in_dir("files/1234-0123456789abcdef"), F_OK), 0);
	ck_assert_uint_eq(usable(2), MIB);
}
END_TEST

START_TEST(unclaimed_blocks_are_given_back)
{
	char path[DIR_MAX * 2], junk[BLOCK_SIZE];
	struct version *v;
	int fd;

	memset(junk, 7, sizeof(junk));
	ck_assert(backing_of(1, path));
	fd = open(path, O_WRONLY);
	for (off_t at = 5 * (off_t)MIB; at < 7 * (off_t)MIB; at += (off_t)sizeof(junk))
		ck_assert_int_eq(pwrite(fd, junk, sizeof(junk), at), sizeof(junk));
	close(fd);
	if (_i == 0)
		run_sql("UPDATE state SET value=0"); /* found by the sweep, without an open */
	s = test_open(&cfg);
	if (_i == 1) {
		v = open_version(1);
		test_wait_loaded(v);
		/* Beside the punching, or before or after it. */
		ck_assert_int_eq(test_write(v, 6 * MIB, BLOCK_SIZE, 1, 1), 0);
		ck_assert_int_eq(test_read_now(v, 6 * MIB, BLOCK_SIZE, 1, 1), 0);
		version_put(v);
	}
	ck_assert_int_eq(store_checkpoint(s), 0);
	ck_assert_uint_le(temp_dir_allocated(dir), (SEVERAL - 2) * MIB + 4 * MIB + 2 * BLOCK_SIZE);
	ck_assert_uint_eq(usable(1), 4 * MIB + (_i == 1 ? BLOCK_SIZE : 0));
}
END_TEST

/* The database turns bad while it is in use: what is in memory goes into the new one. */
START_TEST(damaged_while_open)
{
	unsigned char junk[4096];
	struct version *v;
	struct stat st;
	int fd;

	s = test_open(&cfg);
	v = open_version(1);
	test_wait_loaded(v);
	memset(junk, 0xa5, sizeof(junk));
	fd = open(in_dir("extents.db"), O_RDWR);
	ck_assert_int_eq(fstat(fd, &st), 0);
	for (off_t at = 4096; at < st.st_size; at += 4096)
		ck_assert_int_eq(pwrite(fd, junk, sizeof(junk), at), sizeof(junk));
	close(fd);
	/* Whichever statement meets it first. */
	for (uint32_t i = 2; i < SEVERAL; i++)
		version_put(open_version(i));
	for (int i = 0; i < 3; i++) {
		test_write(v, (4 + (uint64_t)i) * MIB, MIB, 1, 1);
		store_checkpoint(s);
	}
	ck_assert_int_eq(store_checkpoint(s), 0);
	ck_assert_int_eq(test_read_now(v, 0, MIB, 1, 1), 0);
	version_put(v);
	close_store();
	s = test_open(&cfg);
	ck_assert(moved_aside());
	ck_assert_uint_eq(usable(1), 7 * MIB);
	usable(5);
}
END_TEST

/* While it is being read, too. */
START_TEST(file_shortened_while_open)
{
	char path[DIR_MAX * 2];
	struct version *v;
	struct test_read r;
	uint64_t there = 0;

	ck_assert(backing_of(1, path));
	s = test_open(&cfg);
	v = open_version(1);
	ck_assert_int_eq(test_read_now(v, 0, MIB, 1, 1), 0);
	ck_assert_int_eq(truncate(path, 2 * MIB + 100), 0);
	for (uint64_t at = 0; at < SIZE; at += BLOCK_SIZE) {
		test_read_init(&r, at, BLOCK_SIZE, 1, 1);
		if (version_read(v, &r.waiter) == -EINPROGRESS && version_cancel(v, &r.waiter))
			continue;
		ck_assert_int_eq(test_read_wait(&r), 0);
		there += BLOCK_SIZE;
	}
	ck_assert_uint_eq(there, 2 * MIB);
	ck_assert_int_eq(store_checkpoint(s), 0);
	for (uint64_t at = 0; at < SIZE; at += MIB)
		ck_assert_int_eq(test_write(v, at, MIB, 1, 1), 0);
	for (uint64_t at = 0; at < SIZE; at += MIB)
		ck_assert_int_eq(test_read_now(v, at, MIB, 1, 1), 0);
	version_put(v);
}
END_TEST

static Suite *suite(void)
{
	Suite *st = suite_create("store_damage");
	TCase *tc = tcase_create("damage");

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, database_gone);
	tcase_add_test(tc, database_empty);
	tcase_add_loop_test(tc, database_cut_off, 0, 8);
	tcase_add_test(tc, database_is_garbage);
	tcase_add_loop_test(tc, database_page_damaged, 0, 24);
	tcase_add_test(tc, database_of_a_newer_version);
	tcase_add_test(tc, database_of_another_program);
	tcase_add_test(tc, database_with_another_schema);
	tcase_add_test(tc, rows_that_lie);
	tcase_add_test(tc, sizes_that_lie);
	tcase_add_loop_test(tc, log_deleted, 0, 2);
	tcase_add_test(tc, file_deleted);
	tcase_add_test(tc, file_shortened);
	tcase_add_test(tc, file_shortened_while_open);
	tcase_add_test(tc, file_replaced_by_a_copy);
	tcase_add_test(tc, file_holds_older_bytes);
	tcase_add_test(tc, file_has_a_hole);
	tcase_add_test(tc, verify_finds_what_nobody_read);
	tcase_add_test(tc, reader_gets_the_refetched_block);
	tcase_add_test(tc, strangers_are_removed);
	tcase_add_loop_test(tc, unclaimed_blocks_are_given_back, 0, 2);
	tcase_add_test(tc, damaged_while_open);
	suite_add_tcase(st, tc);
	return st;
}

int main(void)
{
	return test_main(suite());
}
