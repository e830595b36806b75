/*
 * sched_lease.c - start, cut, trim and end leases
 *
 * Cutting for a demand, stealing and yielding are one operation: shrink an end (lease_cut()); the
 * rest is a gap like any other and is leased as one.
 */
#include "core/sched_internal.h"

/* Of the time that a task has taken: what a steal has to save. */
#define STEAL_GAIN_PART 64
/* Longest time between two looks at a running lease. */
#define LOOK_US (10 * USEC_PER_SEC)

uint64_t lease_rate(const struct lease_priv *l, uint64_t now_us)
{
	return meter_rate(&l->meter, 50 * USEC_PER_MS, now_us);
}

uint64_t lease_eta_us(const struct lease_priv *l, uint64_t at, uint64_t now_us)
{
	uint64_t bytes = at > l->pos ? at - l->pos : 0;
	uint64_t rate = l->answered ? lease_rate(l, now_us) : 0;
	uint64_t wait = 0;

	if (!rate)
		rate = l->origin->lease_bps;
	if (!l->answered) {
		uint64_t due = l->start_us + origin_ttfb_us(l->origin) +
			       (l->connected ? 0 : l->origin->setup_us);

		wait = due > now_us ? due - now_us : 0;
	}
	if (bytes == 0)
		return wait;
	return rate ? wait + (uint64_t)((double)bytes * 1e6 / (double)rate) : NEVER;
}

bool lease_ending(const struct lease_priv *l, uint64_t now_us)
{
	/* The user's number is a number. */
	if (l->origin->sched->cfg.connections != 0 || !l->answered || l->held)
		return false;
	return lease_eta_us(l, lease_end(l), now_us) <= origin_cost_us(l->origin, now_us);
}

/* Read-ahead does not wait a round trip for the demand that it follows. */
static bool short_demand(const struct lease_priv *l)
{
	return l->started == PRIO_DEMAND && lease_rest(l) <= URGENT_BYTES &&
	       l->origin->sched->cfg.connections == 0;
}

unsigned int task_busy(const struct sched_task *t, enum prio p, uint64_t now_us)
{
	unsigned int n = 0;
	struct lease_priv *l;

	TAILQ_FOREACH (l, &t->leases, task_entry) {
		/* One that was told to end has its connection still. */
		if (l->state == LEASE_RUNNING && l->cancelled)
			n++;
		else
			n += lease_works(l) && l->pub.prio <= p && !l->yielding &&
			     !lease_ending(l, now_us) && !(p == PRIO_WINDOW && short_demand(l));
	}
	return n;
}

uint64_t lease_cut_min(const struct lease_priv *l, uint64_t now_us)
{
	uint64_t rate = lease_rate(l, now_us);
	uint64_t flight = (uint64_t)((double)rate * (double)origin_rtt_us(l->origin) / 1e6);

	return block_ceil(add_sat_u64(l->pos, max_u64(flight, SPLIT_MIN_BYTES)));
}

/* ---- birth and death ---- */

void lease_list_add(struct lease_priv *l)
{
	struct lease_list *list = &l->pub.task->leases;
	struct lease_priv *after;

	l->listed = true;
	TAILQ_FOREACH (after, list, task_entry) {
		if (after->pub.off > l->pub.off) {
			TAILQ_INSERT_BEFORE(after, l, task_entry);
			return;
		}
	}
	TAILQ_INSERT_TAIL(list, l, task_entry);
}

void lease_unlist(struct lease_priv *l)
{
	if (!l->listed)
		return;
	l->listed = false;
	TAILQ_REMOVE(&l->pub.task->leases, l, task_entry);
}

static struct lease_priv *lease_new(struct sched_task *t, unsigned int index, struct range r,
				    enum prio p, uint64_t now_us)
{
	struct sched *s = t->sched;
	struct sched_origin *o = t->source[index].origin;
	struct lease_priv *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->pub.task = t;
	l->pub.task_user = t->user;
	l->pub.source = index;
	l->pub.prio = l->started = p;
	l->pub.off = l->pos = r.off;
	atomic_init(&l->pub.end, r.end);
	l->pub.priv = l;
	l->state = LEASE_RUNNING;
	l->origin = o;
	l->asked_end = r.end;
	l->start_us = l->bytes_us = now_us;
	meter_restart(&l->meter, now_us);
	timer_init(&l->timer, lease_timer);
	if (o->running++ == 0)
		meter_restart(&o->meter, now_us);
	s->running_count++;
	TAILQ_INSERT_TAIL(&s->running, l, sched_entry);
	TAILQ_INSERT_TAIL(&o->leases, l, origin_entry);
	t->lease_count++;
	if (o->banned_until_us) {
		o->test = l;
		origin_kick_mirrored(o);
	}
	if (origin_warm(o, now_us) && o->warm > 0)
		o->warm--;
	s->stats.requests++;
	return l;
}

