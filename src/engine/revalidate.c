/*
 * revalidate.c - is a complete file still what its origin has?
 *
 * Asked in the background of an open when the last answer is older than the user allows; the open
 * itself never waits for it. What the manifest pins is never asked about. The engine thread alone
 * enters.
 */
#include "base/clock.h"
#include "engine/internal.h"
#include "engine/task.h"

#define ASK_AGAIN_US (5 * USEC_PER_SEC) /* after no answer */
#define ASKED_MAX    4096 /* objects at once; who opens one more asks with the next open */

static bool due(const struct object *o, uint64_t now_us)
{
	uint64_t allowed_us = o->e->cfg.revalidate_us;
	int64_t age_s = clock_wall_s() - o->asked_s;

	if (allowed_us == UINT64_MAX || o->e->cfg.offline || object_version_pinned(o) ||
	    !o->complete || o->revalidating || now_us < o->revalidate_after_us)
		return false;
	/* A clock that was set back makes ages negative: ask. */
	return allowed_us == 0 || age_s < 0 || (uint64_t)age_s * USEC_PER_SEC >= allowed_us;
}

void revalidate_opened(struct object *o, uint64_t now_us)
{
	struct engine *e = o->e;
	struct task *t;

	if (!due(o, now_us) || atomic_load(&e->stopping) || e->revalidating_count >= ASKED_MAX ||
	    task_open(o, false, &t) < 0)
		return;
	/* Who opened it may have read all of it and closed it long before the answer. */
	object_get(o);
	TAILQ_INSERT_TAIL(&e->revalidating, o, revalidating_link);
	e->revalidating_count++;
	o->revalidating = true;
	o->revalidate_after_us = now_us + ASK_AGAIN_US;
	o->revalidate_until_us =
		e->cfg.sched.retry_time_us ? now_us + e->cfg.sched.retry_time_us : UINT64_MAX;
	if (sched_task_probe(e->sched, t->st, PRIO_BACKFILL, now_us) < 0)
		revalidate_end(o);
}

void revalidate_end(struct object *o)
{
	struct engine *e = o->e;

	if (!o->revalidating)
		return;
	TAILQ_REMOVE(&e->revalidating, o, revalidating_link);
	e->revalidating_count--;
	o->revalidating = false;
	object_rest(o);
	object_put(o);
}

void revalidate_answered(struct object *o)
{
	object_remember(o);
	revalidate_end(o);
}

void revalidate_failed(struct object *o)
{
	mtx_lock(&o->e->lock);
	o->stale = true;
	mtx_unlock(&o->e->lock);
	revalidate_end(o);
}

void revalidate_sweep(struct engine *e, uint64_t now_us)
{
	struct object *o;

	while ((o = TAILQ_FIRST(&e->revalidating)) && now_us >= o->revalidate_until_us) {
		struct task *t = o->task;

		object_get(o);
		revalidate_failed(o);
		/* Nobody waits for the answer any more, so nobody asks. */
		if (t && !t->want_count && !LIST_FIRST(&o->probes))
			task_close(t);
		object_rest(o);
		object_put(o);
	}
}
