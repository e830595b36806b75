/*
 * forget.c - blocks leave the cache, in the order that a crash can't turn into wrong bytes
 *
 * On the upkeep thread, so never beside a checkpoint:
 *   1. mark them evicting: no new reader sees them, nobody fetches them;
 *   2. wait for the readers who saw them before;
 *   3. commit that they are gone, and empty the write-ahead log, so that no older state comes back;
 *   4. punch them out of the file;
 *   5. make gaps of them, and tell the engine.
 * A crash after 3 leaves blocks that nobody claims: sweep.c punches those. Where 3 fails, all is as
 * it was before 1, but for what is known to be wrong, which is never shown again.
 */
#include "base/log.h"
#include "store/store_priv.h"

void forget_init(struct forget *f, struct version *v)
{
	*f = (struct forget){.v = v};
	rangeset_init(&f->ranges);
	rangeset_init(&f->keep);
}

void forget_done(struct forget *f)
{
	rangeset_done(&f->ranges);
	rangeset_done(&f->keep);
}

/* Bytes of r that are in set. */
static uint64_t overlap(const struct rangeset *set, struct range r)
{
	uint64_t bytes = 0;
	struct range m;

	for (uint64_t at = r.off; at < r.end && !rangeset_next(set, at, &m) && m.off < r.end;
	     at = m.end)
		bytes += range_len(range_intersect(m, r));
	return bytes;
}

static uint64_t uncommitted(const struct version *v, struct range r)
{
	return overlap(&v->dirty, r) + overlap(&v->syncing, r);
}

/* Step 1 for one range; what is really marked goes to got. */
static int mark_range_locked(struct version *v, struct range r, bool marked, struct rangeset *got)
{
	struct extent x;
	int error = 0;

	for (uint64_t at = r.off;
	     !error && at < r.end && !extmap_next(v->map, at, &x) && x.range.off < r.end;) {
		struct range part = range_intersect(x.range, r);

		at = x.range.end;
		if (x.evicting != marked || (!marked && version_waits_locked(v, part)))
			continue;
		error = rangeset_add(got, part);
		if (!error && !marked)
			error = extmap_set_evicting(v->map, part, true);
	}
	return error;
}

/* Where holes can't be punched only a whole file gives its blocks back: no writers, no waiters,
 * then all. */
static bool widen_locked(struct version *v, struct rangeset *ranges) REQUIRES(v->lock)
	REQUIRES(v->lock)
{
	if (v->waiter_count > 0 || v->loading)
		return false;
	rangeset_done(ranges);
	if (rangeset_add(ranges, (struct range){0, UINT64_MAX}))
		return false;
	v->gated = true;
	while (!TAILQ_EMPTY(&v->claims) || v->making)
		cnd_wait(&v->changed, &v->lock);
	return true;
}

static int mark(struct forget *f)
{
	bool whole = atomic_load(&f->v->store->cache.no_punch) && !f->marked;
	struct version *v = f->v;
	struct rangeset got;
	struct range r;
	uint64_t at = 0;
	int error = 0;

	rangeset_init(&got);
	mtx_lock(&v->lock);
	if (whole && !widen_locked(v, &f->ranges))
		rangeset_done(&f->ranges);
	while (!error && !rangeset_next(&f->ranges, at, &r)) {
		error = mark_range_locked(v, r, f->marked, &got);
		at = r.end;
	}
	rangeset_swap(&f->ranges, &got);
	mtx_unlock(&v->lock);
	rangeset_done(&got);
	return error;
}

/* What step 3 is to do for f. */
static void add_rows(const struct forget *f, struct batch *b)
{
	struct version *v = f->v;
	uint64_t durable = 0;
	struct range r;

	mtx_lock(&v->lock);
	if (v->has_row && !v->closed && f->ranges.bytes > 0) {
		for (uint64_t at = 0; !rangeset_next(&f->ranges, at, &r); at = r.end) {
			durable += range_len(r) - uncommitted(v, r);
			batch_clear(b, v->id, r);
		}
		batch_bytes(b, v->id, v->durable_bytes - min_u64(durable, v->durable_bytes));
	}
	mtx_unlock(&v->lock);
}

/*
 * Step 3. *ret_gone: the rows are, although it failed: the log could not be emptied, so an older
 * state may come back, and nothing is punched.
 */
static int commit(struct store *s, const struct forget *items, size_t count, bool *ret_gone)
{
	struct batch b, none;
	int r = 0;

	*ret_gone = false;
	batch_init(&b);
	batch_init(&none);
	for (size_t i = 0; i < count; i++)
		add_rows(&items[i], &b);
	if (b.count > 0 || b.error) {
		r = store_apply(s, &b, false);
		*ret_gone = !r;
		if (!r)
			r = store_apply(s, &none, true);
	}
	batch_done(&none);
	batch_done(&b);
	return r;
}

