/*
 * store_crash.h - a process that fills a cache and says what it was told is durable, and the check
 * afterwards
 *
 * The child writes blocks by formula to several objects, lets checkpoints run, drops, and reports
 * on a pipe. However it ends: whatever was told durable and not given up since must be there when
 * the directory is opened again, and every byte that is there must be the formula's.
 */
#ifndef TESTS_CRASH_STORE_CRASH_H
#define TESTS_CRASH_STORE_CRASH_H

#include "tests/unit/store_util.h"

#define CRASH_OBJECTS 6
#define CRASH_BLOCKS  200
#define CRASH_SIZE    (CRASH_BLOCKS * BLOCK_SIZE - 4321)

struct promises {
	/* The cache is smaller than the content: then nothing is promised to stay, only never to be
	 * wrong. */
	uint64_t limit;				    /* UINT64_MAX: none */
	uint8_t block[CRASH_OBJECTS][CRASH_BLOCKS]; /* 1: told durable */
};

void crash_seed(uint32_t seed);
uint32_t crash_random(void);
/* Never returns. Reports to fd. Ends by itself when the disk is gone. */
void crash_child(const char *dir, uint64_t limit, int fd) __attribute__((noreturn));
/* Read reports until the pipe ends. */
void crash_listen(int fd, struct promises *p);
/* Open the directory, compare, close. 0, or -1 and a line on stdout; *ret_present: blocks that were
 * there. */
int crash_check(const char *dir, struct promises *p, uint64_t *ret_present);

#endif
