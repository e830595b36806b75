/*
 * version.h - the bytes of one version: read them or wait for them
 *
 * A version has an extent map, a backing file and the list of waiters, all under one lock, so that
 * "is it there?" and "then wake me" are one step (no lost wake-up). Counted; any thread.
 *
 * A read is answered from the backing file, from memory when the cache can't keep it, or with an
 * error, always whole: never short, never a hole's zeros, even if somebody else shortens the file
 * or makes holes in it meanwhile (trust.h).
 */
#ifndef STORE_VERSION_H
#define STORE_VERSION_H

#include <bsd/sys/queue.h>

#include "core/range.h"
#include "core/validator.h"

struct object_key;
struct version;

/*
 * One reader's wait, embedded by the caller, who fills in the first part. done() is called exactly
 * once for each version_read() that did not fail, on whatever thread has the bytes, with no lock
 * held: error 0 and data (range_len(range) bytes, valid during the call only), or a negative errno
 * and NULL. -EINVAL: the size has come, and range reaches past it.
 */
struct waiter {
	struct range range; /* not empty, within the size as far as it is known */
	void (*done)(struct waiter *w, int error, const void *data);

	/* version.c's own */
	TAILQ_ENTRY(waiter) link;
	void *memory;		/* its answer, while it is put together */
	uint32_t memory_blocks; /* which of its blocks came without the cache: bit n for the
				   n-th block it touches */
	bool cancelled; /* asked for while it was off the list, about to be answered or parked again
			 */
};
#define WAITER_BLOCKS_MAX 32 /* a read is at most 1 MiB */

struct version *version_get(struct version *v);
void version_put(struct version *v);

/*
 * 0: done() was called on this thread. -EINPROGRESS: parked; the caller sees to it that the bytes
 * come (posts a want). -EINVAL: past the size. May read the disk (never the network).
 */
int version_read(struct version *v, struct waiter *w);
/* True: w was parked, is off the list and done() will not be called; false: done() was or is being
 * called. */
bool version_cancel(struct version *v, struct waiter *w);
/* Answer every waiter that overlaps r with error (a negative errno). Returns how many. */
unsigned int version_fail(struct version *v, struct range r, int error);

/* A writer who is told when it is his turn, embedded by the caller. */
struct write_turn {
	void (*ready)(struct write_turn *t); /* once, any thread, no lock held; must not block */
	TAILQ_ENTRY(write_turn) link;	     /* version.c's own */
};

/*
 * Received bytes: whole blocks (the last may end at the size), from mirror source. Writes them to
 * the backing file, enters them in the map, answers waiters. Blocks on the disk: the writer threads
 * call it. 0; -ESTALE: the version is closed for writing (dropped, superseded); -ENOSPC, -EIO, …:
 * the cache could not keep them: waiters got them from memory all the same. evict: they may take
 * the place of bytes that were read longer ago; without it they must fit beside them
 * (store_has_room()).
 *
 * -EAGAIN: the version takes no writes now (it is loading, or its whole file is being emptied).
 * Others do, so nobody shall wait here: turn->ready() is called when the same is to be asked again;
 * until then v must be held and turn must live.
 */
int version_write(struct version *v, uint64_t off, const void *data, size_t len, uint16_t source,
		  bool evict, struct write_turn *turn);

/* For the scheduler: first part of within neither present nor evicting (nothing while still
 * loading). */
int version_next_gap(struct version *v, struct range within, struct range *ret);
/* Does a waiter overlap r? For flushing a block as soon as it is there. Cheap. */
bool version_awaited(struct version *v, struct range r);

/* Of its object; lives as long as the store. */
struct store *version_store(const struct version *v);
const struct object_key *version_key(const struct version *v);

/*
 * Of data, received for off (a block border): is one of its whole blocks present with other bytes?
 * Then the two were not received from one version. Any thread, no I/O.
 */
bool version_contradicts(struct version *v, uint64_t off, const void *data, size_t len);

uint64_t version_size(struct version *v); /* SIZE_UNKNOWN */
/*
 * 0 or -EINVAL (another one is known, or bytes lie past it). Waiters that reach past it are told so
 * before any byte is written after it: none is ever answered with what lies behind the end.
 */
int version_set_size(struct version *v, uint64_t size);
void version_validator(struct version *v, struct validator *ret);
/* Learn what was unknown (never changes what is known). */
void version_learn(struct version *v, const struct validator *got);
bool version_complete(struct version *v);

struct version_info {
	uint64_t size, bytes_present, bytes_durable;
	size_t extents, waiters;
	bool uncached, loading;
};
void version_info(struct version *v, struct version_info *ret);

#endif