/* What is shown again although its rows are gone is as new as what was just written. */
static void renew_locked(struct version *v, struct range r) REQUIRES(v->lock)
{
	uint64_t before = v->dirty.bytes + v->syncing.bytes;
	uint64_t durable = min_u64(range_len(r) - uncommitted(v, r), v->durable_bytes);

	v->durable_bytes -= durable;
	atomic_fetch_sub(&v->store->durable, durable);
	/* No memory: then it is fetched again after a restart. */
	if (rangeset_remove(&v->syncing, r) == 0)
		rangeset_add(&v->dirty, r);
	atomic_fetch_add(&v->store->dirty_bytes, v->dirty.bytes + v->syncing.bytes - before);
	version_hold_locked(v, HOLD_DIRTY);
}

/* Step 1 undone: the database would not forget. Readers may have parked for it meanwhile. */
static void show_again(struct version *v, const struct rangeset *set, bool gone)
{
	struct waiter_list ready = TAILQ_HEAD_INITIALIZER(ready);
	struct range r;

	mtx_lock(&v->lock);
	for (uint64_t at = 0; !rangeset_next(set, at, &r); at = r.end) {
		extmap_set_evicting(v->map, r, false);
		if (gone && v->has_row && !v->closed)
			renew_locked(v, r);
	}
	v->gated = false;
	cnd_broadcast(&v->changed);
	version_collect_locked(v, (struct range){0, UINT64_MAX}, &ready);
	mtx_unlock(&v->lock);
	version_admit(v);
	version_answer(v, &ready);
	if (gone)
		store_poke(v->store, WORK_NEW);
}

/* Step 4. Bytes given back. */
static uint64_t punch(struct forget *f)
{
	struct version *v = f->v;
	struct cache *c = &v->store->cache;
	struct backing *b;
	uint64_t bytes = 0;
	struct range r;
	bool all;
	int error;

	if (f->removed)
		return f->ranges.bytes;
	mtx_lock(&v->lock);
	b = f->backing ? f->backing : v->backing;
	b = b ? backing_get(b) : NULL;
	all = v->gated && extmap_bytes(v->map) == 0;
	mtx_unlock(&v->lock);
	if (b)
		trust_write_begin(v, b);
	if (b && all && atomic_load(&c->no_punch)) {
		error = backing_empty(b);
		if (!error)
			bytes = f->ranges.bytes;
	}
	for (uint64_t at = 0; b && !atomic_load(&c->no_punch) && !rangeset_next(&f->ranges, at, &r);
	     at = r.end) {
		error = backing_punch(c, b, r);
		if (error)
			log_warn("a hole can't be made in a cache file: %s", strerror(-error));
		else
			bytes += range_len(r);
	}
	if (b)
		trust_write_end(v, b);
	backing_put(b);
	return bytes;
}

/* Step 5. */
static void make_gaps(struct forget *f)
{
	struct version *v = f->v;
	struct store *s = v->store;
	struct range r;
	bool put = false, short_of = false;

	mtx_lock(&v->lock);
	for (uint64_t at = 0; !rangeset_next(&f->ranges, at, &r); at = r.end) {
		uint64_t fresh = uncommitted(v, r), bytes = range_len(r), durable;

		/* No memory to cut a list in two: then a little more is synced than need be. */
		if (rangeset_remove(&v->dirty, r) || rangeset_remove(&v->syncing, r) ||
		    extmap_remove(v->map, r))
			short_of = true;
		durable = min_u64(bytes - fresh, v->durable_bytes);
		atomic_fetch_sub(&s->cached, bytes);
		atomic_fetch_sub(&s->dirty_bytes, fresh);
		atomic_fetch_sub(&s->durable, durable);
		v->durable_bytes -= durable;
	}
	v->gated = false;
	cnd_broadcast(&v->changed);
	if (v->dirty.bytes == 0 && v->syncing.bytes == 0 && !v->meta_dirty)
		put = version_unhold_locked(v, HOLD_DIRTY);
	mtx_unlock(&v->lock);
	version_admit(v);
	if (short_of)
		log_warn("no memory to forget a range of the cache");
	if (put)
		version_put(v);
}

/* Steps 4 (unless rows may still tell of the blocks) and 5, and tell. Bytes given back. */
static uint64_t forget_finish(struct store *s, struct forget *f, bool committed)
{
	uint64_t bytes = committed && f->ranges.bytes > 0 ? punch(f) : 0;

	make_gaps(f);
	space_release(s, bytes);
	if (f->ranges.bytes > 0 && s->cfg.lost)
		s->cfg.lost(s->cfg.ctx, f->v);
	return bytes;
}

