/*
 * object.c - the table of remote resources in use, and what is known of each
 *
 * Callers: fs and the control socket by engine.h; every file of the engine. Any thread finds,
 * references and looks at objects under engine.lock; the engine thread alone changes them and frees
 * them, when the message that the last object_put() posted finds them still without a reference.
 */
#include <stdarg.h>

#include "base/clock.h"
#include "base/size.h"
#include "core/url.h"
#include "engine/internal.h"
#include "engine/task.h"

#define IDLE_MAX 128 /* versions and tasks kept open for the next reader */

static const char *const state_name[] = {
	[OBJECT_IDLE] = "idle",		[OBJECT_PROBING] = "probing", [OBJECT_FILLING] = "filling",
	[OBJECT_COMPLETE] = "complete", [OBJECT_STALE] = "stale",     [OBJECT_FAILED] = "failed",
};
_Static_assert(ARRAY_SIZE(state_name) == OBJECT_STATE_COUNT, "name every object_state");

const char *object_state_name(enum object_state st)
{
	return state_name[st];
}

/* One resource may go to several targets. */
int object_cmp(const struct object *a, const struct object *b)
{
	int r = memcmp(a->key.bytes, b->key.bytes, sizeof(a->key.bytes));

	if (r == 0 && a->store != b->store)
		r = (uintptr_t)a->store < (uintptr_t)b->store ? -1 : 1;
	return r;
}

RB_GENERATE(object_tree, object, by_key, object_cmp)

struct object *object_find_locked(struct engine *e, struct store *s, const struct object_key *key)
{
	struct object probe = {.store = s, .key = *key};

	return RB_FIND(object_tree, &e->objects, &probe);
}

/* ---- birth ---- */

static struct object *object_new(struct engine *e, struct store *s, struct manifest *m,
				 uint32_t index, const struct entry *entry,
				 const struct object_key *key)
{
	struct object *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	o->e = e;
	o->store = s;
	o->key = *key;
	o->manifest = manifest_get(m);
	o->index = index;
	o->manifest_size = entry->size;
	o->slice = entry->slice;
	o->checksum = entry->checksum;
	o->etag_pinned = entry->etag != NULL;
	o->generation = 1;
	failmem_init(&o->failures);
	mtx_init(&o->read_lock, RANK_READS, "reads");
	rangeset_init(&o->read);
	LIST_INIT(&o->probes);
	LIST_INIT(&o->fills);
	if (entry->url_count > 0)
		o->origin = origin_get(e, entry->url[0]);
	object_recall(o, entry);
	return o;
}

static void object_free(struct object *o)
{
	if (!o)
		return;
	manifest_put(o->manifest);
	origin_put(o->e, o->origin);
	rangeset_done(&o->read);
	mtx_done(&o->read_lock);
	free(o->error);
	free(o->filename);
	free(o);
}

/* The object in memory, one more reference, with all that entry says; NULL: none. 0 or -ENOMEM. */
static int object_find(struct engine *e, struct store *s, struct manifest *m, uint32_t index,
		       const struct entry *entry, const struct object_key *key, struct object **ret)
{
	struct object *o;
	int r = 0;

	mtx_lock(&e->lock);
	o = object_find_locked(e, s, key);
	if (o)
		o->refs++;
	mtx_unlock(&e->lock);
	if (o && object_outdated(o, m, entry))
		r = object_adopt(o, m, index);
	if (r < 0)
		object_put(o);
	else
		*ret = o;
	return r;
}

int engine_object(struct engine *e, struct manifest *m, uint32_t index, struct object **ret)
{
	return engine_object_in(e, e->store, m, index, ret);
}

int engine_object_in(struct engine *e, struct store *s, struct manifest *m, uint32_t index,
		     struct object **ret)
{
	struct object *o, *made = NULL;
	struct object_key key;
	struct entry entry;
	int r;

	entry_init(&entry);
	r = manifest_entry(m, index, &entry);
	if (r == 0)
		r = identity_key(&entry, &key);
	if (r < 0)
		goto out;

