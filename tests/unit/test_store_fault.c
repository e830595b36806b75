/*
 * test_store_fault.c - the disk refuses: failed syncs and writes, made by wrapping the calls (ld
 * --wrap)
 */
#include <check.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/clock.h"
#include <sqlite3.h>

#include "store_util.h"

#define MIB  (UINT64_C(1) << 20)
#define SIZE (8 * MIB)

int __real_fdatasync(int fd);
int __wrap_fdatasync(int fd);
int __real_fsync(int fd);
int __wrap_fsync(int fd);
ssize_t __real_pwrite(int fd, const void *buf, size_t len, off_t off);
ssize_t __wrap_pwrite(int fd, const void *buf, size_t len, off_t off);

static char dir[DIR_MAX];
static atomic_int fail_syncs, fail_writes, write_errno = ENOSPC;
static atomic_int syncs, fail_dir_syncs, stale_dir_syncs;

/* Only files of a megabyte and more, which are backing files: directories and the lock are not
 * meant. */
static bool is_backing(int fd)
{
	return lseek(fd, 0, SEEK_END) == (off_t)SIZE;
}

static bool take(atomic_int *counter)
{
	int n = atomic_load(counter);

	while (n > 0) {
		if (atomic_compare_exchange_weak(counter, &n, n - 1))
			return true;
	}
	return false;
}

static bool sync_fails(int fd)
{
	if (!is_backing(fd))
		return false;
	atomic_fetch_add(&syncs, 1);
	if (!take(&fail_syncs))
		return false;
	errno = EIO;
	return true;
}

/*
 * A directory's; O_NONBLOCK means nothing there, so it marks the open file description that has
 * failed: to sync that again tells nothing.
 */
static bool dir_sync_fails(int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0 || !S_ISDIR(st.st_mode))
		return false;
	if (fcntl(fd, F_GETFL) & O_NONBLOCK)
		atomic_fetch_add(&stale_dir_syncs, 1);
	if (!take(&fail_dir_syncs))
		return false;
	fcntl(fd, F_SETFL, O_NONBLOCK);
	errno = EIO;
	return true;
}

int __wrap_fdatasync(int fd)
{
	return sync_fails(fd) ? -1 : __real_fdatasync(fd);
}

int __wrap_fsync(int fd)
{
	return sync_fails(fd) || dir_sync_fails(fd) ? -1 : __real_fsync(fd);
}

ssize_t __wrap_pwrite(int fd, const void *buf, size_t len, off_t off)
{
	if (is_backing(fd) && take(&fail_writes)) {
		errno = atomic_load(&write_errno);
		return -1;
	}
	return __real_pwrite(fd, buf, len, off);
}

ssize_t __real_pread(int fd, void *buf, size_t len, off_t off);
ssize_t __wrap_pread(int fd, void *buf, size_t len, off_t off);
int __real_fstatvfs(int fd, struct statvfs *st);
int __wrap_fstatvfs(int fd, struct statvfs *st);

static atomic_int fail_reads, read_errno, fail_asks;

ssize_t __wrap_pread(int fd, void *buf, size_t len, off_t off)
{
	if (atomic_load(&fail_reads) && is_backing(fd)) {
		errno = atomic_load(&read_errno);
		return -1;
	}
	return __real_pread(fd, buf, len, off);
}

int __wrap_fstatvfs(int fd, struct statvfs *st)
{
	if (!atomic_load(&fail_asks))
		return __real_fstatvfs(fd, st);
	errno = EIO;
	return -1;
}

/* ---- what SQLite writes: a disk with no room for its log ---- */

static atomic_int log_is_full;	  /* of the writes to a log, all but so many … */
static atomic_bool reserve_frees; /* … unless the reserve was given up */

static bool is_named(int fd, const char *end)
{
	char link[64], path[DIR_MAX * 2];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = '\0';
	return strlen(path) >= strlen(end) && strcmp(path + strlen(path) - strlen(end), end) == 0;
}

static bool reserve_held(void)
{
	char path[DIR_MAX * 2];
	struct stat st;

	snprintf(path, sizeof(path), "%s/extents.db-reserve", dir);
	return stat(path, &st) == 0 && st.st_blocks > 0;
}

static ssize_t sqlite_pwrite(int fd, const void *buf, size_t len, off_t off)
{
	if (atomic_load(&log_is_full) && is_named(fd, "-wal") &&
	    !(atomic_load(&reserve_frees) && !reserve_held())) {
		errno = ENOSPC;
		return -1;
	}
	return __real_pwrite(fd, buf, len, off);
}

