/*
 * sched_queue.c - whose turn it is
 *
 * A task with work waits in one queue: that of the origin it would ask now, for its best class with
 * work. An origin that may have a slot is in s->ready[] of its best class. Classes are strict;
 * inside a class origins take turns, and so do an origin's tasks, one lease each. An origin whose
 * demand must leave what is free to others is in s->crowded until there is more.
 */
#include "core/sched_internal.h"

void task_dequeue(struct sched_task *t)
{
	if (!t->queued_at)
		return;
	TAILQ_REMOVE(&t->queued_at->queue[t->queued_prio], t, queue_entry);
	t->queued_at = NULL;
}

void task_spill(struct sched_task *t)
{
	if (t->spilling || t->source_count < 2)
		return;
	t->spilling = true;
	TAILQ_INSERT_TAIL(&t->sched->spilling, t, spill_entry);
}

void task_unspill(struct sched_task *t)
{
	if (!t->spilling)
		return;
	t->spilling = false;
	TAILQ_REMOVE(&t->sched->spilling, t, spill_entry);
}

void probe_dequeue(struct sched_task *t)
{
	if (!t->probe_at)
		return;
	TAILQ_REMOVE(&t->probe_at->probes[t->probe_prio], t, probe_entry);
	t->probe_at = NULL;
}

/* Best class that has somebody waiting, PRIO_COUNT none. */
static enum prio origin_best(const struct sched_origin *o)
{
	int p = 0;

	while (p < PRIO_COUNT && TAILQ_EMPTY(&o->queue[p]) && TAILQ_EMPTY(&o->probes[p]))
		p++;
	return (enum prio)p;
}

static void origin_unready(struct sched_origin *o)
{
	if (!o->ready)
		return;
	TAILQ_REMOVE(&o->sched->ready[o->ready_prio], o, ready_entry);
	o->ready = false;
}

void origin_ready(struct sched_origin *o)
{
	enum prio p = origin_best(o);

	if (o->ready && o->ready_prio == p)
		return;
	origin_unready(o);
	if (p == PRIO_COUNT)
		return;
	o->ready = true;
	o->ready_prio = p;
	TAILQ_INSERT_TAIL(&o->sched->ready[p], o, ready_entry);
}

/* More connections would help a task that has no gap left. */
static bool task_may_split(const struct sched_task *t)
{
	return t->running > 0 && t->running < connect_target(t);
}

/* Best class that may have something to start, PRIO_COUNT none. */
static enum prio task_best(const struct sched_task *t)
{
	bool split = task_may_split(t);

	for (int p = 0; p < PRIO_COUNT; p++) {
		if (t->tried & (1u << p))
			continue;
		if (!TAILQ_EMPTY(&t->pending[p]))
			return (enum prio)p;
		if (split && p != PRIO_DEMAND && !TAILQ_EMPTY(&t->covered[p]))
			return (enum prio)p;
	}
	return PRIO_COUNT;
}

static void task_requeue(struct sched_task *t, struct sched_origin *o, enum prio p)
{
	if (t->queued_at == o && t->queued_prio == p)
		return;
	task_dequeue(t);
	t->queued_at = o;
	t->queued_prio = p;
	TAILQ_INSERT_TAIL(&o->queue[p], t, queue_entry);
	origin_ready(o);
}

static void probe_requeue(struct sched_task *t, struct sched_origin *o)
{
	if (t->probe_at == o)
		return;
	probe_dequeue(t);
	t->probe_at = o;
	TAILQ_INSERT_TAIL(&o->probes[t->probe_prio], t, probe_entry);
	origin_ready(o);
}

/* The first want of class p with a gap that no lease covers; the others settle. 0 or -ENOENT. */
static int task_gap(struct sched_task *t, enum prio p, uint64_t now_us, struct range *ret)
{
	struct sched *s = t->sched;
	struct sched_want *w;
	struct range missing;

	while ((w = TAILQ_FIRST(&t->pending[p]))) {
		if (gap_next(t, w->range, ret) == 0)
			return 0;
		if (gap_missing(t, w, &missing) < 0) {
			if (p == PRIO_DEMAND) {
				want_set_pending(w, false);
			} else {
				void *user = w->user;

				want_drop(w);
				s->ops.satisfied(s->ctx, user);
			}
			continue;
		}
		if (p == PRIO_DEMAND && demand_inside(w, missing, now_us))
			continue;
		want_set_pending(w, false);
		lease_raise(w);
	}
	return -ENOENT;
}

/*
 * What is complete is so at once, not when its origin serves the next: it may be banned, or its
 * slots are others' for long.
 */
static void task_settle(struct sched_task *t, uint64_t now_us)
{
	struct range gap;

	for (int p = PRIO_WINDOW; p < PRIO_COUNT; p++)
		(void)task_gap(t, (enum prio)p, now_us, &gap);
}