	r = object_find(e, s, m, index, &entry, &key, &o);
	if (r < 0)
		goto out;
	if (!o) {
		made = object_new(e, s, m, index, &entry, &key);
		if (!made) {
			r = -ENOMEM;
			goto out;
		}
		mtx_lock(&e->lock);
		o = RB_INSERT(object_tree, &e->objects, made);
		if (!o) {
			o = made;
			made = NULL;
			e->object_count++;
		}
		o->refs++;
		mtx_unlock(&e->lock);
	}
	*ret = o;
	r = 0;
out:
	object_free(made);
	entry_done(&entry);
	return r;
}

/* ---- references and death ---- */

struct object *object_get(struct object *o)
{
	mtx_lock(&o->e->lock);
	o->refs++;
	mtx_unlock(&o->e->lock);
	return o;
}

static void object_gone(struct engine *e, struct msg *m)
{
	struct object *o = container_of(m, struct object, gone_msg);
	bool dead;

	mtx_lock(&e->lock);
	o->gone_posted = false;
	dead = o->refs == 0;
	if (dead) {
		RB_REMOVE(object_tree, &e->objects, o);
		e->object_count--;
	}
	mtx_unlock(&e->lock);
	if (!dead)
		return;
	object_wake(o);
	object_release(o);
	learned_keep_reads(o);
	object_free(o);
}

void object_put(struct object *o)
{
	struct engine *e;
	bool last;

	if (!o)
		return;
	e = o->e;
	mtx_lock(&e->lock);
	last = --o->refs == 0 && !o->gone_posted;
	if (last)
		o->gone_posted = true;
	mtx_unlock(&e->lock);
	if (last)
		engine_post(e, &o->gone_msg, object_gone);
}

const struct object_key *object_key(const struct object *o)
{
	return &o->key;
}

char *object_filename(struct object *o)
{
	char *name;

	mtx_lock(&o->e->lock);
	name = o->filename ? strdup(o->filename) : NULL;
	mtx_unlock(&o->e->lock);
	return name;
}

struct manifest *object_manifest(struct object *o, uint32_t *ret_index)
{
	struct manifest *m;

	mtx_lock(&o->e->lock);
	*ret_index = o->index;
	m = manifest_get(o->manifest);
	mtx_unlock(&o->e->lock);
	return m;
}

void engine_each(struct engine *e, void (*fn)(void *ctx, struct object *o), void *ctx)
{
	struct object **list, *o;
	size_t count = 0, room;

	mtx_lock(&e->lock);
	room = e->object_count;
	mtx_unlock(&e->lock);
	list = calloc(room + 1, sizeof(struct object *));
	if (!list)
		return;
	mtx_lock(&e->lock);
	RB_FOREACH (o, object_tree, &e->objects) {
		if (count == room)
			break;
		o->refs++;
		list[count++] = o;
	}
	mtx_unlock(&e->lock);
	for (size_t i = 0; i < count; i++) {
		fn(ctx, list[i]);
		object_put(list[i]);
	}
	free(list);
}

/* ---- what is known ---- */

static enum object_state object_state_locked(const struct object *o) REQUIRES(o->e->lock)
{
	if (o->failed)
		return OBJECT_FAILED;
	if (o->stale)
		return OBJECT_STALE;
	if (o->complete)
		return OBJECT_COMPLETE;
	if (o->checking)
		return OBJECT_PROBING;
	return o->filling ? OBJECT_FILLING : OBJECT_IDLE;
}

/* How much of a stream without a length has come: the bytes from 0 on without a gap. */
static uint64_t stream_size(struct version *v)
{
	struct range gap;

	if (!v || version_next_gap(v, range_make(0, block_floor(FILE_SIZE_MAX)), &gap) < 0)
		return 1;
	return max_u64(gap.off, 1);
}

/* Keys are digests: eight bytes of one tell it from all others that there will be. */
static uint64_t content_of(const struct object_key *key)
{
	uint64_t content;

	memcpy(&content, key->bytes, sizeof(content));
	return max_u64(content, 1);
}

