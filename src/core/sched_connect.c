/*
 * sched_connect.c - how many connections one task may use
 *
 * Goodput alone decides. One connection until its rate is flat, then twice as many are tried:
 *
 *   MEASURE  halves of a window agree (or the second is no longer 25 % above the first) -> SETTLE
 *   SETTLE   the new connections are made, one set-up and a round trip              -> TRIAL
 *   TRIAL    +40 % after 8 round trips: accepted, and the next doubling at once (where the rate
 *            grew as the connections did, four times as many are tried next: they have to bring
 *            +120 %, or twice as many are tried after all);
 *            +25 % after 18: accepted; otherwise refused                             -> WAIT
 *   WAIT     10 trials' time, twice as long after each refusal; a fall to 75 % of what was accepted
 * ends it
 *
 * A round trip is the time of a TCP handshake. Shorter windows or lower thresholds lie inside the
 * noise of a path one flow fills (emulated link: +10 % after 2 round trips wandered to 8
 * connections and lost 28 % at 100 ms), where more connections cost a fixed price at either end.
 * The simulator has no noise and would take 4 round trips (mean ratio .952 against .943); 16 give
 * .928. Its figures for one file of six seconds, ratio to the best schedule:
 *
 *     a response capped at 4 MiB/s, 150 MiB/s link    1 ms .97   20 ms .90   100 ms .64
 *     one flow fills the link of 50 MiB/s             1 ms 1.0   20 ms .985  100 ms .92
 *
 * What still has to come must take 20 set-ups, by the first-byte time where that is the larger: 5
 * made no difference, 80 lost .03. For read-ahead a 16th counts, since its reader will go on:
 * without that a sequential reader of 50 MiB/s responses gets 255 instead of 437 MiB/s.
 *
 * A refused trial is withdrawn by not renewing its leases; one that has brought little is ended,
 * and the response it was cut from goes on through its range (what it brought comes twice). Where
 * one was refused before, the next will be too, as a rule: it is given no more than it can bring,
 * from the end of the work, and comes to its end by itself. (Not where a trial takes a second: at
 * 100 ms the new flow, which is slow, was still at it when all else had come, 1.27 of wget's time.)
 */
#include "core/sched_internal.h"

#define WINDOW_MIN_US  (50 * USEC_PER_MS)
#define TRIAL_MIN_US   (20 * USEC_PER_MS) /* of a first look; nothing is refused after so little */
#define QUICK_RTTS     8
#define SLOW_RTTS      18
#define WATCH_RTTS     16
#define GIVE_BACK_RTTS 4 /* of one connection's share */
#define BRIEF_TRIAL_US (1 * USEC_PER_SEC)
#define WATCH_MIN_US   (200 * USEC_PER_MS)
#define WAIT_TRIALS    10
#define WAIT_MIN_US    (1 * USEC_PER_SEC)
#define WAIT_DOUBLE    6
/* Nothing is tried that would pay off after the end. */
#define REMAINING_COSTS	 20
#define REMAINING_MIN_US (100 * USEC_PER_MS)
#define WINDOW_PART	 16

void connect_init(struct sched_task *t)
{
	unsigned int fixed = t->sched->cfg.connections;

	t->connect = (struct connect){.target = fixed ? fixed : 1};
	timer_init(&t->connect.timer, connect_timer);
}

unsigned int connect_target(const struct sched_task *t)
{
	return t->connect.trial ? t->connect.trial : t->connect.target;
}

/* The origin the task mostly talks to now. */
static const struct sched_origin *connect_origin(const struct sched_task *t)
{
	const struct lease_priv *l;

	TAILQ_FOREACH (l, &t->leases, task_entry) {
		if (lease_works(l))
			return l->origin;
	}
	return t->source_count ? t->source[0].origin : NULL;
}

static uint64_t rtts_or(const struct sched_task *t, unsigned int n, uint64_t least_us)
{
	const struct sched_origin *o = connect_origin(t);

	return max_u64(n * (o ? origin_rtt_us(o) : 0), least_us);
}

static uint64_t rtts(const struct sched_task *t, unsigned int n)
{
	return rtts_or(t, n, WINDOW_MIN_US);
}

static void window_start(struct connect *c, uint64_t now_us)
{
	c->since_us = now_us;
	c->bytes = 0;
	c->disturbed = false;
}

static void enter(struct sched_task *t, enum connect_state state, uint64_t wait_us, uint64_t now_us)
{
	t->connect.state = state;
	window_start(&t->connect, now_us);
	timer_set(t->sched, &t->connect.timer, now_us + wait_us);
}

