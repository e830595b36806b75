/*
 * sched_demand.c - what is done for a reader that waits: a slot, a cut, a second request, an end
 *
 * A demand never queues behind a lower class. Where it lies in a running lease it waits only if
 * that transfer gets there about as soon as a request of its own would; bytes that are demanded
 * themselves don't count as a detour, or a slow link would see a sequential reader's stream cut to
 * pieces. Demands of one origin leave room for those of others (sched.h, S3 and S6): one that never
 * answers has all its readers waiting, and would have all the slots.
 */
#include "core/sched_internal.h"

/* Of 100 credits, one comes with each demand request: at most one in twenty is hedged. */
#define HEDGE_CREDIT 20
/* A hedge asks no more than this; the rest is a gap when it wins. */
#define HEDGE_BYTES (UINT64_C(4) << 20)
/* Before the tail of an origin's first-byte times is known no request counts as late. */
#define HEDGE_SAMPLES 8
/* Less than this share of what connections of the origin bring is far slower. */
#define SLOW_SHARE 8
/* What a connection brings until one was measured, to judge distances. */
#define GUESS_BPS (UINT64_C(8) << 20)
/* Slack of "about as soon": a timer tick of the transfer's reports. */
#define SOON_SLACK_US (2 * USEC_PER_MS)
/* A demand that a whole body brings later than this is far off. */
#define FAR_US USEC_PER_SEC
/* A source whose transfer got stuck comes behind the others for so long. */
#define SLOW_US (5 * USEC_PER_SEC)
/* More than this a second counts as coming nearer. */
#define NEARER_BPS 1024
/* So many deadlines are the end in any case. */
#define PATIENCE_MAX 10
/* This part of all slots is left to origins that have fewer. */
#define RESERVE_PART 8

/* ---- slots ---- */

static bool lower(const struct lease_priv *l, enum prio p)
{
	return l->pub.prio > p && !l->cancelled;
}

/* Is a a better victim than b: ending anyway, of a lower class, with more still to come? */
static bool better_victim(const struct lease_priv *a, const struct lease_priv *b)
{
	if (!b || a->cancelled != b->cancelled)
		return !b || a->cancelled;
	if (a->pub.prio != b->pub.prio)
		return a->pub.prio > b->pub.prio;
	return lease_rest(a) > lease_rest(b);
}

/* l's slot is one of o's, or, o NULL, one at all. */
static bool slot_of(const struct lease_priv *l, const struct sched_origin *o)
{
	return !o || l->origin == o || l->via == o;
}

/* The lowest transfer below p that has a slot of o; o NULL: anywhere. NULL none. */
static struct lease_priv *slot_victim(struct sched *s, const struct sched_origin *o, enum prio p)
{
	struct lease_priv *l, *best = NULL;

	TAILQ_FOREACH (l, &s->running, sched_entry) {
		bool ending = l->cancelled && !l->displaced && p == PRIO_DEMAND;

		if (slot_of(l, o) && (ending || lower(l, p)) && better_victim(l, best))
			best = l;
	}
	return best;
}

/* l ends soon instead of at once: nobody waits at this moment. */
static void lease_yield(struct lease_priv *l, uint64_t now_us)
{
	uint64_t at = lease_cut_min(l, now_us);

	if (l->whole || l->pub.probe || at + SPLIT_MIN_BYTES >= lease_end(l))
		return;
	l->yielding = true;
	lease_cut(l, at);
}

void task_yield(struct sched_task *t, enum prio p, uint64_t now_us)
{
	struct lease_priv *l, *best = NULL;

	TAILQ_FOREACH (l, &t->leases, task_entry) {
		if (l->yielding && l->state == LEASE_RUNNING)
			return;
		if (lower(l, p) && better_victim(l, best))
			best = l;
	}
	if (best)
		lease_yield(best, now_us);
}

/* Somebody who has a slot of o, or one at all, is about to end. */
static bool slot_yielding(const struct sched *s, const struct sched_origin *o)
{
	const struct lease_priv *l;

	TAILQ_FOREACH (l, &s->running, sched_entry) {
		if (l->yielding && slot_of(l, o))
			return true;
	}
	return false;
}

/* Slots of o, or of all, that are free once those displaced have ended. */
static int slots_soon(const struct sched *s, const struct sched_origin *o)
{
	int slots = o ? (int)o->budget - (int)o->running
		      : (int)s->cfg.max_connections - (int)s->running_count;
	const struct lease_priv *l;

	TAILQ_FOREACH (l, &s->running, sched_entry)
		slots += l->displaced && slot_of(l, o);
	return slots;
}

