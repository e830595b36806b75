/*
 * origin.c - what is known of one scheme://host:port: budget, ban, times, holds
 *
 * Always true: while banned_until_us lies ahead nothing starts; behind it one test request at a
 * time, whose answer ends the ban or doubles it.
 */
#include "core/sched_internal.h"

/* An idle connection is counted as warm for so long; servers keep them 5 to 75 s. */
#define WARM_US (10 * USEC_PER_SEC)
/* A budget that was halved grows by one so often. */
#define BUDGET_GROW_US (10 * USEC_PER_SEC)

/*
 * A hold is not for ever: after LIMIT of holding, SLICE is free. Backfill keeps some 5 % of the
 * time beside a reader that never pauses. Read-ahead has a reader of its own waiting behind it:
 * half.
 */
static const struct {
	uint64_t limit_us, slice_us;
} hold_share[] = {
	[HOLD_WINDOW] = {250 * USEC_PER_MS, 250 * USEC_PER_MS},
	[HOLD_BULK] = {1000 * USEC_PER_MS, 50 * USEC_PER_MS},
};
_Static_assert(ARRAY_SIZE(hold_share) == HOLD_COUNT, "a share for every kind");

int origin_compare(const struct sched_origin *a, const struct sched_origin *b)
{
	return strcmp(a->key, b->key);
}
RB_GENERATE(origin_tree, sched_origin, key_entry, origin_compare)

static void ban_over(struct sched *s, struct timer *timer, uint64_t now_us)
{
	(void)s;
	(void)now_us;
	origin_ready(container_of(timer, struct sched_origin, ban_timer));
}

static void hold_over(struct sched *s, struct timer *timer, uint64_t now_us)
{
	(void)s;
	(void)now_us;
	origin_touch(container_of(timer, struct sched_origin, hold_timer));
}

struct sched_origin *origin_new(struct sched *s, const char *key)
{
	size_t size = strlen(key) + 1;
	struct sched_origin *o = calloc(1, sizeof(*o) + size);

	if (!o)
		return NULL;
	memcpy(o->key, key, size);
	o->sched = s;
	o->budget = s->cfg.max_per_origin;
	TAILQ_INIT(&o->leases);
	for (int p = 0; p < PRIO_COUNT; p++) {
		TAILQ_INIT(&o->queue[p]);
		TAILQ_INIT(&o->probes[p]);
	}
	timer_init(&o->ban_timer, ban_over);
	timer_init(&o->hold_timer, hold_over);
	return o;
}

void origin_free(struct sched_origin *o)
{
	free(o);
}

void origin_touch(struct sched_origin *o)
{
	origin_ready(o);
	if (o->dirty)
		return;
	o->dirty = true;
	TAILQ_INSERT_TAIL(&o->sched->dirty, o, dirty_entry);
}

/* ---- times ---- */

void origin_connect_sample(struct sched_origin *o, uint64_t connect_us, uint64_t setup_us)
{
	o->rtt_us = o->rtt_us ? (3 * o->rtt_us + connect_us) / 4 : connect_us;
	o->setup_us = o->setup_us ? (3 * o->setup_us + setup_us) / 4 : setup_us;
}

