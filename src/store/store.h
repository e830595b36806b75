/*
 * store.h - one manifest's cache directory: lock, database, backing files, durability
 *
 * Layout of the directory and the crash argument: doc/format.md. One process owns it. A thread of
 * the store's own is the only user of SQLite; checkpoints run on another one, which syncs files in
 * parallel and hands the rows to the first. Any thread may call what is here unless it says
 * otherwise. A target that is not tended has neither: whoever asks for a checkpoint, or closes it,
 * runs that himself.
 *
 *   record   what is remembered of an object across mounts: size, mtime, validator, cached bytes
 *   version  an object's content under one validator (version.h): extents, backing file, waiters
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <sys/types.h>

#include "core/range.h"
#include "core/validator.h"
#include "store/version.h"

#define OBJECT_KEY_BYTES 16

struct object_key {
	uint8_t bytes[OBJECT_KEY_BYTES]; /* engine/identity.h makes it */
};

struct store;

/*
 * A store of one object whose bytes go to a file of the user's: get's. Nothing is ever evicted, and
 * the database only comes to be with the first checkpoint that finds the object incomplete.
 */
struct store_target {
	int dirfd; /* where the file is; the caller's, who may close it after store_open() */
	const char
		*part; /* its name until it is complete: made anew unless the database knows it */
	/*
	 * Before the first row is written, on whatever thread checkpoints: leave in dirfd what
	 * tells of it. 0 or -errno.
	 */
	int (*begins)(void *ctx, int dirfd);
	void *ctx;
	/*
	 * Nothing becomes durable in the background, and no thread is made, before store_tend() or
	 * something that can't wait; not where an earlier process has left rows.
	 */
	bool untended;
};

struct store_config {
	const char *dir;		   /* the manifest's own directory; made if absent (0700) */
	const struct store_target *target; /* NULL: a cache; copied but for its part */
	const char *description;   /* manifest and mountpoint, for the lock file and cache list */
	uint64_t cache_size;	   /* bytes, UINT64_MAX unlimited */
	uint64_t min_free;	   /* bytes */
	uint64_t checkpoint_us;	   /* longest time before new bytes become durable */
	uint64_t checkpoint_bytes; /* … and most bytes (64 MiB) */
	unsigned int files_max;	   /* backing files open at once; 0: no bound */
	/*
	 * Called on a store thread with no lock held: bytes of v became gaps (evicted, wrong
	 * checksum, failed sync), or its extents have just been loaded and it is not complete, so
	 * that the engine can want what is missing. May call what is in version.h, never anything
	 * here that waits.
	 */
	void (*lost)(void *ctx, struct version *v);
	void *ctx;
};

/*
 * 0; -EBUSY: another process owns it (*owner says "PID on HOST, MOUNTPOINT"); -EPERM: the directory
 * is another's or writable by others; -errno. A damaged, foreign or newer database is moved aside
 * and said. -EEXIST: of a target, there is a file of its name that we have not made. Starts
 * threads: after the last fork.
 */
#define STORE_OWNER_MAX 512
int store_open(const struct store_config *cfg, struct store **ret, char owner[STORE_OWNER_MAX]);
/* A last checkpoint, threads ended, lock released. Versions must be put. 0 or the checkpoint's
 * -errno. */
int store_close(struct store *s);
/*
 * Of a target that was opened untended: from now on it is like any other. Whoever opened it calls
 * this within checkpoint_us after bytes may first have come, or what comes is durable no earlier
 * than its end. Any thread.
 */
void store_tend(struct store *s);
/*
 * Of a target, instead of store_close(), when every byte of key is there: makes it durable, gives
 * the file its date (VALIDATOR_NO_TIME: none) and the name, durably, and removes dir. 0; -EEXIST:
 * there is a file of that name; -EIO: not all bytes are there; -ESTALE: the part is none that we
 * have made; -errno. After an error the store is closed as by store_close().
 */
int store_finish(struct store *s, const struct object_key *key, int64_t mtime, const char *name);
/*
 * Of a target, instead of both: closed; the file, if it is ours, and dir are removed. 0 or -errno
 * of what stays.
 */
