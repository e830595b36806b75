/*
 * handle_verify.c - are cached bytes what they were when they came, and what the manifest says they
 * are?
 *
 * First each block against the checksum that the extent map keeps of it; wrong ones are dropped and
 * are fetched again when they are read. Then files that are complete against the manifest's
 * checksum: one that differs is dropped as a whole.
 */
#include <inttypes.h>

#include "base/clock.h"
#include "daemon/orders.h"
#include "daemon/select.h"
#include "store/digest.h"
#include "store/version.h"

#define STEP (UINT64_C(1) << 20) /* one read */

struct verify {
	struct orders *od;
	struct control_call *call;
	struct selection sel;
	struct order_progress p;
	uint64_t blocks, blocks_bad;
	uint64_t checksums, checksums_bad;
	/* the file at hand */
	struct waiter w;
	struct digest *digest;
	int error;
};

/* 0, or -EPIPE, -ECANCELED: nobody wants to know any more. */
static int report(struct verify *v, uint32_t index, uint64_t size, uint64_t looked_at)
{
	uint64_t now_us = clock_now_us();
	struct order_progress p = v->p;
	json_t *active;

	if (now_us < v->p.next_us)
		return 0;
	if (orders_over(v->od, v->call))
		return -ECANCELED;
	v->p.next_us = now_us + ORDER_PROGRESS_US;
	p.bytes_done += looked_at;
	active = json_pack("[{s:o,s:o,s:o,s:i,s:i}]", "path", select_path(v->sel.manifest, index),
			   "size", json_number(size), "bytes_cached", json_number(looked_at),
			   "rate_bps", 0, "connections", 0);
	return control_progress(v->call, order_progress_json(&p, active));
}

static int wrong(struct verify *v, uint32_t index, const char *why)
{
	json_t *path = select_path(v->sel.manifest, index);
	int r = select_failed(v->call, json_string_value(path), why);

	v->p.files_failed++;
	json_decref(path);
	return r;
}

/* ---- the manifest's checksum ---- */

static void step_done(struct waiter *w, int error, const void *data)
{
	struct verify *v = container_of(w, struct verify, w);

	v->error = error ? error : digest_update(v->digest, data, range_len(w->range));
}

/* From the cache or not at all: nothing is fetched in order to verify it. */
static int step(struct verify *v, struct version *version, struct range r)
{
	int ret;

	v->w = (struct waiter){.range = r, .done = step_done};
	v->error = 0;
	ret = version_read(version, &v->w);
	if (ret == -EINPROGRESS)
		return version_cancel(version, &v->w) ? -ENODATA : -EAGAIN;
	return ret < 0 ? ret : v->error;
}

/* 0: right; -EILSEQ: wrong; -ENODATA, -EAGAIN: not all of it is there any more; else -errno. */
static int prove(struct verify *v, struct version *version, uint32_t index, uint64_t size,
		 const struct checksum *want)
{
	uint8_t got[CHECKSUM_MAX];
	int r = digest_new(checksum_name(want->algo), &v->digest);

	for (uint64_t off = 0; r == 0 && off < size; off += STEP) {
		r = step(v, version, range_make(off, min_u64(off + STEP, size)));
		if (r == 0)
			r = report(v, index, size, off);
	}
	if (r == 0)
		r = digest_final(v->digest, got);
	if (r == 0 && memcmp(got, want->value, checksum_length(want->algo)) != 0)
		r = -EILSEQ;
	digest_free(v->digest);
	v->digest = NULL;
	return r;
}

/* The engine proves as well what is opened: it was first, and dropped it. */
static bool found_wrong(struct object *o)
{
	const char *name = verdict_name(VERDICT_CHECKSUM);
	struct object_info info;

	object_info(o, &info);
	return strncmp(info.error, name, strlen(name)) == 0;
}

