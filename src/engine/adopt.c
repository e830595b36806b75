/*
 * adopt.c - an object in memory takes another entry over
 *
 * A reload brings another manifest while objects live on, by what identity says of them: then the
 * URLs, headers and what is expected of the content are those of the new entry. Nor need two
 * entries of one identity say the same in one manifest: what one tells of size and checksum counts
 * for both (the manifest has seen to it that they agree).
 *
 * Callers: object.c, on any thread, when somebody asks for an object by an entry that says what it
 * does not know; a reload, for all. The engine thread alone makes the change.
 */
#include "base/clock.h"
#include "engine/internal.h"
#include "engine/readers.h"
#include "engine/task.h"

#define LOOK_EVERY 1024 /* entries of a reload, whether any object is left */

struct adoption {
	struct msg msg;
	struct object *obj;	   /* reference */
	struct manifest *manifest; /* reference */
	uint32_t index;
};

bool object_outdated(struct object *o, const struct manifest *m, const struct entry *entry)
{
	bool outdated;

	mtx_lock(&o->e->lock);
	if (o->manifest != m)
		outdated = manifest_newer(m, o->manifest);
	else
		outdated = (entry->size != SIZE_UNKNOWN && o->manifest_size == SIZE_UNKNOWN) ||
			   (entry->checksum.algo != CHECKSUM_NONE &&
			    o->checksum.algo == CHECKSUM_NONE);
	mtx_unlock(&o->e->lock);
	return outdated;
}

/* Are the same questions put to the same sources? */
static bool sources_equal(const struct entry *a, const struct entry *b)
{
	if (a->url_count != b->url_count || a->header_count != b->header_count ||
	    a->slice.off != b->slice.off || a->slice.end != b->slice.end)
		return false;
	for (unsigned int i = 0; i < a->url_count; i++) {
		if (strcmp(a->url[i], b->url[i]) != 0)
			return false;
	}
	for (unsigned int i = 0; i < a->header_count; i++) {
		if (strcmp(a->header[i], b->header[i]) != 0)
			return false;
	}
	return true;
}

static bool etag_usable(const struct entry *e)
{
	return e->etag && strlen(e->etag) < ETAG_MAX;
}

/* Does now ask for another content than what o has? o is still as was has it. */
static bool content_differs(const struct object *o, const struct entry *was,
			    const struct entry *now)
{
	bool proven = now->checksum.algo != CHECKSUM_NONE && o->checksum.algo != CHECKSUM_NONE;

	if (now->size != SIZE_UNKNOWN &&
	    (o->length_unknown || (o->size != SIZE_UNKNOWN && o->size != now->size)))
		return true;
	if (proven)
		return !checksum_equal(&now->checksum, &o->checksum);
	if (etag_usable(now) && !text_equal(was->etag, now->etag) &&
	    strcmp(now->etag, o->validator.etag) != 0)
		return true;
	/* What the manifest alone has told, and tells no longer. */
	return o->asked_s == 0 && ((was->size != SIZE_UNKNOWN && now->size == SIZE_UNKNOWN) ||
				   (was->etag && !now->etag));
}

/* The URL that the version was known by, where it is among the new ones. */
static unsigned int url_followed(const struct entry *was, unsigned int url, const struct entry *now)
{
	for (unsigned int i = 0; url < was->url_count && i < now->url_count; i++) {
		if (strcmp(was->url[url], now->url[i]) == 0)
			return i;
	}
	return 0;
}

/* What failed may have been put right. */
static void forgive(struct object *o)
{
	mtx_lock(&o->e->lock);
	o->failed = false;
	o->stale = false;
	mtx_unlock(&o->e->lock);
	object_set_error(o, NULL);
	object_forget_failed(o);
	failmem_init(&o->failures);
	o->told = VERDICT_PART;
	o->gone_us = 0;
	o->probe_failed_us = 0;
	o->content_bad = false;
	o->bad_contents = 0;
	o->sources_long = 0;
	o->ask_after_us = 0;
	o->replaced = 0;
	o->sources_used = 0; /* by the numbers of other URLs, as the next */
	o->sources_bad = 0;
	revalidate_end(o);
	o->revalidate_after_us = 0;
}

/* The facts of now become o's. */
static void take_entry(struct object *o, const struct adoption *a, const struct entry *now)
{
	struct engine *e = o->e;
	struct origin *origin = now->url_count ? origin_get(e, now->url[0]) : NULL;
	struct manifest *before = o->manifest;

	mtx_lock(&e->lock);
	o->manifest = manifest_get(a->manifest);
	o->index = a->index;
	if (origin) {
		struct origin *other = o->origin;

		o->origin = origin;
		origin = other;
	}
	o->manifest_size = now->size;
	o->slice = now->slice;
	o->checksum = now->checksum;
	o->etag_pinned = now->etag != NULL;
	if (now->mtime != MANIFEST_NO_TIME)
		o->mtime = now->mtime;
	mtx_unlock(&e->lock);
	origin_put(e, origin);
	manifest_put(before);
}

