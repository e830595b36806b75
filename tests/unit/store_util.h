/*
 * store_util.h - what the tests of the store share: directories, content by formula, blocking reads
 */
#ifndef TESTS_UNIT_STORE_UTIL_H
#define TESTS_UNIT_STORE_UTIL_H

#include <check.h>
#include <stdatomic.h>

#include "base/lock.h"
#include "store/store.h"

#define DIR_MAX 256

/* Run the suite; what main() returns. Directories of the tests are under one that is removed at the
 * end. */
int test_main(Suite *suite);
/* The same for a program without a suite: run() with the directory made before and removed after.
 */
int test_in_base(int (*run)(void));

/* A new empty directory; aborts if there is none to be had. Within test_main(). */
void temp_dir(char dir[DIR_MAX]);
/* It and all below. */
void temp_dir_remove(const char *dir);
/* Allocated bytes of dir/files. */
uint64_t temp_dir_allocated(const char *dir);
/* The path of the only (or first) backing file. False: none. */
bool backing_path(const char *dir, char path[DIR_MAX * 2]);

/* The byte at off of version of object: any wrong, stale or zero byte explains itself. */
void fill_formula(void *buf, size_t len, uint64_t off, uint32_t object, uint32_t version);
bool is_formula(const void *buf, size_t len, uint64_t off, uint32_t object, uint32_t version);

struct object_key test_key(uint32_t n);
struct validator test_validator(uint32_t version, uint64_t size);

/* A config with quick checkpoints and no limits. */
struct store_config test_config(const char *dir);
/* Aborts on failure. */
struct store *test_open(const struct store_config *cfg);

/* A read that can be waited for, and checks what comes against the formula. */
struct test_read {
	struct waiter waiter;
	uint32_t object, version;
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	bool done, right;
	int error;
};
void test_read_init(struct test_read *r, uint64_t off, uint64_t len, uint32_t object,
		    uint32_t version);
/* Was done() called? */
bool test_read_done(struct test_read *r);
/* Until done() was called; its error. */
int test_read_wait(struct test_read *r);
/* The same for at most that long; -ETIMEDOUT then (and it may still come). */
int test_read_wait_ms(struct test_read *r, unsigned int ms);
/* Read and wait; the error, or -EILSEQ for wrong bytes. */
int test_read_now(struct version *v, uint64_t off, uint64_t len, uint32_t object, uint32_t version);
/* Is it there without waiting? (read, cancel when parked) */
bool test_present(struct version *v, uint64_t off, uint64_t len, uint32_t object, uint32_t version);
/* Write by formula, waiting for the turn. */
int test_write(struct version *v, uint64_t off, uint64_t len, uint32_t object, uint32_t version);
void test_wait_loaded(struct version *v);

#endif