struct lease_priv *lease_start(struct sched_task *t, unsigned int index, struct range r,
			       enum prio p, enum lease_kind kind, uint64_t now_us)
{
	struct sched *s = t->sched;
	struct lease_priv *l = lease_new(t, index, r, p, now_us);

	if (!l)
		return NULL;
	l->pub.probe = kind == LEASE_PROBE;
	l->pub.unranged = l->whole = l->was_whole = kind == LEASE_WHOLE;
	if (kind == LEASE_PROBE) {
		t->probe = l;
	} else {
		if (t->running++ == 0) {
			meter_restart(&t->meter, now_us);
			t->busy_since_us = now_us;
			connect_disturb(t);
		}
		lease_list_add(l);
	}
	if (p == PRIO_DEMAND) {
		l->urgent_end = min_u64(r.end, add_sat_u64(r.off, URGENT_BYTES));
		s->hedge_credit = min_u64(s->hedge_credit + 1, 100);
	}
	lease_reprio(l);
	origin_touch(l->origin);
	lease_arm(l, now_us);
	s->ops.start(s->ctx, &l->pub);
	return l;
}

struct lease_priv *lease_start_hedge(struct lease_priv *of, unsigned int index, struct range r,
				     uint64_t now_us)
{
	struct sched_task *t = of->pub.task;
	struct sched *s = t->sched;
	struct lease_priv *l = lease_new(t, index, r, PRIO_DEMAND, now_us);

	if (!l)
		return NULL;
	l->hedge = true;
	l->rival = of;
	of->rival = l;
	t->running++;
	l->urgent_end = r.end;
	s->stats.hedges++;
	origin_touch(l->origin);
	lease_arm(l, now_us);
	s->ops.start(s->ctx, &l->pub);
	return l;
}

/* The slot of whom it was asked. */
static void lease_leave_via(struct lease_priv *l)
{
	struct sched_origin *o = l->via;

	if (!o)
		return;
	l->via = NULL;
	l->origin->guests--;
	o->running--;
	o->away--;
	if (o->test == l)
		o->test = NULL;
	origin_touch(o);
}

void sched_lease_set_origin(struct sched *s, struct lease *pub, struct sched_origin *o,
			    uint64_t now_us)
{
	struct lease_priv *l = lease_priv(pub);
	struct sched_origin *before = l->origin;

	(void)s;
	if (before == o || l->state != LEASE_RUNNING)
		return;
	TAILQ_REMOVE(&before->leases, l, origin_entry);
	TAILQ_INSERT_TAIL(&o->leases, l, origin_entry);
	l->origin = o;
	origin_touch(before);
	origin_touch(o);
	/* It told where to go. */
	if (before->test == l)
		origin_unban(before);
	if (!l->via) {
		l->via = before;
		before->away++;
	} else {
		before->running--;
		before->guests--;
	}
	if (l->via == o) {
		l->via = NULL;
		o->away--;
		return;
	}
	o->guests++;
	if (o->running++ == 0)
		meter_restart(&o->meter, now_us);
}

void lease_release_slot(struct lease_priv *l)
{
	struct sched_task *t = l->pub.task, *waiting;
	struct sched *s = t->sched;

	TAILQ_REMOVE(&s->running, l, sched_entry);
	s->running_count--;
	l->origin->running--;
	if (!l->pub.probe)
		t->running--;
	if (l->origin->test == l)
		l->origin->test = NULL;
	lease_leave_via(l);
	origin_touch(l->origin);
	sched_uncrowd(s);
	while ((waiting = TAILQ_FIRST(&s->spilling))) {
		task_unspill(waiting);
		task_kick(waiting);
	}
}

void lease_free(struct lease_priv *l)
{
	struct sched_task *t = l->pub.task;

	lease_unlist(l);
	timer_set(t->sched, &l->timer, NEVER);
	t->lease_count--;
	free(l);
	task_free_if_done(t);
}

static void lease_end_early(struct lease_priv *l, bool at_once)
{
	struct sched *s = l->pub.task->sched;

	l->cancelled = true;
	origin_touch(l->origin);
	s->ops.cancel(s->ctx, &l->pub, at_once);
}

void lease_cancel(struct lease_priv *l)
{
	if (lease_works(l))
		lease_end_early(l, false);
}

