/*
 * sched.h - who fetches what next: wants in, leases out
 *
 * Pure state with the time as an argument: no I/O, no thread, no clock, no curl. The engine thread
 * owns a sched and is the only one to call it; the simulator (tests/sim) owns one as well. What
 * must happen outside is asked for through struct sched_ops, called from within sched_* calls; an
 * op must not call back into the sched (it posts, and reports later).
 *
 *   task     one version being fetched, with the sources (mirrors) it may come from
 *   want     a range of a task that somebody asks for, with a priority
 *   lease    a range that one transfer may fetch now; its end may shrink, it never moves
 *   origin   scheme, host, port: budget of connections, ban, measured rate, round trip, time to
 * first byte
 *
 * Always true:
 *   S1  leases of a task never overlap, unless one is a hedge of the other.
 *   S2  a lease starts at a block boundary and ends at one or at the size; cuts and steals too.
 *   S3  no origin has more running leases than its budget, nor all of them more than the ceiling,
 *       those included that were told to end and have not; leases that were redirected to it come
 *       on top, until their sources are known to lead there. Where n demands of an origin run
 *       already, another is started only if n slots, but at most an eighth of the ceiling (or the
 *       last one), stay without a demand: for origins that have fewer.
 *   S4  no lower class is started on an origin while a demand could be started there, but for one
 *       that a lower class is just giving up a slot for at a mirror that it prefers.
 *   S5  a banned origin gets at most one request while banned, at the end of its ban (the test
 *       request).
 *   S6  after a tick a demand of an origin that runs nothing, and is not banned, has a slot or
 *       waits for one that is being given up, unless every slot is the only one of its origin, with
 *       a demand. What gives up its slot so has not failed; it waits by S3 and takes none back.
 *
 * Life of a lease (who moves it):
 *   RUNNING   ops.start() was called; a transfer owns it.   -> sched_lease_ended()
 *   DRAINING  the transfer is over, its slot is free; bytes are on their way to the disk, the range
 * still counts as covered.                            -> sched_lease_written(), freed
 */
#ifndef CORE_SCHED_H
#define CORE_SCHED_H

#include <stdatomic.h>

#include "core/range.h"
#include "core/verdict.h"

enum prio { PRIO_DEMAND, PRIO_WINDOW, PRIO_FILL, PRIO_BACKFILL, PRIO_COUNT };
const char *prio_name(enum prio p);

struct sched;
struct sched_origin;
struct sched_task;
struct sched_want;

enum lease_state { LEASE_RUNNING, LEASE_DRAINING, LEASE_STATE_COUNT };

struct lease {
	/* The engine and the transfer read these. */
	struct sched_task *task;
	void *task_user;     /* as given to sched_task_new() */
	unsigned int source; /* index of the task's source */
	enum prio prio;	     /* class it was started for; the highest that waits on it now */
	uint64_t off;	     /* first byte of the request */
	atomic_uint_fast64_t
		end;   /* behind the last byte that may be kept; only ever shrinks. The end the
			* request was sent with is what it was when ops.start() was called;
			* SIZE_UNKNOWN: to the end of an object of unknown size */
	bool probe;    /* only asks size and validator (range of one byte; the body is dropped) */
	bool unranged; /* ask for everything, without a range: the source was found to have none.
			* ops.start() may set it, where a range would not tell the size */
	void *user;    /* the engine's: its transfer */
	/* Private to sched.c from here on. */
	struct lease_priv *priv;
};

/*
 * One whole body in answer to a range may have been a bad moment of the server: further from the
 * start than this the range is asked for again at once, nearer the body is of use.
 */
#define SCHED_WHOLE_NEAR_BYTES (UINT64_C(16) << 20)

struct sched_config {
	unsigned int connections;     /* per task; 0: auto */
	unsigned int max_connections; /* over all */
	unsigned int max_per_origin;
	uint64_t connect_timeout_us;
	uint64_t stall_timeout_us; /* a lease without a byte for so long goes to another connection
				    */
	uint64_t retry_time_us;	   /* a demand that comes no nearer for so long fails; 0: never */
	uint64_t seed;		   /* of the jitter */
};