void object_info(struct object *o, struct object_info *ret)
{
	struct object_info info = {.in_memory = true, .content = content_of(&o->key)};
	struct store_record rec;
	struct version_info vi;
	struct version *v;
	bool fresh;

	mtx_lock(&o->e->lock);
	info.size = o->size;
	info.mtime = o->mtime == VALIDATOR_NO_TIME ? MANIFEST_NO_TIME : o->mtime;
	info.state = object_state_locked(o);
	info.generation = o->generation;
	info.length_unknown = o->length_unknown;
	info.validator = o->validator;
	if (o->error)
		snprintf(info.error, sizeof(info.error), "%s", o->error);
	v = o->version ? version_get(o->version) : NULL;
	fresh = o->fresh;
	mtx_unlock(&o->e->lock);

	info.reads = atomic_load(&o->reads);
	info.read_hits = atomic_load(&o->read_hits);
	info.bytes_fetched = atomic_load(&o->bytes_fetched);
	info.bytes_discarded = atomic_load(&o->bytes_discarded);
	info.requests = atomic_load(&o->requests);
	info.retries = atomic_load(&o->retries);
	info.rate_bps = atomic_load(&o->rate_bps);
	info.connections = atomic_load(&o->connections);
	/* Without a version, what it left may still be on its way to the disk: the store knows. */
	if (!fresh && store_lookup(o->store, &o->key, &rec) == 0) {
		info.bytes_cached = rec.bytes_cached;
		info.bytes_durable = rec.bytes_durable;
	}
	if (v) {
		version_info(v, &vi);
		info.waiters = (unsigned int)vi.waiters;
		if (!vi.loading) {
			info.bytes_cached = vi.bytes_present;
			info.bytes_durable = vi.bytes_durable;
		}
	}
	if (info.length_unknown && info.size == SIZE_UNKNOWN)
		info.size = stream_size(v);
	version_put(v);
	*ret = info;
}

enum object_state object_shown_state(const struct object_info *info)
{
	if (info->state == OBJECT_COMPLETE && info->bytes_durable < info->size)
		return OBJECT_FILLING;
	return info->state;
}

int engine_peek(struct engine *e, struct manifest *m, uint32_t index, struct object_info *ret)
{
	struct object_info info = {.generation = 1, .validator = VALIDATOR_INIT};
	struct object_key key;
	struct object *o;
	struct entry entry;
	int r;

	entry_init(&entry);
	r = manifest_entry(m, index, &entry);
	if (r == 0)
		r = identity_key(&entry, &key);
	if (r < 0)
		goto out;
	r = object_find(e, e->store, m, index, &entry, &key, &o);
	if (r < 0)
		goto out;
	if (o) {
		object_info(o, &info);
		object_put(o);
		r = info.size == SIZE_UNKNOWN ? -ENOENT : 0;
	} else {
		info.content = content_of(&key);
		info.size = entry.size;
		info.mtime = entry.mtime;
		r = recall_peek(e, &entry, &key, &info);
	}
	*ret = info;
out:
	entry_done(&entry);
	return r;
}

void object_set_error(struct object *o, const char *fmt, ...)
{
	char *text = NULL, *old;
	va_list ap;

	if (fmt) {
		va_start(ap, fmt);
		if (vasprintf(&text, fmt, ap) < 0)
			text = NULL;
		va_end(ap);
	}
	mtx_lock(&o->e->lock);
	old = o->error;
	o->error = text;
	mtx_unlock(&o->e->lock);
	free(old);
}

void object_tell(struct object *o)
{
	if (o->e->cfg.changed)
		o->e->cfg.changed(o->e->cfg.ctx, o);
}

void object_remember(struct object *o)
{
	struct store_record rec = {
		.size = o->size,
		.mtime = o->mtime,
		.validator = o->validator,
		.asked_s = o->asked_s,
	};

	if (store_remember(o->store, &o->key, &rec) < 0)
		log_warn("cache: no memory to remember an object's size");
}

/* ---- its version ---- */

