/*
 * sched_report.c - what transfers tell the scheduler
 * Callers: the engine thread, as the messages of transfers arrive.
 */
#include "core/sched_internal.h"

void sched_lease_connected(struct sched *s, struct lease *pub, uint64_t connect_us,
			   uint64_t asked_us)
{
	struct lease_priv *l = lease_priv(pub);

	(void)s;
	if (l->connected)
		return;
	l->connected = true;
	l->asked_us = max_u64(asked_us, l->start_us);
	/* A reused connection tells nothing of what a new one costs. */
	if (connect_us)
		origin_connect_sample(l->origin, connect_us,
				      l->via ? connect_us : l->asked_us - l->start_us);
}

/* The first of two that were asked for the same decides: the other has brought nothing yet. */
static void race_won(struct lease_priv *l)
{
	struct lease_priv *loser = l->rival;

	l->rival = loser->rival = NULL;
	lease_cancel(loser);
	if (!l->hedge)
		return;
	struct range rest = {loser->pub.off, lease_end(loser)};

	lease_unlist(loser);
	l->hedge = false;
	lease_unlist(l);
	lease_list_add(l);
	task_recheck(l->pub.task, rest);
}

void sched_lease_answered(struct sched *s, struct lease *pub, uint64_t now_us)
{
	struct lease_priv *l = lease_priv(pub);
	struct sched_task *t = pub->task;
	struct sched_origin *o = l->origin;

	(void)s;
	if (l->answered || l->state != LEASE_RUNNING)
		return;
	l->answered = true;
	o->good_us = max_u64(o->good_us, l->start_us);
	l->bytes_us = now_us;
	meter_restart(&l->meter, now_us);
	origin_ttfb_sample(o, now_us - (l->connected ? l->asked_us : l->start_us));
	if (o->banned_until_us && o->test == l)
		origin_unban(o);
	if (l->cancelled)
		return;
	if (l->rival)
		race_won(l);
	if (!l->was_whole)
		source_gave_range(t, pub->source);
	lease_arm(l, now_us);
	task_kick(t);
}

/* Somebody else may serve ranges of t. */
static bool ranges_elsewhere(const struct sched_task *t, uint64_t now_us)
{
	for (unsigned int i = 0; i < t->source_count; i++) {
		const struct source *src = &t->source[i];

		if (src->refused == VERDICT_PART && !src->no_ranges && src->until_us <= now_us &&
		    origin_open(src->origin, now_us))
			return true;
	}
	return false;
}

bool sched_lease_whole(struct sched *s, struct lease *pub, uint64_t now_us)
{
	struct lease_priv *l = lease_priv(pub);
	struct sched_task *t = pub->task;
	struct lease_priv *other, *next;

	(void)s;
	if (!pub->unranged && !source_gave_whole(t, pub->source, pub->off, now_us))
		return false;
	if (l->cancelled || l->state != LEASE_RUNNING || t->closed || pub->probe || l->hedge)
		return false;
	TAILQ_FOREACH (other, &t->leases, task_entry) {
		if (other != l && lease_works(other) && other->whole)
			return false;
	}
	if (pub->off != 0 && ranges_elsewhere(t, now_us))
		return false;
	TAILQ_FOREACH_SAFE (other, &t->leases, task_entry, next) {
		if (other != l)
			lease_cancel(other);
	}
	lease_unlist(l);
	l->whole = l->was_whole = true;
	pub->off = l->pos = 0;
	atomic_store(&pub->end, t->size);
	l->asked_end = t->size;
	lease_list_add(l);
	lease_reprio(l);
	lease_arm(l, now_us);
	task_kick(t);
	return true;
}

static void lease_bytes(struct lease_priv *l, uint64_t pos, uint64_t now_us)
{
	struct sched_task *t = l->pub.task;
	struct sched_origin *o = l->origin;
	uint64_t from = l->pos, delta, old = l->meter.since_us;

	pos = min_u64(pos, lease_end(l));
	if (pos <= from)
		return;
	delta = pos - from;
	l->pos = pos;
	l->bytes_us = o->bytes_us = now_us;
	meter_add(&l->meter, delta, 50 * USEC_PER_MS, now_us);
	if (l->meter.since_us != old && !l->held)
		o->lease_bps = o->lease_bps
				       ? o->lease_bps - o->lease_bps / 8 + l->meter.rate_bps / 8
				       : l->meter.rate_bps;
	meter_add(&t->meter, delta, METER_US, now_us);
	meter_add(&o->meter, delta, METER_US, now_us);
	connect_bytes(t, delta, now_us);
	demand_nearer(l, from, pos);
	if (from < l->urgent_end && pos >= l->urgent_end)
		origin_touch(o);
}

void sched_lease_progress(struct sched *s, struct lease *pub, uint64_t pos, uint64_t now_us)
{
	struct lease_priv *l = lease_priv(pub);

	(void)s;
	if (l->state == LEASE_RUNNING && !pub->probe)
		lease_bytes(l, pos, now_us);
}

