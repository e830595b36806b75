/*
 * internal.h - what the files of src/engine share; nobody else includes it
 *
 * Here are the engine, its threads and its objects; task.h has how bytes are fetched, readers.h who
 * waits for them. Those two are as private.
 *
 * Threads, and what each may touch:
 *   callers   (FUSE loop, control socket, get) take references, read versions, post messages.
 *   engine    one thread; owns the sched and everything marked "engine thread" below, without a
 *             lock.
 *   fetch     net's threads; they enter through the transfer_ops in pull.c and only post.
 *   writers   two threads that write bodies into versions (writer.c), one for bytes that somebody
 *             waits for.
 *   workers   two threads for what may block (worker.c): checkpoints, and reading whole files for
 *             digests.
 *
 * A message is embedded in what it is about and posted at most once at a time, so that posting
 * never allocates and never blocks. Messages of one sender are handled in the order they were
 * posted in.
 */
#ifndef ENGINE_INTERNAL_H
#define ENGINE_INTERNAL_H

#include <bsd/sys/queue.h>
#include <bsd/sys/tree.h>
#include <inttypes.h>
#include <stdatomic.h>

#include "base/lock.h"
#include "base/log.h"
#include "core/failmem.h"
#include "core/rangeset.h"
#include "core/readahead.h"
#include "engine/engine.h"

/* ---- messages (loop.c) ---- */
struct msg {
	STAILQ_ENTRY(msg) link;
	void (*fn)(struct engine *e,
		   struct msg *m); /* on the engine thread; m may be freed or posted again */
};
STAILQ_HEAD(msg_list, msg);

/* Any thread, under no lock of rank RANK_QUEUE or higher. */
void engine_post(struct engine *e, struct msg *m, void (*fn)(struct engine *e, struct msg *m));
/* What this thread has posted was handled. Not on the engine thread. */
void engine_settle(struct engine *e);
void *engine_main(void *arg);

/* ---- what may block (worker.c) ---- */
struct work {
	STAILQ_ENTRY(work) link;
	struct msg msg;
	void (*run)(struct engine *e, struct work *w);	/* on the worker */
	void (*done)(struct engine *e, struct work *w); /* on the engine thread, afterwards */
};
struct worker;
int worker_new(struct engine *e, struct worker **ret);
/* Runs what is queued, then joins. */
void worker_free(struct worker *k);
void worker_add(struct worker *k, struct work *w);

/* ---- bodies on their way to the cache (writer.c) ---- */
struct pull;
struct writer;
int writer_new(struct writer **ret);
void writer_free(struct writer *k);
/* chunk (at object offset off of p's version) becomes the writer's. Never blocks; bounded by the
 * chunk pool. */
void writer_add(struct writer *k, struct pull *p, uint64_t off, struct chunk *chunk);

/* ---- the engine ---- */
enum lane { LANE_DEMAND, LANE_BULK, LANE_COUNT };

struct object;
struct task;
RB_HEAD(object_tree, object);
int object_cmp(const struct object *a, const struct object *b);
RB_PROTOTYPE(object_tree, object, by_key, object_cmp)
struct learned;
RB_HEAD(learned_tree, learned);
int learned_cmp(const struct learned *a, const struct learned *b);
RB_PROTOTYPE(learned_tree, learned, by_key, learned_cmp)
TAILQ_HEAD(object_list, object);
TAILQ_HEAD(task_list, task);
TAILQ_HEAD(demand_list, demand);
TAILQ_HEAD(want_list, want);
LIST_HEAD(probe_list, probe);
LIST_HEAD(fill_list, fill);
LIST_HEAD(roll_list, roll);
LIST_HEAD(pull_list, pull);

/* scheme, host and port: one for all objects there; lives on for a while when nobody uses it. */
struct origin {
	TAILQ_ENTRY(origin) link;      /* engine.lock */
	unsigned int refs;	       /* engine.lock; of objects and tasks */
	struct sched_origin *sched;    /* engine thread; NULL until first used */
	atomic_int parked;	       /* reads that wait for it; for an instant one less */
	atomic_uint_fast64_t rate_bps; /* copies for other threads */
	atomic_uint_fast64_t ttfb_us;
	atomic_uint_fast64_t banned_until_us;
	atomic_uint bans, connections;
	/* Each try since then to reach it failed, for that; 0: it was reached. Engine thread */
	uint64_t unreached_us;
	enum verdict unreached;
	uint64_t given_up_us; /* when somebody was told so */
	/*
	 * Until then it lets us have few connections: all go through one fetch instance, the one
	 * that worked last, because the idle ones of the other can't be used from there and take a
	 * place at the server. Engine thread.
	 */
	uint64_t crowded_until_us;
	enum lane worked;
	atomic_bool no_ranges;		      /* its last answer that says anything of them */
	bool told_no_ranges;		      /* by the log; engine thread */
	bool ignore_etag;		      /* engine thread */
	struct log_limit told[VERDICT_COUNT]; /* bad verdicts; engine thread */
	char key[];			      /* scheme://host:port */
};

