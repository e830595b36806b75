/*
 * probe.c - asking what the manifest does not tell: size, date, validator
 *
 * Callers: a stat() of a file of unknown size, fills, and engine_ask_sizes(). Any thread asks; the
 * engine thread keeps those who wait on the object's list and answers all of them with the first
 * answer that says something, whichever transfer brought it.
 *
 * A host that refuses connections, or whose name does not resolve, is not waited for until the
 * deadline, nor for each file of a directory: whoever stands at a terminal is told after a moment,
 * and those who ask next at once.
 */
#include "base/clock.h"
#include "engine/internal.h"
#include "engine/readers.h"
#include "engine/task.h"

#define PROBE_MEMORY_US (5 * USEC_PER_SEC) /* a failed question is not asked again so soon */

/* Why q is told now; VERDICT_PART: it waits on. */
static enum verdict probe_over(const struct probe *q, uint64_t now_us)
{
	const struct task *t = q->obj->task;

	/* It waits for what can't be reached, for long enough. */
	if (q->urgent && t && q->until_us != UINT64_MAX && now_us - q->asked_us >= REACH_US &&
	    task_unreached(t, now_us - REACH_US))
		return t->source[0].at->unreached;
	return now_us < q->until_us ? VERDICT_PART : VERDICT_STALL;
}

static bool probe_known(struct object *o)
{
	bool known;

	mtx_lock(&o->e->lock);
	known = o->size != SIZE_UNKNOWN || o->length_unknown;
	mtx_unlock(&o->e->lock);
	return known;
}

static void probe_put(struct probe *q)
{
	if (atomic_fetch_sub(&q->refs, 1) == 1)
		free(q); /* NOLINT(clang-analyzer-unix.Malloc): counted */
}

/* It is on no list. */
static void probe_end(struct probe *q, int error)
{
	struct object *o = q->obj;

	q->done(q->ctx, error);
	probe_put(q);
	object_put(o);
}

static void probe_told(struct probe *q, int error)
{
	LIST_REMOVE(q, link);
	q->waits = false;
	probe_end(q, error);
}

void probes_answer(struct object *o, int error)
{
	struct probe_list list = o->probes;
	struct probe *q;

	LIST_INIT(&o->probes);
	if (LIST_FIRST(&list))
		LIST_FIRST(&list)->link.le_prev = &LIST_FIRST(&list);
	while ((q = LIST_FIRST(&list)) != NULL)
		probe_told(q, error); /* NOLINT(clang-analyzer-unix.Malloc): off the list by then */
	if (o->in_probing) {
		TAILQ_REMOVE(&o->e->probing, o, probing_link);
		o->in_probing = false;
	}
	object_rest(o);
}

/* Ask for those who wait. */
static void probes_ask(struct object *o, struct task *t, bool urgent, uint64_t now_us)
{
	if (sched_task_probe(o->e->sched, t->st, urgent ? PRIO_DEMAND : PRIO_BACKFILL, now_us) < 0)
		probes_answer(o, -EIO);
}

static void probe_asked(struct engine *e, struct msg *m)
{
	struct probe *q = container_of(m, struct probe, msg);
	struct object *o = q->obj;
	uint64_t now_us = clock_now_us();
	struct task *t;

	if (probe_known(o)) {
		probe_end(q, 0);
		return;
	}
	if (q->cancelled) {
		probe_end(q, -EINTR);
		return;
	}
	if (e->cfg.offline || atomic_load(&e->stopping) || task_open(o, false, &t) < 0) {
		probe_end(q, -EIO);
		return;
	}
	if (o->probe_failed_us && now_us - o->probe_failed_us < PROBE_MEMORY_US) {
		probe_end(q, o->gone_us ? -ENOENT : -EIO);
		return;
	}
	if (q->urgent && task_given_up(t, now_us)) {
		object_failed(o, t->source[0].at->unreached);
		probe_end(q, -EIO);
		return;
	}
	if (q->urgent)
		task_test(t, now_us);
	q->asked_us = now_us;
	q->until_us = e->cfg.sched.retry_time_us ? now_us + e->cfg.sched.retry_time_us : UINT64_MAX;
	LIST_INSERT_HEAD(&o->probes, q, link);
	q->waits = true;
	if (!o->in_probing) {
		TAILQ_INSERT_TAIL(&e->probing, o, probing_link);
		o->in_probing = true;
	}
	probes_ask(o, t, q->urgent, now_us);
}

void probes_renew(struct object *o, uint64_t now_us)
{
	struct probe *q;
	struct task *t;
	bool urgent = false;

	LIST_FOREACH (q, &o->probes, link)
		urgent |= q->urgent;
	if (task_open(o, false, &t) < 0)
		probes_answer(o, -EIO);
	else if (LIST_FIRST(&o->probes))
		probes_ask(o, t, urgent, now_us);
}

struct probe *probe_new(struct object *o, bool urgent, void (*done)(void *ctx, int error),
			void *ctx)
{
	struct probe *q = calloc(1, sizeof(*q));

	if (!q)
		return NULL;
	atomic_init(&q->refs, 1);
	q->obj = object_get(o);
	q->e = o->e;
	q->urgent = urgent;
	q->done = done;
	q->ctx = ctx;
	return q;
}

void probe_begin(struct probe *q)
{
	if (probe_known(q->obj))
		probe_end(q, 0);
	else
		engine_post(q->e, &q->msg, probe_asked);
}

void object_probe(struct object *o, bool urgent, void (*done)(void *ctx, int error), void *ctx)
{
	struct probe *q = probe_new(o, urgent, done, ctx);

	if (q)
		probe_begin(q);
	else
		done(ctx, -EIO);
}

/* Some of those who waited for o's answer were told something else. */
static void probes_left(struct object *o)
{
	if (LIST_FIRST(&o->probes))
		return;
	/* Nobody waits for the answer any more, so nobody asks. */
	if (o->task && !o->task->want_count && !o->revalidating)
		task_close(o->task);
	TAILQ_REMOVE(&o->e->probing, o, probing_link);
	o->in_probing = false;
	object_rest(o);
}

static void probe_cancelled(struct engine *e, struct msg *m)
{
	struct probe *q = container_of(m, struct probe, cancel_msg);

	(void)e;
	q->cancelled = true; /* if it has not been asked yet */
	if (q->waits) {
		struct object *o = object_get(q->obj);

		probe_told(q, -EINTR);
		probes_left(o);
		object_put(o);
	}
	probe_put(q);
}

void probe_cancel(struct probe *q)
{
	if (atomic_exchange(&q->cancel_posted, true))
		return;
	atomic_fetch_add(&q->refs, 1);
	engine_post(q->e, &q->cancel_msg, probe_cancelled);
}

void probes_sweep(struct engine *e, uint64_t now_us)
{
	struct object *o, *tmp;

	TAILQ_FOREACH_SAFE (o, &e->probing, probing_link, tmp) {
		struct probe *q, *next;

		LIST_FOREACH_SAFE (q, &o->probes, link, next) {
			enum verdict why = probe_over(q, now_us);

			if (why == VERDICT_PART)
				continue;
			o->probe_failed_us = now_us;
			if (o->task)
				task_give_up(o->task, now_us);
			object_failed(o, why);
			probe_told(q, -ETIMEDOUT);
		}
		probes_left(o);
	}
}
