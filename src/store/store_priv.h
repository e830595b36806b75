/*
 * store_priv.h - the inside of the store, for its own files alone
 *
 * Threads: callers (any), the database thread (dbthread.h), the upkeep thread (upkeep.c: in its
 * place a caller, of a target that nobody tends), a few that only sync files (syncpool.h).
 */
#ifndef STORE_STORE_PRIV_H
#define STORE_STORE_PRIV_H

#include "store/cache.h"
#include "store/dbthread.h"
#include "store/record.h"
#include "store/store.h"
#include "store/syncpool.h"
#include "store/version_priv.h"

/* What the upkeep thread has to look after; bits of store->work. */
enum store_work {
	WORK_CONDEMNED = 1, /* some version has condemned blocks */
	WORK_SCRUB = 2,	    /* some version has scrub set */
	WORK_EVICT = 4,	    /* evict_wanted */
	WORK_NEW = 8,	    /* something is dirty: a checkpoint when its time comes */
	WORK_NOW = 16,	    /* … at once */
	WORK_TOUCHED = 32,  /* atimes to be flushed when their time comes */
	WORK_GRAVES = 64,
	WORK_DAMAGED = 128, /* the database had to be replaced */
	WORK_SWEEP = 256,   /* look for files without a row, and rows without an object */
};

TAILQ_HEAD(version_list, version);

/* Who does the upkeep: one thread at a time. */
enum upkeep_by {
	UPKEEP_NOBODY, /* a target that is not tended: store_tend() starts the thread, or … */
	UPKEEP_CALLER, /* … a caller does a round himself, and it is NOBODY again */
	UPKEEP_THREAD, /* until the end */
};

struct store {
	struct mtx lock; /* RANK_STORE; guards what follows */
	struct cnd wake; /* the upkeep thread waits */
	struct cnd done; /* others wait for it */
	struct records records;
	struct version_list versions; /* all in memory, superseded ones too */
	size_t version_count;
	unsigned int freeing;	    /* versions that left the list and are not freed yet */
	struct version_list graves; /* nobody holds them: row and file are to go */
	uint64_t next_id;
	unsigned int work;
	bool stopping;
	enum upkeep_by by;
	bool untended;		     /* new bytes need no thread yet */
	uint64_t due_us;	     /* of the next checkpoint, while WORK_NEW */
	uint64_t checkpoint_took_us; /* the last one */
	uint64_t touch_due_us;	     /* of the next flush of atimes, while WORK_TOUCHED */
	uint64_t asked, answered;    /* rounds of upkeep that callers wait for */
	int checkpoint_error;	     /* of the last one */
	int forget_error;	     /* of the last forgetting that a caller asked for */
	/* space.c */
	uint64_t used;	   /* allocated, by our account */
	uint64_t inflight; /* … of it not yet written, so that the disk does not know */
	uint64_t evict_wanted;
	uint64_t evict_not_before_us;
	int degraded;
	uint64_t retry_us; /* degraded: when the disk is tried again */

	/* Counters, changed anywhere. */
	atomic_uint_fast64_t cached, durable, dirty_bytes, evicted, bad_blocks, checkpoints;

	bool has_db; /* upkeep thread, and before and after it: db is open */

	/* Never change after store_open(). */
	struct store_config cfg;
	struct store_target target; /* with a part, what cfg.target was */
	struct cache cache;
	struct dbthread db;
	struct syncpool sync;
	pthread_t upkeep; /* lock: while by is UPKEEP_THREAD */
};

/* Its backing file, for messages. */
static inline const char *store_file(const struct store *s)
{
	return s->cache.part ? s->cache.part : "a cache file";
}

/* Set bits of work and wake the upkeep thread. No lock held. */
void store_poke(struct store *s, unsigned int work);
/* Wait for one whole round of upkeep that starts after the call, with these bits set. */
void store_round(struct store *s, unsigned int work);
/* A checkpoint now, and wait until some round of upkeep is over, at most so long. */
void store_hurry(struct store *s, uint64_t us);
/* Called by version_put() for what may be the last reference. */
void store_release(struct version *v);
/* All versions in memory for which want() says so (called with their lock held), each with a
 * reference. */