void lease_displace(struct lease_priv *l)
{
	l->displaced = true;
	lease_end_early(l, true);
}

/* ---- shrinking ---- */

/* What is cut off l is no longer its hedge's either. */
static void hedge_cut(struct lease_priv *l, uint64_t at)
{
	struct lease_priv *hedge = l->rival;

	if (!hedge || !hedge->hedge || lease_end(hedge) <= at)
		return;
	if (at > hedge->pub.off) {
		atomic_store(&hedge->pub.end, at);
		hedge->cut = true;
		l->pub.task->sched->ops.shrunk(l->pub.task->sched->ctx, &hedge->pub);
		return;
	}
	l->rival = hedge->rival = NULL;
	lease_cancel(hedge);
}

void lease_cut(struct lease_priv *l, uint64_t at)
{
	struct sched_task *t = l->pub.task;
	uint64_t end = lease_end(l);

	assert(at % BLOCK_SIZE == 0 && at > l->pub.off && at < end);
	atomic_store(&l->pub.end, at);
	l->cut = true;
	hedge_cut(l, at);
	t->sched->stats.cuts++;
	t->sched->ops.shrunk(t->sched->ctx, &l->pub);
	task_recheck(t, range_make(at, end));
}

/* Whose response goes on through all of what l covers. */
static struct lease_priv *cut_from(const struct lease_priv *l, uint64_t end)
{
	struct lease_priv *m = TAILQ_PREV(l, lease_list, task_entry);

	if (!m || !lease_works(m) || m->whole || m->rival || !m->cut || m->asked_end < end ||
	    lease_end(m) != l->pub.off)
		return NULL;
	return m;
}

void lease_give_back(struct lease_priv *l)
{
	if (!lease_works(l) || l->whole || l->rival || l->pub.prio <= PRIO_WINDOW ||
	    !cut_from(l, lease_end(l)))
		return;
	l->given_back = true;
	lease_end_early(l, true);
}

void lease_regrow(struct lease_priv *l, uint64_t end)
{
	struct lease_priv *m = cut_from(l, end), *next = TAILQ_NEXT(l, task_entry);
	struct sched *s = l->pub.task->sched;

	if (!m)
		return;
	/* What l was not given of it has no request either. */
	end = next ? min_u64(m->asked_end, next->pub.off) : m->asked_end;
	atomic_store(&m->pub.end, end);
	m->cut = end < m->asked_end;
	s->ops.shrunk(s->ctx, &m->pub);
}

void lease_reprio(struct lease_priv *l)
{
	struct sched_task *t = l->pub.task;
	struct range rest = {block_floor(l->pos), lease_end(l)};
	enum prio best = l->hedge || l->pub.probe ? l->started : PRIO_BACKFILL;
	struct sched_want *w;

	if (!l->hedge && !l->pub.probe) {
		for (int p = PRIO_DEMAND; p < (int)best; p++) {
			TAILQ_FOREACH (w, &t->covered[p], entry) {
				if (range_overlaps(w->range, rest))
					goto found;
			}
			TAILQ_FOREACH (w, &t->pending[p], entry) {
				if (range_overlaps(w->range, rest))
					goto found;
			}
			continue;
		found:
			best = (enum prio)p;
			break;
		}
	}
	if (best == l->pub.prio)
		return;
	if (l->pub.prio == PRIO_DEMAND)
		sched_uncrowd(t->sched);
	l->pub.prio = best;
	origin_touch(l->origin);
}

void lease_raise(const struct sched_want *w)
{
	struct lease_priv *l;

	TAILQ_FOREACH (l, &w->task->leases, task_entry) {
		if (!lease_works(l) || l->pub.prio <= w->prio ||
		    !range_overlaps(w->range, range_make(l->pub.off, lease_end(l))))
			continue;
		l->pub.prio = w->prio;
		origin_touch(l->origin);
	}
}

/* Where the last want of any class inside l ends; l's own pos when there is none. */
static uint64_t wanted_end(const struct lease_priv *l)
{
	const struct sched_task *t = l->pub.task;
	uint64_t end = lease_end(l), last = l->pos;
	const struct sched_want *w;

	for (int p = 0; p < PRIO_COUNT && last < end; p++) {
		TAILQ_FOREACH (w, &t->covered[p], entry) {
			if (w->range.off < end && w->range.end > last)
				last = min_u64(end, w->range.end);
		}
		TAILQ_FOREACH (w, &t->pending[p], entry) {
			if (w->range.off < end && w->range.end > last)
				last = min_u64(end, w->range.end);
		}
	}
	return last;
}

