/*
 * test_store_tamper.c - somebody else changes a backing file while it is in use
 *
 * What is read then is right or a gap, and what was not harmed is still there.
 */
#include <check.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "store/store_priv.h"
#include "store_util.h"

#define MIB    (UINT64_C(1) << 20)
#define SIZE   (2 * MIB + 12345)
#define BLOCKS ((SIZE + BLOCK_SIZE - 1) / BLOCK_SIZE)

static char dir[DIR_MAX];
static struct store_config cfg;
static struct store *s;
static struct version *v;
static char path[DIR_MAX * 2];

static void open_version(uint64_t size)
{
	struct object_key key = test_key(1);
	struct validator val = test_validator(1, SIZE);

	val.size = size;
	ck_assert_int_eq(store_version_open(s, &key, &val, size, false, &v), 0);
}

static void write_all(void)
{
	for (uint64_t at = 0; at < SIZE; at += MIB)
		ck_assert_int_eq(test_write(v, at, min_u64(MIB, SIZE - at), 1, 1), 0);
}

static void setup(void)
{
	temp_dir(dir);
	cfg = test_config(dir);
	s = test_open(&cfg);
	open_version(SIZE);
	write_all();
	ck_assert(backing_path(dir, path));
}

static void teardown(void)
{
	version_put(v);
	if (s)
		store_close(s);
	s = NULL;
	temp_dir_remove(dir);
}

/* As it is in the next mount, with everything to be checked once. */
static void remount(void)
{
	version_put(v);
	v = NULL;
	ck_assert_int_eq(store_close(s), 0);
	s = test_open(&cfg);
	open_version(SIZE);
	test_wait_loaded(v);
}

/* Everything was read before: nothing is checked for the first time. */
static void read_all(void)
{
	for (uint64_t at = 0; at < SIZE; at += MIB)
		ck_assert_int_eq(test_read_now(v, at, min_u64(MIB, SIZE - at), 1, 1), 0);
}

static uint64_t bad_blocks(void)
{
	struct store_stats st;

	store_stats(s, &st);
	return st.blocks_bad;
}

/* Blocks that are there, by reads of one each; the others are gaps, never wrong. */
static uint64_t there(void)
{
	uint64_t blocks = 0;
	struct test_read r;

	for (uint64_t at = 0; at < SIZE; at += BLOCK_SIZE) {
		test_read_init(&r, at, min_u64(BLOCK_SIZE, SIZE - at), 1, 1);
		if (version_read(v, &r.waiter) == -EINPROGRESS && version_cancel(v, &r.waiter))
			continue;
		ck_assert_int_eq(test_read_wait(&r), 0);
		blocks++;
	}
	return blocks;
}

/* After something happened to so many blocks: those are gaps, and can be filled again. */
static void expect_harm(uint64_t blocks)
{
	struct stat st;

	ck_assert_uint_eq(there(), BLOCKS - blocks);
	ck_assert_uint_eq(bad_blocks(), blocks);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq((uint64_t)st.st_size, SIZE);
	ck_assert_int_eq(store_checkpoint(s), 0);
	ck_assert(blocks == 0 || !version_complete(v));
	write_all();
	ck_assert(version_complete(v));
	read_all();
	ck_assert_uint_eq(bad_blocks(), blocks);
	remount();
	ck_assert_uint_eq(there(), BLOCKS);
}

static void begin(int loaded)
{
	if (loaded)
		remount();
	read_all();
}

START_TEST(shortened)
{
	static const uint64_t length[] = {
		0, 1, 1000, 2 * BLOCK_SIZE, 5 * BLOCK_SIZE + 4096, 7 * BLOCK_SIZE + 100, SIZE - 1};
	uint64_t len = length[_i / 2];

	begin(_i % 2);
	ck_assert_int_eq(truncate(path, (off_t)len), 0);
	expect_harm(BLOCKS - len / BLOCK_SIZE);
}
END_TEST

/* While changes of ours are under way, whose ctime nobody could tell from that of the hole. */
START_TEST(punched_while_we_write)
{
	struct backing *b;
	int fd;

	begin(_i % 2);
	mtx_lock(&v->lock);
	b = backing_get(v->backing);
	mtx_unlock(&v->lock);
	trust_write_begin(v, b);
	trust_write_begin(v, b);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 3 * BLOCK_SIZE,
				   2 * BLOCK_SIZE),
			 0);
	close(fd);
	trust_write_end(v, b);
	trust_write_end(v, b);
	backing_put(b);
	expect_harm(2);
}
END_TEST