static void fill_the_disk(bool with_reserve)
{
	sqlite3_vfs *vfs;

	sqlite3_initialize();
	vfs = sqlite3_vfs_find(NULL);
	vfs->xSetSystemCall(vfs, "pwrite", (sqlite3_syscall_ptr)sqlite_pwrite);
	vfs->xSetSystemCall(vfs, "pwrite64", (sqlite3_syscall_ptr)sqlite_pwrite);
	atomic_store(&reserve_frees, with_reserve);
	atomic_store(&log_is_full, 1);
}

static struct store_config cfg;
static struct store *s;
static atomic_uint lost_count;

static void on_lost(void *ctx, struct version *v)
{
	(void)ctx;
	(void)v;
	atomic_fetch_add(&lost_count, 1);
}

static void setup(void)
{
	temp_dir(dir);
	cfg = test_config(dir);
	cfg.checkpoint_us = 3600 * USEC_PER_SEC; /* only when asked */
	cfg.lost = on_lost;
	s = test_open(&cfg);
}

static void close_store(void)
{
	struct store *closing = s;

	s = NULL;
	ck_assert_int_eq(store_close(closing), 0);
}

static void teardown(void)
{
	if (s)
		close_store();
}

static struct version *open_version(uint32_t object)
{
	struct object_key key = test_key(object);
	struct validator val = test_validator(1, SIZE);
	struct version *v = NULL;

	ck_assert_int_eq(store_version_open(s, &key, &val, SIZE, false, &v), 0);
	test_wait_loaded(v);
	return v;
}

/* What was committed stays, what was not is a gap again, the other file is not touched. */
START_TEST(failed_sync_drops_what_was_not_committed)
{
	struct version *a = open_version(1), *b = open_version(2);
	struct store_stats st;
	struct range gap;

	ck_assert_int_eq(test_write(a, 0, MIB, 1, 1), 0);
	ck_assert_int_eq(store_checkpoint(s), 0);
	ck_assert_int_eq(test_write(a, MIB, MIB, 1, 1), 0);
	atomic_store(&fail_syncs, 1);
	ck_assert_int_eq(store_checkpoint(s), -EIO);
	ck_assert_uint_eq(atomic_load(&lost_count), 1);
	ck_assert_int_eq(version_next_gap(a, range_make(0, SIZE), &gap), 0);
	ck_assert_uint_eq(gap.off, MIB);
	ck_assert_int_eq(test_read_now(a, 0, MIB, 1, 1), 0);
	ck_assert(!test_present(a, MIB, 1, 1, 1));
	store_stats(s, &st);
	ck_assert_uint_eq(st.bytes_durable, MIB);
	ck_assert_uint_eq(st.bytes_cached, MIB);
	ck_assert_int_eq(st.degraded, -EIO);

	/* The disk is tried again a second later, through another descriptor. */
	for (int i = 0; i < 100 && test_write(a, MIB, MIB, 1, 1) != 0; i++)
		nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
	ck_assert_int_eq(test_write(b, 0, MIB, 2, 1), 0);
	ck_assert_int_eq(store_checkpoint(s), 0);
	store_stats(s, &st);
	ck_assert_uint_eq(st.bytes_durable, 3 * MIB);
	ck_assert_int_eq(st.degraded, 0);
	version_put(a);
	version_put(b);
	close_store();
	s = test_open(&cfg);
	a = open_version(1);
	ck_assert_int_eq(test_read_now(a, 0, MIB, 1, 1), 0);
	ck_assert_int_eq(test_read_now(a, MIB, MIB, 1, 1), 0);
	version_put(a);
}
END_TEST

START_TEST(first_sync_of_a_new_file_fails)
{
	struct version *v = open_version(1);
	struct store_record rec;
	struct object_key key = test_key(1);

	ck_assert_int_eq(test_write(v, 0, MIB, 1, 1), 0);
	atomic_store(&fail_syncs, 1);
	ck_assert_int_eq(store_checkpoint(s), -EIO);
	ck_assert(!test_present(v, 0, 1, 1, 1));
	version_put(v);
	ck_assert_int_eq(store_checkpoint(s), 0);
	close_store();
	s = test_open(&cfg);
	/* No row tells of it. */
	ck_assert(store_lookup(s, &key, &rec) == -ENOENT || rec.bytes_cached == 0);
}
END_TEST

