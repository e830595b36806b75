/*
 * test_store_evict.c - the limits: held at every moment, the oldest goes first, nothing hangs,
 * nothing wrong
 */
#include <check.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#undef BLOCK_SIZE /* <linux/fs.h>, which this brings, has one of its own */
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "store/store_priv.h"
#include "store_util.h"

#define MIB   (UINT64_C(1) << 20)
#define SIZE  (32 * MIB)
#define LIMIT (8 * MIB)

static char dir[DIR_MAX];
static struct store_config cfg;
static struct store *s;

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
	cfg.cache_size = LIMIT;
	s = test_open(&cfg);
}

static void teardown(void)
{
	if (s)
		store_close(s);
	s = NULL;
	umount2(dir, MNT_DETACH); /* the tests on a file system of their own; else an error nobody
				     minds */
	temp_dir_remove(dir);
}

static struct version *open_version(uint32_t object)
{
	struct object_key key = test_key(object);
	struct validator val = test_validator(1, SIZE);
	struct version *v = NULL;

	ck_assert_int_eq(store_version_open(s, &key, &val, SIZE, false, &v), 0);
	return v;
}

static void pause_ms(unsigned int ms)
{
	nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000},
		  NULL);
}

/* As the engine does it: write what a reader waits for, until it has it. Bounded. */
static void read_through(struct version *v, uint64_t off, uint64_t len, uint32_t object)
{
	struct test_read r;
	struct range gap;
	int error;

	test_read_init(&r, off, len, object, 1);
	error = version_read(v, &r.waiter);
	for (int tries = 0; error == -EINPROGRESS && !test_read_done(&r) && tries < 100; tries++) {
		struct range want = range_to_blocks(range_of_length(off, len), SIZE);

		while (!test_read_done(&r) && version_next_gap(v, want, &gap) == 0) {
			test_write(v, gap.off, range_len(gap), object, 1);
			want.off = gap.end;
		}
		if (!test_read_done(&r))
			pause_ms(5);
	}
	ck_assert_int_eq(test_read_wait(&r), 0);
}

START_TEST(limit_is_held_and_reads_go_on)
{
	struct version *v = open_version(1);
	struct store_stats st;

	for (int round = 0; round < 2; round++) {
		for (uint64_t at = 0; at < SIZE; at += MIB / 2) {
			read_through(v, at, MIB / 2, 1);
			ck_assert_uint_le(temp_dir_allocated(dir), LIMIT);
		}
	}
	store_stats(s, &st);
	ck_assert_uint_gt(st.bytes_evicted, 0);
	ck_assert_uint_gt(st.bytes_cached, LIMIT / 4);
	ck_assert_uint_le(st.bytes_cached, LIMIT);
	version_put(v);
	close_store();
	/* What was evicted stays so, what was not is right. */
	s = test_open(&cfg);
	v = open_version(1);
	for (uint64_t at = 0; at < SIZE; at += MIB / 2)
		read_through(v, at, MIB / 2, 1);
	version_put(v);
}
END_TEST

START_TEST(least_recently_read_goes_first)
{
	struct version *a = open_version(1), *b = open_version(2);

	ck_assert_int_eq(test_write(a, 0, 2 * MIB, 1, 1), 0);
	ck_assert_int_eq(test_write(b, 0, 2 * MIB, 2, 1), 0);
	ck_assert_int_eq(store_checkpoint(s), 0);
	version_put(b);
	pause_ms(1100);
	/* a is open and read again, b only in the database. */
	ck_assert_int_eq(test_read_now(a, 0, MIB, 1, 1), 0);
	ck_assert_int_eq(test_write(a, 8 * MIB, 3 * MIB, 1, 1), 0);
	for (int i = 0; i < 200; i++) {
		read_through(a, 12 * MIB + (uint64_t)i % 8 * BLOCK_SIZE, BLOCK_SIZE, 1);
		test_write(a, 16 * MIB, MIB, 1, 1);
		pause_ms(1);
	}
	b = open_version(2);
	ck_assert(!test_present(b, 0, 2 * MIB, 2, 1));
	ck_assert(test_present(a, 0, 2 * MIB, 1, 1));
	version_put(a);
	version_put(b);
}
END_TEST