struct engine {
	struct engine_config cfg;
	struct store *store;
	struct fetch_shared *shared;
	struct fetch *fetch[LANE_COUNT];
	struct writer *writer[LANE_COUNT];
	struct worker *checkpointer; /* what is over in milliseconds */
	struct worker *verifier;     /* what may take minutes */
	pthread_t thread;
	bool started; /* thread is to be joined */

	struct mtx queue_lock; /* RANK_QUEUE; guards queue */
	struct cnd queue_more;
	struct msg_list queue;

	struct mtx lock;   /* RANK_ENGINE; guards all down to the atomics, and what objects say */
	struct cnd opened; /* some object.opening ended */
	struct object_tree objects;
	unsigned int object_count;
	TAILQ_HEAD(, origin) origins; /* last used at the end */
	unsigned int origin_count;
	struct sched_stats sched_stats; /* copy for other threads */
	uint64_t rate_bps;
	unsigned int connections;

	atomic_bool stopping; /* reads are answered with EIO */
	atomic_bool closing;  /* nothing new is begun */
	atomic_int parked;
	atomic_uint_fast64_t reads, read_hits, unkept;
	atomic_uint_fast64_t window_max; /* of one reader */

	/* engine thread */
	struct sched *sched;
	struct task_list tasks;
	struct demand_list demands; /* whose readers are known by pid */
	struct object_list idle;    /* kept open though nobody uses them, oldest first */
	unsigned int idle_count;
	struct object_list backfilling; /* objects with a backfill */
	struct object_list failed;	/* kept for status, oldest first */
	unsigned int failed_count;
	struct learned_tree learned;
	TAILQ_HEAD(, learned) learned_last; /* oldest first */
	unsigned int learned_count;
	struct object_list probing;	 /* objects with probes out */
	struct object_list revalidating; /* oldest question first */
	unsigned int revalidating_count;
	struct roll_list rolls;
	struct lease *
		*stillborn; /* leases for which there was no memory; bounded by max_connections */
	unsigned int stillborn_count, stillborn_max;
	unsigned int pulls;	    /* that have not been freed */
	unsigned int works;	    /* given to a worker and not done */
	uint64_t random;	    /* state of retry_random() */
	uint64_t second_us;	    /* when things that are looked at once a second are due */
	uint64_t copy_us;	    /* when the copies for other threads are due */
	bool copied_busy;	    /* the last copy showed connections */
	bool degraded;		    /* the cache takes no bytes: demands only */
	uint64_t backfill_reserved; /* room that backfills under way will need */
	uint64_t fill_reserved;	    /* sizes of the objects of orders under way */
	struct fill_list waiting;   /* orders that would not fit beside those */
	bool quitting;
	struct msg quit_msg, stop_msg;
};

/* ---- origins (origin.c) ---- */
/* Of a URL; made if new: a reference. NULL: no memory, or not a URL. Any thread, as the next two.
 */
struct origin *origin_get(struct engine *e, const char *url);
struct origin *origin_ref(struct engine *e, struct origin *o);
/* NULL is fine. */
void origin_put(struct engine *e, struct origin *o);
/* Of those that nobody uses the oldest are forgotten: redirects may name new ones for ever. Engine
 * thread, not from within the sched. */
void origins_trim(struct engine *e, uint64_t now_us);
void origins_done(struct engine *e);

/* ---- identity (identity.c) ---- */
/*
 * What names the object's content across mounts: the manifest's id, else its checksum, else the URL
 * without user info with slice and the headers that change what is sent. 0 or -ENOMEM.
 */
int identity_key(const struct entry *entry, struct object_key *ret);

/* ---- wants: their functions are with the tasks below ---- */
enum want_kind { WANT_DEMAND, WANT_WINDOW, WANT_FILL, WANT_BACKFILL };

struct want {
	enum want_kind kind;
	enum prio prio;
	struct range range;
	struct task *task; /* NULL: not asked for */
	TAILQ_ENTRY(want) in_task;
	struct sched_want *sw; /* NULL: waits for the version to be loaded */
	struct handle *h;      /* WINDOW: whose */
	struct fill *fill;     /* FILL: whose */
	TAILQ_ENTRY(want) in_handle;
};

/* ---- objects (object.c; what becomes of them: outcome.c) ---- */
struct object {
	RB_ENTRY(object) by_key; /* engine.lock */
	unsigned int refs;	 /* engine.lock */
	bool gone_posted;	 /* engine.lock: gone_msg is on its way */
	struct msg gone_msg;

