/*
 * outcome.c - what becomes of an object: its size known, every byte there, another version
 *
 * Callers: answer.c with what transfers told, content.c with what a digest said. The engine thread
 * alone enters. Each of these may change what a node of the file system shows, so each tells it.
 */
#include "base/clock.h"
#include "core/retry.h"
#include "engine/internal.h"
#include "engine/readers.h"
#include "engine/task.h"

#define FAILED_MAX 4096 /* objects kept in memory only so that status can tell why they failed */

void object_failed(struct object *o, enum verdict why)
{
	struct engine *e = o->e;

	if (verdict_class(why) == VERDICT_CLASS_OURS || o->complete)
		return;
	mtx_lock(&e->lock);
	o->failed = true;
	mtx_unlock(&e->lock);
	if (!o->error)
		object_set_error(o, "%s: %s: %s", verdict_name(why),
				 o->origin ? o->origin->key : "", verdict_text(why));
	if (o->kept_failed)
		return;
	object_get(o);
	o->kept_failed = true;
	TAILQ_INSERT_TAIL(&e->failed, o, failed_link);
	if (++e->failed_count > FAILED_MAX)
		object_forget_failed(TAILQ_FIRST(&e->failed));
}

void object_forget_failed(struct object *o)
{
	if (!o->kept_failed)
		return;
	o->kept_failed = false;
	TAILQ_REMOVE(&o->e->failed, o, failed_link);
	o->e->failed_count--;
	object_put(o);
}

void object_sized(struct object *o, uint64_t size)
{
	struct version *v;
	int r = 0;

	if (o->size == size)
		return;
	mtx_lock(&o->e->lock);
	v = o->version ? version_get(o->version) : NULL;
	mtx_unlock(&o->e->lock);
	if (v && version_size(v) != size)
		r = version_set_size(v, size);
	version_put(v);
	if (r < 0)
		return; /* bytes lie beyond it: the next answer will find the version changed */

	mtx_lock(&o->e->lock);
	o->size = size;
	if (o->length_unknown) {
		o->length_unknown = false;
		o->generation++;
	}
	if (size == 0)
		o->complete = true;
	mtx_unlock(&o->e->lock);
	if (o->task && o->task->st)
		sched_task_set_size(o->e->sched, o->task->st, size, clock_now_us());
	object_tell(o);
}

void object_arrived(struct object *o)
{
	struct version *v;

	if (o->complete || o->verifying)
		return;
	mtx_lock(&o->e->lock);
	v = o->version ? version_get(o->version) : NULL;
	mtx_unlock(&o->e->lock);
	if (!v)
		return;
	if (version_complete(v)) {
		if (object_content_pinned(o)) {
			content_prove(o, v);
		} else {
			mtx_lock(&o->e->lock);
			o->complete = true;
			o->failed = false;
			mtx_unlock(&o->e->lock);
			object_set_error(o, NULL);
			object_forget_failed(o);
			object_tell(o);
		}
	}
	version_put(v);
}

/* Is a block of o's version durable, so that not all of it was in vain? */
static bool version_kept(struct object *o)
{
	struct version_info vi = {.loading = true};
	struct version *v;
	uint64_t cached;

	mtx_lock(&o->e->lock);
	cached = o->cached;
	v = o->version ? version_get(o->version) : NULL;
	mtx_unlock(&o->e->lock);
	if (v)
		version_info(v, &vi);
	version_put(v);
	return vi.loading ? cached > 0 : vi.bytes_durable > 0;
}

void object_replaced(struct object *o, bool in_vain, uint64_t now_us)
{
	o->replaced = !in_vain && version_kept(o) ? 1 : o->replaced + 1;
	if (o->replaced > 1)
		o->ask_after_us = now_us + retry_delay_us(o->replaced - 1, RETRY_SOURCE_FIRST_US,
							  RETRY_SOURCE_MAX_US, &o->e->random);
}

void object_changed(struct object *o, const struct validator *got, uint64_t size)
{
	object_replace(o, got, object_content_pinned(o) ? 0 : clock_wall_s(), size);
}

void object_replace(struct object *o, const struct validator *got, int64_t asked_s, uint64_t size)
{
	struct version *old, *fresh = NULL;
	uint64_t now_us = clock_now_us();
	bool had;

	o->changes++;
	revalidate_end(o); /* answered */
	mtx_lock(&o->e->lock);
	opening_begin_locked(o);
	old = object_swap_version_locked(o, NULL);
	o->generation++;
	o->validator = *got;
	o->size = o->manifest_size != SIZE_UNKNOWN ? o->manifest_size : size;
	o->length_unknown = o->size == SIZE_UNKNOWN && o->length_unknown;
	if (got->last_modified != VALIDATOR_NO_TIME)
		o->mtime = got->last_modified;
	o->asked_s = asked_s;
	o->complete = o->size == 0;
	o->stale = false;
	had = old || o->cached > 0 || o->fresh;
	o->cached = 0;
	o->fresh = false;
	size = o->size;
	mtx_unlock(&o->e->lock);

	/* Before the record says so: bytes of the old version must never pass for the new one's. */
	if (had && store_version_open(o->store, &o->key, got, size, true, &fresh) < 0)
		fresh = NULL; /* no memory: the next opening finds the validator changed */
	mtx_lock(&o->e->lock);
	object_swap_version_locked(o, fresh);
	opening_end_locked(o);
	mtx_unlock(&o->e->lock);
	object_remember(o);
	object_tell(o); /* before readers hear of a failure: they find the new version */
	if (o->task)
		task_close(o->task);
	learned_forget(o);
	if (old)
		version_fail(old, range_make(0, UINT64_MAX), -EIO);
	version_put(old);
	failmem_init(&o->failures);
	if (o->size != SIZE_UNKNOWN)
		probes_answer(o, 0);
	fills_restart(o, now_us);
	backfill_go(o, now_us);
	object_rest(o);
}

void object_disown(struct object *o, unsigned int url, unsigned int urls, uint64_t now_us)
{
	struct validator same = o->validator;

	o->sources_long |= UINT64_C(1) << url;
	o->sources_long_us = now_us;
	if (o->sources_long == UINT64_MAX >> (64 - urls)) /* 1 to MANIFEST_URLS_MAX: 64 */
		object_failed(o, VERDICT_SIZE);
	object_changed(o, &same, o->size);
}