START_TEST(backfill_has_no_room_before_the_limit)
{
	struct version *v = open_version(1);

	ck_assert(store_has_room(s, MIB));
	ck_assert(!store_has_room(s, LIMIT));
	ck_assert_int_eq(test_write(v, 0, 6 * MIB, 1, 1), 0);
	ck_assert(store_has_room(s, MIB));
	ck_assert(!store_has_room(s, 2 * MIB));
	version_put(v);
}
END_TEST

START_TEST(cache_smaller_than_one_read)
{
	struct version *v;

	close_store();
	cfg.cache_size = BLOCK_SIZE;
	s = test_open(&cfg);
	v = open_version(1);
	for (uint64_t at = 0; at < 4 * MIB; at += MIB) {
		read_through(v, at + 5, MIB - 5, 1);
		ck_assert_uint_le(temp_dir_allocated(dir), 2 * BLOCK_SIZE);
	}
	version_put(v);
}
END_TEST

START_TEST(limit_lowered_between_mounts)
{
	struct version *v = open_version(1);

	ck_assert_int_eq(test_write(v, 0, 6 * MIB, 1, 1), 0);
	version_put(v);
	close_store();
	cfg.cache_size = 2 * MIB;
	s = test_open(&cfg);
	ck_assert_int_eq(store_checkpoint(s), 0);
	ck_assert_uint_le(temp_dir_allocated(dir), 2 * MIB);
}
END_TEST

START_TEST(min_free_is_kept)
{
	struct version *v;
	uint64_t before, keep = UINT64_C(1) << 62;

	close_store();
	cfg.cache_size = UINT64_MAX;
	cfg.min_free = keep; /* more than there is: nothing may be kept */
	s = test_open(&cfg);
	v = open_version(1);
	before = temp_dir_allocated(dir);
	ck_assert(!store_has_room(s, BLOCK_SIZE));
	read_through(v, 0, MIB, 1);
	ck_assert_uint_eq(temp_dir_allocated(dir), before);
	version_put(v);
}
END_TEST

/* Where holes can't be punched, whole files go. */
START_TEST(without_hole_punching)
{
	struct version *v = open_version(1);

	atomic_store(&s->cache.no_punch, true);
	for (int round = 0; round < 2; round++) {
		for (uint64_t at = 0; at < SIZE; at += MIB / 2) {
			read_through(v, at, MIB / 2, 1);
			ck_assert_uint_le(temp_dir_allocated(dir), LIMIT);
		}
	}
	version_put(v);
	close_store();
	s = test_open(&cfg);
	v = open_version(1);
	for (uint64_t at = 0; at < SIZE; at += MIB / 2)
		read_through(v, at, MIB / 2, 1);
	version_put(v);
}
END_TEST

/* A version nobody holds is kept for its atimes at most until there are many of them. */
START_TEST(versions_do_not_pile_up)
{
	size_t count = 0;

	for (uint32_t i = 1; i <= 1500; i++) {
		struct version *v = open_version(i);

		/* Over the limit some are refused: their reads go through memory. */
		read_through(v, 0, BLOCK_SIZE, i);
		version_put(v);
		mtx_lock(&s->lock);
		count = s->version_count > count ? s->version_count : count;
		mtx_unlock(&s->lock);
	}
	ck_assert_uint_lt(count, 1200);
}
END_TEST

/* ---- a disk that is full, or breaks ---- */

static bool small_disk(const char *size)
{
	char opt[64];

	close_store();
	snprintf(opt, sizeof(opt), "size=%s,mode=0700", size);
	/* In a mount namespace of this process alone, so that it is gone with it. */
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("rgetfs-test", dir, "tmpfs", 0, opt) < 0) {
		fprintf(stderr, "# skipped: no disk of its own can be mounted here\n");
		return false;
	}
	return true;
}

START_TEST(disk_full)
{
	struct store_stats st;
	struct version *v;

	if (!small_disk("12m"))
		return;
	cfg.cache_size = UINT64_MAX;
	s = test_open(&cfg);
	v = open_version(1);
	for (uint64_t at = 0; at < SIZE; at += MIB / 2)
		read_through(v, at, MIB / 2, 1);
	store_stats(s, &st);
	ck_assert(st.bytes_cached <= 12 * MIB);
	for (uint64_t at = 0; at < MIB; at += MIB / 2)
		read_through(v, at, MIB / 2, 1);
	version_put(v);
	close_store();
	s = test_open(&cfg);
	v = open_version(1);
	for (uint64_t at = 0; at < SIZE; at += MIB / 2)
		read_through(v, at, MIB / 2, 1);
	version_put(v);
}
END_TEST

