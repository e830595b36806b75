/*
 * sched_internal.h - what the files of the scheduler share; nobody else includes it
 *
 *   sched.c          tasks and wants, the tick
 *   sched_queue.c    whose turn it is: classes, origins, tasks
 *   sched_gap.c      which wanted range no lease covers, and how much of it one lease takes
 *   sched_lease.c    start, cut, trim and end leases
 *   sched_report.c   what transfers tell
 *   sched_demand.c   demands: inside a running lease, preemption, hedging, deadlines
 *   sched_connect.c  how many connections a task may use
 *   sched_source.c   which mirror, and what a verdict does to it
 *   sched_check.c    the invariants
 *   origin.c         budget, ban, round trip, time to first byte, holds
 *
 * A tick is: due timers, tasks that something happened to (s->kicked) find their place in the queue
 * of an origin, holds, then leases by class until slots or work run out.
 */
#ifndef CORE_SCHED_INTERNAL_H
#define CORE_SCHED_INTERNAL_H

#include <bsd/sys/queue.h>
#include <bsd/sys/tree.h>

#include "base/clock.h"
#include "core/retry.h"
#include "core/sched.h"

#define NEVER UINT64_MAX

/* Chosen with tests/sim; sched_gap.c and sched_connect.c tell what the alternatives cost. */

/* Connections one task may climb to by itself. */
#define CONNECT_TARGET_MAX 16
/* Shorter is not worth a request of its own (steals, shares). 1 block: no gain; 64: 64 MiB at 4
 * MiB/s a response .47 for .84. */
#define SPLIT_MIN_BYTES (UINT64_C(4) * BLOCK_SIZE)
/* The same while neither rate nor round trip are known. */
#define SPLIT_BLIND_BYTES (UINT64_C(1) << 20)
/* A bulk lease beside others is at least this and at least PIECE_COSTS set-ups long. */
#define PIECE_MIN_BYTES (UINT64_C(4) << 20)
#define PIECE_COSTS	32
/* Read-ahead is read in order: short pieces, or each steal throws away what is in flight. */
#define PIECE_COSTS_WINDOW 8
/* What a request costs until it was measured. */
#define COST_UNKNOWN_US UINT64_C(5000)
/* A demand that needs its own request keeps read-ahead of others off the link for so many bytes. */
#define URGENT_BYTES (UINT64_C(1) << 20)

struct timer {
	RB_ENTRY(timer) entry;
	uint64_t at_us; /* NEVER: not armed */
	uint64_t order; /* ties fire in the order they were set */
	void (*fire)(struct sched *s, struct timer *t, uint64_t now_us);
};
RB_HEAD(timer_tree, timer);
void timer_init(struct timer *t, void (*fire)(struct sched *, struct timer *, uint64_t));
/* at_us NEVER disarms. */
void timer_set(struct sched *s, struct timer *t, uint64_t at_us);

/* Bytes a second over windows of some length; 0 until the first has passed. */
struct meter {
	uint64_t since_us;
	uint64_t bytes;
	uint64_t rate_bps;
};
void meter_restart(struct meter *m, uint64_t now_us);
void meter_add(struct meter *m, uint64_t bytes, uint64_t window_us, uint64_t now_us);
/* The rate now: falls when nothing comes any more. */
#define METER_US (200 * USEC_PER_MS) /* over how much the rates of tasks and origins are measured */
uint64_t meter_rate(const struct meter *m, uint64_t window_us, uint64_t now_us);

TAILQ_HEAD(lease_list, lease_priv);
TAILQ_HEAD(want_list, sched_want);
TAILQ_HEAD(task_list, sched_task);
TAILQ_HEAD(origin_list, sched_origin);