/* The length is right again before anybody looks. */
START_TEST(shortened_and_made_longer)
{
	begin(_i % 2);
	ck_assert_int_eq(truncate(path, 3 * (off_t)BLOCK_SIZE + 5), 0);
	ck_assert_int_eq(truncate(path, SIZE), 0);
	expect_harm(BLOCKS - 3);
}
END_TEST

START_TEST(lengthened)
{
	begin(_i % 2);
	ck_assert_int_eq(truncate(path, SIZE + 100000), 0);
	expect_harm(0);
}
END_TEST

START_TEST(punched)
{
	int fd;

	begin(_i % 2);
	fd = open(path, O_WRONLY);
	ck_assert_int_eq(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
				   3 * BLOCK_SIZE + 8192, BLOCK_SIZE),
			 0);
	close(fd);
	expect_harm(2);
}
END_TEST

START_TEST(overwritten)
{
	char zeros[5000] = {0};
	int fd;

	begin(_i % 2);
	fd = open(path, O_WRONLY);
	ck_assert_int_eq(pwrite(fd, zeros, sizeof(zeros), 4 * (off_t)BLOCK_SIZE - 100),
			 sizeof(zeros));
	close(fd);
	expect_harm(2);
}
END_TEST

/* Nothing is wrong, only looked at again. */
START_TEST(touched)
{
	begin(_i % 2);
	ck_assert_int_eq(chmod(path, 0400), 0);
	ck_assert_int_eq(chmod(path, 0600), 0);
	expect_harm(0);
}
END_TEST

START_TEST(found_by_verify)
{
	struct object_key key = test_key(1);
	uint64_t blocks = 0, bad = 0;

	begin(_i % 2);
	ck_assert_int_eq(truncate(path, 3 * (off_t)BLOCK_SIZE + 5), 0);
	ck_assert_int_eq(store_verify(s, &key, &blocks, &bad), 0);
	ck_assert_uint_eq(blocks, BLOCKS);
	ck_assert_uint_eq(bad, BLOCKS - 3);
	expect_harm(BLOCKS - 3);
}
END_TEST

/* Between two writes; the second makes it as long as it was. */
START_TEST(shortened_while_it_grows)
{
	version_put(v);
	v = NULL;
	ck_assert_int_eq(store_close(s), 0);
	temp_dir_remove(dir);
	temp_dir(dir);
	s = test_open(&cfg);
	open_version(SIZE_UNKNOWN);
	ck_assert_int_eq(test_write(v, 0, MIB, 1, 1), 0);
	ck_assert(backing_path(dir, path));
	ck_assert_int_eq(truncate(path, 5 * (off_t)BLOCK_SIZE), 0);
	if (_i)
		ck_assert_int_eq(test_write(v, MIB, MIB, 1, 1), 0);
	ck_assert_uint_eq(there(), _i ? 21 : 5);
	ck_assert_uint_eq(bad_blocks(), 11);
	ck_assert_int_eq(store_checkpoint(s), 0);
	ck_assert_int_eq(test_write(v, 0, 2 * MIB, 1, 1), 0);
	ck_assert_int_eq(test_read_now(v, 0, MIB, 1, 1), 0);
	ck_assert_int_eq(test_read_now(v, MIB, MIB, 1, 1), 0);
}
END_TEST

/* A file without its name is gone after the mount: nothing that comes to lie in it is durable. */
START_TEST(name_lost)
{
	struct object_key key = test_key(1);
	char other[DIR_MAX * 2 + 8];
	struct store_stats st;
	int fd;

	ck_assert_int_eq(store_drop(s, &key), 0);
	ck_assert_int_eq(test_write(v, 0, MIB, 1, 1), 0);
	ck_assert_int_eq(store_checkpoint(s), 0);
	snprintf(other, sizeof(other), "%s.x", path);
	if (_i == 0) {
		ck_assert_int_eq(unlink(path), 0);
	} else if (_i == 1) {
		fd = open(other, O_CREAT | O_WRONLY, 0600);
		close(fd);
		ck_assert_int_eq(rename(other, path), 0);
	} else {
		ck_assert_int_eq(rename(path, other), 0);
	}
	ck_assert_int_eq(test_read_now(v, 0, MIB, 1, 1), 0);
	ck_assert_int_eq(test_write(v, MIB, MIB, 1, 1), 0);
	ck_assert_int_eq(store_checkpoint(s), 0);
	store_stats(s, &st);
	ck_assert_uint_eq(st.bytes_durable, 0);
	ck_assert_uint_eq(st.bytes_cached, 0);
	ck_assert_uint_eq(there(), 0);
	write_all();
	ck_assert_int_eq(store_checkpoint(s), 0);
	store_stats(s, &st);
	ck_assert_uint_eq(st.bytes_durable, SIZE);
	remount();
	ck_assert_uint_eq(there(), BLOCKS);
}
END_TEST