/* The name of a new file may be lost with it: another file takes its place. Old ones don't mind. */
START_TEST(failed_sync_of_the_directory_is_final)
{
	struct version *a = open_version(1), *b;
	struct store_stats st;

	ck_assert_int_eq(test_write(a, 0, MIB, 1, 1), 0);
	ck_assert_int_eq(store_checkpoint(s), 0);
	b = open_version(2);
	ck_assert_int_eq(test_write(a, MIB, MIB, 1, 1), 0);
	ck_assert_int_eq(test_write(b, 0, MIB, 2, 1), 0);
	atomic_store(&fail_dir_syncs, 1);
	ck_assert_int_eq(store_checkpoint(s), -EIO);
	ck_assert_uint_eq(atomic_load(&lost_count), 1);
	ck_assert(!test_present(b, 0, 1, 2, 1));
	store_stats(s, &st);
	ck_assert_uint_eq(st.bytes_durable, 2 * MIB);
	ck_assert_uint_eq(st.bytes_cached, 2 * MIB);
	ck_assert_uint_eq(temp_dir_allocated(dir), 2 * MIB);

	for (int i = 0; i < 100 && test_write(b, 0, MIB, 2, 1) != 0; i++)
		nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
	ck_assert_int_eq(store_checkpoint(s), 0);
	ck_assert_int_eq(atomic_load(&stale_dir_syncs), 0);
	store_stats(s, &st);
	ck_assert_uint_eq(st.bytes_durable, 3 * MIB);
	version_put(a);
	version_put(b);
	close_store();
	s = test_open(&cfg);
	b = open_version(2);
	ck_assert_int_eq(test_read_now(b, 0, MIB, 2, 1), 0);
	version_put(b);
}
END_TEST

/* One file in trouble does not keep the others from being durable. */
START_TEST(other_files_become_durable)
{
	struct version *v[4];
	struct store_stats st;

	for (uint32_t i = 0; i < 4; i++) {
		v[i] = open_version(i);
		ck_assert_int_eq(test_write(v[i], 0, MIB, i, 1), 0);
	}
	atomic_store(&fail_syncs, 1);
	ck_assert_int_eq(store_checkpoint(s), -EIO);
	store_stats(s, &st);
	ck_assert_uint_eq(st.bytes_durable, 3 * MIB);
	ck_assert_uint_eq(st.bytes_cached, 3 * MIB);
	for (uint32_t i = 0; i < 4; i++)
		version_put(v[i]);
}
END_TEST

START_TEST(refused_writes_reach_their_readers)
{
	struct version *v = open_version(1);
	struct version_info info;
	struct store_stats st;
	struct test_read r, half;

	atomic_store(&write_errno, _i);
	atomic_store(&fail_writes, 1000);
	test_read_init(&r, 100, 3 * BLOCK_SIZE, 1, 1);
	test_read_init(&half, BLOCK_SIZE / 2, BLOCK_SIZE, 1, 1);
	ck_assert_int_eq(version_read(v, &r.waiter), -EINPROGRESS);
	ck_assert_int_eq(version_read(v, &half.waiter), -EINPROGRESS);
	ck_assert_int_eq(test_write(v, 0, BLOCK_SIZE, 1, 1), -_i);
	ck_assert_int_eq(test_write(v, 2 * BLOCK_SIZE, 2 * BLOCK_SIZE, 1, 1), -_i);
	ck_assert(!r.done && !half.done);
	ck_assert_int_eq(test_write(v, BLOCK_SIZE, BLOCK_SIZE, 1, 1), -_i);
	ck_assert(r.done && half.done);
	ck_assert_int_eq(test_read_wait(&r), 0);
	ck_assert_int_eq(test_read_wait(&half), 0);
	version_info(v, &info);
	ck_assert(info.uncached);
	ck_assert_uint_eq(info.bytes_present, 0);
	store_stats(s, &st);
	ck_assert_int_eq(st.degraded, -_i);
	atomic_store(&fail_writes, 0);
	/* A waiter that has some of it in memory gets the rest from the file. */
	atomic_store(&fail_writes, 0);
	test_read_init(&r, 0, 2 * BLOCK_SIZE, 1, 1);
	ck_assert_int_eq(version_read(v, &r.waiter), -EINPROGRESS);
	ck_assert_int_eq(test_write(v, 0, BLOCK_SIZE, 1, 1), -_i); /* still within the second */
	for (int i = 0; i < 100 && test_write(v, BLOCK_SIZE, BLOCK_SIZE, 1, 1) != 0; i++)
		nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
	ck_assert_int_eq(test_read_wait(&r), 0);
	ck_assert_int_eq(test_write(v, 0, BLOCK_SIZE, 1, 1), 0);
	version_info(v, &info);
	ck_assert(!info.uncached);
	ck_assert_uint_eq(info.bytes_present, 2 * BLOCK_SIZE);
	version_put(v);
}
END_TEST