/* Some demand of t is served: another one waits its turn. */
static bool task_served(const struct sched_task *t)
{
	const struct lease_priv *l;

	TAILQ_FOREACH (l, &t->leases, task_entry) {
		if (lease_works(l) && l->pub.prio == PRIO_DEMAND)
			return true;
	}
	return false;
}

/* How many slots those who wait for o with a demand need now; the one that asks is one of them. */
static int demands_waiting(const struct sched_origin *o)
{
	const struct sched_task *t;
	int n = 0;

	TAILQ_FOREACH (t, &o->probes[PRIO_DEMAND], probe_entry) {
		if (++n >= (int)o->budget)
			return n;
	}
	TAILQ_FOREACH (t, &o->queue[PRIO_DEMAND], queue_entry) {
		n += !task_served(t);
		if (n >= (int)o->budget)
			return n;
	}
	return n ? n : 1;
}

/* Displace until slots of o (NULL: of all) will do for those who wait. How many there will be. */
static int slots_make(struct sched *s, const struct sched_origin *o, int waiting)
{
	int slots = slots_soon(s, o);
	struct lease_priv *l;

	while (slots < waiting && (l = slot_victim(s, o, PRIO_DEMAND)) != NULL) {
		lease_displace(l);
		slots++;
	}
	return slots;
}

/* ---- origins beside each other ---- */

/* Demands that are being served, with a slot of o; o NULL: anywhere. */
static unsigned int demands_served(const struct sched *s, const struct sched_origin *o)
{
	const struct lease_priv *l;
	unsigned int n = 0;

	TAILQ_FOREACH (l, &s->running, sched_entry)
		n += lease_works(l) && l->pub.prio == PRIO_DEMAND && slot_of(l, o);
	return n;
}

/*
 * An origin whose demands have n slots leaves n to those that have fewer, at most the reserve: so
 * those of one that never answers can't take all, and the first is everybody's. Lower classes need
 * no such thing, they make room for any demand.
 */
int demand_room(const struct sched_origin *o)
{
	const struct sched *s = o->sched;
	unsigned int most = s->cfg.max_connections, reserve = most / RESERVE_PART, all, own;
	int room = 0;

	if (reserve == 0)
		reserve = most > 1;
	/* All that run may be demands. */
	if (s->running_count + reserve + o->budget <= most)
		return (int)o->budget;
	all = demands_served(s, NULL);
	own = demands_served(s, o);
	if (own == 0 && all >= most)
		return 1;
	while (all + min_u64(own, reserve) < most && room < (int)o->budget) {
		all++;
		own++;
		room++;
	}
	return room;
}

/* It has waited for a byte for clearly longer than its origin needs. */
static bool overdue(const struct lease_priv *l, uint64_t now_us)
{
	return now_us - l->bytes_us >
	       2 * max_u64(l->origin->ttfb_p95_us, origin_cost_us(l->origin, now_us));
}

/* Is a, of an origin with crowd_a of them, rather given up than b? */
static bool better_offer(const struct lease_priv *a, unsigned int crowd_a,
			 const struct lease_priv *b, unsigned int crowd_b, uint64_t now_us)
{
	if (!b || overdue(a, now_us) != overdue(b, now_us))
		return !b || overdue(a, now_us);
	/* A whole body starts from 0 again. */
	if (a->whole != b->whole)
		return b->whole;
	if (crowd_a != crowd_b)
		return crowd_a > crowd_b;
	return a->bytes_us < b->bytes_us;
}

/* A demand of an origin that serves several, for one that serves none. NULL: nobody has several. */
static struct lease_priv *crowd_victim(const struct sched *s, uint64_t now_us)
{
	struct lease_priv *l, *best = NULL;
	const struct sched_origin *o;
	unsigned int most = 0;

	TAILQ_FOREACH (o, &s->origins, all_entry) {
		unsigned int crowd = 0;

		TAILQ_FOREACH (l, &o->leases, origin_entry)
			crowd += lease_works(l) && l->pub.prio == PRIO_DEMAND;
		if (crowd < 2)
			continue;
		TAILQ_FOREACH (l, &o->leases, origin_entry) {
			/* Who was left without any would take the next one from somebody. */
			if (!lease_works(l) || l->pub.prio != PRIO_DEMAND ||
			    (l->via && l->via->running < 2) ||
			    !better_offer(l, crowd, best, most, now_us))
				continue;
			best = l;
			most = crowd;
		}
	}
	return best;
}

