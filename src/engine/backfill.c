/*
 * backfill.c - fetching what nobody waits for: the rest of files that are really read
 *
 * The engine thread alone enters, but for the message that a reader posts. A backfill never evicts
 * anything and never starts what would not fit beside what others under way still need: it reserves
 * the bytes it may add. While the cache has no room it keeps its place and wants nothing.
 */
#include "base/clock.h"
#include "engine/internal.h"
#include "engine/readers.h"
#include "engine/task.h"

static void unreserve(struct object *o)
{
	o->e->backfill_reserved -= o->backfill_reserved;
	o->backfill_reserved = 0;
}

/* False: they do not fit. */
static bool reserve(struct object *o, uint64_t bytes)
{
	struct engine *e = o->e;
	uint64_t others = add_sat_u64(e->backfill_reserved, e->fill_reserved);

	if (e->degraded || !store_has_room(e->store, add_sat_u64(others, bytes)))
		return false;
	o->backfill_reserved = bytes;
	e->backfill_reserved += bytes;
	return true;
}

static void suspend(struct object *o, uint64_t now_us)
{
	want_remove(&o->backfill_want, now_us);
	unreserve(o);
}

void backfill_end(struct object *o)
{
	struct engine *e = o->e;
	struct roll *roll = o->backfill_roll;

	if (!o->backfill)
		return;
	o->backfill = false;
	o->backfill_roll = NULL;
	unreserve(o);
	TAILQ_REMOVE(&e->backfilling, o, backfill_link);
	if (roll)
		roll_returned(roll);
	object_rest(o);
	object_put(o);
}

void backfill_satisfied(struct object *o)
{
	object_arrived(o);
	backfill_end(o);
}

void backfill_want_failed(struct object *o, enum verdict why)
{
	if (why != VERDICT_CANCELLED)
		backfill_end(o);
	else /* its task was closed, for another version */
		unreserve(o);
}

/* Ask for the size first. */
static void backfill_sized(struct engine *e, struct msg *m)
{
	struct object *o = container_of(m, struct object, backfill_size_msg);

	(void)e;
	o->backfill_asking = false;
	if (o->backfill_error)
		backfill_end(o);
	else
		backfill_go(o, clock_now_us());
	object_put(o);
}

static void backfill_probed(void *ctx, int error)
{
	struct object *o = ctx;

	o->backfill_error = error;
	engine_post(o->e, &o->backfill_size_msg, backfill_sized);
}

static uint64_t missing(struct object *o)
{
	struct object_info info;

	object_info(o, &info);
	return info.size > info.bytes_cached ? info.size - info.bytes_cached : 0;
}

void backfill_go(struct object *o, uint64_t now_us)
{
	struct engine *e = o->e;
	struct task *t;

	if (!o->backfill || o->backfill_want.task || o->backfill_asking || o->verifying)
		return;
	if (o->complete || o->content_bad || e->cfg.offline || atomic_load(&e->stopping)) {
		backfill_end(o);
		return;
	}
	if (o->size == SIZE_UNKNOWN && !o->length_unknown) {
		o->backfill_asking = true;
		object_get(o);
		object_probe(o, false, backfill_probed, o);
		return;
	}
	if (!reserve(o, missing(o)))
		return; /* the sweep looks again */
	if (task_open(o, true, &t) < 0) {
		backfill_end(o);
		return;
	}
	o->backfill_want.kind = WANT_BACKFILL;
	o->backfill_want.prio = PRIO_BACKFILL;
	o->backfill_want.range = range_make(0, o->size);
	want_add(t, &o->backfill_want, now_us);
}

bool backfill_start(struct object *o, struct roll *roll)
{
	if (o->backfill)
		return false;
	object_get(o);
	object_wake(o);
	o->backfill = true;
	o->backfill_roll = roll;
	TAILQ_INSERT_TAIL(&o->e->backfilling, o, backfill_link);
	backfill_go(o, clock_now_us());
	return true;
}

void backfill_posted(struct engine *e, struct msg *m)
{
	struct object *o = container_of(m, struct object, backfill_msg);

	(void)e;
	if (!o->complete)
		backfill_start(o, NULL);
	object_put(o);
}

void backfill_forget(struct object *o, uint64_t now_us)
{
	want_remove(&o->backfill_want, now_us);
	backfill_end(o);
	learned_forget_reads(o);
	atomic_store(&o->backfill_posted, false);
}

void backfills_sweep(struct engine *e, uint64_t now_us)
{
	struct object *o, *tmp;

	/* Those under way: what is there by now is not to come, and readers may have taken room. */
	TAILQ_FOREACH (o, &e->backfilling, backfill_link) {
		if (!o->backfill_want.task)
			continue;
		unreserve(o);
		if (!reserve(o, missing(o)))
			suspend(o, now_us);
	}
	TAILQ_FOREACH_SAFE (o, &e->backfilling, backfill_link, tmp)
		backfill_go(o, now_us);
}

void backfill_refused(struct object *o)
{
	if (!o->backfill)
		return;
	if (o->size == SIZE_UNKNOWN)
		backfill_end(o); /* it would begin at 0 again */
	else
		suspend(o, clock_now_us());
}

void backfills_replace(struct engine *e, const struct manifest *m)
{
	struct object *o, *tmp;

	TAILQ_FOREACH_SAFE (o, &e->backfilling, backfill_link, tmp) {
		bool over;

		mtx_lock(&e->lock);
		over = o->handles == 0 && manifest_newer(m, o->manifest);
		mtx_unlock(&e->lock);
		if (!over)
			continue;
		want_remove(&o->backfill_want, clock_now_us());
		backfill_end(o);
	}
}

void backfills_quit(struct engine *e)
{
	struct object *o, *tmp;

	TAILQ_FOREACH_SAFE (o, &e->backfilling, backfill_link, tmp) {
		want_remove(&o->backfill_want, clock_now_us());
		backfill_end(o);
	}
}
