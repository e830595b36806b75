/*
 * test_store.c - the store as the engine sees it: read, wait, write, close, open again
 */
#include <check.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "store/store_priv.h"
#include "store_util.h"

#define MIB  (UINT64_C(1) << 20)
#define SIZE (4 * MIB + 12345)

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
	s = test_open(&cfg);
}

static void teardown(void)
{
	if (s)
		store_close(s);
	s = NULL;
	temp_dir_remove(dir);
}

static void reopen(void)
{
	close_store();
	s = test_open(&cfg);
}

static struct version *open_version(uint32_t object, uint32_t version, uint64_t size)
{
	struct object_key key = test_key(object);
	struct validator val = test_validator(version, size);
	struct version *v = NULL;

	ck_assert_int_eq(store_version_open(s, &key, &val, size, false, &v), 0);
	return v;
}

START_TEST(write_then_read)
{
	struct version *v = open_version(1, 1, SIZE);

	ck_assert(!test_present(v, 0, 1, 1, 1));
	ck_assert_int_eq(test_write(v, 0, MIB, 1, 1), 0);
	ck_assert_int_eq(test_read_now(v, 0, MIB, 1, 1), 0);
	ck_assert_int_eq(test_read_now(v, 12345, 54321, 1, 1), 0);
	ck_assert(!test_present(v, MIB - 1, 2, 1, 1));
	ck_assert(!version_complete(v));
	ck_assert_int_eq(test_write(v, MIB, SIZE - MIB, 1, 1), 0);
	ck_assert_int_eq(test_read_now(v, SIZE - 7, 7, 1, 1), 0);
	ck_assert(version_complete(v));
	version_put(v);
}
END_TEST

START_TEST(bad_arguments)
{
	struct version *v = open_version(1, 1, SIZE);
	struct test_read r;

	test_read_init(&r, SIZE - 1, 2, 1, 1);
	ck_assert_int_eq(version_read(v, &r.waiter), -EINVAL);
	test_read_init(&r, 0, 0, 1, 1);
	ck_assert_int_eq(version_read(v, &r.waiter), -EINVAL);
	ck_assert_int_eq(test_write(v, 1, BLOCK_SIZE, 1, 1), -EINVAL);
	ck_assert_int_eq(test_write(v, 0, BLOCK_SIZE + 1, 1, 1), -EINVAL);
	ck_assert_int_eq(test_write(v, block_floor(SIZE), BLOCK_SIZE, 1, 1), -EINVAL);
	version_put(v);
}
END_TEST

START_TEST(parked_read_is_answered_by_its_last_byte)
{
	struct version *v = open_version(1, 1, SIZE);
	struct test_read r;

	test_read_init(&r, BLOCK_SIZE / 2, 2 * BLOCK_SIZE, 1, 1); /* three blocks */
	ck_assert_int_eq(version_read(v, &r.waiter), -EINPROGRESS);
	ck_assert(version_awaited(v, range_make(0, BLOCK_SIZE)));
	ck_assert(!version_awaited(v, range_make(MIB, 2 * MIB)));
	ck_assert_int_eq(test_write(v, 2 * BLOCK_SIZE, BLOCK_SIZE, 1, 1), 0);
	ck_assert_int_eq(test_write(v, 0, BLOCK_SIZE, 1, 1), 0);
	ck_assert(!r.done);
	ck_assert_int_eq(test_write(v, BLOCK_SIZE, BLOCK_SIZE, 1, 1), 0);
	ck_assert(r.done);
	ck_assert_int_eq(test_read_wait(&r), 0);
	version_put(v);
}
END_TEST

START_TEST(cancel_and_fail)
{
	struct version *v = open_version(1, 1, SIZE);
	struct test_read a, b;

	test_read_init(&a, 0, 10, 1, 1);
	test_read_init(&b, MIB, 10, 1, 1);
	ck_assert_int_eq(version_read(v, &a.waiter), -EINPROGRESS);
	ck_assert_int_eq(version_read(v, &b.waiter), -EINPROGRESS);
	ck_assert(version_cancel(v, &a.waiter));
	ck_assert_uint_eq(version_fail(v, range_make(0, MIB), -EIO), 0);
	ck_assert_uint_eq(version_fail(v, range_make(0, 2 * MIB), -EIO), 1);
	ck_assert_int_eq(test_read_wait(&b), -EIO);
	ck_assert(!a.done);
	version_put(v);
}
END_TEST