/* Somebody else takes all but so much of the disk. */
static void take_disk(const char *path, uint64_t leave)
{
	static const char zeros[65536];
	int fd = open(path, O_CREAT | O_WRONLY | O_APPEND, 0600);
	uint64_t room;

	ck_assert_int_ge(fd, 0);
	while (cache_disk_free(&s->cache, &room) == 0 && room > leave &&
	       write(fd, zeros, sizeof(zeros)) > 0)
		;
	close(fd);
}

/* Nothing is given up for room that can't be had; and it is over when there is room, not with the
 * next write. */
START_TEST(full_disk_costs_nothing_that_was_kept)
{
	uint64_t left[] = {0, MIB / 2};
	char path[DIR_MAX + 8];
	struct store_stats st;
	struct version *v;

	if (!small_disk("12m"))
		return;
	snprintf(path, sizeof(path), "%s/other", dir);
	cfg.cache_size = UINT64_MAX;
	s = test_open(&cfg);
	v = open_version(1);
	for (uint64_t at = 0; at < 3 * MIB; at += MIB / 2)
		read_through(v, at, MIB / 2, 1);
	version_put(v);
	ck_assert_int_eq(store_checkpoint(s), 0);
	take_disk(path, left[_i]);
	v = open_version(2);
	for (uint64_t at = 0; at < 2 * MIB; at += BLOCK_SIZE) {
		read_through(v, at, BLOCK_SIZE, 2);
		pause_ms(2); /* evictions run beside it */
	}
	store_checkpoint(s);
	store_stats(s, &st);
	ck_assert_int_eq(st.degraded, -ENOSPC);
	ck_assert_uint_eq(st.bytes_evicted, 0);
	ck_assert_uint_eq(st.bytes_durable, 3 * MIB);
	if (_i == 0) {
		/* In the next mount as well, with a disk that is still full. */
		version_put(v);
		store_close(s);
		s = test_open(&cfg);
		v = open_version(2);
		read_through(v, 0, BLOCK_SIZE, 2);
	}
	unlink(path);
	for (int n = 0; n < 60 && st.degraded; n++) {
		pause_ms(50);
		store_stats(s, &st);
	}
	ck_assert_int_eq(st.degraded, 0);
	read_through(v, 0, BLOCK_SIZE, 2);
	ck_assert(test_present(v, 0, BLOCK_SIZE, 2, 1));
	version_put(v);
	close_store();
	s = test_open(&cfg);
	v = open_version(1);
	ck_assert(test_present(v, 0, MIB, 1, 1));
	ck_assert(test_present(v, MIB, MIB, 1, 1));
	ck_assert(test_present(v, 2 * MIB, MIB, 1, 1));
	version_put(v);
}
END_TEST

/* The process may not write beyond 2 MiB of any file: EFBIG for some bytes, the others are kept. */
START_TEST(file_size_limit)
{
	struct rlimit lim = {.rlim_cur = 2 * MIB, .rlim_max = RLIM_INFINITY};
	struct version *v;

	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &lim), 0);
	v = open_version(1);
	for (uint64_t at = 0; at < 4 * MIB; at += MIB / 2)
		read_through(v, at, MIB / 2, 1);
	ck_assert(test_present(v, 0, 2 * MIB, 1, 1));
	ck_assert(!test_present(v, 2 * MIB, 1, 1, 1));
	version_put(v);
	lim.rlim_cur = RLIM_INFINITY;
	setrlimit(RLIMIT_FSIZE, &lim);
}
END_TEST

static Suite *suite(void)
{
	Suite *st = suite_create("store_evict");
	TCase *tc = tcase_create("evict");

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, limit_is_held_and_reads_go_on);
	tcase_add_test(tc, least_recently_read_goes_first);
	tcase_add_test(tc, backfill_has_no_room_before_the_limit);
	tcase_add_test(tc, cache_smaller_than_one_read);
	tcase_add_test(tc, limit_lowered_between_mounts);
	tcase_add_test(tc, min_free_is_kept);
	tcase_add_test(tc, without_hole_punching);
	tcase_add_test(tc, versions_do_not_pile_up);
	tcase_add_test(tc, disk_full);
	tcase_add_loop_test(tc, full_disk_costs_nothing_that_was_kept, 0, 2);
	tcase_add_test(tc, file_size_limit);
	suite_add_tcase(st, tc);
	return st;
}

int main(void)
{
	return test_main(suite());
}
