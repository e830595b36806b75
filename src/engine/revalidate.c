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
	struct task *t;

	if (!due(o, now_us) || atomic_load(&o->e->stopping) || task_open(o, false, &t) < 0)
		return;
	o->revalidating = true;
	o->revalidate_after_us = now_us + ASK_AGAIN_US;
	if (sched_task_probe(o->e->sched, t->st, PRIO_BACKFILL, now_us) < 0)
		o->revalidating = false;
}

void revalidate_answered(struct object *o)
{
	o->revalidating = false;
	object_remember(o);
	object_rest(o);
}

void revalidate_failed(struct object *o)
{
	o->revalidating = false;
	mtx_lock(&o->e->lock);
	o->stale = true;
	mtx_unlock(&o->e->lock);
}