static uint64_t window_rate(const struct connect *c, uint64_t now_us)
{
	uint64_t span = now_us - c->since_us;

	return span ? (uint64_t)((double)c->bytes * 1e6 / (double)span) : 0;
}

void connect_bytes(struct sched_task *t, uint64_t bytes, uint64_t now_us)
{
	struct connect *c = &t->connect;

	if (t->sched->cfg.connections != 0)
		return;
	c->bytes += bytes;
	if (c->state != CONNECT_IDLE)
		return;
	c->half_bps = 0;
	enter(t, CONNECT_MEASURE, rtts(t, QUICK_RTTS) / 2, now_us);
}

void connect_disturb(struct sched_task *t)
{
	t->connect.disturbed = true;
}

/* How long what is wanted still takes at this rate. */
static bool worth_while(struct sched_task *t, uint64_t rate_bps, uint64_t now_us)
{
	const struct sched_origin *o = connect_origin(t);
	uint64_t cost = max_u64(origin_rtt_us(o), origin_cost_us(o, now_us));
	uint64_t least_us = max_u64(REMAINING_COSTS * cost, REMAINING_MIN_US);
	uint64_t least = (uint64_t)((double)rate_bps * (double)least_us / 1e6);

	/* Read-ahead is a part of what a sequential reader will still want. */
	if (TAILQ_EMPTY(&t->pending[PRIO_FILL]) && TAILQ_EMPTY(&t->covered[PRIO_FILL]) &&
	    TAILQ_EMPTY(&t->pending[PRIO_BACKFILL]) && TAILQ_EMPTY(&t->covered[PRIO_BACKFILL]))
		least /= WINDOW_PART;
	return t->size != SIZE_UNKNOWN && gap_work(t, PRIO_BACKFILL, least) >= least;
}

static unsigned int target_max(const struct sched_task *t)
{
	const struct sched_config *cfg = &t->sched->cfg;
	unsigned int most = CONNECT_TARGET_MAX;

	most = most < cfg->max_per_origin ? most : cfg->max_per_origin;
	return most < cfg->max_connections ? most : cfg->max_connections;
}

static bool only_whole(const struct sched_task *t)
{
	const struct lease_priv *l;

	TAILQ_FOREACH (l, &t->leases, task_entry) {
		if (lease_works(l) && l->whole)
			return true;
	}
	return false;
}

uint64_t connect_take_most(const struct sched_task *t)
{
	const struct connect *c = &t->connect;
	uint64_t trial_us = rtts(t, SLOW_RTTS);

	if (!c->trial || c->refusals == 0 || trial_us >= BRIEF_TRIAL_US)
		return UINT64_MAX;
	/* What one connection brings in half as long again as the trial is. */
	return (uint64_t)((double)c->base_bps / c->target * (double)trial_us * 1.5 / 1e6);
}

static void try(struct sched_task *t, unsigned int times, uint64_t now_us)
{
	struct connect *c = &t->connect;
	const struct sched_origin *o = connect_origin(t);

	c->trial = c->target * times < target_max(t) ? c->target * times : target_max(t);
	c->trial_us = now_us;
	task_kick(t);
	enter(t, CONNECT_SETTLE, origin_cost_us(o, now_us) + origin_rtt_us(o), now_us);
}

/* Try so many times as many, or wait when there is no reason to. */
static void try_more(struct sched_task *t, unsigned int times, uint64_t now_us)
{
	struct connect *c = &t->connect;
	const struct sched_origin *o = connect_origin(t);

	if (c->target >= target_max(t) || only_whole(t) || !slot_free(o, PRIO_WINDOW) ||
	    !worth_while(t, c->base_bps, now_us)) {
		c->wait_until_us = now_us;
		enter(t, CONNECT_WAIT, rtts(t, QUICK_RTTS), now_us);
		return;
	}
	try(t, times, now_us);
}

static void measured(struct sched_task *t, uint64_t now_us)
{
	struct connect *c = &t->connect;
	uint64_t rate = window_rate(c, now_us), before = c->half_bps;

	if (c->disturbed || rate == 0) {
		c->half_bps = 0;
	} else if (before && rate <= before + before / 4) {
		c->base_bps = before / 2 + rate / 2;
		try_more(t, 2, now_us);
		return;
	} else {
		c->half_bps = rate;
	}
	enter(t, CONNECT_MEASURE, rtts(t, QUICK_RTTS) / 2, now_us);
}

/*
 * The flow that filled the path keeps it: a new one that got no share in its slow start would stay
 * behind with what it was given, alone and slow, when the other is through.
 */
