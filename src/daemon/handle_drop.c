/*
 * handle_drop.c - forget the cached bytes of files
 *
 * Some at a time: each time it waits until they are durably forgotten.
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

	struct object *obj[OBJECTS_DROP_MAX]; /* that are to be forgotten together; references */
	uint32_t index[OBJECTS_DROP_MAX];
	uint64_t bytes[OBJECTS_DROP_MAX]; /* that they had */
	size_t count;
};

static int say_failed(struct drop *d, uint32_t index, int error)
{
	json_t *path = select_path(d->sel.manifest, index);
	int r = select_failed(
		d->call, json_string_value(path),
		error == -ENOSPC || error == -EDQUOT
			? "the disk of the cache is too full to note that it is "
			  "dropped: still cached, make a little room and drop it again"
			: strerror(-error));

	d->p.files_failed++;
	json_decref(path);
	return r;
}

/* 0, or -EPIPE: the client is gone. */
static int drop_gathered(struct drop *d)
{
	int error[OBJECTS_DROP_MAX], r = 0;

	objects_drop(d->obj, d->count, error);
	for (size_t i = 0; i < d->count; i++) {
		if (error[i] == 0) {
			fs_forget(mount_fs(orders_mount(d->od)), d->obj[i]);
			d->dropped += d->bytes[i] > 0;
			d->p.bytes += d->bytes[i];
		} else if (r == 0) {
			r = say_failed(d, d->index[i], error[i]);
		}
		object_put(d->obj[i]);
	}
	d->p.files_done += d->count;
	d->count = 0;
	return r;
}

/* 0, or -EPIPE: the client is gone. */
static int drop_one(struct drop *d, uint32_t index)
{
	struct engine *e = mount_engine(orders_mount(d->od));
	struct object_info info = {0};
	int r;

	/* One in memory may have nothing yet and be about to be filled. */
	if (engine_peek(e, d->sel.manifest, index, &info) != -ENOMEM && info.bytes_cached == 0 &&
	    !info.in_memory) {
		d->p.files_done++;
		return 0;
	}
	r = engine_object(e, d->sel.manifest, index, &d->obj[d->count]);
	if (r < 0) {
		d->p.files_done++;
		return say_failed(d, index, r);
	}
	d->index[d->count] = index;
	d->bytes[d->count++] = info.bytes_cached;
	return d->count == OBJECTS_DROP_MAX ? drop_gathered(d) : 0;
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
		if (r == 0)
			r = report(&d);
	}
	if (r == 0)
		r = drop_gathered(&d);
	for (size_t i = 0; i < d.count; i++)
		object_put(d.obj[i]);
	fs_forget_wait(mount_fs(orders_mount(ctx)));
	if (r == 0)
		*ret_result =
			json_pack("{s:o,s:o,s:o,s:o}", "files", json_number(d.p.files),
				  "files_failed", json_number(d.p.files_failed), "files_dropped",
				  json_number(d.dropped), "bytes", json_number(d.p.bytes));
	selection_done(&d.sel);
	return r;
}
