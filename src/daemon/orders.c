/*
 * orders.c - what the orders of a mount share: their beginning, their progress, their end
 * Callers: mount.c makes and ends them; handle_*.c.
 */
#include "daemon/orders.h"

#include <stdatomic.h>

#include "base/lock.h"
#include "daemon/select.h"

struct orders {
	struct mount *mt;
	atomic_bool quitting;
	struct mtx lock; /* RANK_ORDERS; guards all below */
	struct fill_jobs jobs, running;
};

struct mount *orders_mount(struct orders *od)
{
	return od->mt;
}

struct mtx *orders_lock(struct orders *od)
{
	return &od->lock;
}

struct fill_jobs *orders_jobs_locked(struct orders *od)
{
	return &od->jobs;
}

struct fill_jobs *orders_running_locked(struct orders *od)
{
	return &od->running;
}

int orders_new(struct mount *mt, struct control *c, struct orders **ret)
{
	struct orders *od = calloc(1, sizeof(*od));
	int r;

	if (!od)
		return -ENOMEM;
	od->mt = mt;
	mtx_init(&od->lock, RANK_ORDERS, "orders");
	LIST_INIT(&od->jobs);
	LIST_INIT(&od->running);
	r = control_register_long(c, "fill", order_fill, od);
	if (r == 0)
		r = control_register_long(c, "drop", order_drop, od);
	if (r == 0)
		r = control_register_long(c, "verify", order_verify, od);
	if (r < 0) {
		orders_free(od);
		return r;
	}
	*ret = od;
	return 0;
}

void orders_quit(struct orders *od)
{
	atomic_store(&od->quitting, true);
}

bool orders_over(struct orders *od, struct control_call *call)
{
	return atomic_load(&od->quitting) || (call && control_cancelled(call));
}

void orders_free(struct orders *od)
{
	struct fill_job *job;

	if (!od)
		return;
	for (;;) {
		mtx_lock(&od->lock);
		job = LIST_FIRST(&od->jobs);
		mtx_unlock(&od->lock);
		if (!job)
			break;
		fill_job_free(job);
	}
	mtx_done(&od->lock);
	free(od);
}

json_t *order_progress_json(const struct order_progress *p, json_t *active)
{
	json_t *j =
		json_pack("{s:o,s:o,s:o,s:o,s:o,s:o}", "files", json_number(p->files), "files_done",
			  json_number(p->files_done), "files_failed", json_number(p->files_failed),
			  "bytes", json_number(p->bytes), "bytes_done", json_number(p->bytes_done),
			  "sizes_unknown", json_number(p->sizes_unknown));

	if (j && active)
		json_object_set_new(j, "active", active);
	else
		json_decref(active);
	return j;
}
