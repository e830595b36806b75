/*
 * test_extdb.c - rows of extents against a naive array of blocks; what is refused at an open
 */
#include <check.h>
#include <fcntl.h>

#include "store/extdb.h"
#include "store_util.h"

#define BLOCKS	    3000
#define ROUNDS	    400
#define THE_VERSION 7

struct cell {
	uint64_t sum;
	uint32_t atime_s;
	uint16_t source;
	bool there;
};

static char dir[DIR_MAX];
static int dirfd_;
static struct extdb *db;
static struct cell model[BLOCKS];
static uint32_t state = 1;

static uint32_t random_next(void)
{
	state = state * 1664525u + 1013904223u;
	return state >> 8;
}

static void setup(void)
{
	struct version_row row = {.id = THE_VERSION, .size = SIZE_UNKNOWN, .cookie = 1, .ino = 2};
	struct batch b;

	temp_dir(dir);
	dirfd_ = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_eq(extdb_open(dirfd_, dir, false, &db), 0);
	batch_init(&b);
	batch_version(&b, &row);
	ck_assert_int_eq(extdb_apply(db, &b, false), 0);
	batch_done(&b);
}

static void teardown(void)
{
	extdb_close(db);
	close(dirfd_);
}

static void put(struct batch *b)
{
	uint64_t sums[EXTENT_BLOCKS_MAX];
	uint32_t first = random_next() % BLOCKS;
	uint32_t count = 1 + random_next() % (random_next() % 2 ? 8 : EXTENT_BLOCKS_MAX);
	struct extent e = {.source = (uint16_t)(random_next() % 3), .atime_s = random_next() % 50};

	count = count > BLOCKS - first ? BLOCKS - first : count;
	e.range = range_of_length((uint64_t)first << BLOCK_SHIFT, (uint64_t)count << BLOCK_SHIFT);
	e.sums = sums;
	for (uint32_t i = 0; i < count; i++) {
		sums[i] = (uint64_t)random_next() << 32 | random_next();
		model[first + i] = (struct cell){sums[i], e.atime_s, e.source, true};
	}
	batch_extent(b, THE_VERSION, &e);
}

static void clear(struct batch *b)
{
	uint32_t first = random_next() % BLOCKS;
	uint32_t count = 1 + random_next() % (random_next() % 4 ? 40 : BLOCKS);

	count = count > BLOCKS - first ? BLOCKS - first : count;
	memset(model + first, 0, count * sizeof(model[0]));
	batch_clear(b, THE_VERSION,
		    range_of_length((uint64_t)first << BLOCK_SHIFT,
				    (uint64_t)count << BLOCK_SHIFT));
}

static int compare(void *ctx, const struct extent_row *e)
{
	uint8_t *seen = ctx;

	for (uint32_t i = 0; i < e->count; i++) {
		const struct cell *c = &model[e->block + i];

		ck_assert(c->there);
		ck_assert_uint_eq(c->sum, e->sums[i]);
		ck_assert_uint_eq(c->source, e->source);
		ck_assert_uint_eq(c->atime_s, e->atime_s);
		seen[e->block + i] = 1;
	}
	return 0;
}

static void compare_all(void)
{
	static uint8_t seen[BLOCKS];

	memset(seen, 0, sizeof(seen));
	ck_assert_int_eq(extdb_each_extent(db, THE_VERSION, compare, seen), 0);
	for (uint32_t i = 0; i < BLOCKS; i++)
		ck_assert_int_eq(seen[i], model[i].there);
}

START_TEST(rows_follow_the_model)
{
	struct batch b;

	for (int round = 0; round < ROUNDS; round++) {
		batch_init(&b);
		for (uint32_t n = 1 + random_next() % 4; n > 0; n--) {
			if (random_next() % 3)
				put(&b);
			else
				clear(&b);
		}
		ck_assert_int_eq(extdb_apply(db, &b, random_next() % 8 == 0), 0);
		batch_done(&b);
		compare_all();
	}
	extdb_close(db);
	db = NULL;
	ck_assert_int_eq(extdb_open(dirfd_, dir, false, &db), 0);
	compare_all();
	ck_assert_int_eq(extdb_check(db), 0);
}
END_TEST

static int keep_order(void *ctx, const struct object_key *key, const struct extent_row *e)
{
	uint32_t *last = ctx;

	(void)key;
	ck_assert_uint_ge(e->atime_s, *last);
	*last = e->atime_s;
	return 0;
}