START_TEST(survives_a_remount)
{
	struct version *v = open_version(1, 1, SIZE);
	struct object_key key = test_key(1);
	struct store_record rec;
	struct version_info info;
	struct range gap;

	ck_assert_int_eq(test_write(v, 0, MIB, 1, 1), 0);
	ck_assert_int_eq(test_write(v, block_floor(SIZE), SIZE - block_floor(SIZE), 1, 1), 0);
	ck_assert_int_eq(store_checkpoint(s), 0);
	version_info(v, &info);
	ck_assert_uint_eq(info.bytes_durable, info.bytes_present);
	version_put(v);
	reopen();
	ck_assert_int_eq(store_lookup(s, &key, &rec), 0);
	ck_assert_uint_eq(rec.bytes_cached, MIB + SIZE - block_floor(SIZE));
	ck_assert_uint_ne(rec.version_id, 0);
	ck_assert(!rec.complete);
	v = open_version(1, 1, SIZE);
	ck_assert_int_eq(test_read_now(v, 100, MIB - 100, 1, 1), 0);
	ck_assert_int_eq(test_read_now(v, SIZE - 1, 1, 1, 1), 0);
	test_wait_loaded(v);
	ck_assert_int_eq(version_next_gap(v, range_make(0, SIZE), &gap), 0);
	ck_assert_uint_eq(gap.off, MIB);
	ck_assert_uint_eq(gap.end, block_floor(SIZE));
	version_put(v);
}
END_TEST

START_TEST(records_are_remembered)
{
	struct object_key key = test_key(7), other = test_key(8);
	struct store_record rec = {.size = 77, .mtime = 123456, .asked_s = 99}, got;

	rec.validator = test_validator(3, 77);
	ck_assert_int_eq(store_remember(s, &key, &rec), 0);
	reopen();
	ck_assert_int_eq(store_lookup(s, &other, &got), -ENOENT);
	ck_assert_int_eq(store_lookup(s, &key, &got), 0);
	ck_assert_uint_eq(got.size, 77);
	ck_assert_int_eq(got.mtime, 123456);
	ck_assert_int_eq(got.asked_s, 99);
	ck_assert_str_eq(got.validator.etag, rec.validator.etag);
	ck_assert_uint_eq(got.version_id, 0);
}
END_TEST

START_TEST(another_validator_is_another_file)
{
	struct version *a = open_version(1, 1, SIZE), *b;
	char path[DIR_MAX * 2];

	ck_assert_int_eq(test_write(a, 0, MIB, 1, 1), 0);
	ck_assert_int_eq(store_checkpoint(s), 0);
	b = open_version(1, 2, SIZE);
	ck_assert_ptr_ne(a, b);
	ck_assert_int_eq(test_write(a, MIB, MIB, 1, 1), -ESTALE);
	ck_assert(!test_present(b, 0, 1, 1, 2));
	ck_assert_int_eq(test_write(b, 0, MIB, 1, 2), 0);
	/* The old one is read on by those who hold it. */
	ck_assert_int_eq(test_read_now(a, 0, MIB, 1, 1), 0);
	ck_assert_int_eq(test_read_now(b, 0, MIB, 1, 2), 0);
	version_put(a);
	ck_assert_int_eq(store_checkpoint(s), 0);
	ck_assert_uint_lt(temp_dir_allocated(dir), 2 * MIB);
	version_put(b);
	reopen();
	b = open_version(1, 2, SIZE);
	ck_assert_int_eq(test_read_now(b, 0, MIB, 1, 2), 0);
	version_put(b);
	ck_assert(backing_path(dir, path));
}
END_TEST

START_TEST(unloaded_version_is_superseded)
{
	struct version *v = open_version(1, 1, SIZE);
	struct object_key key = test_key(1);
	struct store_stats st;
	struct validator val = test_validator(1, SIZE);

	ck_assert_int_eq(test_write(v, 0, MIB, 1, 1), 0);
	version_put(v);
	reopen();
	ck_assert_int_eq(store_version_open(s, &key, &val, SIZE, true, &v), 0);
	ck_assert(!test_present(v, 0, 1, 1, 1));
	version_put(v);
	ck_assert_int_eq(store_checkpoint(s), 0);
	reopen();
	store_stats(s, &st);
	ck_assert_uint_eq(st.bytes_cached, 0);
	ck_assert_uint_eq(temp_dir_allocated(dir), 0);
}
END_TEST

