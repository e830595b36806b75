/*
 * lock.h - mutexes with a rank, and conditions on the monotonic clock
 *
 * A thread may take a lock only when its rank is higher than that of every lock it holds. With
 * --enable-debug a wrong order aborts with both names; otherwise a mtx is a pthread mutex.
 * clang checks GUARDED_BY and REQUIRES (-Wthread-safety).
 *
 * Held locks forbid: pread/pwrite and other I/O, SQL, libcurl, fuse_reply_*, callbacks, log lines.
 */
#ifndef BASE_LOCK_H
#define BASE_LOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#if defined(__clang__)
#define LOCK_ATTR(x) __attribute__((x))
#else
#define LOCK_ATTR(x)
#endif
#define GUARDED_BY(m) LOCK_ATTR(guarded_by(m))
#define REQUIRES(m)   LOCK_ATTR(requires_capability(m))
#define EXCLUDES(m)   LOCK_ATTR(locks_excluded(m))

/* The order, outermost first. Give a new lock a place here, with its owner. */
enum lock_rank {
	RANK_CONTROL = 1, /* daemon/control: connections */
	RANK_ORDERS,	  /* daemon/orders: fills that nobody waits for */
	RANK_JOB,	  /* daemon/handle_fill: the files of one order */
	RANK_FILES,	  /* fs/fsops: open files, parked requests */
	RANK_TREE,	  /* fs/tree: names and nodes */
	RANK_ENGINE,	  /* engine: table of objects and handles */
	RANK_STORE,	  /* store: table of versions and records */
	RANK_VERSION,	  /* store/version: extents and waiters of one version */
	RANK_HANDLE,	  /* engine: read-ahead of one open file */
	RANK_READS,	  /* engine: what has been read of one object */
	RANK_TASK,	  /* engine: what a task's transfers share */
	RANK_LIMITER,	  /* net: the token bucket */
	RANK_QUEUE,	  /* any message queue */
	RANK_PART,	  /* store/backing: the one name of a target's file, across system calls */
	RANK_POOL,	  /* memory pools */
	RANK_LOG,	  /* the log's own */
};

struct LOCK_ATTR(capability("mutex")) mtx {
	pthread_mutex_t mutex;
	enum lock_rank rank;
	const char *name;
};

struct cnd {
	pthread_cond_t cond;
};

/* name: a literal, for the abort message. Never fails (glibc's default mutexes do not). */
void mtx_init(struct mtx *m, enum lock_rank rank, const char *name);
void mtx_done(struct mtx *m);
void mtx_lock(struct mtx *m) LOCK_ATTR(acquire_capability(*m));
void mtx_unlock(struct mtx *m) LOCK_ATTR(release_capability(*m));

void cnd_init(struct cnd *c);
void cnd_done(struct cnd *c);
void cnd_signal(struct cnd *c);
void cnd_broadcast(struct cnd *c);
/* Call it in a while over the predicate. */
void cnd_wait(struct cnd *c, struct mtx *m) REQUIRES(*m);
/* The same until clock_now_us() reaches until_us. False: it did. */
bool cnd_wait_until(struct cnd *c, struct mtx *m, uint64_t until_us) REQUIRES(*m);

#endif