void task_enqueue(struct sched_task *t, uint64_t now_us)
{
	bool probe = t->probe_wanted && !t->probe;
	unsigned int index;
	enum prio p;
	uint64_t at;
	int r;

	if (t->running == 0)
		task_settle(t, now_us);
	p = task_best(t);
	if (p == PRIO_COUNT)
		task_dequeue(t);
	if (!probe)
		probe_dequeue(t);
	if (p == PRIO_COUNT && !probe)
		return;
	r = source_pick(t, t->source_count, now_us, &index, &at);
	if (r == -EIO) {
		task_dequeue(t);
		/* What runs may still bring it. */
		if (t->running == 0)
			task_fail(t, source_why(t));
		return;
	}
	if (r == -EAGAIN) {
		task_dequeue(t);
		probe_dequeue(t);
		task_arm(t, at);
		return;
	}
	if (p != PRIO_COUNT)
		task_requeue(t, t->source[index].origin, p);
	if (probe)
		probe_requeue(t, t->source[index].origin);
	origin_ready(t->source[index].origin);
}

bool slot_free(const struct sched_origin *o, enum prio p)
{
	return o->running < o->budget && o->sched->running_count < o->sched->cfg.max_connections &&
	       (p != PRIO_DEMAND || demand_room(o) > 0);
}

/* Nobody gives way to what o waits for: once there is more room it looks again. */
static void origin_crowd(struct sched_origin *o)
{
	if (o->crowded)
		return;
	o->crowded = true;
	TAILQ_INSERT_TAIL(&o->sched->crowded, o, crowded_entry);
}

void sched_uncrowd(struct sched *s)
{
	struct sched_origin *o;

	while ((o = TAILQ_FIRST(&s->crowded))) {
		o->crowded = false;
		TAILQ_REMOVE(&s->crowded, o, crowded_entry);
		origin_ready(o);
	}
}

enum served {
	SERVED_LEASE,	/* one lease more */
	SERVED_NOTHING, /* the first in the queue has no work in this class */
	SERVED_FULL,	/* the origin takes no more; an event will tell */
	SERVED_SOON,	/* the same, but a slot is on its way: nobody need go elsewhere */
	SERVED_CEILING, /* nobody takes any more */
};

static enum served no_slot(struct sched_origin *o, enum prio p, enum slot slot)
{
	if (o->running >= o->budget)
		return slot == SLOT_SOON ? SERVED_SOON : SERVED_FULL;
	if (p != PRIO_DEMAND || slot == SLOT_SOON || o->running == 0)
		return SERVED_CEILING;
	/* Others, that have fewer, may have what is denied to it. */
	origin_crowd(o);
	return SERVED_FULL;
}

static enum served serve_probe(struct sched_task *t, struct sched_origin *o, enum prio p,
			       uint64_t now_us)
{
	unsigned int index;
	enum slot slot;
	uint64_t at;

	if (source_pick(t, t->source_count, now_us, &index, &at) < 0 ||
	    t->source[index].origin != o) {
		probe_dequeue(t);
		task_kick(t);
		return SERVED_NOTHING;
	}
	/* The first bytes are on their way already and will tell the same. */
	if (t->size == SIZE_UNKNOWN && t->running > 0) {
		probe_dequeue(t);
		return SERVED_NOTHING;
	}
	slot = slot_take(o, p, now_us);
	if (slot != SLOT_FREE)
		return no_slot(o, p, slot);
	probe_dequeue(t);
	if (!lease_start(t, index, range_make(0, 1), p, LEASE_PROBE, now_us))
		task_arm(t, now_us + 100 * USEC_PER_MS);
	return SERVED_LEASE;
}

/* The range of the lease that t may start for class p. 0, or -EAGAIN. */
static int task_range(struct sched_task *t, const struct sched_origin *o, enum prio p,
		      uint64_t now_us, struct range *ret)
{
	struct range gap, more;
	int r = task_gap(t, p, now_us, &gap);

	if (p == PRIO_DEMAND) {
		if (r < 0)
			return -EAGAIN;
		/* What is demanded goes whole; read-ahead behind it rides along as far as a piece
		 * goes. */
		more = gap_extend(t, gap, PRIO_DEMAND, UINT64_MAX);
		gap = gap_extend(t, more, PRIO_WINDOW, UINT64_MAX);
		gap = gap_piece(t, o, gap, PRIO_WINDOW, now_us);
		*ret = range_make(gap.off, max_u64(gap.end, more.end));
		return 0;
	}
	if (task_busy(t, p, now_us) >= connect_target(t))
		return -EAGAIN;
	if (r < 0) {
		if (t->running >= connect_target(t) || !slot_free(o, p) ||
		    lease_steal(t, o, p, now_us) < 0)
			return -EAGAIN;
		/* What was cut off may be somebody's of a higher class. */
		if (task_best(t) < p || task_gap(t, p, now_us, &gap) < 0)
			return -EAGAIN;
	}
	gap = gap_extend(t, gap, p, UINT64_MAX);
	*ret = gap_piece(t, o, gap, p, now_us);
	return 0;
}

