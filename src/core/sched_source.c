/*
 * sched_source.c - which mirror a task asks, and what a verdict does to it
 *
 * In order of preference, those in trouble behind the others, and a source without ranges last of
 * all: it costs the whole body.
 */
#include "core/sched_internal.h"

/* How long a source without ranges is not asked for one, doubling. */
#define RANGES_FIRST_US	 (10 * USEC_PER_SEC)
#define RANGES_DOUBLINGS 6

/* When the source may be asked; what is over counts as 0, so that order of preference decides. */
static uint64_t available_at(const struct source *src, uint64_t now_us)
{
	uint64_t at = max_u64(src->until_us, src->origin->banned_until_us);

	if (at > now_us)
		return at;
	return origin_open(src->origin, now_us) ? 0 : now_us;
}

static unsigned int demerits(const struct source *src, bool avoid, uint64_t now_us)
{
	return (avoid ? 4 : 0) + (src->no_ranges ? 2 : 0) + (src->slow_until_us > now_us ? 1 : 0);
}

void sched_task_ranges(const struct sched_task *t, unsigned int index, struct sched_ranges *ret)
{
	const struct source *src = &t->source[index];

	*ret = (struct sched_ranges){src->no_ranges, src->wholes, src->ranges_us};
}

void sched_task_set_ranges(struct sched_task *t, unsigned int index, const struct sched_ranges *r)
{
	struct source *src = &t->source[index];

	src->no_ranges = r->none;
	src->wholes = r->wholes;
	src->ranges_us = r->again_us;
}

int source_pick(const struct sched_task *t, unsigned int avoid, uint64_t now_us,
		unsigned int *ret_index, uint64_t *ret_at_us)
{
	unsigned int best = t->source_count, best_demerits = 0;
	uint64_t best_at = NEVER;

	for (unsigned int i = 0; i < t->source_count; i++) {
		const struct source *src = &t->source[i];
		unsigned int d = demerits(src, i == avoid, now_us);
		uint64_t at;

		if (src->refused != VERDICT_PART)
			continue;
		at = available_at(src, now_us);
		if (best < t->source_count &&
		    (at > best_at || (at == best_at && d >= best_demerits)))
			continue;
		best = i;
		best_at = at;
		best_demerits = d;
	}
	if (best == t->source_count)
		return -EIO;
	/* A ban is waited for in the queue of the origin, whose timer wakes all at once. */
	if (t->source[best].until_us > now_us) {
		*ret_at_us = t->source[best].until_us;
		return -EAGAIN;
	}
	*ret_index = best;
	return 0;
}

unsigned int source_spare(const struct sched_task *t, uint64_t now_us)
{
	unsigned int i;

	for (i = 0; i < t->source_count; i++) {
		const struct source *src = &t->source[i];

		if (src->refused == VERDICT_PART && !src->no_ranges && src->until_us <= now_us &&
		    origin_open(src->origin, now_us) && slot_free(src->origin, PRIO_DEMAND))
			break;
	}
	return i;
}

enum verdict source_why(const struct sched_task *t)
{
	for (unsigned int i = 0; i < t->source_count; i++) {
		if (t->source[i].refused != VERDICT_PART)
			return t->source[i].refused;
	}
	return t->last != VERDICT_PART ? t->last : VERDICT_INTERNAL;
}

void sched_source_set_origin(struct sched *s, struct sched_task *t, unsigned int index,
			     struct sched_origin *o)
{
	(void)s;
	if (t->source[index].origin == o)
		return;
	t->source[index].origin = o;
	task_kick(t);
}

void source_good(struct sched_task *t, unsigned int index)
{
	struct source *src = &t->source[index];

	src->fails = 0;
	src->until_us = 0;
	src->busy_us = 0;
	src->reresolved = false;
}

bool source_gave_whole(struct sched_task *t, unsigned int index, uint64_t off, uint64_t now_us)
{
	struct source *src = &t->source[index];

	if (++src->wholes == 1 && off > SCHED_WHOLE_NEAR_BYTES)
		return false;
	src->no_ranges = true;
	src->ranges_us = now_us + (RANGES_FIRST_US << min_u64(src->wholes - 1, RANGES_DOUBLINGS));
	return true;
}

void source_gave_range(struct sched_task *t, unsigned int index)
{
	struct source *src = &t->source[index];
	struct lease_priv *l;

	src->wholes = 0;
	if (!src->no_ranges)
		return;
	src->no_ranges = false;
	/* What it is sending from 0 is a lease like any other: who waits far behind needs not. */
	TAILQ_FOREACH (l, &t->leases, task_entry) {
		if (l->whole && l->pub.source == index)
			l->whole = false;
	}
	task_recheck(t, range_make(0, UINT64_MAX));
}

bool source_asks_whole(const struct source *src, uint64_t now_us)
{
	return src->no_ranges && now_us < src->ranges_us;
}

static void back_off(struct sched_task *t, struct source *src, uint64_t retry_after_us,
		     uint64_t now_us)
{
	uint64_t delay;

	src->fails++;
	delay = retry_delay_us(src->fails, RETRY_SOURCE_FIRST_US, RETRY_SOURCE_MAX_US,
			       &t->sched->random);
	src->until_us = now_us + max_u64(delay, min_u64(retry_after_us, RETRY_AFTER_MAX_US));
	task_arm(t, src->until_us);
}

bool source_busy_alone(struct sched_task *t, unsigned int index, const struct sched_origin *o,
		       uint64_t now_us)
{
	struct source *src = &t->source[index];
	bool alone = src->busy_us && o->good_us > src->busy_us;

	src->busy_us = now_us;
	return alone;
}

void source_back_off(struct sched_task *t, unsigned int index, enum verdict v,
		     uint64_t retry_after_us, uint64_t now_us)
{
	t->last = v;
	t->sched->stats.retries++;
	back_off(t, &t->source[index], retry_after_us, now_us);
}

void sched_source_refuse(struct sched_task *t, unsigned int index, enum verdict why)
{
	t->source[index].refused = why;
	t->last = why;
	task_kick(t);
}

void sched_task_wait(struct sched *s, struct sched_task *t, uint64_t until_us, enum verdict why,
		     uint64_t now_us)
{
	(void)s;
	if (until_us <= now_us)
		return;
	for (unsigned int i = 0; i < t->source_count; i++)
		t->source[i].until_us = max_u64(t->source[i].until_us, until_us);
	t->last = why;
	task_kick(t);
}

void source_bad(struct sched_task *t, unsigned int index, enum verdict v, bool progressed,
		uint64_t retry_after_us, uint64_t now_us)
{
	struct source *src = &t->source[index];

	t->last = v;
	t->sched->stats.retries++;
	switch (verdict_class(v)) {
	case VERDICT_CLASS_GOOD:
		break;
	case VERDICT_CLASS_VERSION: /* of this source; who wants the new version makes a new task */
	case VERDICT_CLASS_SOURCE:
		src->refused = v;
		break;
	case VERDICT_CLASS_RERESOLVE:
		if (src->reresolved)
			src->refused = v;
		src->reresolved = true;
		break;
	case VERDICT_CLASS_ORIGIN: /* the ban is the back-off */
		break;
	case VERDICT_CLASS_RETRY:
		/* What broke after it had brought something is asked again at once. */
		if (progressed && retry_after_us == 0)
			src->fails = 0;
		else
			back_off(t, src, retry_after_us, now_us);
		break;
	case VERDICT_CLASS_OURS:
		if (v == VERDICT_OFFLINE)
			src->refused = v;
		else
			back_off(t, src, USEC_PER_SEC, now_us);
		break;
	}
}
