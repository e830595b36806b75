/*
 * readers.h - who waits for bytes or an answer: readers with their windows, questions, orders
 *
 * Any thread begins and calls off what is here; the engine thread alone works on it. What they want
 * they want of a task (task.h).
 */
#ifndef ENGINE_READERS_H
#define ENGINE_READERS_H

#include "engine/internal.h"

/* ---- readers (reader.c) ---- */
#define WINDOWS_MAX (2 * READAHEAD_CURSORS) /* of one handle */

struct handle {
	struct object *obj;	 /* reference */
	struct origin *origin;	 /* reference: the object's when it was opened; may be NULL */
	struct version *version; /* reference */
	atomic_uint refs;	 /* one for being open, one for each handle_read() under way */
	struct mtx lock;	 /* RANK_HANDLE; guards ra and the windows below */
	struct readahead ra;
	struct range windows[WINDOWS_MAX]; /* asked for, not yet taken over by the engine thread */
	unsigned int window_count;
	bool window_posted;
	struct msg open_msg, window_msg, close_msg;
	/* engine thread */
	struct demand_list demands;
	unsigned int demand_count;
	struct want_list window_wants;
	unsigned int window_want_count;
	bool closed;
};

struct demand {
	struct waiter w;  /* the version's list holds it */
	atomic_uint refs; /* the caller's, one while it is read or parked, one for cancel_msg */
	struct engine *e;
	atomic_bool cancel_posted;
	atomic_bool signalled; /* its reader has got a signal, perhaps its last */
	struct waiter *user;
	struct handle *h;
	int pid;	      /* 0 unknown */
	pthread_t reader;     /* the thread in version_read() … */
	bool reading;	      /* … while it is; for that thread alone */
	struct want want;     /* engine thread from here on */
	bool asked, answered; /* want_msg, done_msg were handled */
	bool cancelled;
	bool listed; /* on engine.demands */
	TAILQ_ENTRY(demand) in_handle;
	TAILQ_ENTRY(demand) in_engine;
	struct msg want_msg, done_msg, cancel_msg;
};
/* Readers of w's range can't be served. Engine thread. */
void demand_failed(struct want *w, enum verdict why);
/* A window is over; w is freed. */
void window_ended(struct want *w);
/* Once a second: readers that are no more. */
void readers_sweep(struct engine *e, uint64_t now_us);
void readers_stop(struct engine *e);
/* How far they may look ahead, by the room there is: at the start and once a second. */
void readers_bound(struct engine *e);

/* ---- sizes (probe.c) ---- */
struct probe {
	LIST_ENTRY(probe) link; /* object.probes, while it waits */
	atomic_uint refs;	/* one until done() returned, one for cancel_msg */
	struct object *obj;	/* reference, until done() returned */
	struct engine *e;
	bool urgent;
	atomic_bool cancel_posted;
	bool waits, cancelled; /* engine thread */
	uint64_t asked_us, until_us;
	void (*done)(void *ctx, int error);
	void *ctx;
	struct msg msg, cancel_msg;
};
/* Something became known of o, or nothing will. Engine thread. */
void probes_answer(struct object *o, int error);
/* Its task has ended and who waits still does: ask the next one. */
void probes_renew(struct object *o, uint64_t now_us);
void probes_sweep(struct engine *e, uint64_t now_us);

/* ---- orders (fill.c, backfill.c) ---- */
struct fill {
	LIST_ENTRY(fill) link; /* object.fills, while it has not ended */
	struct object *obj;
	struct want want;
	struct work work;
	struct msg msg, cancel_msg, end_msg;
	void (*done)(void *ctx, int error);
	void *ctx;
	int error;
	unsigned int changes; /* of the object when it began */
	bool working;	      /* a message, question or checkpoint of its own is under way */
	uint64_t refused_us;  /* since when the cache took nothing, 0: it did */
	uint64_t asked_us;    /* when it began to wait for bytes */
	uint64_t reserved;    /* its part of engine.fill_reserved */
	bool waiting;	      /* is on engine.waiting */
	LIST_ENTRY(fill) waiting_link;
	bool ended; /* done() was called */
};
void fill_satisfied(struct fill *f);
void fill_want_failed(struct fill *f, enum verdict why);
/* It ends with error. */
void fill_failed(struct fill *f, int error);
/* The cache took no bytes: error 0 not now, else why never. */
void fill_refused(struct fill *f, int error, uint64_t now_us);
/* Those whose hosts can't be reached for the retry time fail. */
void fills_sweep(struct engine *e, uint64_t now_us);
/* It took some of o. */
void fills_accepted(struct object *o);
/* o's content was proven (0) or is wrong. */
void fills_proven(struct object *o, int error);
/* What they want was dropped: they end with -ECANCELED. */
void fills_cancel(struct object *o);
/* o has another version: go on with that. */
void fills_restart(struct object *o, uint64_t now_us);

/*
 * Fetch the rest of o when nobody waits for anything. False: there is one already. Engine thread,
 * as all below; roll: told at its end, or NULL.
 */
bool backfill_start(struct object *o, struct roll *roll);
/* It is over: done, or it can't go on. May be called from within the sched. */
void backfill_end(struct object *o);
void backfill_satisfied(struct object *o);
void backfill_want_failed(struct object *o, enum verdict why);
/* Want its bytes if it has no want and may have one: size, room. */
void backfill_go(struct object *o, uint64_t now_us);
void backfills_sweep(struct engine *e, uint64_t now_us);
/* The cache took no bytes of it: it waits for the next sweep. */
void backfill_refused(struct object *o);
/* m was adopted: what it does not have is filled only while somebody has it open. */
void backfills_replace(struct engine *e, const struct manifest *m);
void backfills_quit(struct engine *e);
/* Its bytes were dropped: no backfill until it is really read again. */
void backfill_forget(struct object *o, uint64_t now_us);
void backfill_posted(struct engine *e, struct msg *m);
/* One of r's objects is done with. */
void roll_returned(struct roll *r);
void rolls_quit(struct engine *e);

#endif
