/*
 * content.c - proving a complete file against the checksum in the manifest
 *
 * The engine thread begins and ends it; a worker reads the file. Until the proof is there the
 * object is not complete, whatever its extents say. Content that is wrong is dropped as if the
 * origin had another version, and fetched again from the mirrors that had no part in it, until none
 * is left.
 */
#include "base/clock.h"
#include "engine/internal.h"
#include "engine/readers.h"
#include "store/digest.h"

#define PROVE_STEP (UINT64_C(1) << 20) /* one read */

struct proof {
	struct work work;
	struct object *obj;	 /* reference */
	struct version *version; /* reference */
	struct checksum want;
	struct digest *digest;
	struct waiter w;
	int error; /* 0 right, -EILSEQ wrong, else it could not be told */
};

static void step_done(struct waiter *w, int error, const void *data)
{
	struct proof *p = container_of(w, struct proof, w);

	p->error = error ? error : digest_update(p->digest, data, range_len(w->range));
}

/* Every step is answered at once, or not at all: nothing is fetched for a proof. */
static int prove_step(struct proof *p, struct range r)
{
	int ret;

	p->w = (struct waiter){.range = r, .done = step_done};
	p->error = 0;
	ret = version_read(p->version, &p->w);
	if (ret == -EINPROGRESS)
		return version_cancel(p->version, &p->w) ? -ENODATA : -EAGAIN;
	return ret < 0 ? ret : p->error;
}

static int prove(struct engine *e, struct proof *p)
{
	const struct checksum *want = &p->want;
	uint8_t got[CHECKSUM_MAX];
	uint64_t size = version_size(p->version);
	int r;

	r = digest_new(checksum_name(want->algo), &p->digest);
	for (uint64_t off = 0; r == 0 && off < size; off += PROVE_STEP) {
		if (atomic_load(&e->stopping))
			return -ECANCELED;
		r = prove_step(p, range_make(off, min_u64(off + PROVE_STEP, size)));
	}
	if (r == 0)
		r = digest_final(p->digest, got);
	if (r == 0 && memcmp(got, want->value, checksum_length(want->algo)) != 0)
		r = -EILSEQ;
	return r;
}

bool content_may_be_empty(const struct object *o)
{
	uint8_t got[DIGEST_MAX] = {0};
	struct digest *d = NULL;
	int r;

	if (!object_content_pinned(o))
		return true;
	r = digest_new(checksum_name(o->checksum.algo), &d);
	if (r == 0)
		r = digest_final(d, got);
	digest_free(d);
	return r == 0 && memcmp(got, o->checksum.value, checksum_length(o->checksum.algo)) == 0;
}

static void content_work(struct engine *e, struct work *w)
{
	struct proof *p = container_of(w, struct proof, work);

	p->error = prove(e, p);
	digest_free(p->digest);
	p->digest = NULL;
}

static void content_right(struct object *o)
{
	mtx_lock(&o->e->lock);
	o->complete = true;
	o->failed = false;
	o->asked_s = object_proof(&o->checksum);
	mtx_unlock(&o->e->lock);
	o->bad_contents = 0;
	o->sources_used = 0;
	object_set_error(o, NULL);
	object_forget_failed(o);
	object_remember(o);
	object_tell(o);
}

static void content_wrong(struct object *o)
{
	struct validator same = o->validator;
	uint32_t index = o->index;
	struct entry entry;
	unsigned int urls = 1;

	entry_init(&entry);
	if (manifest_entry(o->manifest, index, &entry) == 0)
		urls = entry.url_count;
	entry_done(&entry);

	o->sources_bad |= o->sources_used;
	o->sources_used = 0;
	o->content_bad = ++o->bad_contents >= urls;
	log_warn("%s: the content differs from its checksum, %s",
		 o->origin ? o->origin->key : "a file",
		 o->content_bad ? "and no other mirror is left" : "another mirror is tried");
	/* Before anybody hears that his order has failed for it. */
	object_set_error(o, "%s: %s: %s", verdict_name(VERDICT_CHECKSUM),
			 o->origin ? o->origin->key : "", verdict_text(VERDICT_CHECKSUM));
	if (o->content_bad) {
		object_failed(o, VERDICT_CHECKSUM);
		object_changed(o, &same, o->size);
		return;
	}
	/* Nor is that one held to what the wrong one said: it is of the manifest's size, or any. */
	same.size = SIZE_UNKNOWN;
	object_changed(o, &same, SIZE_UNKNOWN);
}

static void content_done(struct engine *e, struct work *w)
{
	struct proof *p = container_of(w, struct proof, work);
	struct object *o = p->obj;
	int error = p->error;
	bool current, whole;

	mtx_lock(&e->lock);
	current = o->version == p->version && checksum_equal(&o->checksum, &p->want);
	mtx_unlock(&e->lock);
	whole = version_complete(p->version); /* or evicted, or dropped, while it was read */
	o->verifying = false;
	version_put(p->version);
	free(p);

	if (!current)
		error = -ESTALE;
	else if (error == 0 && whole)
		content_right(o);
	else if (error == -EILSEQ)
		content_wrong(o);
	else if (error == -ESTALE)
		object_arrived(o); /* another checksum by now, or none */
	fills_proven(o, error == -EILSEQ && o->content_bad ? -EILSEQ : 0);
	backfill_go(o, clock_now_us());
	object_rest(o);
	object_put(o);
}

void content_prove(struct object *o, struct version *v)
{
	struct proof *p = calloc(1, sizeof(*p));

	if (!p)
		return; /* it stays unproven, and is tried again with the next bytes or open */
	p->obj = object_get(o);
	p->version = version_get(v);
	p->want = o->checksum;
	p->work.run = content_work;
	p->work.done = content_done;
	o->verifying = true;
	object_wake(o);
	worker_add(o->e->verifier, &p->work);
}
