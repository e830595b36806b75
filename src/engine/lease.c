/*
 * lease.c - what the sched asks for, and how far it has come
 *
 * The engine thread alone enters: as struct sched_ops from within sched_*(), and with messages that
 * pull.c posts (those of an answer and of an end: answer.c). In ops nothing may call back into the
 * sched; in messages everything may.
 */
#include "base/clock.h"
#include "engine/internal.h"
#include "engine/readers.h"
#include "engine/task.h"

#define WHOLE_CLOSED_US (2 * USEC_PER_SEC)  /* a whole body goes on so long for nobody … */
#define WHOLE_OPEN_US	(30 * USEC_PER_SEC) /* … and where somebody may read on */

/* ---- ops ---- */

static int op_next_gap(void *ctx, void *task_user, struct range within, struct range *ret)
{
	struct task *t = task_user;

	(void)ctx;
	return t->version ? version_next_gap(t->version, within, ret) : -ENOENT;
}

static struct pull *pull_new(struct task *t, struct lease *l)
{
	struct object *o = t->obj;
	struct pull *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->e = t->e;
	p->lease = l;
	p->task = t;
	p->probe = l->probe;
	p->demand = l->prio == PRIO_DEMAND;
	p->source = l->source;
	p->source_url = t->source[l->source].url;
	p->version = t->version && !l->probe ? version_get(t->version) : NULL;
	p->lane = p->demand ? LANE_DEMAND : LANE_BULK;
	if (clock_now_us() < t->source[l->source].at->crowded_until_us)
		p->lane = t->source[l->source].at->worked;
	p->fetch = t->e->fetch[p->lane];
	p->slice_off = o->slice.off;
	p->slice_end = o->slice.end;
	p->size = o->size;
	p->total = SIZE_UNKNOWN;
	p->stream_size = SIZE_UNKNOWN;
	p->pinned = object_content_pinned(o);
	p->ignore_etag = t->source[l->source].origin->ignore_etag;
	p->started_us = clock_now_us();
	p->got = VALIDATOR_INIT;
	atomic_init(&p->end, l->probe ? l->off + 1 : atomic_load(&l->end));
	atomic_init(&p->pos, l->off);
	atomic_init(&p->pending, 1);
	atomic_init(&p->prio, (int)l->prio);
	t->refs++;
	LIST_INSERT_HEAD(&t->pulls, p, link);
	t->e->pulls++;
	l->user = p;
	return p;
}

static void pull_free(struct pull *p)
{
	struct task *t = p->task;

	LIST_REMOVE(p, link);
	t->e->pulls--;
	task_put(t);
	version_put(p->version);
	free(p->resolved);
	free(p->filename);
	free(p->asked);
	free(p);
}

static uint64_t to_wire(const struct pull *p, uint64_t off)
{
	return off == SIZE_UNKNOWN ? p->slice_end : add_sat_u64(off, p->slice_off);
}

static void pull_request(struct pull *p, struct transfer_request *rq)
{
	struct task *t = p->task;
	struct object *o = t->obj;
	struct source *s = &t->source[p->source];

	p->lease->unranged |= s->no_total && o->size == SIZE_UNKNOWN;
	p->ranged = !p->lease->unranged;
	p->asked_all = p->lease->off == 0 && atomic_load(&p->end) >= o->size;
	p->used_resolved =
		s->resolved && (!s->resolved_until_us || p->started_us < s->resolved_until_us);
	mtx_lock(&t->lock);
	rq->validator = s->validator;
	rq->validator_date = s->validator_date;
	mtx_unlock(&t->lock);

	rq->url = t->entry.url[s->url];
	rq->resolved = p->used_resolved ? s->resolved : NULL;
	rq->headers = t->headers;
	rq->range = range_make(p->ranged ? to_wire(p, p->lease->off) : 0,
			       to_wire(p, atomic_load(&p->end)));
	rq->ranged = p->ranged;
	rq->probe = p->probe;
	rq->if_range = p->ranged && !p->probe && !s->no_if_range && !p->ignore_etag;
	rq->fill = p->lease->prio >= PRIO_FILL;
	rq->urgent = p->demand;
	rq->foreign = manifest_foreign(o->manifest);
	rq->grid = p->slice_off;
	rq->end = &p->end;
	rq->end_add = p->slice_off;
	rq->ops = &pull_ops;
	rq->user = p;
	rq->want = (struct http_want){
		.range = rq->range,
		.ranged = rq->ranged,
		.if_range = rq->if_range,
		.size = object_sliced(o) ? SIZE_UNKNOWN : o->size,
		.size_pinned = !object_sliced(o) && o->manifest_size != SIZE_UNKNOWN,
		.content_pinned = p->pinned,
		.ignore_etag = p->ignore_etag,
		.have = validator_strength(&rq->validator) != VALIDATOR_NONE ? &rq->validator
									     : NULL,
	};
}

