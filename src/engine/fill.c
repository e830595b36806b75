/*
 * fill.c - orders to fetch a whole object
 *
 * Any thread gives and cancels them; the engine thread works on them. An order ends when every byte
 * is cached, proven against the manifest's checksum where there is one, and durable, or when no
 * source can serve it. A new version in the meantime starts it over, a few times.
 */
#include "base/clock.h"
#include "engine/internal.h"
#include "engine/readers.h"
#include "engine/task.h"

#define CHANGES_MAX 3			/* versions that an order follows before it gives up */
#define REFUSED_US  (10 * USEC_PER_SEC) /* so long eviction may make no room for it */

static void fill_go(struct fill *f, uint64_t now_us);
static void fill_again(struct engine *e, struct msg *m);
static void fill_asked_size(struct engine *e, struct msg *m);

static void fill_over(struct engine *e, struct msg *m)
{
	struct fill *f = container_of(m, struct fill, end_msg);
	struct object *o = f->obj;

	(void)e;
	free(f);
	object_rest(o);
	object_put(o);
}

/*
 * Orders under way together fit into the cache, or each would evict what another has just fetched,
 * without end. 0; -EAGAIN: f waits for another to end; -EFBIG: its object alone does not fit.
 */
static int fill_admit(struct fill *f)
{
	struct engine *e = f->obj->e;
	uint64_t size = f->obj->size, most;

	if (f->reserved || size == SIZE_UNKNOWN)
		return 0;
	most = store_capacity(f->obj->store);
	if (size > most)
		return -EFBIG;
	if (e->fill_reserved && add_sat_u64(e->fill_reserved, size) > most) {
		if (!f->waiting)
			LIST_INSERT_HEAD(&e->waiting, f, waiting_link);
		f->waiting = true;
		return -EAGAIN;
	}
	f->reserved = size;
	e->fill_reserved += size;
	return 0;
}

static void fill_unwait(struct fill *f)
{
	if (f->waiting)
		LIST_REMOVE(f, waiting_link);
	f->waiting = false;
}

/* f needs no more room: others may have it. */
static void fill_release(struct fill *f)
{
	struct engine *e = f->obj->e;
	struct fill *other, *tmp;

	fill_unwait(f);
	if (!f->reserved)
		return;
	e->fill_reserved -= f->reserved;
	f->reserved = 0;
	LIST_FOREACH_SAFE (other, &e->waiting, waiting_link, tmp) {
		if (other->working)
			continue;
		fill_unwait(other);
		other->working = true;
		engine_post(e, &other->msg, fill_again);
	}
}

/*
 * Tell the caller, once. f is freed by a message, behind a cancellation that was posted before
 * done() returned, and not before what is under way for it has ended.
 */
static void fill_end(struct fill *f, int error)
{
	if (f->ended)
		return;
	f->ended = true;
	LIST_REMOVE(f, link);
	want_remove(&f->want, clock_now_us());
	fill_release(f);
	f->done(f->ctx, error);
	if (!f->working)
		engine_post(f->obj->e, &f->end_msg, fill_over);
}

static void fill_checkpoint(struct engine *e, struct work *w)
{
	struct fill *f = container_of(w, struct fill, work);

	(void)e;
	f->error = store_checkpoint(f->obj->store);
}

static void fill_durable(struct engine *e, struct work *w)
{
	struct fill *f = container_of(w, struct fill, work);

	f->working = false;
	if (f->ended)
		engine_post(e, &f->end_msg, fill_over);
	else if (f->error == 0 && !f->obj->complete)
		fill_go(f, clock_now_us()); /* lost meanwhile */
	else
		fill_end(f, f->error);
}

static void fill_make_durable(struct fill *f)
{
	if (f->working)
		return;
	if (f->obj->store != f->obj->e->store) {
		fill_end(f, 0); /* whoever ordered it finishes the store */
		return;
	}
	f->working = true;
	f->work.run = fill_checkpoint;
	f->work.done = fill_durable;
	worker_add(f->obj->e->checkpointer, &f->work);
}

/* All bytes are in the cache, as far as the sched can see. */
void fill_satisfied(struct fill *f)
{
	struct object *o = f->obj;

	object_arrived(o);
	if (o->complete) {
		fill_make_durable(f);
	} else if (!o->verifying && !f->working) {
		f->working = true;
		engine_post(o->e, &f->msg, fill_again);
	}
	/* else fills_proven() will go on */
}

void fills_proven(struct object *o, int error)
{
	struct fill *f, *tmp;
	uint64_t now_us = clock_now_us();

	LIST_FOREACH_SAFE (f, &o->fills, link, tmp) {
		if (error)
			fill_failed(f, error);
		else
			fill_go(f, now_us);
	}
}

void fill_failed(struct fill *f, int error)
{
	fill_end(f, error);
}

void fills_cancel(struct object *o)
{
	struct fill *f, *tmp;

	LIST_FOREACH_SAFE (f, &o->fills, link, tmp)
		fill_end(f, -ECANCELED);
}

void fill_refused(struct fill *f, int error, uint64_t now_us)
{
	if (!f->refused_us)
		f->refused_us = now_us;
	if (error || now_us - f->refused_us >= REFUSED_US)
		fill_end(f, error ? error : -ENOSPC);
}