static int compare_u32(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

void origin_ttfb_sample(struct sched_origin *o, uint64_t ttfb_us)
{
	uint32_t sorted[TTFB_SAMPLES];
	unsigned int n;

	o->ttfb[o->ttfb_count % TTFB_SAMPLES] = (uint32_t)min_u64(ttfb_us, UINT32_MAX);
	/* Beyond one round of the ring only its place in the ring counts. */
	if (++o->ttfb_count == 2 * TTFB_SAMPLES)
		o->ttfb_count = TTFB_SAMPLES;
	n = o->ttfb_count < TTFB_SAMPLES ? o->ttfb_count : TTFB_SAMPLES;
	memcpy(sorted, o->ttfb, n * sizeof(sorted[0]));
	qsort(sorted, n, sizeof(sorted[0]), compare_u32);
	o->ttfb_us = max_u64(sorted[n / 2], 1);
	/* Few samples say little of a tail. */
	o->ttfb_p95_us = max_u64(sorted[(n * 95) / 100], n < 20 ? 3 * o->ttfb_us : o->ttfb_us);
}

uint64_t origin_ttfb_us(const struct sched_origin *o)
{
	return o->ttfb_us ? o->ttfb_us : COST_UNKNOWN_US;
}

uint64_t origin_rtt_us(const struct sched_origin *o)
{
	return max_u64(o->rtt_us ? o->rtt_us : origin_ttfb_us(o), 100);
}

bool origin_warm(const struct sched_origin *o, uint64_t now_us)
{
	return o->warm > 0 && now_us - o->warm_us < WARM_US;
}

uint64_t origin_cost_us(const struct sched_origin *o, uint64_t now_us)
{
	return origin_ttfb_us(o) + (origin_warm(o, now_us) ? 0 : o->setup_us);
}

/* ---- bans ---- */

bool origin_open(const struct sched_origin *o, uint64_t now_us)
{
	if (!o->banned_until_us)
		return true;
	return now_us >= o->banned_until_us && !o->test;
}

void origin_kick_mirrored(struct sched_origin *o)
{
	struct sched_task *t;

	TAILQ_FOREACH (t, &o->sched->tasks, all_entry) {
		if (t->source_count > 1 && t->queued_at)
			task_kick(t);
	}
}

bool origin_ban(struct sched_origin *o, enum verdict v, uint64_t started_us,
		uint64_t retry_after_us, uint64_t now_us)
{
	struct sched *s = o->sched;
	uint64_t asked = min_u64(retry_after_us, RETRY_AFTER_MAX_US);
	uint64_t delay;
	bool test;

	/* Others that were under way when it was banned: no news, except of how long. */
	if (o->banned_until_us && started_us < o->banned_until_us) {
		if (now_us < o->banned_until_us && now_us + asked > o->banned_until_us)
			o->banned_until_us = now_us + asked;
		if (now_us < o->banned_until_us)
			timer_set(s, &o->ban_timer, o->banned_until_us);
		return false;
	}
	test = o->banned_until_us != 0;
	/* Where some requests are answered well the next is soon worth a try. */
	o->bans = o->good_us > o->ban_us ? 1 : o->bans + 1;
	o->ban_us = now_us;
	delay = retry_delay_us(o->bans, RETRY_ORIGIN_FIRST_US, RETRY_ORIGIN_MAX_US, &s->random);
	if (asked)
		delay = asked + retry_random(&s->random) % (min_u64(asked / 10, USEC_PER_SEC) + 1);
	o->banned_until_us = now_us + delay;
	o->test = NULL;
	/* That a test fails says nothing of how many at once are too many. */
	if (v == VERDICT_BUSY && !test) {
		o->budget = o->budget > 1 ? o->budget / 2 : 1;
		o->budget_us = now_us;
	}
	timer_set(s, &o->ban_timer, o->banned_until_us);
	origin_kick_mirrored(o);
	return true;
}

void origin_unban(struct sched_origin *o)
{
	if (!o->banned_until_us)
		return;
	origin_kick_mirrored(o);
	o->banned_until_us = 0;
	o->test = NULL;
	timer_set(o->sched, &o->ban_timer, NEVER);
	origin_touch(o);
}

void sched_origin_test(struct sched *s, struct sched_origin *o, uint64_t now_us)
{
	if (o->banned_until_us <= now_us)
		return;
	o->banned_until_us = now_us;
	timer_set(s, &o->ban_timer, now_us);
	origin_kick_mirrored(o);
}

void origin_good(struct sched_origin *o, uint64_t now_us)
{
	if (now_us - o->budget_us < BUDGET_GROW_US)
		return;
	o->bans = 0;
	if (o->budget < o->sched->cfg.max_per_origin) {
		o->budget++;
		o->budget_us = now_us;
		origin_touch(o);
	}
}

/* ---- holds ---- */

/* A demand's own request is under way: others' read-ahead gets off the link for its first bytes. */
static bool urgent(const struct lease_priv *l)
{
	/* Between two reads of the same reader it stays so: each release lets a burst through. */
	return lease_works(l) && l->started == PRIO_DEMAND && l->pub.prio <= PRIO_WINDOW &&
	       l->pos < l->urgent_end;
}

/* l reads ahead of the very reader that waits for d. */
static bool ahead_of(const struct lease_priv *l, const struct lease_priv *d)
{
	return l->pub.task == d->pub.task && l->pub.off >= d->pub.off &&
	       l->pub.off - d->pub.off < (UINT64_C(64) << 20);
}

/* Which kind of hold applies to l, HOLD_COUNT none. */
static enum hold_kind lease_hold(const struct sched_origin *o, const struct lease_priv *l)
{
	const struct lease_priv *d;
	bool bulk = l->pub.prio >= PRIO_FILL;
	/* Behind its first MiB a demand's lease is read-ahead like any other. */
	bool fresh = l->started == PRIO_DEMAND && l->pos < l->urgent_end;

	if (!lease_works(l) || l->pub.probe || fresh || l->hedge)
		return HOLD_COUNT;
	TAILQ_FOREACH (d, &o->leases, origin_entry) {
		if (d == l || !lease_works(d) || d->held)
			continue;
		if (bulk && d->pub.prio == PRIO_DEMAND)
			return HOLD_BULK;
		if (!bulk && urgent(d) && !ahead_of(l, d))
			return HOLD_WINDOW;
	}
	return HOLD_COUNT;
}

static bool demand_out(const struct sched_origin *o)
{
	const struct lease_priv *d;

	TAILQ_FOREACH (d, &o->leases, origin_entry) {
		if (lease_works(d) && d->pub.prio == PRIO_DEMAND)
			return true;
	}
	return false;
}

bool origin_bulk_held(const struct sched_origin *o, uint64_t now_us)
{
	return now_us >= o->hold[HOLD_BULK].free_until_us && demand_out(o);
}

/* Is a hold of this kind, which there is a reason for or not, on at now? */
static bool hold_update(struct hold *h, enum hold_kind k, bool reason, uint64_t now_us)
{
	if (h->on) {
		h->sum_us += now_us - h->since_us;
		h->since_us = now_us;
	}
	if (h->sum_us >= hold_share[k].limit_us) {
		h->sum_us = 0;
		h->free_until_us = now_us + hold_share[k].slice_us;
	}
	h->on = reason && now_us >= h->free_until_us;
	h->since_us = now_us;
	return h->on;
}

static uint64_t hold_next(const struct hold *h, enum hold_kind k, bool reason, uint64_t now_us)
{
	if (!reason)
		return NEVER;
	if (!h->on)
		return h->free_until_us;
	return now_us + hold_share[k].limit_us - h->sum_us;
}

static void lease_set_hold(struct lease_priv *l, bool held, uint64_t now_us)
{
	struct sched *s = l->origin->sched;

	if (l->held == held)
		return;
	l->held = held;
	l->bytes_us = now_us;
	meter_restart(&l->meter, now_us);
	s->stats.holds += held;
	connect_disturb(l->pub.task);
	s->ops.hold(s->ctx, &l->pub, held);
	if (!held)
		lease_arm(l, now_us);
}

void origin_holds(struct sched_origin *o, uint64_t now_us)
{
	/* Waiting to start is held as well, so a reason for bulk is any demand. */
	bool reason[HOLD_COUNT] = {[HOLD_BULK] = demand_out(o)}, was_on = o->hold[HOLD_BULK].on;
	uint64_t next = NEVER;
	struct lease_priv *l;

	TAILQ_FOREACH (l, &o->leases, origin_entry) {
		if (lease_hold(o, l) == HOLD_WINDOW)
			reason[HOLD_WINDOW] = true;
	}
	for (int k = 0; k < HOLD_COUNT; k++) {
		hold_update(&o->hold[k], (enum hold_kind)k, reason[k], now_us);
		next = min_u64(next, hold_next(&o->hold[k], (enum hold_kind)k, reason[k], now_us));
	}
	TAILQ_FOREACH (l, &o->leases, origin_entry) {
		enum hold_kind k = lease_hold(o, l);

		if (!l->cancelled)
			lease_set_hold(l, k != HOLD_COUNT && o->hold[k].on, now_us);
	}
	timer_set(o->sched, &o->hold_timer, next);
	if (was_on && !o->hold[HOLD_BULK].on)
		origin_ready(o);
}

/* ---- status ---- */

void sched_origin_info(const struct sched_origin *o, struct sched_origin_info *ret)
{
	*ret = (struct sched_origin_info){
		.running = o->running - o->away,
		.budget = o->budget,
		.banned_until_us = o->banned_until_us,
		.bans = o->bans,
		.rtt_us = o->rtt_us,
		.ttfb_us = o->ttfb_us,
		.rate_bps = max_u64(o->meter.rate_bps, o->lease_bps),
	};
}