struct version *object_swap_version_locked(struct object *o, struct version *v)
{
	struct version *before = o->version;

	o->version = v;
	return before;
}

void opening_begin_locked(struct object *o)
{
	while (o->opening)
		cnd_wait(&o->e->opened, &o->e->lock);
	o->opening = true;
}

void opening_end_locked(struct object *o)
{
	o->opening = false;
	cnd_broadcast(&o->e->opened);
}

static int object_open_version(struct object *o)
{
	struct validator validator;
	struct version *v = NULL;
	uint64_t size;
	int r = 0;
	bool there, fresh;

	mtx_lock(&o->e->lock);
	opening_begin_locked(o);
	there = o->version != NULL;
	validator = o->validator;
	size = o->size;
	fresh = o->fresh;
	mtx_unlock(&o->e->lock);
	if (!there)
		r = store_version_open(o->store, &o->key, &validator, size, fresh, &v);
	mtx_lock(&o->e->lock);
	if (v) {
		o->fresh = false;
		object_swap_version_locked(o, v);
	}
	opening_end_locked(o);
	mtx_unlock(&o->e->lock);
	return r;
}

int object_version(struct object *o, uint64_t generation, bool handle, struct version **ret)
{
	for (;;) {
		struct version *v = NULL;
		bool stale;
		int r;

		mtx_lock(&o->e->lock);
		stale = generation && o->generation != generation;
		if (o->version && !stale) {
			v = version_get(o->version);
			if (handle)
				o->handles++;
		}
		mtx_unlock(&o->e->lock);
		if (stale)
			return -ESTALE;
		if (v) {
			*ret = v;
			return 0;
		}
		r = object_open_version(o);
		if (r < 0)
			return r;
	}
}

int object_openable(struct object *o, uint64_t generation)
{
	int r = 0;

	mtx_lock(&o->e->lock);
	if (generation && o->generation != generation)
		r = -ESTALE; /* first: whoever looks the name up again asks the size, too */
	else if (o->size == SIZE_UNKNOWN && !o->length_unknown)
		r = -EIO;
	mtx_unlock(&o->e->lock);
	return r;
}

int object_hold(struct object *o, uint64_t generation, struct version **ret)
{
	int r = object_openable(o, generation);

	return r < 0 ? r : object_version(o, generation, false, ret);
}

void object_release(struct object *o)
{
	struct version *v;

	if (o->task)
		task_close(o->task);
	mtx_lock(&o->e->lock);
	v = o->handles == 0 ? object_swap_version_locked(o, NULL) : NULL;
	mtx_unlock(&o->e->lock);
	if (v) {
		struct version_info vi;

		version_info(v, &vi);
		mtx_lock(&o->e->lock);
		if (!vi.loading)
			o->cached = vi.bytes_present;
		mtx_unlock(&o->e->lock);
	}
	version_put(v);
}

void object_wake(struct object *o)
{
	if (!o->is_idle)
		return;
	TAILQ_REMOVE(&o->e->idle, o, idle_link);
	o->e->idle_count--;
	o->is_idle = false;
}

static bool object_used(struct object *o)
{
	bool open;

	mtx_lock(&o->e->lock);
	open = o->handles > 0;
	mtx_unlock(&o->e->lock);
	return open || !LIST_EMPTY(&o->fills) || !LIST_EMPTY(&o->probes) || o->backfill ||
	       o->verifying || o->revalidating ||
	       (o->task && (o->task->want_count || LIST_FIRST(&o->task->pulls)));
}

void object_rest(struct object *o)
{
	struct engine *e = o->e;

	if (o->is_idle || object_used(o))
		return;
	TAILQ_INSERT_TAIL(&e->idle, o, idle_link);
	e->idle_count++;
	o->is_idle = true;
}

void objects_trim(struct engine *e)
{
	while (e->idle_count > IDLE_MAX) {
		struct object *oldest = TAILQ_FIRST(&e->idle);

		object_wake(oldest);
		if (!object_used(oldest))
			object_release(oldest);
	}
}