void fills_accepted(struct object *o)
{
	struct fill *f;

	LIST_FOREACH (f, &o->fills, link)
		f->refused_us = 0;
}

void fill_want_failed(struct fill *f, enum verdict why)
{
	struct object *o = f->obj;

	if (why == VERDICT_CANCELLED)
		return; /* its task was closed for another version: fills_restart() follows */
	object_failed(o, why);
	fill_end(f, verdict_errno(why));
}

static void fills_unreached(struct task *t, uint64_t now_us)
{
	enum verdict why = t->source[0].at->unreached;
	struct fill *f, *tmp;

	LIST_FOREACH_SAFE (f, &t->obj->fills, link, tmp) {
		if (f->want.task != t || now_us - f->asked_us < REACH_US)
			continue;
		task_give_up(t, now_us);
		fill_want_failed(f, why);
	}
}

/* The sched has more patience, for servers that are slow or busy. */
void fills_sweep(struct engine *e, uint64_t now_us)
{
	uint64_t patience_us = e->cfg.sched.retry_time_us;
	struct task *t;

	if (!patience_us)
		return;
	TAILQ_FOREACH (t, &e->tasks, link) {
		if (!LIST_EMPTY(&t->obj->fills) && task_unreached(t, now_us - patience_us))
			fills_unreached(t, now_us);
	}
}

/* Perhaps from within the sched: go on by message. */
static void fill_probed(void *ctx, int error)
{
	struct fill *f = ctx;

	f->error = error;
	engine_post(f->obj->e, &f->msg, fill_asked_size);
}

static void fill_go(struct fill *f, uint64_t now_us)
{
	struct object *o = f->obj;
	struct task *t = NULL;
	int r;

	if (f->ended || f->want.task || f->working || o->verifying)
		return;
	if (o->size == 0 && !content_may_be_empty(o)) {
		object_set_error(o, "%s: %s: %s", verdict_name(VERDICT_CHECKSUM),
				 o->origin ? o->origin->key : "", verdict_text(VERDICT_CHECKSUM));
		fill_end(f, -EILSEQ);
		return;
	}
	if (o->size == 0 || o->complete) {
		fill_make_durable(f);
		return;
	}
	if (atomic_load(&o->e->stopping)) {
		fill_end(f, -ECANCELED);
		return;
	}
	if (o->content_bad || o->changes > f->changes + CHANGES_MAX) {
		fill_end(f, o->content_bad ? -EILSEQ : -EIO);
		return;
	}
	/* One that is fetched for a target is asked for all: its first answer tells the size. */
	if (o->size == SIZE_UNKNOWN && !o->length_unknown && o->store == o->e->store) {
		f->working = true;
		object_probe(o, false, fill_probed, f);
		return;
	}
	r = fill_admit(f);
	if (r == -EAGAIN)
		return;
	if (r == 0)
		r = task_open(o, true, &t);
	if (r != 0) {
		fill_end(f, r);
		return;
	}
	if (task_given_up(t, now_us)) {
		fill_want_failed(f, t->source[0].at->unreached);
		return;
	}
	task_test(t, now_us);
	f->asked_us = now_us;
	f->want.kind = WANT_FILL;
	f->want.prio = PRIO_FILL;
	f->want.range = range_make(0, o->size);
	f->want.fill = f;
	want_add(t, &f->want, now_us);
}

static void fill_asked_size(struct engine *e, struct msg *m)
{
	struct fill *f = container_of(m, struct fill, msg);

	f->working = false;
	if (f->ended)
		engine_post(e, &f->end_msg, fill_over);
	else if (f->error)
		fill_end(f, f->error);
	else
		fill_go(f, clock_now_us());
}

static void fill_again(struct engine *e, struct msg *m)
{
	struct fill *f = container_of(m, struct fill, msg);

	f->working = false;
	if (f->ended)
		engine_post(e, &f->end_msg, fill_over);
	else
		fill_go(f, clock_now_us());
}

void fills_restart(struct object *o, uint64_t now_us)
{
	struct fill *f, *tmp;

	LIST_FOREACH_SAFE (f, &o->fills, link, tmp)
		fill_go(f, now_us);
}

static void fill_asked(struct engine *e, struct msg *m)
{
	struct fill *f = container_of(m, struct fill, msg);

	(void)e;
	object_wake(f->obj);
	f->changes = f->obj->changes;
	LIST_INSERT_HEAD(&f->obj->fills, f, link);
	fill_go(f, clock_now_us());
}

int object_fill(struct object *o, void (*done)(void *ctx, int error), void *ctx, struct fill **ret)
{
	struct fill *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->obj = object_get(o);
	f->done = done;
	f->ctx = ctx;
	*ret = f;
	engine_post(o->e, &f->msg, fill_asked);
	return 0;
}

static void fill_cancelled(struct engine *e, struct msg *m)
{
	struct fill *f = container_of(m, struct fill, cancel_msg);

	(void)e;
	fill_end(f, -ECANCELED);
}

void fill_cancel(struct fill *f)
{
	engine_post(f->obj->e, &f->cancel_msg, fill_cancelled);
}
