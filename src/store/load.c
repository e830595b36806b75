/*
 * load.c - a recorded version comes into memory: its extents from the database, its file from the
 * directory
 *
 * On the database thread; readers park and writers wait for their turn until it is over. A file
 * that is not the recorded one (another inode, another length, gone) takes its extents with it:
 * they are forgotten, never guessed.
 */
#include <inttypes.h>

#include "base/log.h"
#include "store/store_priv.h"

struct load {
	struct dbjob job;
	struct version *v; /* a reference */
	struct version_row row;
	struct backing *backing;
	struct trust_look look; /* at its file, before any block of it is verified */
	uint64_t claimed_end, allocated;
	bool found, foreign;
};

static int load_extent(void *ctx, const struct extent_row *e)
{
	struct load *l = ctx;
	struct version *v = l->v;
	uint64_t off = e->block << BLOCK_SHIFT, size;
	struct range r;
	int error;

	mtx_lock(&v->lock);
	size = extmap_size(v->map);
	r = range_intersect(range_of_length(off, (uint64_t)e->count << BLOCK_SHIFT),
			    (struct range){0, size});
	/* A row that reaches past the size can't be true as a whole. */
	error = range_blocks(r) == e->count
			? extmap_add(v->map, r, e->source, e->sums, false, e->atime_s)
			: -EINVAL;
	v->flushed_s = v->flushed_s > e->atime_s ? v->flushed_s : e->atime_s;
	mtx_unlock(&v->lock);
	if (error == -ENOMEM)
		return error;
	if (!error)
		l->claimed_end = max_u64(l->claimed_end, r.end);
	return 0;
}

static int load_forget(struct load *l, struct extdb *db)
{
	struct batch b;
	int r;

	batch_init(&b);
	batch_delete(&b, l->v->id);
	r = extdb_apply(db, &b, false);
	batch_done(&b);
	return r;
}

static int load_run(struct dbjob *job, struct extdb *db)
{
	struct load *l = container_of(job, struct load, job);
	struct version *v = l->v;
	uint64_t size;
	int r;

	r = extdb_get_version(db, v->id, &l->row);
	if (r)
		return r == -ENOENT ? 0 : r;
	l->found = true;
	mtx_lock(&v->lock);
	if (extmap_size(v->map) == SIZE_UNKNOWN && l->row.size != SIZE_UNKNOWN)
		extmap_set_size(v->map, l->row.size);
	size = extmap_size(v->map);
	mtx_unlock(&v->lock);
	r = extdb_each_extent(db, v->id, load_extent, l);
	if (r)
		return r;
	r = cache_attach(&v->store->cache, v->id, l->row.cookie, l->row.ino, size, l->claimed_end,
			 &l->backing);
	if (!r) {
		trust_stat(l->backing, &l->look);
		if (!l->look.failed)
			l->allocated = (uint64_t)l->look.st.st_blocks * 512;
	}
	if (r != -ENOENT && r != -ESTALE && r != -ELOOP)
		return r;
	l->foreign = true;
	r = load_forget(l, db);
	cache_unlink(&v->store->cache, v->id, l->row.cookie);
	return r;
}

/* Nothing of what was read counts. */
static void load_reset_locked(struct version *v)
{
	struct extmap *empty = extmap_new(extmap_size(v->map));

	if (empty) {
		extmap_free(v->map);
		v->map = empty;
	} else {
		extmap_remove(v->map, (struct range){0, extmap_size(v->map)});
	}
}

static void load_adopt_locked(struct load *l, int result)
{
	struct version *v = l->v;

	v->durable_bytes = 0;
	if (result || l->foreign || !l->found) {
		load_reset_locked(v);
		if (result && result != -EUCLEAN) {
			v->file_error = result; /* the row stays, for a better day */
			v->has_row = true;
		}
		return;
	}
	v->has_row = true;
	v->backing = l->backing;
	v->cookie = l->row.cookie;
	l->backing = NULL;
	trust_known_locked(v, v->backing, &l->look);
	v->durable_bytes = extmap_bytes(v->map);
	if (!atomic_load(&v->store->cache.no_punch) &&
	    l->allocated > space_len(v->store, v->durable_bytes) + 2 * v->store->cache.fs_block)
		v->scrub = true;
}

static void load_finish(struct dbjob *job, int result)
{
	struct waiter_list ready = TAILQ_HEAD_INITIALIZER(ready);
	struct load *l = container_of(job, struct load, job);
	struct version *v = l->v;
	struct store *s = v->store;
	uint64_t was, is;
	bool scrub, lost;

	mtx_lock(&v->lock);
	was = v->durable_bytes; /* what the record says */
	load_adopt_locked(l, result);
	is = v->durable_bytes;
	scrub = v->scrub;
	v->loading = false;
	version_collect_locked(v, (struct range){0, UINT64_MAX}, &ready);
	lost = !extmap_complete(v->map); /* who still waits for more than a scrub waits for that */
	cnd_broadcast(&v->changed);
	mtx_unlock(&v->lock);

	space_adjust(s, was, is);
	atomic_fetch_add(&s->cached, is - was);
	atomic_fetch_add(&s->durable, is - was);
	if (l->foreign)
		log_warn("%s is not the one that was written here: its %" PRIu64
			 " bytes are forgotten",
			 store_file(s), l->row.bytes);
	else if (result && result != -EUCLEAN)
		log_warn("%s can't be used now: %s", store_file(s), strerror(-result));
	if (scrub)
		store_poke(s, WORK_SCRUB);
	version_admit(v);
	version_answer(v, &ready);
	if (lost && s->cfg.lost)
		s->cfg.lost(s->cfg.ctx, v);
	backing_put(l->backing);
	version_put(v);
	free(l);
}

int version_load(struct version *v)
{
	struct load *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	l->v = v;
	l->job.run = load_run;
	l->job.finish = load_finish;
	dbthread_post(&v->store->db, &l->job);
	return 0;
}
