/*
 * dbthread.h - the one thread that uses the database, and its queue of jobs
 *
 * A job is embedded by whoever asks. Its run() is called on the database thread with no lock held.
 * When run() says -EUCLEAN the database is damaged: it is moved aside, an empty one takes its
 * place, damaged() is called, and the job's result stays -EUCLEAN.
 */
#ifndef STORE_DBTHREAD_H
#define STORE_DBTHREAD_H

#include <bsd/sys/queue.h>

#include "base/lock.h"
#include "store/extdb.h"

struct dbjob {
	/* The caller's. finish may be NULL; it is called after run(), on the same thread, and may
	 * free job. */
	int (*run)(struct dbjob *job, struct extdb *db);
	void (*finish)(struct dbjob *job, int result);
	/* dbthread's own */
	STAILQ_ENTRY(dbjob) link;
	int result;
	bool done;
};

struct dbthread {
	struct mtx lock; /* RANK_QUEUE; guards queue, stopping and each job's done and result */
	struct cnd wake, ended;
	STAILQ_HEAD(dbjob_queue, dbjob) queue;
	bool stopping;

	pthread_t thread;
	struct extdb *db; /* the thread's; NULL after a damage that could not be repaired */
	int dirfd;	  /* borrowed */
	const char *dir;  /* borrowed */
	bool exclusive;
	void (*damaged)(void *ctx);
	void *ctx;
};

/* Takes db over. dirfd and dir are borrowed until dbthread_stop(). 0 or -errno (db stays the
 * caller's). */
int dbthread_start(struct dbthread *t, struct extdb *db, int dirfd, const char *dir, bool exclusive,
		   void (*damaged)(void *ctx), void *ctx);
/* Runs what is queued, ends the thread, closes the database. */
void dbthread_stop(struct dbthread *t);
/* Queue and return. */
void dbthread_post(struct dbthread *t, struct dbjob *job);
/* Queue and wait; run()'s result. Not from the database thread. */
int dbthread_run(struct dbthread *t, struct dbjob *job);
/* Apply a batch and wait. */
int dbthread_apply(struct dbthread *t, const struct batch *b, bool truncate);

#endif