/*
 * Step 3 has failed. What was condemned is not shown again even if its row stays: a row that says
 * too much is found out by its checksum, once the blocks have been written anew. A database that
 * had to be replaced remembers nothing.
 */
static void forget_failed(struct store *s, struct forget *f, bool gone)
{
	struct rangeset shown;
	struct range r, m;

	if (!f->marked) {
		show_again(f->v, &f->ranges, gone);
		return;
	}
	rangeset_init(&shown);
	for (uint64_t at = 0; f->error != -EUCLEAN && !rangeset_next(&f->keep, at, &r);
	     at = r.end) {
		for (uint64_t in = r.off; !rangeset_next(&f->ranges, in, &m) && m.off < r.end;
		     in = m.end)
			rangeset_add(&shown, range_intersect(m, r));
	}
	for (uint64_t at = 0; !rangeset_next(&shown, at, &r); at = r.end) {
		if (rangeset_remove(&f->ranges, r))
			rangeset_remove(&shown, r); /* no memory: a whole one needs none */
	}
	show_again(f->v, &shown, gone);
	rangeset_done(&shown);
	forget_finish(s, f, false);
}

/* Steps 3 to 5 for what is marked. */
static int settle(struct store *s, struct forget *items, size_t count, uint64_t *bytes)
{
	int r, error = 0;
	bool gone;

	r = commit(s, items, count, &gone);
	/* One after another: what one gives back is room for the next one's rows. */
	for (size_t i = 0; r == -ENOSPC && !gone && count > 1 && i < count; i++) {
		int e = settle(s, &items[i], 1, bytes);

		error = error ? error : e;
	}
	if (r == -ENOSPC && !gone && count > 1)
		return error;
	for (size_t i = 0; i < count; i++) {
		items[i].error = r;
		if (r)
			forget_failed(s, &items[i], gone);
		else
			*bytes += forget_finish(s, &items[i], true);
	}
	return r;
}

int forget_run(struct store *s, struct forget *items, size_t count, uint64_t *ret_bytes)
{
	int r = 0;

	for (size_t i = 0; i < count; i++) {
		int error = mark(&items[i]);

		r = r ? r : error;
	}
	for (size_t i = 0; i < count; i++) {
		if (items[i].ranges.bytes > 0)
			version_drain(items[i].v);
	}
	*ret_bytes = 0;
	if (!r)
		return settle(s, items, count, ret_bytes);
	for (size_t i = 0; i < count; i++) {
		items[i].error = r;
		forget_failed(s, &items[i], false);
	}
	return r;
}

static bool is_condemned(const struct version *v)
{
	return (v->holds & HOLD_CONDEMNED) && !v->loading;
}

/* What is condemned or to be dropped of v moves to f. */
static int gather(struct forget *f, struct version *v)
{
	struct range r;
	int error = 0;

	forget_init(f, v);
	f->marked = true;
	mtx_lock(&v->lock);
	rangeset_swap(&v->condemned, &f->ranges);
	rangeset_swap(&v->dropped, &f->keep);
	/* The list's own reference keeps it. */
	if (version_unhold_locked(v, HOLD_CONDEMNED))
		atomic_fetch_sub(&v->refs, 1);
	mtx_unlock(&v->lock);
	for (uint64_t at = 0; !error && !rangeset_next(&f->keep, at, &r); at = r.end)
		error = rangeset_add(&f->ranges, r);
	if (error)
		show_again(v, &f->keep, false);
	return error;
}

int forget_condemned(struct store *s)
{
	struct version **list = NULL;
	struct forget *items;
	size_t count = 0;
	uint64_t bytes;
	int r, error = 0;

	r = store_collect(s, is_condemned, &list, &count);
	if (r)
		return r;
	items = calloc(count + 1, sizeof(*items));
	if (!items) {
		store_put_all(list, count);
		return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++) {
		r = gather(&items[i], list[i]);
		error = error ? error : r;
	}
	if (count > 0)
		r = forget_run(s, items, count, &bytes);
	/* A database that had to be replaced remembers nothing. */
	if (r && r != -EUCLEAN)
		error = error ? error : r;
	for (size_t i = 0; i < count; i++) {
		mtx_lock(&list[i]->lock);
		list[i]->drop_error = items[i].error == -EUCLEAN ? 0 : items[i].error;
		mtx_unlock(&list[i]->lock);
		forget_done(&items[i]);
	}
	free(items);
	store_put_all(list, count);
	return error;
}