struct sched_ops {
	/*
	 * The first part of within that is neither in the cache nor being evicted; the engine asks
	 * the extent map under the version's lock. 0 or -ENOENT.
	 */
	int (*next_gap)(void *ctx, void *task_user, struct range within, struct range *ret);
	/* Begin a transfer for l. Failures come back by sched_lease_ended(). */
	void (*start)(void *ctx, struct lease *l);
	/*
	 * l->end has become smaller: end the response there, or earlier close it if far off; or
	 * larger again, though never behind what was asked for, which it may come too late for.
	 * Informative.
	 */
	void (*shrunk)(void *ctx, struct lease *l);
	/*
	 * End the transfer. sched_lease_ended(VERDICT_CANCELLED) must still come, and soon: until
	 * then it has its slot. at_once: that is waited for, so that no rest is read for the
	 * connection's sake; also after a first call without.
	 */
	void (*cancel)(void *ctx, struct lease *l, bool at_once);
	/* Stop (and go on) reading the response, to leave the link to a demand. */
	void (*hold)(void *ctx, struct lease *l, bool hold);
	/* Nothing of w's range is missing any more; w is gone after this call. Never for a demand.
	 */
	void (*satisfied)(void *ctx, void *want_user);
	/* No source can serve w, or its deadline is over; w is gone after this call. */
	void (*failed)(void *ctx, void *want_user, enum verdict why);
	/* A probe ended without an answer from any source. */
	void (*probe_failed)(void *ctx, void *task_user, enum verdict why);
};

/* NULL: no memory. cfg and ops are copied; ctx goes to each op. */
struct sched *sched_new(const struct sched_config *cfg, const struct sched_ops *ops, void *ctx);
/* All tasks must be gone. */
void sched_free(struct sched *s);

/* key: any unique text (scheme://host:port). Borrowed: lives until it is dropped. NULL: no memory.
 */
struct sched_origin *sched_origin_get(struct sched *s, const char *key);
/*
 * Forget o, and what was measured of it. False: a task, lease or ban of it remains, and so does it.
 * A look at every task.
 */
bool sched_origin_drop(struct sched *s, struct sched_origin *o, uint64_t now_us);

/*
 * size may be SIZE_UNKNOWN: then the first lease is from the wanted offset to the end.
 * 0 or -ENOMEM. sources: in order of preference; copied.
 */
int sched_task_new(struct sched *s, uint64_t size, struct sched_origin *const *sources,
		   unsigned int source_count, void *task_user, struct sched_task **ret);
/* Cancels its leases, drops its wants (no op is called for them). It is freed when its last lease
 * has been written. */
void sched_task_close(struct sched *s, struct sched_task *t, uint64_t now_us);
/* What a source has told of ranges, to be handed on to a later task for the same object. */
struct sched_ranges {
	bool none;	     /* it is asked for everything … */
	unsigned int wholes; /* … after so many whole bodies in a row … */
	uint64_t again_us;   /* … until then */
};
void sched_task_ranges(const struct sched_task *t, unsigned int index, struct sched_ranges *ret);
/* Before the first want. */
void sched_task_set_ranges(struct sched_task *t, unsigned int index, const struct sched_ranges *r);
void sched_task_set_size(struct sched *s, struct sched_task *t, uint64_t size, uint64_t now_us);
/* Ask for size and validator; prio DEMAND when somebody waits. Asking again may raise it. */
int sched_task_probe(struct sched *s, struct sched_task *t, enum prio prio, uint64_t now_us);
/* What the source is asked for goes to o from now on, whose ban and budget count. */
void sched_source_set_origin(struct sched *s, struct sched_task *t, unsigned int index,
			     struct sched_origin *o);
/* Ask none of its sources before until_us, for why; one that has passed changes nothing. */
void sched_task_wait(struct sched *s, struct sched_task *t, uint64_t until_us, enum verdict why,
		     uint64_t now_us);
/* The source is known to be of no use for it, for why, until it is forgiven. */
void sched_source_refuse(struct sched_task *t, unsigned int index, enum verdict why);
/* Should o be banned, that ends now as far as one test request goes: somebody can't wait long. */
void sched_origin_test(struct sched *s, struct sched_origin *o, uint64_t now_us);
/* Forget what its sources did wrong (the user's word, a reload). */
void sched_task_forgive(struct sched *s, struct sched_task *t, uint64_t now_us);