/* While it has no descriptor, so that it can't be written either. */
START_TEST(name_lost_while_closed)
{
	struct object_key key = test_key(2);
	struct validator val = test_validator(1, SIZE);
	struct version *other = NULL;

	ck_assert_int_eq(store_checkpoint(s), 0);
	cfg.files_max = 1;
	remount();
	ck_assert_int_eq(store_version_open(s, &key, &val, SIZE, false, &other), 0);
	ck_assert_int_eq(test_write(other, 0, MIB, 2, 1), 0);
	ck_assert_int_eq(store_checkpoint(s), 0);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_uint_eq(there(), 0);
	ck_assert_int_eq(store_checkpoint(s), 0);
	ck_assert_int_ne(test_write(v, 0, MIB, 1, 1), 0);
	ck_assert_int_eq(store_checkpoint(s), 0);
	write_all();
	version_put(other);
	remount();
	ck_assert_uint_eq(there(), BLOCKS);
}
END_TEST

/* Whoever waits for a block that is missing gets the others of his read checked as well. */
START_TEST(waiting_reader)
{
	struct object_key key = test_key(1);
	struct test_read r;

	ck_assert_int_eq(store_drop(s, &key), 0);
	ck_assert_int_eq(test_write(v, 0, MIB, 1, 1), 0);
	test_read_init(&r, MIB - 10, 20, 1, 1);
	ck_assert_int_eq(version_read(v, &r.waiter), -EINPROGRESS);
	ck_assert_int_eq(truncate(path, 100), 0);
	ck_assert_int_eq(test_write(v, MIB, BLOCK_SIZE, 1, 1), 0);
	ck_assert(!r.done);
	ck_assert_int_eq(store_checkpoint(s), 0);
	ck_assert_int_eq(test_write(v, MIB - BLOCK_SIZE, BLOCK_SIZE, 1, 1), 0);
	ck_assert_int_eq(test_read_wait(&r), 0);
}
END_TEST

/* ---- all at once ---- */

static atomic_bool stop;
static atomic_uint wrong, right;

static void *reader(void *arg)
{
	uint32_t state = (uint32_t)(uintptr_t)arg;

	while (!atomic_load(&stop)) {
		uint64_t off = (state = state * 1664525u + 1013904223u) % (SIZE - 1);
		struct test_read r;
		int error;

		test_read_init(&r, off, min_u64(SIZE - off, 2 * BLOCK_SIZE), 1, 1);
		error = version_read(v, &r.waiter);
		if (error == -EINPROGRESS && version_cancel(v, &r.waiter))
			continue;
		if (!error || error == -EINPROGRESS)
			error = test_read_wait(&r);
		if (error == -EILSEQ)
			atomic_fetch_add(&wrong, 1);
		if (!error)
			atomic_fetch_add(&right, 1);
	}
	return NULL;
}

/* Shortening never shows as a wrong byte, however it falls between the steps of a read. */
START_TEST(shortened_while_read)
{
	uint64_t until_us = clock_now_us() + 2 * USEC_PER_SEC;
	pthread_t thread[2];
	uint32_t state = 1;

	for (uintptr_t i = 0; i < 2; i++)
		ck_assert_int_eq(pthread_create(&thread[i], NULL, reader, (void *)(i + 1)), 0);
	while (clock_now_us() < until_us) {
		state = state * 1664525u + 1013904223u;
		ck_assert_int_eq(truncate(path, state % SIZE), 0);
		nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
		store_checkpoint(s);
		for (uint64_t at = 0; at < SIZE; at += MIB)
			test_write(v, at, min_u64(MIB, SIZE - at), 1, 1);
		nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
	}
	atomic_store(&stop, true);
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	ck_assert_uint_eq(atomic_load(&wrong), 0);
	ck_assert_uint_gt(atomic_load(&right), 100);
	ck_assert_uint_gt(bad_blocks(), 0);
}
END_TEST

