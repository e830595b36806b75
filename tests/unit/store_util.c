/*
 * store_util.c - what the tests of the store share
 */
#include "store_util.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <semaphore.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/log.h"

/* One for the whole run, so that what a failed test leaves is removed too. */
static char base[DIR_MAX / 2];

void temp_dir(char dir[DIR_MAX])
{
	snprintf(dir, DIR_MAX, "%s/store-XXXXXX", base);
	if (!mkdtemp(dir))
		abort();
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

void temp_dir_remove(const char *dir)
{
	nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

int test_in_base(int (*run)(void))
{
	const char *tmp = getenv("TMPDIR");
	int r;

	/* What is damaged on purpose is complained about at length. */
	if (!getenv("TEST_LOG"))
		log_open(LOG_TO_FILE, "/dev/null");
	snprintf(base, sizeof(base), "%s/rgetfs-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	if (!mkdtemp(base))
		abort();
	r = run();
	temp_dir_remove(base);
	return r;
}

static SRunner *runner;

static int run_suite(void)
{
	srunner_run_all(runner, CK_NORMAL);
	return srunner_ntests_failed(runner) ? 1 : 0;
}

int test_main(Suite *suite)
{
	int r;

	runner = srunner_create(suite);
	r = test_in_base(run_suite);
	srunner_free(runner);
	return r;
}

static DIR *open_files(const char *dir, char path[DIR_MAX * 2])
{
	snprintf(path, (size_t)DIR_MAX * 2, "%s/files", dir);
	return opendir(path);
}

uint64_t temp_dir_allocated(const char *dir)
{
	char path[DIR_MAX * 2];
	DIR *d = open_files(dir, path);
	struct dirent *de;
	struct stat st;
	uint64_t bytes = 0;

	while (d && (de = readdir(d)) != NULL) {
		if (de->d_name[0] != '.' && fstatat(dirfd(d), de->d_name, &st, 0) == 0)
			bytes += (uint64_t)st.st_blocks * 512;
	}
	if (d)
		closedir(d);
	return bytes;
}

bool backing_path(const char *dir, char path[DIR_MAX * 2])
{
	DIR *d = open_files(dir, path);
	struct dirent *de;
	bool found = false;

	while (d && !found && (de = readdir(d)) != NULL) {
		size_t len = strlen(path);

		if (de->d_name[0] == '.')
			continue;
		snprintf(path + len, (size_t)DIR_MAX * 2 - len, "/%.64s", de->d_name);
		found = true;
	}
	if (d)
		closedir(d);
	return found;
}

static uint64_t mix(uint64_t x)
{
	x ^= x >> 31;
	x *= UINT64_C(0x9e3779b97f4a7c15);
	x ^= x >> 29;
	x *= UINT64_C(0xbf58476d1ce4e5b9);
	return x ^ x >> 32;
}

/* Eight bytes at a time, never a zero among them. */
static uint64_t word_at(uint64_t off, uint32_t object, uint32_t version)
{
	uint64_t seed = (uint64_t)object << 32 | version;

	return mix(off / 8 + mix(seed + 1)) | UINT64_C(0x0101010101010101);
}

/* How many bytes from off on lie in one word of the formula. */
static size_t word_part(uint64_t off, size_t len)
{
	return (size_t)min_u64(8 - off % 8, len);
}

void fill_formula(void *buf, size_t len, uint64_t off, uint32_t object, uint32_t version)
{
	unsigned char *p = buf;

	for (size_t i = 0, n; i < len; i += n) {
		uint64_t word = word_at(off + i, object, version) >> (off + i) % 8 * 8;

		n = word_part(off + i, len - i);
		memcpy(p + i, &word, n);
	}
}

bool is_formula(const void *buf, size_t len, uint64_t off, uint32_t object, uint32_t version)
{
	const unsigned char *p = buf;

	for (size_t i = 0, n; i < len; i += n) {
		uint64_t word = word_at(off + i, object, version) >> (off + i) % 8 * 8;

		n = word_part(off + i, len - i);
		if (memcmp(p + i, &word, n) != 0)
			return false;
	}
	return true;
}

struct object_key test_key(uint32_t n)
{
	struct object_key key = {.bytes = {(uint8_t)(n >> 24), (uint8_t)(n >> 16),
					   (uint8_t)(n >> 8), (uint8_t)n, 'k', 'e', 'y'}};

	return key;
}

struct validator test_validator(uint32_t version, uint64_t size)
{
	struct validator v = VALIDATOR_INIT;

	snprintf(v.etag, sizeof(v.etag), "\"v%u\"", version);
	v.size = size;
	return v;
}

struct store_config test_config(const char *dir)
{
	struct store_config cfg = {.dir = dir,
				   .description = "test",
				   .cache_size = UINT64_MAX,
				   .checkpoint_us = 20 * USEC_PER_MS,
				   .checkpoint_bytes = UINT64_C(64) << 20};

	return cfg;
}

struct store *test_open(const struct store_config *cfg)
{
	char owner[STORE_OWNER_MAX] = "";
	struct store *s = NULL;
	int r = store_open(cfg, &s, owner);

	if (r) {
		fprintf(stderr, "store_open: %s %s\n", strerror(-r), owner);
		abort();
	}
	return s;
}

static void test_done(struct waiter *w, int error, const void *data)
{
	struct test_read *r = container_of(w, struct test_read, waiter);
	bool right = data && is_formula(data, (size_t)range_len(w->range), w->range.off, r->object,
					r->version);

	pthread_mutex_lock(&r->mutex);
	r->error = error;
	r->right = right;
	r->done = true;
	pthread_cond_broadcast(&r->cond);
	pthread_mutex_unlock(&r->mutex);
}

void test_read_init(struct test_read *r, uint64_t off, uint64_t len, uint32_t object,
		    uint32_t version)
{
	memset(r, 0, sizeof(*r));
	r->waiter.range = range_of_length(off, len);
	r->waiter.done = test_done;
	r->object = object;
	r->version = version;
	pthread_mutex_init(&r->mutex, NULL);
	pthread_cond_init(&r->cond, NULL);
}

bool test_read_done(struct test_read *r)
{
	bool done;

	pthread_mutex_lock(&r->mutex);
	done = r->done;
	pthread_mutex_unlock(&r->mutex);
	return done;
}

int test_read_wait(struct test_read *r)
{
	pthread_mutex_lock(&r->mutex);
	while (!r->done)
		pthread_cond_wait(&r->cond, &r->mutex);
	pthread_mutex_unlock(&r->mutex);
	return r->error ? r->error : r->right ? 0 : -EILSEQ;
}

int test_read_wait_ms(struct test_read *r, unsigned int ms)
{
	struct timespec until;
	bool done;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += (long)(ms % 1000) * 1000000;
	until.tv_sec += ms / 1000 + until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&r->mutex);
	while (!r->done && pthread_cond_timedwait(&r->cond, &r->mutex, &until) == 0)
		;
	done = r->done;
	pthread_mutex_unlock(&r->mutex);
	return done ? test_read_wait(r) : -ETIMEDOUT;
}

int test_read_now(struct version *v, uint64_t off, uint64_t len, uint32_t object, uint32_t version)
{
	struct test_read r;
	int error;

	test_read_init(&r, off, len, object, version);
	error = version_read(v, &r.waiter);
	return error && error != -EINPROGRESS ? error : test_read_wait(&r);
}

bool test_present(struct version *v, uint64_t off, uint64_t len, uint32_t object, uint32_t version)
{
	struct test_read r;

	test_wait_loaded(v);
	test_read_init(&r, off, len, object, version);
	if (version_read(v, &r.waiter) == -EINPROGRESS && version_cancel(v, &r.waiter))
		return false;
	return test_read_wait(&r) == 0;
}

struct test_turn {
	struct write_turn turn;
	sem_t ready;
};

static void test_ready(struct write_turn *t)
{
	sem_post(&container_of(t, struct test_turn, turn)->ready);
}

int test_write(struct version *v, uint64_t off, uint64_t len, uint32_t object, uint32_t version)
{
	struct test_turn t = {.turn.ready = test_ready};
	void *buf = malloc((size_t)len);
	int r;

	if (!buf)
		abort();
	fill_formula(buf, (size_t)len, off, object, version);
	sem_init(&t.ready, 0, 0);
	while ((r = version_write(v, off, buf, (size_t)len, 0, true, &t.turn)) == -EAGAIN)
		sem_wait(&t.ready);
	sem_destroy(&t.ready);
	free(buf);
	return r;
}

void test_wait_loaded(struct version *v)
{
	struct version_info info;

	for (version_info(v, &info); info.loading; version_info(v, &info))
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}