struct lease_priv {
	struct lease pub;
	enum lease_state state;
	struct sched_origin *origin; /* that answers it */
	struct sched_origin *via; /* … and that was asked for it, whose slot it holds as well */
	TAILQ_ENTRY(lease_priv) task_entry; /* task->leases by offset; not for hedges and probes */
	TAILQ_ENTRY(lease_priv) origin_entry; /* origin->leases while RUNNING */
	TAILQ_ENTRY(lease_priv) sched_entry;  /* sched->running while RUNNING */
	bool listed;			      /* in task->leases: covers [off, end) */
	bool cancelled;			      /* ops.cancel() was called */
	bool displaced;			      /* … and a demand waits for its slot */
	bool stalled;	 /* … because it was too slow: the end counts as VERDICT_STALL */
	bool cut;	 /* ends before what was asked: its connection will be closed */
	bool given_back; /* cancelled, and whom it was cut from takes the range again */
	bool held;
	bool whole;	/* the body from 0 of a source without ranges */
	bool was_whole; /* … or was one, until the source was found to have ranges after all */
	bool yielding;	/* was cut short to give its slot to a higher class */
	bool connected;
	bool answered;
	enum prio started; /* class it was started for */
	uint64_t pos;
	uint64_t asked_end;  /* what the request says */
	uint64_t urgent_end; /* started for a demand: until here it may push others' read-ahead
				aside */
	uint64_t start_us, asked_us; /* the request went out, once connected */
	uint64_t bytes_us;	     /* when the last byte came (or it started, or was released) */
	uint64_t look_us;	     /* when its demands were last looked at */
	struct lease_priv *rival;    /* the hedge and what it is a hedge of */
	bool hedge;
	struct meter meter;
	struct timer timer;
};

struct sched_want {
	TAILQ_ENTRY(sched_want) entry;
	struct sched_task *task;
	struct range range;
	enum prio prio;
	bool pending; /* may have a gap that no lease covers; else it waits for leases */
	void *user;
	uint64_t added_us;
	uint64_t mark_us;    /* since when near_bytes count */
	uint64_t near_bytes; /* that came nearer to it */
	struct timer timer;  /* deadline */
};

struct source {
	struct sched_origin *origin;
	enum verdict refused;	/* VERDICT_PART: not refused */
	bool no_ranges;		/* is asked for the whole body */
	unsigned int wholes;	/* whole bodies in a row where a range was asked for */
	uint64_t ranges_us;	/* a range may be asked for again */
	bool reresolved;	/* asked again once already */
	unsigned int fails;	/* in a row */
	uint64_t until_us;	/* backs off until then */
	uint64_t slow_until_us; /* others first until then */
	uint64_t busy_us;	/* when it said last that it wants rest; 0: answered since */
};

enum connect_state {
	CONNECT_IDLE,	 /* nothing runs */
	CONNECT_MEASURE, /* waits for a flat rate */
	CONNECT_SETTLE,	 /* a trial has begun, its connections are being made */
	CONNECT_TRIAL,	 /* … and are measured */
	CONNECT_WAIT,	 /* the last trial was refused, or there was no reason for one */
	CONNECT_STATE_COUNT
};

struct connect {
	enum connect_state state;
	unsigned int target;	  /* accepted */
	unsigned int trial;	  /* tried instead, 0 none */
	unsigned int refusals;	  /* in a row */
	bool disturbed;		  /* the window says nothing: held, or there was no work */
	uint64_t trial_us;	  /* when the last trial began */
	uint64_t since_us, bytes; /* the window */
	uint64_t half_bps;	  /* rate of the half window before, 0 none */
	uint64_t base_bps;	  /* goodput accepted */
	uint64_t wait_until_us;
	struct timer timer;
};

struct sched_task {
	TAILQ_ENTRY(sched_task) all_entry;
	TAILQ_ENTRY(sched_task) kicked_entry;
	TAILQ_ENTRY(sched_task) queue_entry;
	TAILQ_ENTRY(sched_task) probe_entry;
	TAILQ_ENTRY(sched_task) spill_entry;
	struct sched *sched;
	void *user;
	uint64_t size;
	bool closed, kicked, probe_wanted;
	bool spilling;	    /* a demand found no slot at any mirror */
	unsigned int tried; /* classes without work since the last kick, as bits */
	struct sched_origin *queued_at, *probe_at; /* NULL: in no queue */
	enum prio queued_prio, probe_prio;
	struct lease_priv *probe; /* the running one */
	uint64_t probe_asked_us;
	struct want_list pending[PRIO_COUNT], covered[PRIO_COUNT];
	unsigned int want_count[PRIO_COUNT];
	struct lease_list leases;
	unsigned int lease_count; /* all that are not freed yet */
	unsigned int running;	  /* with a slot, without probes */
	uint64_t busy_since_us;	  /* since when some are */
	uint64_t whole_high;	  /* how far a source without ranges came at best */
	unsigned int soft_stalls; /* in a row: patience doubles */
	uint64_t soft_stall_us;	  /* until then another one is the same event */
	struct timer timer;	  /* a source's back-off ends */
	struct meter meter;
	struct connect connect;
	enum verdict last;
	unsigned int source_count;
	struct source source[];
};