/* What happens to a part after the last checkpoint, before it gets its name. */
START_TEST(part_before_its_name)
{
	enum { CASES = 5 };
	static const int want[CASES] = {0, -EIO, -EIO, -ESTALE, -ESTALE};
	struct object_key key = test_key(2);
	struct validator val = test_validator(1, SIZE);
	struct store_record rec = {.size = SIZE, .mtime = VALIDATOR_NO_TIME, .validator = val};
	struct store_target target = {.part = "f.part", .untended = _i >= CASES};
	int which = _i % CASES;
	char state[DIR_MAX + 8], part[DIR_MAX + 8], name[DIR_MAX + 8];
	char owner[STORE_OWNER_MAX];
	struct version *fresh;
	struct store *t;

	snprintf(state, sizeof(state), "%s/state", dir);
	snprintf(part, sizeof(part), "%s/f.part", dir);
	snprintf(name, sizeof(name), "%s/f", dir);
	target.dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cfg.dir = state;
	cfg.target = &target;
	ck_assert_int_eq(store_open(&cfg, &t, owner), 0);
	ck_assert_int_eq(store_version_open(t, &key, &val, SIZE, false, &fresh), 0);
	ck_assert_int_eq(store_remember(t, &key, &rec), 0);
	for (uint64_t at = 0; at < SIZE; at += MIB)
		ck_assert_int_eq(test_write(fresh, at, min_u64(MIB, SIZE - at), 2, 1), 0);
	ck_assert_int_eq(store_checkpoint(t), 0);
	ck_assert(!store_doubted(t, &key));
	version_put(fresh);
	if (which == 1)
		ck_assert_int_eq(truncate(part, 5), 0);
	if (which >= 2)
		ck_assert_int_eq(unlink(part), 0);
	if (which == 3)
		ck_assert_int_eq(close(open(part, O_WRONLY | O_CREAT | O_CLOEXEC, 0600)), 0);
	if (which == 4)
		ck_assert_int_eq(symlink("/dev/null", part), 0);
	ck_assert_int_eq(store_finish(t, &key, VALIDATOR_NO_TIME, "f"), want[which]);
	ck_assert_int_eq(access(name, F_OK) == 0, which == 0);
	close(target.dirfd);
}
END_TEST

/* An untended target: who checkpoints or closes it does it himself, until it is tended. */
START_TEST(part_of_an_untended_store)
{
	struct object_key key = test_key(2);
	struct validator val = test_validator(1, SIZE);
	struct store_target target = {.part = "f.part", .untended = true};
	char state[DIR_MAX + 8], owner[STORE_OWNER_MAX];
	struct version_info info;
	struct store_record rec;
	struct version *fresh;
	struct store *t;

	snprintf(state, sizeof(state), "%s/state", dir);
	target.dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cfg.dir = state;
	cfg.target = &target;
	cfg.checkpoint_us = 1000;
	ck_assert_int_eq(store_open(&cfg, &t, owner), 0);
	ck_assert_int_eq(store_version_open(t, &key, &val, SIZE, false, &fresh), 0);
	ck_assert_int_eq(test_write(fresh, 0, MIB, 1, 1), 0);
	nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
	version_info(fresh, &info);
	ck_assert_uint_eq(info.bytes_durable, 0);
	if (_i == 0) {
		ck_assert_int_eq(store_checkpoint(t), 0);
	} else if (_i == 1) {
		store_tend(t);
		for (int tries = 0; tries < 1000 && info.bytes_durable == 0; tries++) {
			nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
			version_info(fresh, &info);
		}
		ck_assert_uint_eq(info.bytes_durable, MIB);
	}
	version_put(fresh);
	ck_assert_int_eq(store_close(t), 0);
	/* By rows of the last one, and tended by itself. */
	ck_assert_int_eq(store_open(&cfg, &t, owner), 0);
	ck_assert_int_eq(store_lookup(t, &key, &rec), 0);
	ck_assert_uint_eq(rec.bytes_durable, MIB);
	ck_assert_int_eq(store_version_open(t, &key, &val, SIZE, false, &fresh), 0);
	ck_assert_int_eq(test_write(fresh, MIB, MIB, 1, 1), 0);
	for (int tries = 0; tries < 1000; tries++) {
		version_info(fresh, &info);
		if (info.bytes_durable == UINT64_C(2) * MIB)
			break;
		nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
	}
	ck_assert_uint_eq(info.bytes_durable, UINT64_C(2) * MIB);
	version_put(fresh);
	ck_assert_int_eq(store_discard(t), 0);
	ck_assert_int_ne(access(state, F_OK), 0);
	close(target.dirfd);
}
END_TEST