static void op_start(void *ctx, struct lease *l)
{
	struct engine *e = ctx;
	struct task *t = l->task_user;
	struct transfer_request rq = {0};
	struct pull *p;

	l->user = NULL;
	p = pull_new(t, l);
	if (!p) {
		assert(e->stillborn_count < e->stillborn_max);
		e->stillborn[e->stillborn_count++] = l;
		return;
	}
	pull_request(p, &rq);
	atomic_fetch_add(&t->obj->requests, 1);
	tell_lease(p, "begins");
	/* Further on it only asks whether there are ranges. */
	if (p->probe && l->off == 0) {
		mtx_lock(&e->lock);
		t->obj->checking = true;
		mtx_unlock(&e->lock);
	}
	if (fetch_start(p->fetch, &rq, &p->transfer) < 0) {
		p->transfer = NULL;
		p->result =
			(struct transfer_result){.verdict = VERDICT_INTERNAL, .pos = rq.range.off};
		engine_post(e, &p->ended_msg, pull_ended);
		pull_unpend(p);
	}
}

bool leases_bury(struct engine *e, uint64_t now_us)
{
	unsigned int count = e->stillborn_count;

	for (unsigned int i = 0; i < count; i++) {
		struct lease *l = e->stillborn[i];

		sched_lease_ended(e->sched, l, VERDICT_INTERNAL, l->off, 0, now_us);
		sched_lease_written(e->sched, l, now_us);
	}
	e->stillborn_count = 0;
	return count > 0;
}

/* Until we hear of its end; an order that crosses that on its way does nothing (FETCH_LINGER_US).
 */
static bool pull_listens(const struct pull *p)
{
	return p->transfer && !p->ended;
}

static void op_shrunk(void *ctx, struct lease *l)
{
	struct pull *p = l->user;

	(void)ctx;
	/* Between head()'s word that the body is the whole and the sched's, the end is head()'s. */
	if (!p || (atomic_load(&p->whole) && !p->whole_lease))
		return;
	atomic_store(&p->end, atomic_load(&l->end));
	tell_lease(p, "is cut");
	if (pull_listens(p))
		fetch_shrunk(p->fetch, p->transfer);
}

void pull_cancel(struct pull *p, bool at_once)
{
	if (pull_listens(p))
		fetch_cancel(p->fetch, p->transfer, at_once);
}

static void op_cancel(void *ctx, struct lease *l, bool at_once)
{
	(void)ctx;
	if (!l->user)
		return;
	tell_lease(l->user, "is cancelled");
	pull_cancel(l->user, at_once);
}

static bool task_unwanted(struct task *t, uint64_t now_us)
{
	uint64_t grace_us;

	if (t->want_count || !atomic_load(&t->whole)) {
		t->unwanted_us = 0;
		return false;
	}
	mtx_lock(&t->e->lock);
	grace_us = t->obj->handles > 0 ? WHOLE_OPEN_US : WHOLE_CLOSED_US;
	mtx_unlock(&t->e->lock);
	if (!t->unwanted_us)
		t->unwanted_us = now_us;
	return now_us - t->unwanted_us >= grace_us;
}

/*
 * The sched trims what nobody wants; but a body that can only come whole would start from 0 again
 * for the next read, so that it goes on for a while.
 */
void wholes_sweep(struct engine *e, uint64_t now_us)
{
	struct task *t;
	struct pull *p;

	TAILQ_FOREACH (t, &e->tasks, link) {
		if (!task_unwanted(t, now_us))
			continue;
		LIST_FOREACH (p, &t->pulls, link) {
			if (p->whole_lease)
				pull_cancel(p, false);
		}
	}
}

static void op_hold(void *ctx, struct lease *l, bool hold)
{
	struct pull *p = l->user;

	(void)ctx;
	if (!p)
		return;
	tell_lease(p, hold ? "is held" : "goes on");
	if (pull_listens(p))
		fetch_hold(p->fetch, p->transfer, hold);
}