/*
 * A drop that can't be recorded leaves everything as it was: served, durable, also after a
 * restart.
 */
START_TEST(failed_drop_changes_nothing)
{
	struct version *v = open_version(1);
	struct object_key key = test_key(1);
	struct version_info info;
	struct store_stats st;

	ck_assert_int_eq(test_write(v, 0, 2 * MIB, 1, 1), 0);
	ck_assert_int_eq(store_checkpoint(s), 0);
	ck_assert_int_eq(test_write(v, 3 * MIB, MIB, 1, 1), 0);
	fill_the_disk(false);
	ck_assert_int_eq(store_drop(s, &key), -ENOSPC);
	ck_assert_int_eq(test_read_now(v, 0, 2 * MIB, 1, 1), 0);
	ck_assert_int_eq(test_read_now(v, 3 * MIB, MIB, 1, 1), 0);
	store_stats(s, &st);
	ck_assert_uint_eq(st.bytes_cached, 3 * MIB);
	ck_assert_uint_eq(st.bytes_durable, 2 * MIB);
	version_info(v, &info);
	ck_assert_uint_eq(info.bytes_durable, 2 * MIB);
	atomic_store(&log_is_full, 0);
	version_put(v);
	close_store();
	s = test_open(&cfg);
	v = open_version(1);
	ck_assert_int_eq(test_read_now(v, 0, 2 * MIB, 1, 1), 0);
	ck_assert_int_eq(store_drop(s, &key), 0);
	ck_assert(!test_present(v, 0, 1, 1, 1));
	ck_assert_uint_eq(temp_dir_allocated(dir), 0);
	version_put(v);
}
END_TEST

/* Known to be wrong is not shown again even then. */
START_TEST(what_is_wrong_goes_even_so)
{
	struct version *v = open_version(1), *same = NULL;
	struct object_key key = test_key(1);

	ck_assert_int_eq(test_write(v, 0, 2 * MIB, 1, 1), 0);
	ck_assert_int_eq(store_checkpoint(s), 0);
	fill_the_disk(false);
	ck_assert_int_eq(store_drop_begin(s, &key, true, &same), 0);
	ck_assert_int_eq(store_drop_wait(s), -ENOSPC);
	ck_assert_int_eq(store_drop_end(same), -ENOSPC);
	ck_assert(!test_present(v, 0, 1, 1, 1));
	atomic_store(&log_is_full, 0);
	version_put(v);
}
END_TEST

/* The database keeps room of its own, so that the disk can be made less full by a drop. */
START_TEST(drop_on_a_full_disk)
{
	struct version *v = open_version(1);
	struct object_key key = test_key(1);

	ck_assert(reserve_held());
	ck_assert_int_eq(test_write(v, 0, 2 * MIB, 1, 1), 0);
	ck_assert_int_eq(store_checkpoint(s), 0);
	fill_the_disk(true);
	ck_assert_int_eq(store_drop(s, &key), 0);
	ck_assert(reserve_held());
	ck_assert_uint_eq(temp_dir_allocated(dir), 0);
	ck_assert(!test_present(v, 0, 1, 1, 1));
	atomic_store(&log_is_full, 0);
	version_put(v);
}
END_TEST

/* A block that can't be looked at for want of something of ours is not a wrong one. */
START_TEST(what_cannot_be_checked_is_kept)
{
	uint64_t blocks = 0, bad = 0;
	struct object_key key = test_key(1);
	struct version *v = open_version(1);
	struct store_stats st;

	ck_assert_int_eq(test_write(v, 0, 2 * MIB, 1, 1), 0);
	version_put(v);
	close_store();
	s = test_open(&cfg);
	v = open_version(1);
	atomic_store(&read_errno, _i);
	atomic_store(&fail_reads, 1);
	ck_assert_int_eq(store_verify(s, &key, &blocks, &bad), -_i);
	ck_assert_int_eq(test_read_now(v, 0, MIB, 1, 1), -_i);
	atomic_store(&fail_reads, 0);
	store_stats(s, &st);
	ck_assert_uint_eq(st.blocks_bad, 0);
	ck_assert_uint_eq(st.bytes_durable, 2 * MIB);
	ck_assert_int_eq(test_read_now(v, 0, 2 * MIB, 1, 1), 0);
	ck_assert_int_eq(store_verify(s, &key, &blocks, &bad), 0);
	ck_assert_uint_eq(bad, 0);
	version_put(v);
}
END_TEST