/* Slots for the demands that wait for o, whom others make room for. */
static enum slot slot_demand(struct sched_origin *o, uint64_t now_us)
{
	struct sched *s = o->sched;
	int slots = demands_waiting(o), room = demand_room(o), made;
	struct lease_priv *l;

	slots = room < slots ? room : slots;
	if (slots == 0)
		return SLOT_NONE;
	made = slots_make(s, o, slots);
	slots = made < slots ? made : slots;
	if (slots <= 0)
		return SLOT_NONE;
	if (slots_make(s, NULL, slots) > 0)
		return SLOT_SOON;
	if (o->running > 0 || !(l = crowd_victim(s, now_us)))
		return SLOT_NONE;
	lease_displace(l);
	return SLOT_SOON;
}

enum slot slot_take(struct sched_origin *o, enum prio p, uint64_t now_us)
{
	struct sched *s = o->sched;
	struct sched_origin *full = o->running >= o->budget ? o : NULL;
	struct lease_priv *l;

	if (slot_free(o, p))
		return SLOT_FREE;
	if (p == PRIO_DEMAND)
		return slot_demand(o, now_us);
	l = slot_victim(s, full, p);
	if (l && !slot_yielding(s, full))
		lease_yield(l, now_us);
	return SLOT_NONE;
}

/* ---- inside a running lease ---- */

static struct lease_priv *lease_at(const struct sched_task *t, uint64_t off)
{
	struct lease_priv *l;

	TAILQ_FOREACH (l, &t->leases, task_entry) {
		if (l->pub.off <= off && off < lease_end(l))
			return l;
	}
	return NULL;
}

/* Bytes in [from, to) that nobody demands; those demanded twice count once too often, which only
 * waits. */
static uint64_t detour(const struct sched_task *t, uint64_t from, uint64_t to)
{
	struct range way = {from, to};
	uint64_t bytes = range_len(way), demanded = 0;
	const struct sched_want *w;

	TAILQ_FOREACH (w, &t->covered[PRIO_DEMAND], entry)
		demanded += range_len(range_intersect(way, w->range));
	TAILQ_FOREACH (w, &t->pending[PRIO_DEMAND], entry)
		demanded += range_len(range_intersect(way, w->range));
	return bytes > demanded ? bytes - demanded : 0;
}

/*
 * Something far off in a body that comes from 0: does the source really have no ranges? A probe
 * there tells, and its one byte is all that it costs.
 */
static void whole_doubt(struct lease_priv *l, uint64_t at, uint64_t now_us)
{
	struct sched_task *t = l->pub.task;
	const struct source *src = &t->source[l->pub.source];
	uint64_t eta = lease_eta_us(l, at, now_us);

	if (t->size == SIZE_UNKNOWN || t->probe || at <= l->pos || eta < FAR_US || eta == NEVER ||
	    (src->wholes > 1 && now_us < src->ranges_us) || src->refused != VERDICT_PART ||
	    src->until_us > now_us || !origin_open(src->origin, now_us) ||
	    !slot_free(src->origin, PRIO_DEMAND))
		return;
	lease_start(t, l->pub.source, range_make(at, at + 1), PRIO_DEMAND, LEASE_PROBE, now_us);
}

bool demand_inside(struct sched_want *w, struct range missing, uint64_t now_us)
{
	struct sched_task *t = w->task;
	struct lease_priv *l = lease_at(t, missing.off);
	uint64_t at = block_floor(missing.off), skip, eta;

	if (!l || l->state != LEASE_RUNNING || l->cancelled)
		return false;
	lease_reprio(l);
	if (l->pub.prio == PRIO_DEMAND)
		lease_arm(l, now_us);
	if (l->whole)
		whole_doubt(l, at, now_us);
	if (l->whole || t->size == SIZE_UNKNOWN || at <= block_ceil(l->pos) || at <= l->pub.off)
		return false;
	skip = detour(t, l->pos, at);
	eta = lease_eta_us(l, l->pos + skip, now_us);
	if (eta == NEVER)
		eta = lease_eta_us(l, l->pos, now_us) + skip * USEC_PER_SEC / GUESS_BPS;
	if (l->held || skip == 0)
		eta = skip ? NEVER : 0;
	if (eta <= origin_cost_us(l->origin, now_us) + SOON_SLACK_US)
		return false;
	/* What is in flight comes first on any connection. */
	if (l->answered && at < lease_cut_min(l, now_us) && !l->held)
		return false;
	lease_cut(l, at);
	lease_reprio(l);
	return true;
}