START_TEST(size_comes_later)
{
	struct object_key key = test_key(1);
	struct validator val = VALIDATOR_INIT;
	struct version *v = NULL;

	ck_assert_int_eq(store_version_open(s, &key, &val, SIZE_UNKNOWN, false, &v), 0);
	ck_assert_int_eq(test_write(v, 0, 2 * BLOCK_SIZE, 1, 1), 0);
	ck_assert_int_eq(test_read_now(v, 5, BLOCK_SIZE, 1, 1), 0);
	ck_assert_int_eq(store_checkpoint(s), 0);
	ck_assert_int_eq(version_set_size(v, BLOCK_SIZE), -EINVAL);
	ck_assert_int_eq(version_set_size(v, 3 * BLOCK_SIZE + 5), 0);
	ck_assert_int_eq(test_write(v, 2 * BLOCK_SIZE, BLOCK_SIZE + 5, 1, 1), 0);
	ck_assert(version_complete(v));
	ck_assert_int_eq(test_read_now(v, 0, 3 * BLOCK_SIZE + 5, 1, 1), 0);
	version_put(v);
	reopen();
	v = open_version(1, 1, 3 * BLOCK_SIZE + 5);
	ck_assert_int_eq(test_read_now(v, 0, 3 * BLOCK_SIZE + 5, 1, 1), 0);
	version_put(v);
}
END_TEST

/* Reads wait for more than there turns out to be: none is told bytes behind the end. */
START_TEST(size_comes_while_reads_wait)
{
	static const uint64_t tails[] = {1, 5, BLOCK_SIZE - 1, BLOCK_SIZE};
	struct object_key key = test_key(1);
	struct validator val = VALIDATOR_INIT;
	struct version *v = NULL;
	uint64_t size = BLOCK_SIZE + tails[_i];
	struct test_read inside, past[3];

	ck_assert_int_eq(store_version_open(s, &key, &val, SIZE_UNKNOWN, false, &v), 0);
	test_read_init(&inside, BLOCK_SIZE, size - BLOCK_SIZE, 1, 1);
	test_read_init(&past[0], 0, 2 * BLOCK_SIZE + 1, 1, 1);
	test_read_init(&past[1], 0, size + 1, 1, 1);
	test_read_init(&past[2], size, 7, 1, 1);
	ck_assert_int_eq(version_read(v, &inside.waiter), -EINPROGRESS);
	for (unsigned int i = 0; i < ARRAY_SIZE(past); i++)
		ck_assert_int_eq(version_read(v, &past[i].waiter), -EINPROGRESS);
	ck_assert_int_eq(test_write(v, 0, BLOCK_SIZE, 1, 1), 0);
	ck_assert_int_eq(version_set_size(v, size), 0);
	for (unsigned int i = 0; i < ARRAY_SIZE(past); i++)
		ck_assert_int_eq(test_read_wait_ms(&past[i], 0), -EINVAL);
	ck_assert_int_eq(version_read(v, &past[1].waiter), -EINVAL);
	ck_assert_int_eq(test_write(v, BLOCK_SIZE, size - BLOCK_SIZE, 1, 1), 0);
	ck_assert_int_eq(test_read_wait(&inside), 0);
	ck_assert(inside.right);
	version_put(v);
}
END_TEST

START_TEST(drop_forgets_and_gives_back)
{
	struct object_key key = test_key(1);
	struct version *v = open_version(1, 1, SIZE);
	struct store_stats st;

	ck_assert_int_eq(test_write(v, 0, 2 * MIB, 1, 1), 0);
	ck_assert_int_eq(store_checkpoint(s), 0);
	ck_assert_int_eq(test_write(v, 2 * MIB, MIB, 1, 1), 0);
	ck_assert_int_eq(store_drop(s, &key), 0);
	ck_assert(!test_present(v, 0, 1, 1, 1));
	store_stats(s, &st);
	ck_assert_uint_eq(st.bytes_cached, 0);
	ck_assert_uint_eq(st.bytes_durable, 0);
	ck_assert_uint_le(temp_dir_allocated(dir), 16384);
	ck_assert_int_eq(test_write(v, 0, MIB, 1, 1), 0);
	ck_assert_int_eq(test_read_now(v, 0, MIB, 1, 1), 0);
	version_put(v);
	reopen();
	v = open_version(1, 1, SIZE);
	ck_assert(test_present(v, 0, MIB, 1, 1));
	ck_assert(!test_present(v, MIB, 1, 1, 1));
	version_put(v);
	/* And of a version that is not in memory. */
	ck_assert_int_eq(store_drop(s, &key), 0);
	store_stats(s, &st);
	ck_assert_uint_eq(st.bytes_cached, 0);
}
END_TEST