#define TTFB_SAMPLES 32
enum hold_kind { HOLD_WINDOW, HOLD_BULK, HOLD_COUNT };
struct hold {
	bool on;
	uint64_t since_us; /* on since */
	uint64_t sum_us;   /* on in all since the last free slice */
	uint64_t free_until_us;
};

struct sched_origin {
	TAILQ_ENTRY(sched_origin) all_entry;
	RB_ENTRY(sched_origin) key_entry;
	TAILQ_ENTRY(sched_origin) ready_entry;
	TAILQ_ENTRY(sched_origin) dirty_entry;
	TAILQ_ENTRY(sched_origin) crowded_entry;
	struct sched *sched;
	bool ready, dirty;
	bool crowded; /* a demand of it waits until others need less */
	enum prio ready_prio;
	unsigned int running, budget;
	unsigned int guests; /* of running: asked elsewhere, redirected here */
	unsigned int away;   /* of running: asked here, answered elsewhere */
	struct lease_list leases;
	struct task_list queue[PRIO_COUNT], probes[PRIO_COUNT];
	/* ban */
	uint64_t banned_until_us; /* 0: not; past: one test request may go */
	unsigned int bans;	  /* in a row */
	uint64_t ban_us;	  /* when the last began */
	uint64_t good_us;	  /* when the last request that got a good answer began */
	struct lease_priv *test;
	bool probe_tested;  /* what was served last was a probe */
	uint64_t budget_us; /* when the budget last changed */
	struct timer ban_timer;
	/* measured */
	uint64_t rtt_us, setup_us; /* TCP handshake; start to request on a new connection */
	uint32_t ttfb[TTFB_SAMPLES];
	unsigned int ttfb_count;
	uint64_t ttfb_us, ttfb_p95_us;
	struct meter meter;
	uint64_t lease_bps; /* what one connection brings */
	uint64_t bytes_us;  /* when the last byte of any came */
	unsigned int warm;  /* idle connections that were used */
	uint64_t warm_us;   /* when the last became idle */
	struct hold hold[HOLD_COUNT];
	struct timer hold_timer;
	char key[];
};
RB_HEAD(origin_tree, sched_origin);

struct sched {
	struct sched_config cfg;
	struct sched_ops ops;
	void *ctx;
	uint64_t random;
	struct timer_tree timers;
	uint64_t timer_order;
	struct origin_list origins, dirty, crowded, ready[PRIO_COUNT];
	struct origin_tree by_key;
	struct task_list tasks, kicked, spilling;
	struct lease_list running;
	unsigned int running_count;
	uint64_t hedge_credit; /* twentieths of a hedge */
	struct sched_stats stats;
};

/* ---- sched.c ---- */
/* Kicked tasks find their queues. */
void sched_run_kicked(struct sched *s, uint64_t now_us);
void task_kick(struct sched_task *t);
void want_drop(struct sched_want *w);
void want_set_pending(struct sched_want *w, bool pending);
/* Wants that overlap r are looked at again. */
void task_recheck(struct sched_task *t, struct range r);
void task_fail(struct sched_task *t, enum verdict why);
void task_free_if_done(struct sched_task *t);
void task_arm(struct sched_task *t, uint64_t at_us);

/* ---- sched_queue.c ---- */
void task_enqueue(struct sched_task *t, uint64_t now_us);
void task_dequeue(struct sched_task *t);
/* Whenever a slot anywhere becomes free, t looks for it. */
void task_spill(struct sched_task *t);
void task_unspill(struct sched_task *t);
void probe_dequeue(struct sched_task *t);
void origin_ready(struct sched_origin *o);
void sched_dispatch(struct sched *s, uint64_t now_us);
/* Something of class p may be started at o now. */
bool slot_free(const struct sched_origin *o, enum prio p);
/* A slot, or somebody's claim to one, is gone: those that had to leave it to others look again. */
void sched_uncrowd(struct sched *s);

/* ---- sched_gap.c ---- */
/* r grown to blocks and clipped to the size; an end of SIZE_UNKNOWN stays one. */
struct range gap_blocks(const struct sched_task *t, struct range r);
/* First part of within that is missing and covered by no lease of t; blocks. 0 or -ENOENT. */
int gap_next(struct sched_task *t, struct range within, struct range *ret);
/* First missing part of w, covered or not. 0 or -ENOENT. */
int gap_missing(struct sched_task *t, const struct sched_want *w, struct range *ret);
/* g grown at its end over what wants of class p and higher ask contiguously, at most to limit. */
struct range gap_extend(struct sched_task *t, struct range g, enum prio p, uint64_t limit);
/* Bytes still to come for classes 0..p: gaps and rests of leases; counting stops at limit. */
uint64_t gap_work(struct sched_task *t, enum prio p, uint64_t limit);
/* How much of gap one more bulk lease of t takes. */
struct range gap_piece(struct sched_task *t, const struct sched_origin *o, struct range gap,
		       enum prio p, uint64_t now_us);