static void withdraw(struct sched_task *t)
{
	struct connect *c = &t->connect;
	uint64_t little =
		(uint64_t)((double)c->base_bps / c->target * (double)rtts(t, GIVE_BACK_RTTS) / 1e6);
	uint64_t most = connect_take_most(t);
	struct lease_priv *l;

	TAILQ_FOREACH (l, &t->leases, task_entry) {
		if (l->start_us >= c->trial_us && l->pos - l->pub.off <= little &&
		    (most == UINT64_MAX || lease_rest(l) > most))
			lease_give_back(l);
	}
}

static void refuse(struct sched_task *t, uint64_t now_us)
{
	struct connect *c = &t->connect;
	uint64_t wait = max_u64(WAIT_TRIALS * rtts(t, SLOW_RTTS), WAIT_MIN_US);

	if (c->trial)
		withdraw(t);
	c->trial = 0;
	c->wait_until_us = now_us + (wait << min_u64(c->refusals, WAIT_DOUBLE));
	c->refusals++;
	enter(t, CONNECT_WAIT, max_u64(rtts(t, WATCH_RTTS), WATCH_MIN_US), now_us);
}

static void judged(struct sched_task *t, uint64_t now_us)
{
	struct connect *c = &t->connect;
	uint64_t rate = window_rate(c, now_us);
	uint64_t slow = rtts(t, SLOW_RTTS), span = now_us - c->since_us;
	bool last = span >= slow, fourfold = c->trial > c->target * 2, in_step;

	if (c->disturbed || t->running <= c->target) {
		/* There was no work for more, or a demand had the link: this says nothing. */
		c->trial = 0;
		c->wait_until_us = now_us;
		enter(t, CONNECT_WAIT, rtts(t, QUICK_RTTS), now_us);
		return;
	}
	if (fourfold && rate < c->base_bps + c->base_bps * 6 / 5) {
		try(t, 2, now_us);
		return;
	}
	if (rate >= c->base_bps + c->base_bps * 2 / 5 ||
	    (last && rate >= c->base_bps + c->base_bps / 4)) {
		in_step = (double)rate / c->trial >= 0.95 * (double)c->base_bps / c->target;
		c->target = c->trial;
		c->trial = 0;
		c->refusals = 0;
		c->base_bps = rate;
		try_more(t, in_step ? 4 : 2, now_us);
		return;
	}
	if (last) {
		refuse(t, now_us);
		return;
	}
	timer_set(t->sched, &c->timer, c->since_us + slow);
}

static void watched(struct sched_task *t, uint64_t now_us)
{
	struct connect *c = &t->connect;
	uint64_t rate = window_rate(c, now_us);
	bool fallen =
		!c->disturbed && t->running >= c->target && rate < c->base_bps - c->base_bps / 4;

	if (!c->disturbed && !fallen && rate && c->refusals == 0 && now_us >= c->wait_until_us) {
		/* It waited for a reason, not after a refusal: the rate is known already. */
		c->base_bps = rate;
		try_more(t, 2, now_us);
		return;
	}
	if (fallen || now_us >= c->wait_until_us) {
		c->half_bps = 0;
		enter(t, CONNECT_MEASURE, rtts(t, QUICK_RTTS) / 2, now_us);
		return;
	}
	enter(t, CONNECT_WAIT, max_u64(rtts(t, WATCH_RTTS), WATCH_MIN_US), now_us);
}

void connect_timer(struct sched *s, struct timer *timer, uint64_t now_us)
{
	struct connect *c = container_of(timer, struct connect, timer);
	struct sched_task *t = container_of(c, struct sched_task, connect);

	(void)s;
	if (t->running == 0) {
		c->state = CONNECT_IDLE;
		c->trial = 0;
		return;
	}
	/* A connection that found nothing to take when it became free may find something now. */
	if (t->running < connect_target(t))
		task_kick(t);
	switch (c->state) {
	case CONNECT_IDLE:
	case CONNECT_STATE_COUNT:
		break;
	case CONNECT_MEASURE:
		measured(t, now_us);
		break;
	case CONNECT_SETTLE:
		enter(t, CONNECT_TRIAL, rtts_or(t, QUICK_RTTS, TRIAL_MIN_US), now_us);
		break;
	case CONNECT_TRIAL:
		judged(t, now_us);
		break;
	case CONNECT_WAIT:
		watched(t, now_us);
		break;
	}
}

void connect_halve(struct sched_task *t, uint64_t now_us)
{
	struct connect *c = &t->connect;

	if (t->sched->cfg.connections != 0 || c->state == CONNECT_IDLE)
		return;
	/* A trial that was answered so goes back to what was accepted. */
	if (!c->trial) {
		c->target = c->target > 1 ? c->target / 2 : 1;
		c->base_bps = window_rate(c, now_us);
	}
	refuse(t, now_us);
}