static int check_content(struct verify *v, struct object *o, uint32_t index,
			 const struct object_info *info, struct version *version)
{
	struct checksum want = {.algo = CHECKSUM_NONE};
	struct entry e;
	int r;

	entry_init(&e);
	if (manifest_entry(v->sel.manifest, index, &e) == 0)
		want = e.checksum;
	entry_done(&e);
	/* Not by its state: what is all there is complete only once it was proven. */
	if (want.algo == CHECKSUM_NONE || info->size == 0 || info->bytes_cached != info->size)
		return 0;
	r = prove(v, version, index, info->size, &want);
	if (r == -EPIPE || r == -ECANCELED)
		return r;
	if ((r == -ENODATA || r == -EAGAIN) && !found_wrong(o))
		return 0;
	v->checksums++;
	if (r == -ENODATA || r == -EAGAIN) {
		v->checksums_bad++;
		return wrong(v, index, "the content differs from its checksum and was dropped");
	}
	if (r == 0)
		return 0;
	if (r != -EILSEQ)
		return wrong(v, index, strerror(-r));
	v->checksums_bad++;
	r = object_drop_wrong(o);
	fs_forget(mount_fs(orders_mount(v->od)), o);
	return wrong(v, index,
		     r < 0 ? "the content differs from its checksum, and can't be dropped"
			   : "the content differs from its checksum and was dropped");
}

/* ---- one file ---- */

static int check_object(struct verify *v, struct object *o, uint32_t index)
{
	uint64_t blocks = 0, bad = 0;
	struct object_info info;
	struct version *version = NULL;
	char why[100];
	int r;

	object_info(o, &info);
	r = report(v, index, info.size, 0);
	if (r < 0)
		return r;
	/* Held, so that what the check of the blocks has loaded is still there for the content; not
	 * opened, which would ask the server about it. */
	if (object_hold(o, info.generation, &version) < 0)
		version = NULL;
	r = object_verify(o, &blocks, &bad);
	if (r == 0 && bad == 0 && version)
		r = check_content(v, o, index, &info, version);
	else if (r < 0)
		r = wrong(v, index, strerror(-r));
	version_put(version);
	v->blocks += blocks;
	v->blocks_bad += bad;
	if (bad == 0)
		return r;
	fs_forget(mount_fs(orders_mount(v->od)), o);
	snprintf(why, sizeof(why), "%" PRIu64 " of %" PRIu64 " blocks were wrong and were dropped",
		 bad, blocks);
	return wrong(v, index, why);
}

static int check_one(struct verify *v, uint32_t index)
{
	struct engine *e = mount_engine(orders_mount(v->od));
	struct object_info info;
	struct object *o;
	int r;

	if (engine_peek(e, v->sel.manifest, index, &info) != -ENOMEM && info.bytes_cached == 0)
		return 0;
	r = engine_object(e, v->sel.manifest, index, &o);
	if (r < 0)
		return wrong(v, index, strerror(-r));
	r = check_object(v, o, index);
	object_put(o);
	return r;
}

/* How much there is to look at. */
static void survey(struct verify *v)
{
	struct engine *e = mount_engine(orders_mount(v->od));

	for (size_t i = 0; i < v->sel.count; i++) {
		struct object_info info;

		if (engine_peek(e, v->sel.manifest, v->sel.item[i].index, &info) == -ENOMEM)
			continue;
		v->sel.item[i].cached = info.bytes_cached;
		v->p.bytes += info.bytes_cached;
	}
}

int order_verify(void *ctx, struct control_call *call, const json_t *request, json_t **ret_result)
{
	struct verify v = {.od = ctx, .call = call};
	int r;

	r = selection_init(&v.sel, orders_mount(ctx), call, request);
	if (r < 0)
		return r;
	v.p.files = v.sel.count;
	v.p.next_us = clock_now_us() + ORDER_PROGRESS_US;
	survey(&v);
	for (size_t i = 0; i < v.sel.count && r == 0; i++) {
		r = check_one(&v, v.sel.item[i].index);
		v.p.files_done++;
		v.p.bytes_done += v.sel.item[i].cached;
	}
	fs_forget_wait(mount_fs(orders_mount(ctx)));
	if (r == 0)
		*ret_result =
			json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "files", json_number(v.p.files),
				  "files_failed", json_number(v.p.files_failed), "bytes",
				  json_number(v.p.bytes), "blocks", json_number(v.blocks),
				  "blocks_bad", json_number(v.blocks_bad), "checksums",
				  json_number(v.checksums), "checksums_bad",
				  json_number(v.checksums_bad));
	selection_done(&v.sel);
	return r;
}