int store_collect(struct store *s, bool (*want)(const struct version *v), struct version ***ret,
		  size_t *ret_count);
void store_put_all(struct version **list, size_t count);
/* The object's current version if it is id, into memory (loading). 0, -ENOENT, -ENOMEM. */
int store_version_by_id(struct store *s, const struct object_key *key, uint64_t id,
			struct version **ret);

/* A last checkpoint, the threads end; then all of it is freed. 0 or the checkpoint's -errno. */
int store_stop(struct store *s);
void store_end(struct store *s);
/* target.c. Transfers that were told to end hold the version of a target a moment longer. */
void target_wait_unused(struct store *s);
/* Before the first row. Upkeep thread. 0 or -errno. */
int store_need_db(struct store *s);
/* As dbthread_apply(); without a database nothing was ever recorded, so nothing is to be changed.
 * Upkeep thread. */
int store_apply(struct store *s, const struct batch *b, bool truncate);

/* upkeep.c. 0 or -errno. */
int upkeep_start(struct store *s);
/* The last rounds, after which nobody does it any more. stopping is set. */
void upkeep_end(struct store *s);
/* checkpoint.c: upkeep thread. flush: atimes too. 0 or -errno. */
int checkpoint_run(struct store *s, bool flush);

/* forget.c: upkeep thread. */
struct forget {
	struct version *v;	 /* a reference */
	struct rangeset ranges;	 /* whole blocks */
	struct rangeset keep;	 /* marked: of them, to be shown again when it can't be done */
	bool marked;		 /* they are evicting already */
	bool removed;		 /* somebody removed the file: nothing is to be punched */
	struct backing *backing; /* borrowed: the file to punch; NULL: the version's */
	int error;		 /* what forget_run() found */
};
void forget_init(struct forget *f, struct version *v);
void forget_done(struct forget *f);
/*
 * Durably forget, punch, make gaps of it, tell. On a disk too full to do it for all at once it is
 * done for one after another. 0, or the first item's -errno: what of such an item was present is so
 * again.
 */
int forget_run(struct store *s, struct forget *items, size_t count, uint64_t *ret_bytes);
int forget_condemned(struct store *s);
/*
 * What was never committed, after a failed sync. unnamed: the sync of the directory failed, so the
 * file goes as well.
 */
void forget_uncommitted(struct store *s, struct version *v, bool unnamed);
/* All of v, whose file somebody removed; the next byte makes another file. */
void forget_removed(struct store *s, struct version *v);
/* Rows and files of versions that nobody holds any more. */
void forget_graves(struct store *s);

/* evict.c: upkeep thread. */
void evict_run(struct store *s);

/* sweep.c: upkeep thread. */
void sweep_scrub(struct store *s);
void sweep_run(struct store *s);
/* After a replaced database: what is in memory becomes new again, the rest is forgotten. */
void sweep_damaged(struct store *s);

/* space.c: any thread, no lock held. */
/* What r takes on the disk. */
uint64_t space_len(const struct store *s, uint64_t bytes);
/* 0: bytes may be written now, and one of the next two is called. -ENOSPC: not now. Else why not at
 * all. */
int space_reserve(struct store *s, uint64_t bytes, bool evict);
void space_written(struct store *s, uint64_t bytes);
void space_failed(struct store *s, uint64_t bytes, int error);
/* An eviction freed that much. Nothing, although there is no room: reads go uncached for now. */
void space_evicted(struct store *s, uint64_t freed);
/* store->degraded, which ends here when the disk had no room and has some again.
 */
int space_degraded_locked(struct store *s, uint64_t disk) REQUIRES(s->lock);
/* Blocks were given back. */
void space_release(struct store *s, uint64_t bytes);
/* A load found other bytes than the record said. */
void space_adjust(struct store *s, uint64_t was, uint64_t is);

#endif