START_TEST(sizes_beyond_the_file_system)
{
	uint64_t size = (UINT64_C(1) << 53) + 5, far = block_floor(size - 1);
	struct version *v = open_version(1, 1, size);
	struct test_read r;

	ck_assert_int_eq(test_write(v, 0, BLOCK_SIZE, 1, 1), 0);
	ck_assert_int_eq(test_read_now(v, 3, 100, 1, 1), 0);
	test_read_init(&r, size - 3, 3, 1, 1);
	ck_assert_int_eq(version_read(v, &r.waiter), -EINPROGRESS);
	test_write(v, far, size - far, 1, 1); /* ext4 can't keep it; tmpfs can */
	ck_assert_int_eq(test_read_wait(&r), 0);
	/* Two blocks, the one before kept or not, through memory. */
	test_read_init(&r, far - 10, 12, 1, 1);
	if (version_read(v, &r.waiter) == -EINPROGRESS) {
		test_write(v, far - BLOCK_SIZE, BLOCK_SIZE, 1, 1);
		if (!test_read_done(&r))
			test_write(v, far, size - far, 1, 1);
	}
	ck_assert_int_eq(test_read_wait(&r), 0);
	version_put(v);
	reopen();
	v = open_version(1, 1, size);
	ck_assert_int_eq(test_read_now(v, 0, BLOCK_SIZE, 1, 1), 0);
	version_put(v);
}
END_TEST

START_TEST(second_owner_is_refused)
{
	char owner[STORE_OWNER_MAX] = "", expect[64];
	struct store *other = NULL;

	ck_assert_int_eq(store_open(&cfg, &other, owner), -EBUSY);
	snprintf(expect, sizeof(expect), "%ld on ", (long)getpid());
	ck_assert_ptr_nonnull(strstr(owner, expect));
	ck_assert_ptr_nonnull(strstr(owner, "test"));
}
END_TEST

START_TEST(directory_must_be_private)
{
	char owner[STORE_OWNER_MAX] = "", link[DIR_MAX + 8];
	struct store *other = NULL;
	struct stat st;

	ck_assert_int_eq(stat(dir, &st), 0);
	ck_assert_uint_eq(st.st_mode & 0777, 0700);
	close_store();
	ck_assert_int_eq(chmod(dir, 0770), 0);
	ck_assert_int_eq(store_open(&cfg, &other, owner), -EPERM);
	ck_assert_int_eq(chmod(dir, 0700), 0);
	snprintf(link, sizeof(link), "%s.link", dir);
	ck_assert_int_eq(symlink(dir, link), 0);
	cfg.dir = link;
	ck_assert_int_eq(store_open(&cfg, &other, owner), -EPERM);
	unlink(link);
	if (geteuid() == 0) {
		ck_assert_int_eq(chown(dir, 12345, 12345), 0);
		cfg.dir = dir;
		ck_assert_int_eq(store_open(&cfg, &other, owner), -EPERM);
	}
}
END_TEST

START_TEST(nothing_new_no_checkpoint)
{
	struct version *v = open_version(1, 1, SIZE);
	struct store_stats before, after;

	ck_assert_int_eq(test_write(v, 0, MIB, 1, 1), 0);
	ck_assert_int_eq(store_checkpoint(s), 0);
	store_stats(s, &before);
	ck_assert_int_eq(store_checkpoint(s), 0);
	store_stats(s, &after);
	ck_assert_uint_eq(before.checkpoints, after.checkpoints);
	ck_assert_uint_eq(after.bytes_durable, MIB);
	version_put(v);
}
END_TEST

/* ---- whose turn it is ---- */

static atomic_uint turns;

static void on_turn(struct write_turn *t)
{
	(void)t;
	atomic_fetch_add(&turns, 1);
}

static int write_one(struct version *v, uint32_t object, struct write_turn *turn)
{
	static unsigned char buf[BLOCK_SIZE];

	fill_formula(buf, sizeof(buf), MIB, object, 1);
	return version_write(v, MIB, buf, sizeof(buf), 0, true, turn);
}

struct held_job {
	struct dbjob job;
	atomic_bool go;
};

static int held_run(struct dbjob *job, struct extdb *db)
{
	(void)db;
	while (!atomic_load(&container_of(job, struct held_job, job)->go))
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	return 0;
}