/* Its content is to be another: what is there is not asked any more. */
static void begin_content(struct object *o, const struct entry *now)
{
	struct validator v = VALIDATOR_INIT;

	if (etag_usable(now))
		memcpy(v.etag, now->etag, strlen(now->etag) + 1);
	mtx_lock(&o->e->lock);
	if (now->mtime == MANIFEST_NO_TIME)
		o->mtime = VALIDATOR_NO_TIME;
	mtx_unlock(&o->e->lock);
	object_replace(o, &v, 0, SIZE_UNKNOWN);
	if (LIST_FIRST(&o->probes))
		probes_renew(o, clock_now_us());
}

/* Its content stays, and more or less is known of what it has to be. */
static void keep_content(struct object *o, const struct entry *now, bool moved, bool checksum)
{
	mtx_lock(&o->e->lock);
	if (checksum) {
		o->asked_s = 0;
		if (now->checksum.algo != CHECKSUM_NONE)
			o->complete = o->size == 0; /* until it is proven */
	}
	mtx_unlock(&o->e->lock);
	if (moved)
		task_renew(o, clock_now_us());
	if (now->size != SIZE_UNKNOWN && o->size == SIZE_UNKNOWN) {
		object_sized(o, now->size);
		probes_answer(o, 0);
	}
	object_arrived(o);
}

static void adopt(struct object *o, const struct adoption *a, const struct entry *was,
		  struct entry *now)
{
	bool merge = a->manifest == o->manifest, moved, differs, checksum, changed;
	struct entry more = *was;

	/* Of an entry beside its own it takes only what that does not say. */
	if (merge) {
		more.size = o->manifest_size != SIZE_UNKNOWN ? o->manifest_size : now->size;
		more.checksum = o->checksum.algo != CHECKSUM_NONE ? o->checksum : now->checksum;
		now = &more;
	}
	moved = !merge && (!sources_equal(was, now) ||
			   manifest_foreign(a->manifest) != manifest_foreign(o->manifest));
	differs = content_differs(o, was, now);
	checksum = !checksum_equal(&o->checksum, &now->checksum);
	changed = moved || differs || checksum || now->size != o->manifest_size ||
		  !text_equal(was->etag, now->etag);
	if (moved)
		o->validator_url = url_followed(was, o->validator_url, now);
	if (changed)
		forgive(o);
	if (merge) {
		mtx_lock(&o->e->lock);
		o->manifest_size = now->size;
		o->checksum = now->checksum;
		mtx_unlock(&o->e->lock);
	} else {
		take_entry(o, a, now);
	}
	if (differs)
		begin_content(o, now);
	else if (changed)
		keep_content(o, now, moved, checksum);
	object_rest(o);
}

static void adoption_asked(struct engine *e, struct msg *m)
{
	struct adoption *a = container_of(m, struct adoption, msg);
	struct object *o = a->obj;
	struct entry was, now;

	entry_init(&was);
	entry_init(&now);
	if (!e->quitting && manifest_entry(o->manifest, o->index, &was) == 0 &&
	    manifest_entry(a->manifest, a->index, &now) == 0 &&
	    object_outdated(o, a->manifest, &now))
		adopt(o, a, &was, &now);
	entry_done(&was);
	entry_done(&now);
	manifest_put(a->manifest);
	object_put(o);
	free(a);
}

int object_adopt(struct object *o, struct manifest *m, uint32_t index)
{
	struct adoption *a = malloc(sizeof(*a));
	struct engine *e = o->e;

	if (!a)
		return -ENOMEM;
	a->obj = object_get(o);
	a->manifest = manifest_get(m);
	a->index = index;
	engine_post(e, &a->msg, adoption_asked);
	if (!pthread_equal(pthread_self(), e->thread))
		engine_settle(e);
	return 0;
}

/* Objects in memory whose entry is of an older manifest than m. */
static size_t count_older(struct engine *e, const struct manifest *m)
{
	struct object *o;
	size_t n = 0;

	mtx_lock(&e->lock);
	RB_FOREACH (o, object_tree, &e->objects)
		n += manifest_newer(m, o->manifest);
	mtx_unlock(&e->lock);
	return n;
}

void engine_adopt(struct engine *e, struct manifest *m)
{
	uint32_t count = manifest_count(m);

	/* Objects are found by identity alone: go on until none is left. */
	for (uint32_t i = 0; i < count; i++) {
		struct object_info info;

		if (i % LOOK_EVERY == 0 && count_older(e, m) == 0)
			break;
		engine_peek(e, m, i, &info);
	}
}