/*
 * range is clipped to the size and widened to blocks. 0 (also when nothing is missing: then
 * satisfied() is called for all but a demand by the next sched_tick()), -ENOMEM, or -EIO for a
 * demand: all its sources are refused already (*ret_why tells).
 */
int sched_want_add(struct sched *s, struct sched_task *t, struct range range, enum prio prio,
		   void *want_user, uint64_t now_us, struct sched_want **ret,
		   enum verdict *ret_why);
/* Nobody asks any more (or it is there); running leases that only served it become BACKFILL or end.
 */
void sched_want_remove(struct sched *s, struct sched_want *w, uint64_t now_us);
/* Ask for it with another priority from now on. */
void sched_want_set_prio(struct sched *s, struct sched_want *w, enum prio prio, uint64_t now_us);

/* ---- what a transfer reports; each may call ops ---- */

/*
 * The connection is there (connect_us: TCP handshake, the round trip; 0: it was reused), and the
 * request went out at asked_us: the set-up lasted until then, the time to first byte begins. It may
 * be told late, with the answer.
 */
void sched_lease_connected(struct sched *s, struct lease *l, uint64_t connect_us,
			   uint64_t asked_us);
/* The final header came and was judged good; the time to first byte is over now. */
void sched_lease_answered(struct sched *s, struct lease *l, uint64_t now_us);
/*
 * o answers l, or fails to, although another was asked (a redirect): ban, holds, rate and times are
 * o's from here on. l counts at both, as a guest at o: its answer can't be put off any more.
 */
void sched_lease_set_origin(struct sched *s, struct lease *l, struct sched_origin *o,
			    uint64_t now_us);
/*
 * The answer is the whole body from 0. True: l is now the lease of [0, size) and its body is to be
 * kept; false: end it (another whole body is under way, or ranges of this task are served
 * elsewhere, or it is asked for a range once more). A source that did so is asked for everything
 * from then on, and now and then for a range: after some time, or when a demand would wait for
 * long.
 */
bool sched_lease_whole(struct sched *s, struct lease *l, uint64_t now_us);
/* All bytes of l before pos have been received. */
void sched_lease_progress(struct sched *s, struct lease *l, uint64_t pos, uint64_t now_us);
/* retry_after_us: what the server asked for, 0 nothing. The slot is free. pos: as in progress. */
void sched_lease_ended(struct sched *s, struct lease *l, enum verdict v, uint64_t pos,
		       uint64_t retry_after_us, uint64_t now_us);
/* Every received byte is in the cache (or given up): l is freed. After sched_lease_ended(). */
void sched_lease_written(struct sched *s, struct lease *l, uint64_t now_us);
/* Bytes of t have become gaps again by themselves (evicted, failed checksum or sync). */
void sched_task_lost(struct sched *s, struct sched_task *t, uint64_t now_us);

/*
 * Give out all leases that can be given, run timers. Returns when to call it again at the latest
 * (UINT64_MAX: on the next event only). Call it after each batch of events.
 */
uint64_t sched_tick(struct sched *s, uint64_t now_us);

/* ---- for status and tests ---- */
struct sched_task_info {
	unsigned int running; /* leases */
	unsigned int target;  /* connections auto allows now */
	uint64_t rate_bps;    /* bytes a second, smoothed */
	enum verdict last;    /* last bad verdict of any source, VERDICT_PART if none */
	unsigned int wants[PRIO_COUNT];
};
void sched_task_info(const struct sched_task *t, uint64_t now_us, struct sched_task_info *ret);
struct sched_origin_info {
	unsigned int running;
	unsigned int budget;
	uint64_t banned_until_us; /* 0: not */
	unsigned int bans; /* in a row: it has not answered well since the first; 0: it has */
	uint64_t rtt_us;   /* connect time, 0 unknown */
	uint64_t ttfb_us;  /* median time to first byte, 0 unknown */
	uint64_t rate_bps;
};
void sched_origin_info(const struct sched_origin *o, struct sched_origin_info *ret);
struct sched_stats {
	uint64_t requests, retries, cuts, steals, hedges, holds;
};
void sched_stats(const struct sched *s, struct sched_stats *ret);
/*
 * Abort with a message unless S1 to S3 and S5 hold, as far as they show in a state; for tests and
 * --enable-debug.
 */
void sched_check(const struct sched *s);

#endif
