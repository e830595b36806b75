/*
 * oracle.h - what a file of the mount may hold, and what was wrong
 *
 * A line of the list is "NAME ORIGIN-PATH SIZE STEP FLAGS": version v of it has SIZE + v * STEP
 * bytes; a NAME may stand there several times, for what it may lead to. FLAGS: "-", "o" (a reload
 * may remove it), "u" (its length may be unknown). Read once; then any thread.
 */
#ifndef STRESS_ORACLE_H
#define STRESS_ORACLE_H

#include <pthread.h>

#include "../origin/content.h"
#include "base/base.h"

struct file {
	char name[128], path[128];
	uint64_t size, step;
	bool optional, unsized;
};

/* 0 or -errno. */
int oracle_read(const char *list);
unsigned int oracle_files(void);
const struct file *oracle_file(unsigned int n);

/* Which content an open file turned out to have: from then on it is that one and no other. */
struct belief {
	pthread_mutex_t lock; /* guards all below */
	struct content content;
	bool known;
};
void belief_init(struct belief *b);
void belief_done(struct belief *b);

/*
 * The bytes [off, off + len) of a file that was opened as f and has size bytes are data. Complains
 * when they are not of one version of one content under that name. scratch: room for len bytes.
 */
void oracle_check(const struct file *f, uint64_t size, struct belief *b, uint64_t off,
		  const unsigned char *data, size_t len, unsigned char *scratch);

/* Says it on standard error, the first times, and counts it. */
void complain(const char *fmt, ...) PRINTF_LIKE(1, 2);
unsigned int complaints(void);

#endif