static void op_satisfied(void *ctx, void *want_user)
{
	(void)ctx;
	want_satisfied(want_user);
}

static void op_failed(void *ctx, void *want_user, enum verdict why)
{
	(void)ctx;
	want_failed(want_user, why);
}

static void op_probe_failed(void *ctx, void *task_user, enum verdict why)
{
	struct task *t = task_user;
	struct object *o = t->obj;
	uint64_t now_us = clock_now_us();
	int error = verdict_errno(why);

	(void)ctx;
	if (!o)
		return;
	mtx_lock(&o->e->lock);
	o->checking = false;
	mtx_unlock(&o->e->lock);
	object_failed(o, why);
	o->probe_failed_us = now_us;
	if (!t->refused_us)
		t->refused_us = now_us;
	if (why == VERDICT_GONE)
		o->gone_us = now_us;
	if (o->revalidating)
		revalidate_failed(o);
	task_give_up(t, now_us);
	probes_answer(o, error == -ENOENT || error == -ETIMEDOUT ? error : -EIO);
}

const struct sched_ops engine_sched_ops = {
	.next_gap = op_next_gap,
	.start = op_start,
	.shrunk = op_shrunk,
	.cancel = op_cancel,
	.hold = op_hold,
	.satisfied = op_satisfied,
	.failed = op_failed,
	.probe_failed = op_probe_failed,
};

/* ---- messages ---- */

void pull_count(struct pull *p, uint64_t bytes)
{
	if (p->task->obj && bytes > p->counted)
		atomic_fetch_add(&p->task->obj->bytes_fetched, bytes - p->counted);
	p->counted = max_u64(p->counted, bytes);
}

static void pull_report(struct pull *p, uint64_t now_us)
{
	struct lease *l = p->lease;
	uint64_t pos = atomic_load(&p->pos);

	if (p->probe || pos <= l->off || p->ended)
		return;
	pull_count(p, pos - l->off);
	sched_lease_progress(p->e->sched, l, pos, now_us);
}

void pull_progressed(struct engine *e, struct msg *m)
{
	struct pull *p = container_of(m, struct pull, progress_msg);

	(void)e;
	atomic_store(&p->progress_posted, false);
	atomic_store(&p->prio, (int)p->lease->prio);
	pull_report(p, clock_now_us());
}

void pulls_report(struct task *t, uint64_t now_us)
{
	struct pull *p;

	LIST_FOREACH (p, &t->pulls, link)
		pull_report(p, now_us);
}

/*
 * The cache took no bytes of p. What nobody asked for waits until there is room; an order goes on
 * while eviction makes some. A disk that takes nothing ends them.
 */
static void pull_refused(struct pull *p, int error)
{
	struct task *t = p->task;
	struct object *o = t->obj;
	uint64_t now_us = clock_now_us();
	struct store_stats stats;
	struct fill *f, *tmp;

	store_stats(t->store, &stats);
	if (error != -ENOSPC || stats.degraded)
		t->e->degraded = true;
	if (atomic_load(&p->prio) == PRIO_BACKFILL && !t->e->degraded) {
		backfill_refused(o);
		return;
	}
	task_drop_wants(t, WANT_WINDOW);
	LIST_FOREACH_SAFE (f, &o->fills, link, tmp)
		fill_refused(f, t->e->degraded ? error : 0, now_us);
	backfills_sweep(t->e, now_us);
}

static void pull_unkept(struct pull *p, struct object *o)
{
	uint64_t bytes = atomic_load(&p->unkept);

	atomic_fetch_add(&p->e->unkept, bytes);
	if (o)
		atomic_fetch_add(&o->bytes_discarded, bytes);
}

void pull_written(struct engine *e, struct msg *m)
{
	struct pull *p = container_of(m, struct pull, written_msg);
	struct task *t = p->task;
	struct object *o = t->obj;
	int error = atomic_load(&p->write_error);

	sched_lease_written(e->sched, p->lease, clock_now_us());
	pull_unkept(p, o);
	if (o && error && error != -ESTALE)
		pull_refused(p, error);
	else if (o)
		fills_accepted(o);
	t->refs++;
	pull_free(p);
	o = t->obj;
	if (o) {
		object_arrived(o);
		object_rest(o);
	}
	task_put(t);
}