/* ---- late and stuck ---- */

static void lease_stall(struct lease_priv *l, uint64_t now_us)
{
	struct sched_task *t = l->pub.task;

	t->source[l->pub.source].slow_until_us = now_us + SLOW_US;
	l->stalled = true;
	lease_cancel(l);
}

/* Out of patience before the user's stall timeout: the next one gets twice as much. */
static void lease_soft_stall(struct lease_priv *l, uint64_t patience_us, uint64_t now_us)
{
	struct sched_task *t = l->pub.task;

	/* Several that got stuck together are one event. */
	if (now_us >= t->soft_stall_us) {
		t->soft_stalls++;
		t->soft_stall_us = now_us + patience_us;
	}
	lease_stall(l, now_us);
}

/* The demanded part of l that a second request asks for; empty when there is none. */
static struct range hedge_range(const struct lease_priv *l)
{
	const struct sched_task *t = l->pub.task;
	struct range r = {NEVER, 0}, own = {l->pub.off, lease_end(l)};
	const struct sched_want *w;

	TAILQ_FOREACH (w, &t->covered[PRIO_DEMAND], entry) {
		struct range both = range_intersect(own, w->range);

		if (range_empty(both))
			continue;
		r.off = min_u64(r.off, both.off);
		r.end = max_u64(r.end, both.end);
	}
	if (r.off >= r.end)
		return (struct range){0, 0};
	return range_make(r.off, min_u64(r.end, r.off + HEDGE_BYTES));
}

static void hedge(struct lease_priv *l, uint64_t now_us)
{
	struct sched_task *t = l->pub.task;
	struct sched *s = t->sched;
	struct range r = hedge_range(l);
	unsigned int index;
	uint64_t at;

	if (range_empty(r) || s->hedge_credit < HEDGE_CREDIT || t->size == SIZE_UNKNOWN ||
	    source_pick(t, l->pub.source, now_us, &index, &at) < 0 || t->source[index].no_ranges ||
	    !origin_open(t->source[index].origin, now_us) ||
	    !slot_free(t->source[index].origin, PRIO_DEMAND))
		return;
	if (lease_start_hedge(l, index, r, now_us))
		s->hedge_credit -= HEDGE_CREDIT;
}

/* A demand's lease without an answer. */
static uint64_t watch_unanswered(struct lease_priv *l, uint64_t now_us)
{
	const struct sched_origin *o = l->origin;
	struct sched_task *t = l->pub.task;
	uint64_t from = l->connected ? l->asked_us : l->start_us + o->setup_us;
	uint64_t late, stuck;

	if (o->ttfb_count < HEDGE_SAMPLES)
		return NEVER;
	late = from + o->ttfb_p95_us + 5 * USEC_PER_MS;
	stuck = from +
		(max_u64(8 * o->ttfb_p95_us, 2 * USEC_PER_SEC) << min_u64(t->soft_stalls, 5));
	if (now_us >= stuck) {
		lease_soft_stall(l, stuck - from, now_us);
		return NEVER;
	}
	if (l->hedge || l->rival || l->pub.probe)
		return stuck;
	if (now_us >= late) {
		hedge(l, now_us);
		return stuck;
	}
	return late;
}

/* An answered one without a byte for long, or far slower than its siblings. */
static uint64_t watch_answered(struct lease_priv *l, uint64_t now_us)
{
	const struct sched_origin *o = l->origin;
	struct sched_task *t = l->pub.task;
	bool demand = l->pub.prio == PRIO_DEMAND;
	/* With a connection idle another try costs next to nothing. */
	bool idle = t->running < connect_target(t);
	uint64_t least = demand || idle ? 500 * USEC_PER_MS : 2 * USEC_PER_SEC;
	uint64_t patience = max_u64(8 * origin_cost_us(o, now_us), least)
			    << min_u64(t->soft_stalls, 5);
	uint64_t stuck = l->bytes_us + patience;
	uint64_t age = now_us - l->bytes_us;
	/* Bulk that is stuck together with all others mostly gains nothing from another connection.
	 */
	bool alone = demand || o->bytes_us > l->bytes_us + patience / 2 || age >= 2 * patience;
	bool slow = demand && l->meter.rate_bps && o->running > 1 &&
		    lease_rate(l, now_us) < o->lease_bps / SLOW_SHARE &&
		    now_us - l->start_us > patience && lease_rest(l) > BLOCK_SIZE;

	if ((age >= patience && alone) || slow) {
		lease_soft_stall(l, patience, now_us);
		return NEVER;
	}
	return age >= patience ? now_us + patience : stuck;
}