/* One of two in a race has failed before it was answered: the other runs alone. */
static void race_lost(struct lease_priv *l)
{
	struct lease_priv *other = l->rival;

	if (!other)
		return;
	l->rival = other->rival = NULL;
	if (!other->hedge)
		return;
	other->hedge = false;
	lease_unlist(l);
	lease_list_add(other);
	lease_reprio(other);
}

/* Too short for the meter: what it brought from its answer on says something all the same. */
static void short_rate(struct lease_priv *l, uint64_t now_us)
{
	struct sched_origin *o = l->origin;
	uint64_t bytes = l->meter.bytes, span = max_u64(now_us - l->meter.since_us, USEC_PER_MS);
	uint64_t rate = bytes * USEC_PER_SEC / span;

	if (!l->answered || l->held || l->meter.rate_bps || bytes < BLOCK_SIZE)
		return;
	o->lease_bps = o->lease_bps ? o->lease_bps - o->lease_bps / 8 + rate / 8 : rate;
}

static void ended_verdict(struct lease_priv *l, enum verdict v, bool progressed,
			  uint64_t retry_after_us, uint64_t now_us)
{
	struct sched_task *t = l->pub.task;
	struct sched_origin *o = l->origin;
	enum verdict_class class = verdict_class(v);
	bool test = o->banned_until_us && l->start_us >= o->banned_until_us;

	/* Any answer of its own shows that the origin is there again. */
	if (test && class != VERDICT_CLASS_ORIGIN && class != VERDICT_CLASS_OURS)
		origin_unban(o);
	if (class == VERDICT_CLASS_GOOD) {
		source_good(t, l->pub.source);
		o->good_us = max_u64(o->good_us, l->start_us);
		origin_good(o, now_us);
		if (!l->cut && !l->cancelled) {
			o->warm++;
			o->warm_us = now_us;
		}
		t->soft_stalls = 0;
	} else if (v != VERDICT_CANCELLED) {
		/* One of a burst of refusals speaks for all. */
		if (v == VERDICT_STALL && !l->stalled)
			connect_halve(t, now_us);
		if (v == VERDICT_BUSY && source_busy_alone(t, l->pub.source, o, now_us)) {
			source_back_off(t, l->pub.source, v, retry_after_us, now_us);
			return;
		}
		if (class == VERDICT_CLASS_ORIGIN &&
		    origin_ban(o, v, l->start_us, retry_after_us, now_us))
			connect_halve(t, now_us);
		source_bad(t, l->pub.source, v, progressed, retry_after_us, now_us);
	}
}

void sched_lease_ended(struct sched *s, struct lease *pub, enum verdict v, uint64_t pos,
		       uint64_t retry_after_us, uint64_t now_us)
{
	struct lease_priv *l = lease_priv(pub);
	struct sched_task *t = pub->task;
	uint64_t end = lease_end(l), covered;
	bool good = verdict_class(v) == VERDICT_CLASS_GOOD, progressed;

	assert(l->state == LEASE_RUNNING);
	if (!pub->probe)
		lease_bytes(l, pos, now_us);
	short_rate(l, now_us);
	race_lost(l);
	lease_release_slot(l);
	l->state = LEASE_DRAINING;
	TAILQ_REMOVE(&l->origin->leases, l, origin_entry);
	timer_set(s, &l->timer, NEVER);
	if (t->probe == l)
		t->probe = NULL;
	progressed = l->whole ? l->pos > t->whole_high
			      : l->pos - pub->off >= BLOCK_SIZE || l->pos == end;
	if (l->whole)
		t->whole_high = max_u64(t->whole_high, l->pos);
	/* It was waited for long enough; the next waits twice as long. */
	if (l->stalled && v == VERDICT_CANCELLED) {
		v = VERDICT_STALL;
		progressed = true;
	}
	/* An answer that brings nothing is none: without a pause it would be asked again at once.
	 */
	if (good && v != VERDICT_EMPTY && !pub->probe && l->pos == pub->off && l->pos < end &&
	    !l->cancelled)
		v = VERDICT_SHORT;
	ended_verdict(l, v, progressed, retry_after_us, now_us);
	if (good && t->size == SIZE_UNKNOWN && !pub->probe && end == SIZE_UNKNOWN &&
	    v != VERDICT_SHORT)
		sched_task_set_size(s, t, l->pos, now_us);
	if (pub->probe) {
		if (good)
			t->probe_wanted = false;
	} else {
		covered = l->pos >= t->size ? l->pos : block_floor(l->pos);
		atomic_store(&pub->end, max_u64(min_u64(covered, end), pub->off));
		if (l->given_back)
			lease_regrow(l, end);
	}
	task_recheck(t, range_make(pub->off, max_u64(end, pub->off)));
	origin_touch(l->origin);
}

void sched_lease_written(struct sched *s, struct lease *pub, uint64_t now_us)
{
	struct lease_priv *l = lease_priv(pub);
	struct sched_task *t = pub->task;

	(void)s;
	(void)now_us;
	assert(l->state == LEASE_DRAINING);
	if (!pub->probe)
		task_recheck(t, range_make(pub->off, lease_end(l)));
	lease_free(l);
}