/* Where nobody knows how much room there is, nothing is written, and nothing evicted for it. */
START_TEST(room_that_cannot_be_asked_is_none)
{
	struct version *v = open_version(1);
	struct store_stats st;

	ck_assert_int_eq(test_write(v, 0, MIB, 1, 1), 0);
	ck_assert_int_eq(store_checkpoint(s), 0);
	atomic_store(&fail_asks, 1);
	ck_assert(!store_has_room(s, 1));
	ck_assert_int_eq(test_write(v, MIB, MIB, 1, 1), -EIO);
	store_stats(s, &st);
	ck_assert_int_eq(st.degraded, -EIO);
	ck_assert_uint_eq(st.bytes_durable, MIB);
	ck_assert_uint_eq(st.bytes_evicted, 0);
	atomic_store(&fail_asks, 0);
	for (int i = 0; i < 100 && test_write(v, MIB, MIB, 1, 1) != 0; i++)
		nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
	store_stats(s, &st);
	ck_assert_int_eq(st.degraded, 0);
	version_put(v);
}
END_TEST

/* Nothing new becomes durable: that is told until it does. */
START_TEST(failed_commit_is_told)
{
	struct version *v = open_version(1);
	struct store_stats st;

	fill_the_disk(false);
	ck_assert_int_eq(test_write(v, 0, MIB, 1, 1), 0);
	ck_assert_int_eq(store_checkpoint(s), -ENOSPC);
	store_stats(s, &st);
	ck_assert_int_eq(st.degraded, -ENOSPC);
	ck_assert_uint_eq(st.bytes_durable, 0);
	atomic_store(&log_is_full, 0);
	ck_assert_int_eq(store_checkpoint(s), 0);
	store_stats(s, &st);
	ck_assert_int_eq(st.degraded, 0);
	ck_assert_uint_eq(st.bytes_durable, MIB);
	version_put(v);
}
END_TEST

START_TEST(nothing_new_no_sync)
{
	struct version *v = open_version(1);
	int before;

	ck_assert_int_eq(test_write(v, 0, MIB, 1, 1), 0);
	ck_assert_int_eq(store_checkpoint(s), 0);
	before = atomic_load(&syncs);
	ck_assert_int_eq(before, 1);
	ck_assert_int_eq(store_checkpoint(s), 0);
	ck_assert_int_eq(test_read_now(v, 0, MIB, 1, 1), 0);
	ck_assert_int_eq(store_checkpoint(s), 0);
	ck_assert_int_eq(atomic_load(&syncs), before);
	version_put(v);
}
END_TEST

static Suite *suite(void)
{
	static const int errors[] = {ENOSPC, EIO, EDQUOT};
	Suite *st = suite_create("store_fault");
	TCase *tc = tcase_create("fault");

	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, failed_sync_drops_what_was_not_committed);
	tcase_add_test(tc, first_sync_of_a_new_file_fails);
	tcase_add_test(tc, failed_sync_of_the_directory_is_final);
	tcase_add_test(tc, other_files_become_durable);
	for (size_t i = 0; i < ARRAY_SIZE(errors); i++)
		tcase_add_loop_test(tc, refused_writes_reach_their_readers, errors[i],
				    errors[i] + 1);
	tcase_add_test(tc, failed_drop_changes_nothing);
	tcase_add_test(tc, what_is_wrong_goes_even_so);
	tcase_add_test(tc, drop_on_a_full_disk);
	tcase_add_loop_test(tc, what_cannot_be_checked_is_kept, EMFILE, EMFILE + 1);
	tcase_add_loop_test(tc, what_cannot_be_checked_is_kept, ENOMEM, ENOMEM + 1);
	tcase_add_test(tc, room_that_cannot_be_asked_is_none);
	tcase_add_test(tc, failed_commit_is_told);
	tcase_add_test(tc, nothing_new_no_sync);
	suite_add_tcase(st, tc);
	return st;
}

int main(void)
{
	return test_main(suite());
}