void lease_trim(struct lease_priv *l, uint64_t now_us)
{
	uint64_t end = lease_end(l);
	uint64_t wanted = block_ceil(wanted_end(l));
	uint64_t at = max_u64(wanted, lease_cut_min(l, now_us));

	if (l->whole || l->pub.probe || l->hedge || at >= end)
		return;
	/* Closing a connection costs more than reading a short rest. */
	if (end - at >= SPLIT_MIN_BYTES)
		lease_cut(l, at);
}

/* The lease of t that would end last, with a rest long enough to be shared. */
static struct lease_priv *longest(const struct sched_task *t, uint64_t cost, uint64_t now_us,
				  uint64_t *ret_time_us)
{
	struct lease_priv *l, *best = NULL;
	uint64_t most = 0;

	TAILQ_FOREACH (l, &t->leases, task_entry) {
		uint64_t time, rest = lease_rest(l);
		uint64_t rate = l->answered ? lease_rate(l, now_us) : 0;
		uint64_t flight = 2 * (lease_cut_min(l, now_us) - block_ceil(l->pos));

		if (!lease_works(l) || l->whole || rest <= max_u64(flight, 2 * SPLIT_MIN_BYTES))
			continue;
		if (!rate)
			rate = l->origin->lease_bps;
		time = rate ? (uint64_t)((double)rest * 1e6 / (double)rate) : rest;
		if (rate ? time < (l->pub.prio <= PRIO_WINDOW ? 10 : 4) * cost
			 : rest < 2 * SPLIT_BLIND_BYTES)
			continue;
		if (time > most) {
			most = time;
			best = l;
		}
	}
	*ret_time_us = most;
	return best;
}

int lease_steal(struct sched_task *t, const struct sched_origin *o, enum prio p, uint64_t now_us)
{
	uint64_t cost = origin_cost_us(o, now_us);
	uint64_t time, keep, at, end;
	struct lease_priv *l = longest(t, cost, now_us, &time);
	unsigned int busy = task_busy(t, PRIO_BACKFILL, now_us), target = connect_target(t);

	if (!l)
		return -EAGAIN;
	/*
	 * What the server has sent behind the cut is in vain: without a reader that waits, the
	 * task's end has to come nearer by a part that counts. Flows of one link differ by less.
	 */
	if (p >= PRIO_FILL && time / 2 < (now_us - t->busy_since_us) / STEAL_GAIN_PART)
		return -EAGAIN;
	/* The last round trips are for connections that are warm. */
	if (l->answered && time < 10 * cost && !origin_warm(o, now_us))
		return -EAGAIN;
	/* What is left for each when all that may run share all there is; never less than half is
	 * taken. */
	keep = gap_work(t, PRIO_DEMAND, NEVER) / max_u64(target, busy + 1);
	keep = min_u64(keep, lease_rest(l) / 2);
	if (lease_rest(l) / 2 - keep < lease_rest(l) / 8)
		keep = lease_rest(l) / 2;
	keep = max_u64(keep, lease_rest(l) - min_u64(lease_rest(l), connect_take_most(t)));
	at = max_u64(block_ceil(l->pos + keep), lease_cut_min(l, now_us));
	end = lease_end(l);
	if (at >= end || end - at < SPLIT_MIN_BYTES)
		return -EAGAIN;
	lease_cut(l, at);
	t->sched->stats.steals++;
	return 0;
}

/* ---- its timer ---- */

void lease_timer(struct sched *s, struct timer *timer, uint64_t now_us)
{
	struct lease_priv *l = container_of(timer, struct lease_priv, timer);

	(void)s;
	if (l->state != LEASE_RUNNING || l->cancelled)
		return;
	if (lease_ending(l, now_us))
		task_kick(l->pub.task);
	lease_arm(l, now_us);
}

void lease_arm(struct lease_priv *l, uint64_t now_us)
{
	uint64_t at = demand_watch(l, now_us);
	uint64_t cost = origin_cost_us(l->origin, now_us);

	if (l->cancelled) {
		timer_set(l->pub.task->sched, &l->timer, NEVER);
		return;
	}
	at = min_u64(at, now_us + LOOK_US);
	if (l->answered && !l->held && !lease_ending(l, now_us) && !l->pub.probe) {
		uint64_t eta = lease_eta_us(l, lease_end(l), now_us);

		if (eta != NEVER && eta > cost)
			at = min_u64(at, now_us + max_u64(eta - cost, USEC_PER_MS));
	}
	timer_set(l->pub.task->sched, &l->timer, max_u64(at, now_us + USEC_PER_MS));
}