	/* fixed at birth */
	struct engine *e;
	struct store *store; /* of its bytes: the cache, or one of its own */
	struct object_key key;

	/*
	 * Under engine.lock; but for version, fresh and handles only the engine thread changes
	 * them, and may look at them without.
	 */
	/* Its entry, until it takes another one over (adopt.c). */
	struct manifest *manifest;
	uint32_t index;
	struct origin *origin;	/* of its first URL */
	uint64_t manifest_size; /* SIZE_UNKNOWN */
	struct range slice;
	struct checksum checksum;
	bool etag_pinned; /* the manifest names an ETag */

	uint64_t size;
	int64_t mtime;
	char *filename; /* engine_config.filenames: of its first answer that has one */
	struct validator validator;
	int64_t asked_s; /* last answer; where a checksum pins the content: object_proof() of it,
			    object_claim(), or 0 */
	uint64_t generation;
	struct version *version; /* the current one; NULL while nobody needs it */
	bool fresh;		 /* what the store has is of another content: open a new version */
	unsigned int handles;	 /* open ones, on any version */
	bool opening;		 /* a thread is in store_version_open() for it */
	bool length_unknown;
	bool complete;	 /* every byte cached, and proven where there is a checksum */
	bool failed;	 /* no source can serve it */
	bool stale;	 /* asked about, no answer */
	bool checking;	 /* probe out */
	bool filling;	 /* somebody wants bytes of it */
	uint64_t cached; /* bytes, as the record had it, while there is no version */
	char *error;	 /* NULL: none */

	atomic_uint_fast64_t reads, read_hits, bytes_fetched, bytes_discarded, requests, retries;
	atomic_uint_fast64_t rate_bps;
	atomic_uint connections;
	struct mtx read_lock; /* RANK_READS; guards the next two */
	struct rangeset read; /* what has been read, until that starts its backfill */
	uint64_t read_before; /* bytes that are not in read any more */
	atomic_bool backfill_posted;
	struct msg backfill_msg, backfill_size_msg;

	/* engine thread */
	struct task *task;
	struct probe_list probes;
	bool kept_failed; /* is on engine.failed and holds a reference */
	TAILQ_ENTRY(object) failed_link;
	bool in_probing;
	TAILQ_ENTRY(object) probing_link;
	bool revalidating; /* is on engine.revalidating and holds a reference */
	TAILQ_ENTRY(object) revalidating_link;
	uint64_t revalidate_after_us; /* not again before */
	uint64_t revalidate_until_us; /* the answer is not waited for any longer */
	struct fill_list fills;
	bool backfill; /* is on engine.backfilling and holds a reference */
	TAILQ_ENTRY(object) backfill_link;
	struct want backfill_want;  /* task NULL: waits for a size or for room */
	struct roll *backfill_roll; /* told at its end, or NULL */
	bool backfill_asking;	    /* for the size */
	uint64_t backfill_reserved; /* bytes that it may still add; in engine.backfill_reserved */
	int backfill_error;
	bool is_idle;
	TAILQ_ENTRY(object) idle_link;
	struct failmem failures; /* of the current version's ranges */
	enum verdict told;	 /* the bad verdict that the log has, VERDICT_PART none */
	uint64_t gone_us;	 /* when all sources said gone, 0 not */
	uint64_t probe_failed_us;
	bool verifying;		   /* its digest is being computed */
	bool content_bad;	   /* every source's content had the wrong checksum */
	unsigned int bad_contents; /* times in a row */
	unsigned int changes;	   /* of version in this mount */
	uint64_t sources_long;	   /* sent a whole body that was not of the manifest's size … */
	uint64_t sources_long_us;  /* … at; refused until they are forgiven */
	unsigned int replaced;	   /* … by the origin, in a row without a durable block between */
	uint64_t ask_after_us;	   /* its sources are left alone until then */
	unsigned int validator_url; /* the URL whose validator the version is known by */
	uint64_t sources_used;	    /* bit n: source n contributed since the last proof */
	uint64_t sources_bad;	    /* contributed to bytes with a wrong checksum: asked last */
};

/* The one in memory, borrowed; NULL: none. */
struct object *object_find_locked(struct engine *e, struct store *s, const struct object_key *key)
	REQUIRES(e->lock);
/* o->version becomes v, NULL: none. Returns the one before, whose reference is now the caller's. */
struct version *object_swap_version_locked(struct object *o, struct version *v)
	REQUIRES(o->e->lock);