static enum served serve_task(struct sched_task *t, struct sched_origin *o, enum prio p,
			      uint64_t now_us)
{
	struct lease_priv *l;
	enum lease_kind kind = LEASE_RANGE;
	enum slot slot;
	unsigned int index;
	struct range r;
	uint64_t at;
	int e;

	if (source_pick(t, t->source_count, now_us, &index, &at) < 0 ||
	    t->source[index].origin != o) {
		task_dequeue(t);
		task_kick(t);
		return SERVED_NOTHING;
	}
	/* Of an unknown size one answer at a time: it tells the size. */
	if (t->size == SIZE_UNKNOWN && (t->running > 0 || t->probe))
		e = -EAGAIN;
	else
		e = task_range(t, o, p, now_us, &r);
	/* Without ranges everything from the start, once: what is wanted later comes along. */
	if (e == 0 && t->source[index].no_ranges) {
		e = t->running > 0 ? -EAGAIN : 0;
		if (source_asks_whole(&t->source[index], now_us)) {
			kind = LEASE_WHOLE;
			r = range_make(0, t->size);
		}
	}
	if (e < 0) {
		t->tried |= 1u << p;
		return SERVED_NOTHING;
	}
	slot = slot_take(o, p, now_us);
	if (slot != SLOT_FREE) {
		index = p == PRIO_DEMAND && slot == SLOT_NONE ? source_spare(t, now_us)
							      : t->source_count;
		if (index == t->source_count)
			return no_slot(o, p, slot);
	}
	l = lease_start(t, index, r, p, kind, now_us);
	if (!l) {
		task_dequeue(t);
		task_arm(t, now_us + 100 * USEC_PER_MS);
		return SERVED_NOTHING;
	}
	if (p != PRIO_DEMAND && task_busy(t, PRIO_BACKFILL, now_us) > connect_target(t))
		task_yield(t, p, now_us);
	return SERVED_LEASE;
}

/* t was served at o: whose turn is next? */
static void after_serve(struct sched_task *t, struct sched_origin *o, enum prio p, enum served r)
{
	enum prio next;

	if (t->queued_at != o || t->queued_prio != p)
		return;
	if (r == SERVED_LEASE) {
		/* The next one's turn; this one may want more. */
		TAILQ_REMOVE(&o->queue[p], t, queue_entry);
		TAILQ_INSERT_TAIL(&o->queue[p], t, queue_entry);
	} else if (r == SERVED_NOTHING) {
		next = task_best(t);
		if (next == PRIO_COUNT)
			task_dequeue(t);
		else
			task_requeue(t, o, next);
	}
}

/* No slot at o for a demand: those with a mirror that has one go there, now or when it becomes
 * free. */
static enum served serve_elsewhere(struct sched_origin *o, uint64_t now_us)
{
	struct sched_task *t;
	enum served r;

	TAILQ_FOREACH (t, &o->queue[PRIO_DEMAND], queue_entry) {
		if (source_spare(t, now_us) < t->source_count) {
			r = serve_task(t, o, PRIO_DEMAND, now_us);
			after_serve(t, o, PRIO_DEMAND, r);
			return r;
		}
		task_spill(t);
	}
	return SERVED_FULL;
}

static enum served origin_serve(struct sched_origin *o, enum prio p, uint64_t now_us)
{
	struct sched_task *t = TAILQ_FIRST(&o->probes[p]);
	enum served r;

	if (!origin_open(o, now_us))
		return p == PRIO_DEMAND ? serve_elsewhere(o, now_us) : SERVED_FULL;
	/* The one that ends a ban may be of the other kind. */
	if (o->banned_until_us && o->probe_tested && !TAILQ_EMPTY(&o->queue[p]))
		t = NULL;
	o->probe_tested = t != NULL;
	if (t) {
		r = serve_probe(t, o, p, now_us);
		return r == SERVED_FULL && p == PRIO_DEMAND ? serve_elsewhere(o, now_us) : r;
	}
	t = TAILQ_FIRST(&o->queue[p]);
	if (!t)
		return SERVED_NOTHING;
	if (p >= PRIO_FILL && origin_bulk_held(o, now_us))
		return SERVED_FULL;
	r = serve_task(t, o, p, now_us);
	after_serve(t, o, p, r);
	if (r == SERVED_FULL && p == PRIO_DEMAND)
		r = serve_elsewhere(o, now_us);
	return r;
}

void sched_dispatch(struct sched *s, uint64_t now_us)
{
	int p = 0;

	while (p < PRIO_COUNT) {
		struct sched_origin *o;
		enum served r;

		/* A cut may have made a gap of a higher class. */
		if (!TAILQ_EMPTY(&s->kicked)) {
			sched_run_kicked(s, now_us);
			p = 0;
		}
		o = TAILQ_FIRST(&s->ready[p]);
		if (!o) {
			p++;
			continue;
		}
		r = origin_serve(o, (enum prio)p, now_us);
		if (r == SERVED_CEILING)
			return;
		/* To the end of the line of its (perhaps other) class, or out of it. */
		origin_unready(o);
		if (r == SERVED_LEASE || r == SERVED_NOTHING) {
			origin_ready(o);
			p = 0;
		}
	}
}