/* ---- sched_lease.c ---- */
enum lease_kind { LEASE_RANGE, LEASE_WHOLE, LEASE_PROBE };
static inline struct lease_priv *lease_priv(struct lease *l)
{
	return l->priv;
}
static inline uint64_t lease_end(const struct lease_priv *l)
{
	return atomic_load_explicit(&l->pub.end, memory_order_relaxed);
}
/* RUNNING and not told to end: only its slot counts of one that was. */
static inline bool lease_works(const struct lease_priv *l)
{
	return l->state == LEASE_RUNNING && !l->cancelled;
}
static inline uint64_t lease_rest(const struct lease_priv *l)
{
	uint64_t end = lease_end(l);

	return end > l->pos ? end - l->pos : 0;
}
/* One request of t's source index for r. NULL: no memory. */
struct lease_priv *lease_start(struct sched_task *t, unsigned int index, struct range r,
			       enum prio p, enum lease_kind kind, uint64_t now_us);
struct lease_priv *lease_start_hedge(struct lease_priv *of, unsigned int index, struct range r,
				     uint64_t now_us);
/* l ends at at (block boundary beyond pos); the rest is nobody's again. */
void lease_cut(struct lease_priv *l, uint64_t at);
/*
 * End l, whose range a running response in front of it brings as well if it is not cut; nothing
 * where none does. When l has ended that response takes the range back, and what nobody has behind
 * it: lease_regrow(), end is what l's was. If it has stopped at the cut meanwhile, the rest is a
 * gap like any other.
 */
void lease_give_back(struct lease_priv *l);
void lease_regrow(struct lease_priv *l, uint64_t end);
void lease_cancel(struct lease_priv *l);
/* End it, or what is left of its end, at once: somebody waits for its slot. */
void lease_displace(struct lease_priv *l);
void lease_list_add(struct lease_priv *l);
void lease_unlist(struct lease_priv *l);
void lease_release_slot(struct lease_priv *l);
void lease_free(struct lease_priv *l);
/* First block boundary that a cut may have: what is in flight will come anyway. */
uint64_t lease_cut_min(const struct lease_priv *l, uint64_t now_us);
uint64_t lease_rate(const struct lease_priv *l, uint64_t now_us);
/* Time until l has everything up to at; NEVER when nothing can be said. */
uint64_t lease_eta_us(const struct lease_priv *l, uint64_t at, uint64_t now_us);
/* Will be over within the time a next request needs: the next one may be asked. */
bool lease_ending(const struct lease_priv *l, uint64_t now_us);
/* Running leases of t for p and higher that count against its number of connections. */
unsigned int task_busy(const struct sched_task *t, enum prio p, uint64_t now_us);
/* The highest class that waits for bytes of l still to come. */
void lease_reprio(struct lease_priv *l);
/* Leases that w now waits on run for its class at least. */
void lease_raise(const struct sched_want *w);
/* End l early where nobody wants its rest. */
void lease_trim(struct lease_priv *l, uint64_t now_us);
/* Take half of the longest remaining time of t's leases for one more. 0: there is a gap now, or
 * -EAGAIN. */
int lease_steal(struct sched_task *t, const struct sched_origin *o, enum prio p, uint64_t now_us);
void lease_timer(struct sched *s, struct timer *timer, uint64_t now_us);
void lease_arm(struct lease_priv *l, uint64_t now_us);

/* ---- sched_demand.c ---- */
/* w's first missing byte lies in a running lease. True: that lease was cut, there is a gap now. */
bool demand_inside(struct sched_want *w, struct range missing, uint64_t now_us);
/* t has more connections than it may because of one for p: a lower one of its own ends soon. */
void task_yield(struct sched_task *t, enum prio p, uint64_t now_us);
enum slot {
	SLOT_FREE,
	SLOT_SOON, /* for a demand: those who end for it will tell */
	SLOT_NONE,
};
/* A slot of o for class p, whom lower ones make room for. */
enum slot slot_take(struct sched_origin *o, enum prio p, uint64_t now_us);
/* How many demands more may be served at o as far as others are concerned. */
int demand_room(const struct sched_origin *o);
void demand_deadline(struct sched *s, struct timer *timer, uint64_t now_us);
void demand_nearer(struct lease_priv *l, uint64_t from, uint64_t to);
/* What is late or stuck about l; called by its timer. Returns when to look again. */
uint64_t demand_watch(struct lease_priv *l, uint64_t now_us);