/* One thread writes for many versions: one that is loading does not hold up the others. */
START_TEST(writes_beside_one_that_is_loading)
{
	struct held_job held = {.job.run = held_run, .go = false};
	struct write_turn turn = {.ready = on_turn};
	struct version *v = open_version(1, 1, SIZE), *other;

	ck_assert_int_eq(test_write(v, 0, BLOCK_SIZE, 1, 1), 0);
	version_put(v);
	reopen();
	dbthread_post(&s->db, &held.job);
	v = open_version(1, 1, SIZE);
	other = open_version(2, 1, SIZE);
	ck_assert_int_eq(write_one(v, 1, &turn), -EAGAIN);
	ck_assert_int_eq(test_write(other, 0, MIB, 2, 1), 0);
	ck_assert_int_eq(test_read_now(other, 0, MIB, 2, 1), 0);
	ck_assert_uint_eq(atomic_load(&turns), 0);
	atomic_store(&held.go, true);
	while (atomic_load(&turns) == 0)
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	ck_assert_int_eq(write_one(v, 1, &turn), 0);
	ck_assert_int_eq(test_read_now(v, MIB, BLOCK_SIZE, 1, 1), 0);
	ck_assert_int_eq(test_read_now(v, 0, BLOCK_SIZE, 1, 1), 0);
	ck_assert_uint_eq(atomic_load(&turns), 1);
	version_put(v);
	version_put(other);
}
END_TEST

START_TEST(writes_beside_one_that_is_gated)
{
	struct write_turn turn = {.ready = on_turn};
	struct version *v = open_version(1, 1, SIZE), *other = open_version(2, 1, SIZE);

	mtx_lock(&v->lock);
	v->gated = true;
	mtx_unlock(&v->lock);
	ck_assert_int_eq(write_one(v, 1, &turn), -EAGAIN);
	ck_assert_int_eq(write_one(other, 2, &turn), 0);
	version_admit(v);
	ck_assert_uint_eq(atomic_load(&turns), 0);
	mtx_lock(&v->lock);
	v->gated = false;
	mtx_unlock(&v->lock);
	version_admit(v);
	ck_assert_uint_eq(atomic_load(&turns), 1);
	ck_assert_int_eq(write_one(v, 1, &turn), 0);
	ck_assert_int_eq(test_read_now(v, MIB, BLOCK_SIZE, 1, 1), 0);
	version_put(v);
	version_put(other);
}
END_TEST

/* The sweep of a directory that was not closed properly runs beside the first writes. */
START_TEST(new_files_survive_the_sweep)
{
	struct version *v;

	for (uint32_t i = 1; i <= 30; i++) {
		v = open_version(i, 1, SIZE);
		ck_assert_int_eq(test_write(v, 0, BLOCK_SIZE, i, 1), 0);
		version_put(v);
	}
	reopen();
	for (uint32_t i = 1; i <= 30; i++) {
		v = open_version(i, 1, SIZE);
		ck_assert(test_present(v, 0, BLOCK_SIZE, i, 1));
		version_put(v);
	}
}
END_TEST

START_TEST(many_records_load_quickly)
{
	struct store_record rec = {.size = 1000, .mtime = 5, .asked_s = 6}, got;
	struct object_key key;
	uint64_t start;

	rec.validator = test_validator(1, 1000);
	for (uint32_t i = 0; i < 100000; i++) {
		key = test_key(i);
		ck_assert_int_eq(store_remember(s, &key, &rec), 0);
	}
	start = clock_now_us();
	reopen();
	fprintf(stderr, "# 100000 records written and loaded in %u ms\n",
		(unsigned int)((clock_now_us() - start) / 1000));
	key = test_key(99999);
	ck_assert_int_eq(store_lookup(s, &key, &got), 0);
}
END_TEST

/* Descriptors of this process that lead into the store's files. */
static unsigned int files_open(void)
{
	char path[64], target[PATH_MAX], files[DIR_MAX + 16];
	unsigned int count = 0;

	snprintf(files, sizeof(files), "%s/files/", dir);
	for (int fd = 0; fd < 1024; fd++) {
		ssize_t n;

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		n = readlink(path, target, sizeof(target) - 1);
		if (n < 0)
			continue;
		target[n] = '\0';
		count += strncmp(target, files, strlen(files)) == 0;
	}
	return count;
}

#define FILES_MAX 4
#define FILES	  40