int store_discard(struct store *s);

/* ---- records, in memory, loaded at open: never blocks on the disk ---- */
struct store_record {
	uint64_t size; /* SIZE_UNKNOWN */
	int64_t mtime; /* VALIDATOR_NO_TIME */
	struct validator validator;
	int64_t asked_s; /* wall clock of the last answer about the version, 0 never; the engine's:
			    negative is a proof */
	uint64_t bytes_cached, bytes_durable;
	uint64_t version_id; /* 0: none */
	bool complete;
};
/*
 * What a target's directory says of it (size, mtime, bytes), of which nobody need be the owner; the
 * rest of *ret is nothing. 0; -ENOENT: there is no database; -EBUSY: its owner has it.
 */
int store_peek(int dirfd, const char *dir, struct store_record *ret);
/* 0 or -ENOENT. */
int store_lookup(struct store *s, const struct object_key *key, struct store_record *ret);
/* Is anything remembered at all? */
bool store_empty(struct store *s);
/* Remember size, mtime, validator and asked_s (its other fields are not read); durable by the next
 * checkpoint. */
int store_remember(struct store *s, const struct object_key *key, const struct store_record *rec);

/* ---- versions ---- */
/*
 * The object's version under validator, loading its extents in the background (readers park
 * meanwhile): the recorded one where that is the same version, else a new one with a new backing
 * file (and the old one's bytes are forgotten once nobody holds it). size may be SIZE_UNKNOWN.
 * Counted: version_put(). 0, -ENOMEM. When the disk refuses, the version is uncached: reads go
 * through memory.
 */
int store_version_open(struct store *s, const struct object_key *key,
		       const struct validator *validator, uint64_t size, bool new_version,
		       struct version **ret);

/* ---- durability, space ---- */
/*
 * Checkpoint now and wait: after 0 everything that was present when it was called, and still is, is
 * durable. (A checkpoint in the background may have failed in between and dropped bytes: whoever
 * promises a whole file asks version_complete() after this, not before.) -errno else.
 */
int store_checkpoint(struct store *s);
/*
 * Forget cached bytes of the object (drop); waits until they are durably forgotten. 0, or -errno:
 * all of them are as they were before.
 */
int store_drop(struct store *s, const struct object_key *key);
/*
 * The same in three steps, so that many are forgotten in one commit: begin for each, then wait
 * once (0, or -errno of any), then end for each *ret_version (NULL: it has none), which puts it
 * and tells what came of it. wrong: they are known to be, so they are never served again even if
 * they can't be forgotten.
 */
int store_drop_begin(struct store *s, const struct object_key *key, bool wrong,
		     struct version **ret_version);
int store_drop_wait(struct store *s);
int store_drop_end(struct version *v);
/* Check every cached block of key against its checksum, drop wrong ones; *ret_bad counts blocks. */
int store_verify(struct store *s, const struct object_key *key, uint64_t *ret_blocks,
		 uint64_t *ret_bad);
/*
 * Is there a block of key that was not compared with its checksum since it came from the database,
 * or since somebody else changed the file (the file is looked at)? May wait for the disk.
 */
bool store_doubted(struct store *s, const struct object_key *key);
/* May lower classes add bytes without evicting anything (backfill)? need in bytes. */
bool store_has_room(struct store *s, uint64_t need);
/*
 * Wait a moment until bytes more fit, evicting others: before version_write(), for whom nobody
 * waits. They may still be refused.
 */
void store_make_room(struct store *s, uint64_t bytes);
/* The largest object that can be cached whole, with all others evicted. */
uint64_t store_capacity(struct store *s);

struct store_stats {
	uint64_t bytes_cached, bytes_durable, bytes_evicted, blocks_bad, checkpoints;
	uint64_t cache_size, disk_free;
	int degraded; /* 0, or the -errno that makes reads go uncached, or nothing new durable */
};
void store_stats(struct store *s, struct store_stats *ret);

#endif