/* Under no lock. Sets o->error; NULL clears it. */
void object_set_error(struct object *o, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Tells engine_config.changed. Engine thread. */
void object_tell(struct object *o);
/* Remember size, date, validator and the time of the answer in the store. Engine thread. */
void object_remember(struct object *o);
/*
 * One thread at a time opens a version of o: the store would take an opening under the old
 * validator that comes after a change for one more change.
 */
void opening_begin_locked(struct object *o) REQUIRES(o->e->lock);
void opening_end_locked(struct object *o) REQUIRES(o->e->lock);
/* The current version, opened if it is not: *ret is a reference. Any thread. 0, -ENOMEM or -ESTALE.
 */
int object_version(struct object *o, uint64_t generation, bool handle, struct version **ret);
/* 0; -ESTALE: it has another generation (0: any) by now; -EIO: nobody has told its size yet, nor
 * that there is none. */
int object_openable(struct object *o, uint64_t generation);
/* Engine thread: nobody may be using o any more; see whether that is so, and keep it for later if
 * it is. */
void object_rest(struct object *o);
/* Close the oldest of those that nobody has used for long. Not from within the sched. */
void objects_trim(struct engine *e);
/* Engine thread: o is being used. */
void object_wake(struct object *o);
/* Close task and version, unless a handle is open. Engine thread. */
void object_release(struct object *o);
/*
 * A read, an order or a question failed for why: shown until an answer is good. A few thousand such
 * objects stay in memory for it. May be called from within the sched, as the other.
 */
void object_failed(struct object *o, enum verdict why);
/* Memory need not hold it for its failure any more. */
void object_forget_failed(struct object *o);
/* Every byte is there: complete, or have it proven first. Engine thread, called after bytes were
 * written. */
void object_arrived(struct object *o);
/*
 * An answer named another version: object_changed() will follow. From the second in a row on,
 * without a durable block in between, the next question waits: a server may do so in each answer.
 * in_vain: nor does a durable block count.
 */
void object_replaced(struct object *o, bool in_vain, uint64_t now_us);
/*
 * A whole body of source url, some of which was kept, was not of the manifest's size: nothing that
 * is there is believed, and that source is left alone for a time. Engine thread.
 */
void object_disown(struct object *o, unsigned int url, unsigned int urls, uint64_t now_us);
/* The origin has another content than our version. got may lack a size. Engine thread. */
void object_changed(struct object *o, const struct validator *got, uint64_t size);
/* The same where no answer said so: what is asked for now has validator v, and was not asked. */
void object_replace(struct object *o, const struct validator *v, int64_t asked_s, uint64_t size);
/* The size became known. Engine thread. */
void object_sized(struct object *o, uint64_t size);
/* A content with a checksum or an ETag in the manifest has no later version. */
static inline bool object_content_pinned(const struct object *o)
{
	return o->checksum.algo != CHECKSUM_NONE;
}
static inline bool object_version_pinned(const struct object *o)
{
	return object_content_pinned(o) || o->etag_pinned;
}
static inline bool object_sliced(const struct object *o)
{
	return o->slice.off > 0 || o->slice.end != SIZE_UNKNOWN;
}

/* ---- what the store remembers (recall.c), any thread ---- */
/*
 * What asked_s says of a content proven by c, and of one that was fetched for c and is not proven:
 * negative, so no time, and another for each checksum.
 */
int64_t object_proof(const struct checksum *c);
int64_t object_claim(const struct checksum *c);
/* o is new: what entry and record tell of it. */
void object_recall(struct object *o, const struct entry *entry);
/* The same of one that is not in memory; info has what entry says. 0 or -ENOENT: size unknown. */
int recall_peek(struct engine *e, const struct entry *entry, const struct object_key *key,
		struct object_info *info);

/* ---- another entry for an object in memory (adopt.c) ---- */
/* Does entry, of m, say what o does not know? Takes engine.lock. Any thread, as the next. */
bool object_outdated(struct object *o, const struct manifest *m, const struct entry *entry);
/* Let o take entry index of m over; done on return, on the engine thread soon. 0 or -ENOMEM. */
int object_adopt(struct object *o, struct manifest *m, uint32_t index);

/* ---- revalidation (revalidate.c), checksums (content.c) ---- */
void revalidate_opened(struct object *o, uint64_t now_us);
void revalidate_answered(struct object *o);
void revalidate_failed(struct object *o);
/* Its answer is not waited for; o may be unreferenced after it, as after the two above. */
void revalidate_end(struct object *o);
void revalidate_sweep(struct engine *e, uint64_t now_us);
/* Compute the digest of a version that is all there; ends in object_arrived() or the refetch. */
void content_prove(struct object *o, struct version *v);
/* No checksum says that it has bytes. Any thread that may look at o->checksum. */
bool content_may_be_empty(const struct object *o);

#endif