START_TEST(few_descriptors)
{
	struct version *v[FILES];

	close_store();
	cfg.files_max = FILES_MAX;
	cfg.checkpoint_us = 3600 * USEC_PER_SEC; /* only when somebody needs a descriptor */
	s = test_open(&cfg);
	for (uint32_t i = 0; i < FILES; i++) {
		v[i] = open_version(i, 1, SIZE);
		ck_assert_int_eq(test_write(v[i], 0, MIB, i, 1), 0);
		ck_assert_uint_le(files_open(), FILES_MAX);
	}
	for (uint32_t i = 0; i < FILES; i++) {
		ck_assert_int_eq(test_read_now(v[i], 0, MIB, i, 1), 0);
		ck_assert_int_eq(test_write(v[i], MIB, MIB, i, 1), 0);
		ck_assert_uint_le(files_open(), FILES_MAX + 1); /* one that is only read */
	}
	for (uint32_t i = 0; i < FILES; i++) {
		ck_assert_int_eq(test_read_now(v[i], MIB / 2, MIB, i, 1), 0);
		version_put(v[i]);
	}
	reopen();
	for (uint32_t i = 0; i < FILES; i++) {
		v[i] = open_version(i, 1, SIZE);
		ck_assert_int_eq(test_read_now(v[i], 0, MIB, i, 1), 0);
		ck_assert_int_eq(test_read_now(v[i], MIB, MIB, i, 1), 0);
		ck_assert_uint_le(files_open(), FILES_MAX);
	}
	for (uint32_t i = 0; i < FILES; i++)
		version_put(v[i]);
}
END_TEST

/* A file that is closed to save its descriptor is looked for by name again: another one there is
 * not it. */
START_TEST(a_replaced_file_is_no_longer_ours)
{
	struct version *v, *other[FILES_MAX];
	char path[DIR_MAX * 2], strange[DIR_MAX * 2 + 8];

	close_store();
	cfg.files_max = FILES_MAX;
	s = test_open(&cfg);
	v = open_version(1, 1, SIZE);
	ck_assert_int_eq(test_write(v, 0, MIB, 1, 1), 0);
	ck_assert(backing_path(dir, path));
	ck_assert_int_eq(store_checkpoint(s), 0);
	for (uint32_t i = 0; i < FILES_MAX; i++) {
		other[i] = open_version(i + 2, 1, SIZE);
		ck_assert_int_eq(test_write(other[i], 0, MIB, i + 2, 1), 0);
	}
	snprintf(strange, sizeof(strange), "%s.new", path);
	close(open(strange, O_RDWR | O_CREAT | O_CLOEXEC, 0600));
	ck_assert_int_eq(truncate(strange, SIZE), 0);
	ck_assert_int_eq(rename(strange, path), 0);
	ck_assert_int_ne(test_write(v, MIB, MIB, 1, 1), 0);
	ck_assert(!test_present(v, 0, MIB, 1, 1));
	version_put(v);
	for (uint32_t i = 0; i < FILES_MAX; i++)
		version_put(other[i]);
}
END_TEST

static Suite *suite(void)
{
	Suite *st = suite_create("store");
	TCase *tc = tcase_create("store");

	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, write_then_read);
	tcase_add_test(tc, bad_arguments);
	tcase_add_test(tc, parked_read_is_answered_by_its_last_byte);
	tcase_add_test(tc, cancel_and_fail);
	tcase_add_test(tc, survives_a_remount);
	tcase_add_test(tc, records_are_remembered);
	tcase_add_test(tc, another_validator_is_another_file);
	tcase_add_test(tc, unloaded_version_is_superseded);
	tcase_add_test(tc, size_comes_later);
	tcase_add_loop_test(tc, size_comes_while_reads_wait, 0, 4);
	tcase_add_test(tc, drop_forgets_and_gives_back);
	tcase_add_test(tc, sizes_beyond_the_file_system);
	tcase_add_test(tc, second_owner_is_refused);
	tcase_add_test(tc, directory_must_be_private);
	tcase_add_test(tc, nothing_new_no_checkpoint);
	tcase_add_test(tc, writes_beside_one_that_is_loading);
	tcase_add_test(tc, writes_beside_one_that_is_gated);
	tcase_add_loop_test(tc, new_files_survive_the_sweep, 0, 10);
	tcase_add_test(tc, many_records_load_quickly);
	tcase_add_test(tc, few_descriptors);
	tcase_add_test(tc, a_replaced_file_is_no_longer_ours);
	suite_add_tcase(st, tc);
	return st;
}

int main(void)
{
	return test_main(suite());
}
