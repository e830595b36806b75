/*
 * engine.h - core, store and net together: what the file system, the control socket and get talk to
 *
 * Any thread may call what is here. A thread of the engine's own owns scheduler, leases and
 * origins; calls post to it and return. Nothing here blocks on the network unless it says so.
 *
 *   object   one remote resource, found by its identity; counted; exists in memory while in use
 *   handle   one open file: carries a reader's wants and read-ahead
 *   fill     an order to fetch a whole object
 */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include "core/range.h"
#include "core/sched.h"
#include "core/validator.h"
#include "manifest/manifest.h"
#include "net/fetch.h"
#include "store/store.h"

struct engine;
struct object;
struct handle;

enum fill_mode { FILL_NONE, FILL_OPENED, FILL_ALL };

struct engine_config {
	struct sched_config sched;
	struct fetch_config fetch;
	struct store_config
		store; /* the cache, lost and ctx are the engine's to set; dir NULL: none,
				    * each object has a store of its own (engine_store()) */
	enum fill_mode fill;
	uint64_t fill_after;	/* bytes really read before backfill of a file begins */
	uint64_t revalidate_us; /* age of an answer that an open asks again for; UINT64_MAX never, 0
				   always */
	bool offline;
	bool one_lane; /* nobody reads what is not there yet: demands need no threads of their own */
	bool filenames; /* keep what answers say of the file's name (object_filename()) */
	unsigned int parked_per_origin; /* reads waiting at most; beyond: EIO */
	/*
	 * An object has another version, size or state than before (its node must change); called
	 * on the engine thread with no lock held. May be NULL.
	 */
	void (*changed)(void *ctx, struct object *o);
	void *ctx;
};

/* Opens store, starts threads. owner as in store_open(). 0 or -errno. */
int engine_new(const struct engine_config *cfg, struct engine **ret, char owner[STORE_OWNER_MAX]);
/* Fails what waits (EIO), ends transfers, last checkpoint. Handles and objects must be gone. */
int engine_free(struct engine *e);
/* Before engine_free(): from now on every parked and new read is answered with EIO (unmounting). */
void engine_stop(struct engine *e);

/* ---- objects ---- */
/*
 * The object of entry index of m; one more reference. m is referenced. 0 or -ENOMEM. Never blocks
 * on network. One that is in memory by an older manifest has taken the entry over on return; it
 * lacks nothing that another entry of its identity in m says of size and checksum. For that it may
 * wait for the engine thread; on that thread itself it happens soon after.
 */
int engine_object(struct engine *e, struct manifest *m, uint32_t index, struct object **ret);
/*
 * For downloads: a store that is no cache, and an object in it (engine_object() takes the cache).
 * The store is the caller's, who finishes, discards or closes it after engine_release(), which
 * takes the last reference and waits until nothing of the engine's knows the object any more.
 */
void engine_release(struct object *o);
/* Its name in the store's records. */
const struct object_key *object_key(const struct object *o);
/* The name that an answer gave it (Content-Disposition), unsanitised: malloc'ed; NULL none. */
char *object_filename(struct object *o);
int engine_store(struct engine *e, const struct store_config *cfg, struct store **ret,
		 char owner[STORE_OWNER_MAX]);
int engine_object_in(struct engine *e, struct store *s, struct manifest *m, uint32_t index,
		     struct object **ret);
struct object *object_get(struct object *o);
void object_put(struct object *o);

enum object_state {
	OBJECT_IDLE,
	OBJECT_PROBING,
	OBJECT_FILLING,
	OBJECT_COMPLETE,
	OBJECT_STALE,
	OBJECT_FAILED,
	OBJECT_STATE_COUNT
};
const char *object_state_name(enum object_state st);

struct object_info {
	uint64_t size; /* SIZE_UNKNOWN until told */
	int64_t mtime; /* MANIFEST_NO_TIME unless manifest, server or record tell */
	uint64_t bytes_cached, bytes_durable, bytes_fetched, bytes_discarded;
	uint64_t requests, retries, reads, read_hits;
	enum object_state state;
	uint64_t content;    /* the same for every entry of the object, of no other; not 0 */
	uint64_t generation; /* grows with each new version */
	bool length_unknown; /* the server gives none: size is what has come so far, at least 1 */
	bool in_memory;	     /* somebody uses it, or did of late; what is fetched is among these */
	unsigned int connections;
	unsigned int waiters; /* reads that are parked */
	uint64_t rate_bps;
	struct validator validator;
	char error[200]; /* "" or verdict, host and detail for a person */
};
void object_info(struct object *o, struct object_info *ret);
/* The state as it is told to the outside: complete only once the last byte is durable. */
enum object_state object_shown_state(const struct object_info *info);
/*
 * What is known of an entry without making an object of it: manifest, then record. For getattr and
 * readdir of files nobody uses. An object in memory is found as by engine_object(). 0 or -ENOENT
 * (size unknown and nothing recorded; *ret is filled with unknowns).
 */
int engine_peek(struct engine *e, struct manifest *m, uint32_t index, struct object_info *ret);
/*
 * Ask size, date and validator unless known; done() is called once, on any thread, perhaps before
 * this returns: error 0, or -EIO, -ENOENT (confirmed gone), -ETIMEDOUT. urgent: somebody waits for
 * it.
 */