uint64_t demand_watch(struct lease_priv *l, uint64_t now_us)
{
	struct sched_task *t = l->pub.task;
	const struct sched_config *cfg = &t->sched->cfg;
	uint64_t limit = cfg->stall_timeout_us + (l->answered ? 0 : cfg->connect_timeout_us);
	uint64_t stuck = add_sat_u64(l->bytes_us, limit), next, period;
	struct sched_want *w, *after;

	if (l->held || l->cancelled || l->state != LEASE_RUNNING)
		return NEVER;
	if (now_us >= stuck) {
		lease_stall(l, now_us);
		return NEVER;
	}
	next = stuck;
	if (l->answered && !l->pub.probe)
		next = min_u64(next, watch_answered(l, now_us));
	else if (l->pub.prio == PRIO_DEMAND)
		next = min_u64(next, watch_unanswered(l, now_us));
	if (l->cancelled || l->pub.prio != PRIO_DEMAND || l->pub.probe || l->hedge)
		return next;
	/* Do those who wait inside still do best to wait? */
	period = max_u64(2 * origin_cost_us(l->origin, now_us), 20 * USEC_PER_MS);
	if (now_us - l->look_us >= period) {
		l->look_us = now_us;
		TAILQ_FOREACH_SAFE (w, &t->covered[PRIO_DEMAND], entry, after) {
			if (range_overlaps(w->range, range_make(l->pub.off, lease_end(l))))
				want_set_pending(w, true);
		}
		task_kick(t);
	}
	return min_u64(next, l->look_us + period);
}

/* ---- deadlines ---- */

void demand_nearer(struct lease_priv *l, uint64_t from, uint64_t to)
{
	struct sched_task *t = l->pub.task;
	struct range own = {from, max_u64(lease_end(l), to)};
	static const enum prio waits[] = {PRIO_DEMAND, PRIO_FILL};
	struct sched_want *w;

	for (unsigned int i = 0; i < ARRAY_SIZE(waits); i++) {
		if (t->want_count[waits[i]] == 0)
			continue;
		TAILQ_FOREACH (w, &t->covered[waits[i]], entry)
			w->near_bytes += range_overlaps(w->range, own) ? to - from : 0;
		TAILQ_FOREACH (w, &t->pending[waits[i]], entry)
			w->near_bytes += range_overlaps(w->range, own) ? to - from : 0;
	}
}

/* What kept the byte at off from coming. */
static enum verdict deadline_why(const struct sched_task *t, uint64_t off)
{
	const struct lease_priv *l = lease_at(t, off);

	if (l && lease_works(l) && l->whole && l->answered)
		return VERDICT_NO_RANGES;
	return t->last != VERDICT_PART ? t->last : VERDICT_STALL;
}

/* Nothing came nearer to w for its time, or it has waited too long in all: it fails. */
void demand_deadline(struct sched *s, struct timer *timer, uint64_t now_us)
{
	struct sched_want *w = container_of(timer, struct sched_want, timer);
	struct sched_task *t = w->task;
	bool demand = w->prio == PRIO_DEMAND;
	uint64_t patience = s->cfg.retry_time_us;
	uint64_t end = demand ? add_sat_u64(w->added_us, PATIENCE_MAX * patience) : NEVER;
	uint64_t enough = demand ? NEARER_BPS * (patience / USEC_PER_SEC + 1) : 1;
	struct range r = w->range, missing;
	enum verdict why;
	void *user = w->user;
	struct lease_priv *l;

	if (!demand)
		patience *= PATIENCE_MAX;
	if ((w->near_bytes >= enough && now_us < end) || gap_missing(t, w, &missing) < 0) {
		w->mark_us = now_us;
		w->near_bytes = 0;
		timer_set(s, &w->timer,
			  max_u64(min_u64(now_us + patience, end), now_us + USEC_PER_SEC));
		return;
	}
	why = deadline_why(t, missing.off);
	want_drop(w);
	TAILQ_FOREACH (l, &t->leases, task_entry) {
		if (lease_works(l) && range_overlaps(r, range_make(l->pub.off, lease_end(l)))) {
			lease_reprio(l);
			lease_trim(l, now_us);
		}
	}
	s->ops.failed(s->ctx, user, why);
}
