/*
 * test_store_race.c - readers, writers, evictions, drops, checkpoints and changes of version at
 * once
 *
 * Run it with the thread sanitizer as well. Each byte read is compared with the formula.
 */
#include <check.h>
#include <inttypes.h>

#include "base/clock.h"
#include "store_util.h"

#define MIB	(UINT64_C(1) << 20)
#define SIZE	(6 * MIB + 777)
#define LIMIT	(8 * MIB)
#define OBJECTS 3
#define RUN_US	(3 * USEC_PER_SEC)

static char dir[DIR_MAX];
static struct store_config cfg;
static struct store *s;
static atomic_bool stop;
static atomic_uint wrong, reads, refused;

static uint32_t random_next(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

/* Never a version change here: the formula knows one version of each object. */
static struct version *open_version(uint32_t object)
{
	struct object_key key = test_key(object);
	struct validator val = test_validator(1, SIZE);
	struct version *v = NULL;

	if (store_version_open(s, &key, &val, SIZE, false, &v))
		abort();
	return v;
}

static void *reader(void *arg)
{
	uint32_t state = *(const uint32_t *)arg;

	while (!atomic_load(&stop)) {
		uint32_t object = 1 + random_next(&state) % OBJECTS;
		uint64_t off = random_next(&state) % (SIZE - 1);
		uint64_t len = 1 + random_next(&state) % min_u64(SIZE - off, MIB / 2);
		struct version *v = open_version(object);
		struct test_read r;
		int error;

		test_read_init(&r, off, len, object, 1);
		error = version_read(v, &r.waiter);
		if (error == -EINPROGRESS && random_next(&state) % 4 == 0 &&
		    version_cancel(v, &r.waiter)) {
			version_put(v);
			continue;
		}
		/* A superseded version gets nothing more: its readers are sent away. */
		if (!error || error == -EINPROGRESS) {
			error = test_read_wait_ms(&r, 300);
			if (error == -ETIMEDOUT && !version_cancel(v, &r.waiter))
				error = test_read_wait(&r);
		}
		if (error == -EILSEQ || error == -EINVAL)
			atomic_fetch_add(&wrong, 1);
		else if (error)
			atomic_fetch_add(&refused, 1);
		atomic_fetch_add(&reads, 1);
		version_put(v);
	}
	return NULL;
}

/* Fills gaps like the engine's writers do, two of them the same ones. */
static void *writer(void *arg)
{
	uint32_t state = *(const uint32_t *)arg;

	while (!atomic_load(&stop)) {
		uint32_t object = 1 + random_next(&state) % OBJECTS;
		struct version *v = open_version(object);
		uint64_t off = block_floor(random_next(&state) % SIZE);
		struct range gap;

		for (int n = 0; n < 8 && version_next_gap(v, (struct range){off, SIZE}, &gap) == 0;
		     n++) {
			gap.end = min_u64(gap.end, gap.off + 4 * BLOCK_SIZE);
			test_write(v, gap.off, range_len(gap), object, 1);
			off = gap.end;
		}
		version_put(v);
	}
	return NULL;
}

/* The same content under a new version: readers of the old one go on with what it has. */
static void supersede(const struct object_key *key)
{
	struct validator val = test_validator(1, SIZE);
	struct version *v = NULL;

	if (store_version_open(s, key, &val, SIZE, true, &v))
		abort();
	version_put(v);
}

/* Whatever a user may order at any time. Also sees to it that no reader waits for ever. */
static void *disturber(void *arg)
{
	uint32_t state = *(const uint32_t *)arg;
	uint64_t blocks, bad;

	while (!atomic_load(&stop)) {
		struct object_key key = test_key(1 + random_next(&state) % OBJECTS);
		struct store_stats st;
		struct store_record rec;

		switch (random_next(&state) % 6) {
		case 0:
			store_drop(s, &key);
			break;
		case 1:
			if (store_verify(s, &key, &blocks, &bad) || bad)
				atomic_fetch_add(&wrong, 1);
			break;
		case 2:
			store_checkpoint(s);
			break;
		case 3:
			supersede(&key);
			break;
		case 4:
			if (store_lookup(s, &key, &rec) == 0)
				store_remember(s, &key, &rec);
			break;
		default:
			store_stats(s, &st);
		}
		nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
	}
	return NULL;
}

static void run(void)
{
	static void *(*const role[])(void *) = {reader, reader, reader,	  reader,
						writer, writer, disturber};
	/* Two writers go the same way. */
	static uint32_t seed[ARRAY_SIZE(role)] = {11, 12, 13, 14, 5, 5, 9};
	pthread_t thread[ARRAY_SIZE(role)];
	size_t n;

	atomic_store(&stop, false);
	for (n = 0; n < ARRAY_SIZE(role); n++)
		ck_assert_int_eq(pthread_create(&thread[n], NULL, role[n], &seed[n]), 0);
	for (uint64_t end = clock_now_us() + RUN_US; clock_now_us() < end;) {
		nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
		if (cfg.cache_size != UINT64_MAX)
			ck_assert_uint_le(temp_dir_allocated(dir), LIMIT);
	}
	atomic_store(&stop, true);
	/* Readers still parked get their bytes from here. */
	for (size_t i = 0; i < n; i++) {
		while (pthread_tryjoin_np(thread[i], NULL) != 0) {
			for (uint32_t object = 1; object <= OBJECTS; object++) {
				struct version *v = open_version(object);

				version_fail(v, (struct range){0, SIZE}, -ECANCELED);
				version_put(v);
			}
			nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
		}
	}
	ck_assert_uint_eq(atomic_load(&wrong), 0);
	ck_assert_uint_gt(atomic_load(&reads), 0);
}

static void check_all_right(void)
{
	for (uint32_t object = 1; object <= OBJECTS; object++) {
		struct version *v = open_version(object);
		struct object_key key = test_key(object);
		uint64_t blocks, bad;

		test_wait_loaded(v);
		ck_assert_int_eq(store_verify(s, &key, &blocks, &bad), 0);
		ck_assert_uint_eq(bad, 0);
		for (uint64_t at = 0; at < SIZE; at += BLOCK_SIZE) {
			struct range r = range_to_blocks(range_of_length(at, BLOCK_SIZE), SIZE);

			/* There, or a gap; an eviction may be on its way between the two. */
			for (int tries = 0; !test_present(v, r.off, range_len(r), object, 1) &&
					    version_next_gap(v, r, &r) != 0;
			     tries++) {
				ck_assert_int_lt(tries, 1000);
				store_checkpoint(s);
			}
		}
		version_put(v);
	}
}

static void setup(void)
{
	temp_dir(dir);
	cfg = test_config(dir);
}

static void teardown(void)
{
	temp_dir_remove(dir);
}

START_TEST(all_at_once)
{
	struct store_stats st;

	cfg.cache_size = _i ? LIMIT : UINT64_MAX;
	s = test_open(&cfg);
	run();
	check_all_right();
	/* Twice: superseded versions are let go in the first round and buried in the second. */
	ck_assert_int_eq(store_checkpoint(s), 0);
	ck_assert_int_eq(store_checkpoint(s), 0);
	store_stats(s, &st);
	ck_assert_uint_eq(st.bytes_cached, st.bytes_durable);
	ck_assert_uint_eq(st.blocks_bad, 0);
	ck_assert_int_eq(store_close(s), 0);
	s = test_open(&cfg);
	{
		struct store_stats again;

		store_stats(s, &again);
		ck_assert_uint_eq(again.bytes_cached, st.bytes_cached);
	}
	check_all_right();
	ck_assert_int_eq(store_close(s), 0);
	fprintf(stderr, "# %u reads, %u refused, %" PRIu64 " bytes evicted\n", atomic_load(&reads),
		atomic_load(&refused), st.bytes_evicted);
}
END_TEST

static Suite *suite(void)
{
	Suite *st = suite_create("store_race");
	TCase *tc = tcase_create("race");

	tcase_set_timeout(tc, 180);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, all_at_once, 0, 2);
	suite_add_tcase(st, tc);
	return st;
}

int main(void)
{
	return test_main(suite());
}