void object_probe(struct object *o, bool urgent, void (*done)(void *ctx, int error), void *ctx);
/*
 * The same in two steps, for a question that may be called off: nothing is asked before
 * probe_begin(), which is owed. NULL: no memory.
 */
struct probe *probe_new(struct object *o, bool urgent, void (*done)(void *ctx, int error),
			void *ctx);
void probe_begin(struct probe *q);
/*
 * done() is called soon with -EINTR, unless it was; others who ask the same wait on. Any thread and
 * any number of times from probe_new() until done() returns. Never blocks.
 */
void probe_cancel(struct probe *q);

/* ---- reading ---- */
/*
 * Open the current version for reading. generation: the one the caller showed (its node's); -ESTALE
 * if the object has another by now. 0, -ENOMEM, -EIO (size unknown). pid: the process, for demoting
 * the dead; 0 none.
 */
int object_open(struct object *o, uint64_t generation, struct handle **ret);
/* Its wants become backfill or end. Parked reads of it must have been answered or are answered with
 * EIO. */
void handle_close(struct handle *h);
/* As version_read(), and sees to it that the bytes come. pid: who waits, 0 unknown. 0 when done()
 * was or will be called. */
int handle_read(struct handle *h, struct waiter *w, int pid);
/*
 * The same in steps, for a read that may be interrupted. demand_new(): a reference, given back by
 * demand_put(), by done() at the earliest; nothing happens before demand_begin(), which is owed.
 * NULL: no memory.
 */
struct demand *demand_new(struct handle *h, struct waiter *w, int pid);
void demand_begin(struct demand *d);
/* done() is called soon with -EINTR, unless it was. Any thread, any number of times until
 * demand_put(); h is open. Never blocks. */
void demand_cancel(struct demand *d);
/* Its reader has got a signal: with the next look at who waits, one that is being killed is let go.
 * Any thread. */
void demand_signalled(struct demand *d);
void demand_put(struct demand *d);
struct version *handle_version(struct handle *h); /* borrowed */
/* SIZE_UNKNOWN while a stream without a length has not come to its end: a read across that is an
 * error. */
uint64_t handle_size(struct handle *h);

/* ---- orders ---- */
struct fill;
/*
 * Fetch all of it at PRIO_FILL. done() once, from the engine thread, after it is durable (in a
 * store of its own: after it is all there): 0 or -errno.
 */
int object_fill(struct object *o, void (*done)(void *ctx, int error), void *ctx, struct fill **ret);
/* done() is called with -ECANCELED unless it was. f may be used until done() has returned. */
void fill_cancel(struct fill *f);
/*
 * Forget all cached bytes of several, at most OBJECTS_DROP_MAX, in one commit; waits until that
 * is durable. Backfill and orders to fill them end with it, orders with -ECANCELED; readers fetch
 * anew. Each has its own result: 0, or -errno of the store and its bytes are as they were.
 */
#define OBJECTS_DROP_MAX 64
void objects_drop(struct object **list, size_t count, int *ret_error);
/* The same for one whose bytes are known to be wrong: never served again, even if it fails. */
int object_drop_wrong(struct object *o);
/*
 * The current version, for looking at what is cached of it: a reference, version_put(). Nothing is
 * asked or fetched for it. generation as for object_open(). 0, -ESTALE, -ENOMEM, -EIO (size
 * unknown).
 */
int object_hold(struct object *o, uint64_t generation, struct version **ret);
int object_verify(struct object *o, uint64_t *ret_blocks, uint64_t *ret_bad);
/* Backfill everything of m (--fill all), ask unknown sizes of m; both go on in the background. */
void engine_fill_manifest(struct engine *e, struct manifest *m);
void engine_ask_sizes(struct engine *e, struct manifest *m);
/*
 * What failed is kept in memory to tell why: no more of that, the manifest may have put it right.
 * Waits for the engine thread.
 */
void engine_forget_failed(struct engine *e);
int engine_checkpoint(struct engine *e);
/*
 * m is the manifest from now on: every object in memory that is in it has taken its entry over on
 * return. What waits for their bytes goes on with the new sources; where the entry names another
 * size, ETag or checksum, it is another version. Not on the engine thread.
 */
void engine_adopt(struct engine *e, struct manifest *m);

struct engine_stats {
	struct store_stats store;
	struct fetch_stats fetch;
	struct sched_stats sched;
	uint64_t reads, read_hits, rate_bps;
	unsigned int connections, parked, objects;
};
void engine_stats(struct engine *e, struct engine_stats *ret);

struct engine_origin {
	const char *name;	/* scheme://host:port; during the call */
	uint64_t banned_for_us; /* nothing is asked for so long; 0: not banned */
	unsigned int bans;	/* in a row; 0: it answers */
	unsigned int connections;
	bool no_ranges; /* it sends only whole files, as far as is known */
	uint64_t rate_bps, ttfb_us;
};
/* Each origin that is remembered, in no order, as of a tenth of a second ago; no lock held. 0 or
 * -ENOMEM. */
int engine_each_origin(struct engine *e, void (*fn)(void *ctx, const struct engine_origin *o),
		       void *ctx);
/* Objects in memory, in no order; fn is called with a reference held for the call, no lock held. */
void engine_each(struct engine *e, void (*fn)(void *ctx, struct object *o), void *ctx);
/* The manifest entry it has now, of which the manifest is referenced. */
struct manifest *object_manifest(struct object *o, uint32_t *ret_index);

#endif