START_TEST(oldest_first_and_touched)
{
	uint32_t last = 0;
	struct batch b;

	batch_init(&b);
	for (int i = 0; i < 50; i++)
		put(&b);
	ck_assert_int_eq(extdb_apply(db, &b, false), 0);
	batch_done(&b);
	ck_assert_int_eq(extdb_each_oldest(db, keep_order, &last), 0);
	batch_init(&b);
	batch_touch(&b, THE_VERSION, range_make(0, (uint64_t)BLOCKS << BLOCK_SHIFT), 1000);
	ck_assert_int_eq(extdb_apply(db, &b, false), 0);
	batch_done(&b);
	last = 1000;
	ck_assert_int_eq(extdb_each_oldest(db, keep_order, &last), 0);
}
END_TEST

static int count_extent(void *ctx, const struct extent_row *e)
{
	uint64_t *count = ctx;

	(void)e;
	++*count;
	return 0;
}

START_TEST(deleted_version_takes_its_extents)
{
	uint64_t count = 0;
	struct version_row row;
	struct batch b;

	batch_init(&b);
	put(&b);
	ck_assert_int_eq(extdb_apply(db, &b, false), 0);
	batch_done(&b);
	ck_assert_int_eq(extdb_each_extent(db, THE_VERSION, count_extent, &count), 0);
	ck_assert_uint_gt(count, 0);
	batch_init(&b);
	batch_delete(&b, THE_VERSION);
	ck_assert_int_eq(extdb_apply(db, &b, true), 0);
	batch_done(&b);
	count = 0;
	ck_assert_int_eq(extdb_each_extent(db, THE_VERSION, count_extent, &count), 0);
	ck_assert_uint_eq(count, 0);
	ck_assert_int_eq(extdb_get_version(db, THE_VERSION, &row), -ENOENT);
}
END_TEST

/* A transaction is whole or absent: an extent of a version that is not there breaks a reference. */
START_TEST(nothing_of_a_failed_batch_stays)
{
	uint64_t sum = 1, count = 0;
	struct extent e = {.range = {0, BLOCK_SIZE}, .sums = &sum};
	struct batch b;

	batch_init(&b);
	batch_extent(&b, THE_VERSION, &e);
	batch_extent(&b, THE_VERSION + 1, &e);
	ck_assert_int_ne(extdb_apply(db, &b, false), 0);
	batch_done(&b);
	ck_assert_int_eq(extdb_each_extent(db, THE_VERSION, count_extent, &count), 0);
	ck_assert_uint_eq(count, 0);
	batch_init(&b);
	batch_extent(&b, THE_VERSION, &e);
	ck_assert_int_eq(extdb_apply(db, &b, false), 0);
	batch_done(&b);
}
END_TEST

START_TEST(log_stays_small)
{
	char path[DIR_MAX * 2];
	off_t bytes;
	struct batch b;
	int fd;

	for (int i = 0; i < 300; i++) {
		batch_init(&b);
		for (int n = 0; n < 8; n++)
			put(&b);
		ck_assert_int_eq(extdb_apply(db, &b, false), 0);
		batch_done(&b);
	}
	snprintf(path, sizeof(path), "%s/extents.db-wal", dir);
	fd = open(path, O_RDONLY);
	ck_assert_int_ge(fd, 0);
	bytes = lseek(fd, 0, SEEK_END);
	close(fd);
	ck_assert_int_lt(bytes, 4 << 20);
}
END_TEST

/* As on a network file system: no shared memory file. */
START_TEST(exclusive)
{
	char path[DIR_MAX * 2];
	struct batch b;

	extdb_close(db);
	db = NULL;
	ck_assert_int_eq(extdb_open(dirfd_, dir, true, &db), 0);
	batch_init(&b);
	put(&b);
	ck_assert_int_eq(extdb_apply(db, &b, false), 0);
	batch_done(&b);
	snprintf(path, sizeof(path), "%s/extents.db-shm", dir);
	ck_assert_int_ne(access(path, F_OK), 0);
	extdb_close(db);
	db = NULL;
	ck_assert_int_eq(extdb_open(dirfd_, dir, false, &db), 0);
	compare_all();
}
END_TEST

static Suite *suite(void)
{
	Suite *st = suite_create("extdb");
	TCase *tc = tcase_create("extdb");

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, rows_follow_the_model);
	tcase_add_test(tc, oldest_first_and_touched);
	tcase_add_test(tc, deleted_version_takes_its_extents);
	tcase_add_test(tc, nothing_of_a_failed_batch_stays);
	tcase_add_test(tc, log_stays_small);
	tcase_add_test(tc, exclusive);
	suite_add_tcase(st, tc);
	return st;
}

int main(void)
{
	return test_main(suite());
}
