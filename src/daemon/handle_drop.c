/*
 * handle_drop.c - forget the cached bytes of files
 *
 * One after the other: each waits until it is durably forgotten.
 */
#include "base/clock.h"
#include "daemon/orders.h"
#include "daemon/select.h"

struct drop {
	struct orders *od;
	struct control_call *call;
	struct selection sel;
	struct order_progress p;
	uint64_t dropped; /* files */
};

/* 0, or -EPIPE: the client is gone. */
static int drop_one(struct drop *d, uint32_t index)
{
	struct engine *e = mount_engine(orders_mount(d->od));
	struct object_info info = {0};
	struct object *o;
	json_t *path;
	int r;

	/* One in memory may have nothing yet and be about to be filled. */
	if (engine_peek(e, d->sel.manifest, index, &info) != -ENOMEM && info.bytes_cached == 0 &&
	    !info.in_memory)
		return 0;
	r = engine_object(e, d->sel.manifest, index, &o);
	if (r == 0) {
		r = object_drop(o);
		if (r == 0)
			fs_forget(mount_fs(orders_mount(d->od)), o);
		object_put(o);
	}
	if (r == 0) {
		d->dropped += info.bytes_cached > 0;
		d->p.bytes += info.bytes_cached;
		return 0;
	}
	d->p.files_failed++;
	path = select_path(d->sel.manifest, index);
	r = select_failed(d->call, json_string_value(path), strerror(-r));
	json_decref(path);
	return r;
}

static int report(struct drop *d)
{
	uint64_t now_us = clock_now_us();

	if (now_us < d->p.next_us)
		return 0;
	d->p.next_us = now_us + ORDER_PROGRESS_US;
	return orders_over(d->od, d->call)
		       ? -ECANCELED
		       : control_progress(d->call, order_progress_json(&d->p, NULL));
}

int order_drop(void *ctx, struct control_call *call, const json_t *request, json_t **ret_result)
{
	struct drop d = {.od = ctx, .call = call};
	int r;

	r = selection_init(&d.sel, orders_mount(ctx), call, request);
	if (r < 0)
		return r;
	fill_jobs_drop(ctx, &d.sel);
	d.p.files = d.sel.count;
	d.p.next_us = clock_now_us() + ORDER_PROGRESS_US;
	for (size_t i = 0; i < d.sel.count && r == 0; i++) {
		r = drop_one(&d, d.sel.item[i].index);
		d.p.files_done++;
		if (r == 0)
			r = report(&d);
	}
	if (r == 0)
		*ret_result =
			json_pack("{s:o,s:o,s:o,s:o}", "files", json_number(d.p.files),
				  "files_failed", json_number(d.p.files_failed), "files_dropped",
				  json_number(d.dropped), "bytes", json_number(d.p.bytes));
	selection_done(&d.sel);
	return r;
}