void forget_uncommitted(struct store *s, struct version *v, bool unnamed)
{
	struct backing *fresh = NULL, *old;
	struct forget f;
	struct range r;
	int error, reopened = 0;
	uint64_t cookie = 0;

	forget_init(&f, v);
	f.marked = true;
	mtx_lock(&v->lock);
	old = backing_get(v->backing);
	mtx_unlock(&v->lock);
	if (!unnamed)
		reopened = backing_reopen(old, &fresh);

	mtx_lock(&v->lock);
	error = 0;
	for (uint64_t at = 0; !error && !rangeset_next(&v->syncing, at, &r); at = r.end)
		error = rangeset_add(&f.ranges, r);
	for (uint64_t at = 0; !error && !rangeset_next(&v->dirty, at, &r); at = r.end)
		error = rangeset_add(&f.ranges, r);
	for (uint64_t at = 0; !error && !rangeset_next(&f.ranges, at, &r); at = r.end)
		error = extmap_set_evicting(v->map, r, true);
	if (reopened)
		v->file_error = reopened;
	else
		v->backing = fresh;
	if (unnamed) {
		/* The next byte makes a file of another name. */
		cookie = v->cookie;
		v->cookie = 0;
		v->meta_dirty = false;
	}
	mtx_unlock(&v->lock);
	if (!reopened)
		backing_put(old); /* the version's reference */
	f.backing = old;
	if (error)
		log_error("no memory to forget what a failed sync left");
	/* Rows never told of these bytes: there is nothing to commit. */
	version_drain(v);
	forget_finish(s, &f, true);
	forget_done(&f);
	if (unnamed)
		cache_unlink(&s->cache, v->id, cookie);
	backing_put(old);
}

void forget_removed(struct store *s, struct version *v)
{
	struct backing *old;
	struct forget f;
	struct extent x;
	uint64_t bytes;
	int error = 0;

	forget_init(&f, v);
	f.marked = f.removed = true;
	mtx_lock(&v->lock);
	for (uint64_t at = 0; !error && !extmap_next(v->map, at, &x); at = x.range.end)
		error = rangeset_add(&f.ranges, x.range);
	if (!error)
		error = extmap_set_evicting(v->map, (struct range){0, extmap_size(v->map)}, true);
	old = error ? NULL : v->backing;
	if (!error) {
		v->backing = NULL;
		v->cookie = 0;
	}
	mtx_unlock(&v->lock);
	if (!error)
		error = forget_run(s, &f, 1, &bytes);
	if (error)
		log_warn("a removed cache file can't be forgotten: %s", strerror(-error));
	forget_done(&f);
	backing_put(old);
}

/* ---- versions that nobody holds any more ---- */

struct grave_job {
	struct dbjob job;
	struct version_list *graves;
	struct batch *batch;
};

static int grave_run(struct dbjob *job, struct extdb *db)
{
	struct grave_job *g = container_of(job, struct grave_job, job);
	struct version_row row;
	struct version *v;
	int r;

	TAILQ_FOREACH (v, g->graves, link) {
		if (v->cookie || !v->has_row)
			continue;
		r = extdb_get_version(db, v->id, &row);
		if (!r)
			v->cookie = row.cookie;
		else if (r != -ENOENT)
			return r;
	}
	return extdb_apply(db, g->batch, false);
}

void forget_graves(struct store *s)
{
	struct version_list graves = TAILQ_HEAD_INITIALIZER(graves);
	struct grave_job g = {.job.run = grave_run, .graves = &graves};
	struct version *v;
	struct batch b;
	int r = 0;

	mtx_lock(&s->lock);
	TAILQ_CONCAT(&graves, &s->graves, link);
	mtx_unlock(&s->lock);
	batch_init(&b);
	TAILQ_FOREACH (v, &graves, link) {
		if (v->has_row)
			batch_delete(&b, v->id);
	}
	g.batch = &b;
	if (b.count > 0 && s->has_db)
		r = dbthread_run(&s->db, &g.job);
	batch_done(&b);
	/* Files may go in any case: a row without its file forgets itself when it is loaded. */
	if (r)
		log_warn("a superseded version stays in the database: %s", strerror(-r));
	while ((v = TAILQ_FIRST(&graves)) != NULL) {
		/* Without a file in memory it was never loaded, and counted as its record says. */
		uint64_t bytes = v->backing ? extmap_bytes(v->map) : v->durable_bytes;

		TAILQ_REMOVE(&graves, v, link);
		if (v->cookie)
			cache_unlink(&s->cache, v->id, v->cookie);
		atomic_fetch_sub(&s->cached, bytes);
		atomic_fetch_sub(&s->durable, v->durable_bytes);
		space_release(s, bytes);
		version_free(v);
	}
}