/* ---- sched_connect.c ---- */
void connect_init(struct sched_task *t);
unsigned int connect_target(const struct sched_task *t);
/* How much a connection of a trial that is under way may take of another's work; UINT64_MAX: its
 * half. */
uint64_t connect_take_most(const struct sched_task *t);
void connect_bytes(struct sched_task *t, uint64_t bytes, uint64_t now_us);
void connect_disturb(struct sched_task *t);
void connect_halve(struct sched_task *t, uint64_t now_us);
void connect_timer(struct sched *s, struct timer *timer, uint64_t now_us);

/* ---- sched_source.c ---- */
/*
 * The source to ask now. 0 and its index; -EAGAIN: *ret_at_us tells when one comes out of its
 * back-off; -EIO: all are refused. avoid: the index of one that shall not be taken, or
 * source_count.
 */
int source_pick(const struct sched_task *t, unsigned int avoid, uint64_t now_us,
		unsigned int *ret_index, uint64_t *ret_at_us);
/* One whose origin has a slot at once, source_count if none. */
unsigned int source_spare(const struct sched_task *t, uint64_t now_us);
/* Why nobody is left to ask: what the first of them said. */
enum verdict source_why(const struct sched_task *t);
void source_good(struct sched_task *t, unsigned int index);
/* It gave the whole body where a range was asked for. True: it is taken for one without ranges. */
bool source_gave_whole(struct sched_task *t, unsigned int index, uint64_t off, uint64_t now_us);
/* It gave a range. */
void source_gave_range(struct sched_task *t, unsigned int index);
/* Is the next request of it one for the whole body? */
bool source_asks_whole(const struct source *src, uint64_t now_us);
void source_bad(struct sched_task *t, unsigned int index, enum verdict v, bool progressed,
		uint64_t retry_after_us, uint64_t now_us);
/*
 * It says that it wants rest. True: it has said so before, and requests of o that began since then
 * were answered well: so it is about this URL, and the others need not wait for it.
 */
bool source_busy_alone(struct sched_task *t, unsigned int index, const struct sched_origin *o,
		       uint64_t now_us);
/* It is asked again after a while, whatever class v is of. */
void source_back_off(struct sched_task *t, unsigned int index, enum verdict v,
		     uint64_t retry_after_us, uint64_t now_us);

/* ---- origin.c ---- */
struct sched_origin *origin_new(struct sched *s, const char *key);
void origin_free(struct sched_origin *o);
/* What one more request costs before its first byte comes. */
uint64_t origin_cost_us(const struct sched_origin *o, uint64_t now_us);
uint64_t origin_ttfb_us(const struct sched_origin *o);
/* The round trip, or what stands for it: unit of the intervals. */
uint64_t origin_rtt_us(const struct sched_origin *o);
bool origin_warm(const struct sched_origin *o, uint64_t now_us);
void origin_ttfb_sample(struct sched_origin *o, uint64_t ttfb_us);
void origin_connect_sample(struct sched_origin *o, uint64_t connect_us, uint64_t setup_us);
/* May a request start as far as bans go? */
bool origin_open(const struct sched_origin *o, uint64_t now_us);
/* True: it was not banned before. */
bool origin_ban(struct sched_origin *o, enum verdict v, uint64_t started_us,
		uint64_t retry_after_us, uint64_t now_us);
/* Who waits somewhere and has mirrors may do better elsewhere now. Rare, so all tasks are asked. */
void origin_kick_mirrored(struct sched_origin *o);
void origin_unban(struct sched_origin *o);
void origin_good(struct sched_origin *o, uint64_t now_us);
/* Somebody's class, state or number changed: look at holds and queues again in this tick. */
void origin_touch(struct sched_origin *o);
void origin_holds(struct sched_origin *o, uint64_t now_us);
bool origin_bulk_held(const struct sched_origin *o, uint64_t now_us);

RB_PROTOTYPE(timer_tree, timer, entry, timer_compare)
RB_PROTOTYPE(origin_tree, sched_origin, key_entry, origin_compare)
int timer_compare(const struct timer *a, const struct timer *b);
int origin_compare(const struct sched_origin *a, const struct sched_origin *b);

#endif