/* Two ask for a checkpoint at once, and then what can't wait comes: each gets its round. */
static void *ask_for_checkpoints(void *arg)
{
	for (int i = 0; i < 200; i++)
		ck_assert_int_eq(store_checkpoint(arg), 0);
	return NULL;
}

START_TEST(rounds_of_an_untended_store)
{
	struct object_key key = test_key(2);
	struct validator val = test_validator(1, SIZE);
	struct store_target target = {.part = "f.part", .untended = true};
	char state[DIR_MAX + 8], owner[STORE_OWNER_MAX];
	struct version *fresh;
	pthread_t asks[2];
	struct store *t;

	snprintf(state, sizeof(state), "%s/state", dir);
	target.dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cfg.dir = state;
	cfg.target = &target;
	ck_assert_int_eq(store_open(&cfg, &t, owner), 0);
	ck_assert_int_eq(store_version_open(t, &key, &val, SIZE, false, &fresh), 0);
	ck_assert_int_eq(test_write(fresh, 0, MIB, 1, 1), 0);
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(pthread_create(&asks[i], NULL, ask_for_checkpoints, t), 0);
	nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
	ck_assert_int_eq(store_drop(t, &key), 0);
	if (_i == 1)
		store_tend(t);
	for (int i = 0; i < 2; i++)
		pthread_join(asks[i], NULL);
	version_put(fresh);
	ck_assert_int_eq(store_close(t), 0);
	close(target.dirfd);
}
END_TEST

/* The file of the version that rows tell of goes while a newer one's is made of the same name. */
START_TEST(part_of_the_newer_version)
{
	struct object_key key = test_key(2);
	struct store_target target = {.part = "f.part"};
	char state[DIR_MAX + 8], part[DIR_MAX + 8], owner[STORE_OWNER_MAX];
	struct version *fresh;
	struct store *t;

	snprintf(state, sizeof(state), "%s/state", dir);
	snprintf(part, sizeof(part), "%s/f.part", dir);
	target.dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cfg.dir = state;
	cfg.target = &target;
	for (unsigned int i = 1; i <= 200; i++) {
		struct validator val = test_validator(i, SIZE);

		ck_assert_int_eq(store_open(&cfg, &t, owner), 0);
		/* A thread removes what the older one left, from here on. */
		ck_assert_int_eq(store_version_open(t, &key, &val, SIZE, false, &fresh), 0);
		nanosleep(&(struct timespec){.tv_nsec = (long)(i % 50) * 20000}, NULL);
		ck_assert_int_eq(test_write(fresh, 0, MIB, i, 1), 0);
		ck_assert_int_eq(store_checkpoint(t), 0);
		ck_assert_msg(access(part, F_OK) == 0, "round %u: the part is gone", i);
		version_put(fresh);
		ck_assert_int_eq(store_close(t), 0);
	}
	close(target.dirfd);
}
END_TEST

static Suite *suite(void)
{
	Suite *st = suite_create("store_tamper");
	TCase *tc = tcase_create("tamper");

	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, shortened, 0, 14);
	tcase_add_loop_test(tc, punched_while_we_write, 0, 2);
	tcase_add_loop_test(tc, shortened_and_made_longer, 0, 2);
	tcase_add_loop_test(tc, lengthened, 0, 2);
	tcase_add_loop_test(tc, punched, 0, 2);
	tcase_add_loop_test(tc, overwritten, 0, 2);
	tcase_add_loop_test(tc, touched, 0, 2);
	tcase_add_loop_test(tc, found_by_verify, 0, 2);
	tcase_add_loop_test(tc, shortened_while_it_grows, 0, 2);
	tcase_add_loop_test(tc, name_lost, 0, 3);
	tcase_add_test(tc, name_lost_while_closed);
	tcase_add_loop_test(tc, part_before_its_name, 0, 10);
	tcase_add_loop_test(tc, part_of_an_untended_store, 0, 3);
	tcase_add_loop_test(tc, rounds_of_an_untended_store, 0, 2);
	tcase_add_test(tc, part_of_the_newer_version);
	tcase_add_test(tc, waiting_reader);
	tcase_add_test(tc, shortened_while_read);
	suite_add_tcase(st, tc);
	return st;
}

int main(void)
{
	return test_main(suite());
}
