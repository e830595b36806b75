/*
 * syncpool.h - sync several files in parallel, on a few threads
 *
 * One caller at a time, who helps along. The threads do nothing else.
 */
#ifndef STORE_SYNCPOOL_H
#define STORE_SYNCPOOL_H

#include "base/lock.h"

#define SYNCPOOL_THREADS 3

struct sync_item {
	int fd;
	bool whole; /* fsync, not fdatasync: a new file */
	int result; /* 0 or -errno */
};

struct syncpool {
	struct mtx lock; /* RANK_QUEUE; guards all below but thread */
	struct cnd wake, ended;
	struct sync_item *item;
	size_t count, next, left;
	bool stopping;
	pthread_t thread[SYNCPOOL_THREADS];
	unsigned int threads;
};

/* threads: that help the caller, at most SYNCPOOL_THREADS. 0 or -errno. */
int syncpool_start(struct syncpool *p, unsigned int threads);
void syncpool_stop(struct syncpool *p);
/* Returns when all are synced; each has its result. */
void syncpool_run(struct syncpool *p, struct sync_item *item, size_t count);

#endif
