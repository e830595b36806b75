/*
 * version_priv.h - the inside of a version, for the files of the store alone
 *
 * Who touches what: version.c reads and waits, write.c adds bytes, load.c fills the map from the
 * database, checkpoint.c moves dirty to durable, forget.c takes bytes away. The last two run on the
 * upkeep thread only, so they never run beside each other.
 *
 * Always true, under lock:
 *   V1  dirty and syncing are disjoint subsets of what the map has; the rest of the map is durable,
 *       durable_bytes of it (but after a supersession nothing is counted any more).
 *   V2  a range is written to the backing file by the one writer whose claim covers it, and only
 *       where the map has a gap: bytes with a sum in the map never change on disk.
 *   V3  a parked waiter misses at least one byte, or the version is loading.
 *   V4  blocks are punched only while they are evicting, after a reader that could see them has
 *       unpinned.
 */
#ifndef STORE_VERSION_PRIV_H
#define STORE_VERSION_PRIV_H

#include <stdatomic.h>

#include "base/lock.h"
#include "core/extmap.h"
#include "core/rangeset.h"
#include "store/cache.h"
#include "store/record.h"
#include "store/trust.h"
#include "store/version.h"

TAILQ_HEAD(waiter_list, waiter);
TAILQ_HEAD(write_turns, write_turn);

/* A writer's, on its stack: nobody else writes there. */
struct claim {
	TAILQ_ENTRY(claim) link;
	struct range range;
	bool punch; /* of one who makes a hole there: writers wait for its end */
};

/* Reasons of the store's own to keep a version in memory; each is one reference. */
enum version_hold {
	HOLD_DIRTY = 1,	    /* bytes or a size that no row tells of yet */
	HOLD_TOUCHED = 2,   /* atimes that no row tells of yet */
	HOLD_CONDEMNED = 4, /* blocks to forget */
};

struct version {
	struct mtx lock;    /* RANK_VERSION; guards all below, but what says otherwise */
	struct cnd changed; /* loaded, pins gone, backing made, claims gone */
	struct extmap *map;
	struct waiter_list waiters;
	size_t waiter_count;
	struct rangeset dirty;	   /* present, in no checkpoint yet */
	struct rangeset syncing;   /* present, in the running checkpoint */
	struct rangeset condemned; /* evicting, to be forgotten by the upkeep thread */
	struct rangeset
		dropped; /* the same by a user's word: right, and shown again if it can't be */
	int drop_error;	 /* what came of the last forgetting of these two */
	TAILQ_HEAD(claim_list, claim) claims;
	struct write_turns turns; /* writers to be told when it is neither loading nor gated */
	unsigned int pins[2];	  /* readers by the parity of the epoch they came in */
	unsigned int epoch;
	unsigned int holds;
	struct backing *backing; /* NULL until the first byte */
	struct trust trust;	 /* in what backing holds */
	struct validator validator;
	uint64_t durable_bytes;
	uint64_t writeback_bytes; /* written since write-back was last started */
	uint64_t cookie;
	uint32_t flushed_s; /* atimes up to this one are in rows */
	int file_error;	    /* the backing file can't be used in this mount */
	bool loading;
	bool gated;    /* no writes: the whole file is being emptied */
	bool scrub;    /* the upkeep thread is to punch allocated blocks that no extent covers */
	bool making;   /* one writer is making the backing file */
	bool closed;   /* superseded: nothing is written any more */
	bool uncached; /* the last bytes could not be kept */
	bool has_row;
	bool file_new;	 /* the name of the backing file may not be on the disk yet */
	bool meta_dirty; /* size or validator are newer than the row */

	TAILQ_ENTRY(version) link; /* store->lock: of store->versions, or of store->graves */

	/* Never change. */
	struct store *store;
	struct record *rec;
	uint64_t id;

	atomic_uint refs;
};

/* In memory, linked to nothing, one reference. NULL: no memory. */
struct version *version_new(struct store *s, struct record *rec, uint64_t id,
			    const struct validator *validator, uint64_t size);
/* The end of it; nobody else knows it. */
void version_free(struct version *v);

/* REQUIRES v->lock; version_drop_holds() is called without it. */
void version_hold_locked(struct version *v, enum version_hold hold);
/* True: the caller owes a version_put() after unlocking. */
bool version_unhold_locked(struct version *v, enum version_hold hold);

/* Readers in r from now until unpinned see its blocks. */
unsigned int version_pin_locked(struct version *v);
void version_unpin_locked(struct version *v, unsigned int pin);
/* Wait for the readers of before. Upkeep thread only. Takes the lock. */
void version_drain(struct version *v);

/* Blocks of r that are present become evicting and are to be forgotten. 0 or -ENOMEM. */
int version_condemn_locked(struct version *v, struct range r);
/* All that is present becomes evicting and is to be dropped. 0 or -ENOMEM. */
int version_drop_locked(struct version *v);
/*
 * Is the block at off, len bytes, what sum says? Reads the disk. 0; -EILSEQ: no, or the disk does
 * not give it back; -ENOMEM, -EMFILE, -ENFILE: that can't be told now.
 */
int version_check_block(struct backing *b, uint64_t off, size_t len, uint64_t sum);
bool version_waits_locked(const struct version *v, struct range r);
/* Move waiters whose bytes are all there to list. */
void version_collect_locked(struct version *v, struct range r, struct waiter_list *list);
/* Answer them, or park them again where a block turned out to be wrong. No lock held. */
void version_answer(struct version *v, struct waiter_list *list);
void version_wait_loaded(struct version *v);
/* It may take writes again: tell who waits for that. No lock held. */
void version_admit(struct version *v);

/* write.c. The first part of within that is a gap nobody writes; *c is on v's list. 0 or -ENOENT.
 */
int claim_take_locked(struct version *v, struct range within, struct claim *c);
void claim_drop_locked(struct version *v, struct claim *c);
/* Of a present block. */
size_t version_block_len(const struct version *v, uint64_t off);

/* load.c: read extents and open the backing file on the database thread; takes over one reference.
 */
int version_load(struct version *v);

#endif
