/*
 * checkpoint.c - new bytes become durable: snapshot, sync, commit, and only then count
 *
 * On the upkeep thread, so never beside a forgetting. Order, which is the whole point:
 *   1. under each version's lock: what is dirty becomes syncing, and the rows of its extents are
 *      copied. Every byte that these rows speak of was written before it entered the map, hence
 *      before the sync.
 *   2. sync the files in parallel; a new file by fsync, and then its directory.
 *   3. one transaction with all rows.
 *   4. only now they are durable bytes.
 * A file whose sync fails loses what was not committed (forget_uncommitted()) and is not in step 3;
 * one whose name is gone loses all.
 */
#include <inttypes.h>

#include "base/clock.h"
#include "base/log.h"
#include "store/store_priv.h"

/* Of objects in one transaction: a million at once would be half a gigabyte of rows. */
#define RECORDS_AT_ONCE 8192
#define SYNC_AT_ONCE	64 /* files; each needs a descriptor meanwhile */

struct entry {
	struct version *v; /* a reference */
	struct backing *b; /* a reference; NULL: only size or validator are new */
	struct batch rows;
	bool fresh;   /* its first row, or its first for this file */
	bool whole;   /* every byte is there */
	bool skip;    /* nothing to do after all, or closed */
	bool unnamed; /* its file was synced, but not the directory with its name */
	bool removed; /* its file's name is gone, or another's */
	int result;   /* of the sync */
};

struct checkpoint {
	struct store *s;
	struct entry *entry;
	size_t count;
	struct record **record; /* whose rows are in the batch */
	size_t record_count;
	struct batch batch;
	uint64_t bytes; /* that became durable, in so many … */
	size_t files;
};

static bool is_new(const struct version *v)
{
	return (v->holds & HOLD_DIRTY) && !v->loading;
}

static bool is_touched(const struct version *v)
{
	return (v->holds & HOLD_TOUCHED) && !v->loading;
}

/* A superseded version's bytes are served to old descriptors, but no row will ever tell of them. */
static bool discard_locked(struct version *v)
{
	atomic_fetch_sub(&v->store->dirty_bytes, v->dirty.bytes + v->syncing.bytes);
	rangeset_done(&v->dirty);
	rangeset_done(&v->syncing);
	v->meta_dirty = false;
	return version_unhold_locked(v, HOLD_DIRTY);
}

/* Extents that overlap r, from *done on: rows of them, and what of r they cover goes to syncing. */
static int snapshot_range_locked(struct version *v, struct entry *e, struct range r, uint64_t *done,
				 struct rangeset *syncing, struct rangeset *dirty)
{
	struct extent x;
	int error = 0;

	for (uint64_t at = r.off;
	     !error && at < r.end && !extmap_next(v->map, at, &x) && x.range.off < r.end;
	     at = x.range.end) {
		/* An evicting block gets no row; it leaves the list when it is forgotten. */
		error = rangeset_add(x.evicting ? dirty : syncing, range_intersect(x.range, r));
		if (x.evicting || x.range.end <= *done)
			continue;
		batch_extent(&e->rows, v->id, &x);
		*done = x.range.end;
	}
	return error;
}

static int snapshot_set_locked(struct version *v, struct entry *e, const struct rangeset *set,
			       struct rangeset *syncing, struct rangeset *dirty)
{
	uint64_t done = 0, at = 0;
	struct range r;
	int error = 0;

	while (!error && !rangeset_next(set, at, &r)) {
		error = snapshot_range_locked(v, e, r, &done, syncing, dirty);
		at = r.end;
	}
	return error;
}

static void version_row_locked(struct version *v, const struct object_key *key, uint64_t bytes,
			       struct version_row *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->id = v->id;
	ret->key = *key;
	ret->cookie = v->cookie;
	ret->ino = v->backing->ino;
	ret->size = extmap_size(v->map);
	ret->bytes = bytes;
	validator_format(&v->validator, ret->validator);
}

static int snapshot_locked(struct version *v, struct entry *e)
{
	struct rangeset syncing, dirty;
	struct version_row row;
	int error;

	if (!v->backing || (v->dirty.bytes == 0 && v->syncing.bytes == 0 && !v->meta_dirty)) {
		e->skip = true;
		return 0;
	}
	rangeset_init(&syncing);
	rangeset_init(&dirty);
	/* The version's row first: extents refer to it. */
	e->fresh = !v->has_row || v->file_new;
	e->whole = extmap_complete(v->map);
	version_row_locked(v, &v->rec->key, v->durable_bytes, &row);
	batch_version(&e->rows, &row);
	error = snapshot_set_locked(v, e, &v->syncing, &syncing, &dirty);
	if (!error)
		error = snapshot_set_locked(v, e, &v->dirty, &syncing, &dirty);
	batch_bytes(&e->rows, v->id, v->durable_bytes + syncing.bytes);
	if (!error)
		error = e->rows.error;
	if (!error) {
		rangeset_swap(&v->syncing, &syncing);
		rangeset_swap(&v->dirty, &dirty);
		v->meta_dirty = false;
		e->b = backing_get(v->backing);
	}
	rangeset_done(&syncing);
	rangeset_done(&dirty);
	return error;
}

static int snapshot(struct entry *e)
{
	struct version *v = e->v;
	bool put = false;
	int error = 0;

	mtx_lock(&v->lock);
	if (v->closed) {
		put = discard_locked(v);
		e->skip = true;
	} else {
		error = snapshot_locked(v, e);
		if (e->skip && !error)
			put = version_unhold_locked(v, HOLD_DIRTY);
	}
	mtx_unlock(&v->lock);
	if (put)
		version_put(v);
	return error;
}

/* A failed sync of the directory is final for the names that it should have brought. */
static void sync_names(struct checkpoint *c)
{
	int r = cache_sync_dir(&c->s->cache);

	for (size_t i = 0; r && i < c->count; i++) {
		struct entry *e = &c->entry[i];

		if (e->skip || e->result || !e->fresh)
			continue;
		e->unnamed = true;
		e->result = r;
	}
}

/* Sync up to as many files at once; returns the index behind them. */
static size_t sync_some(struct checkpoint *c, size_t at, struct sync_item *item, uint64_t *mark,
			size_t max)
{
	size_t first = at, n = 0;

	for (; at < c->count && n < max; at++) {
		struct entry *e = &c->entry[at];
		int fd = e->skip ? 0 : backing_sync_begin(e->b, &mark[n]);

		if (fd < 0)
			e->result = fd;
		else if (!e->skip)
			item[n++] = (struct sync_item){.fd = fd, .whole = e->fresh};
	}
	syncpool_run(&c->s->sync, item, n);
	n = 0;
	for (size_t i = first; i < at; i++) {
		struct entry *e = &c->entry[i];

		if (e->skip || e->result)
			continue;
		e->result = item[n].result;
		backing_sync_end(e->b, mark[n++], e->result == 0);
	}
	return at;
}

/* A file that nobody will find again makes nothing durable. */
static void find_removed(struct checkpoint *c)
{
	for (size_t i = 0; i < c->count; i++) {
		struct entry *e = &c->entry[i];

		if (e->skip || (e->result && e->result != -ENOENT))
			continue;
		e->removed = e->result == -ENOENT || !cache_named(e->b);
		if (e->removed)
			e->result = -ENOENT;
	}
}

/*
 * Rows are for whoever goes on: of a target that is all there nobody does, it gets its name next;
 * nor of one that has no byte yet.
 */
static bool needs_rows(const struct checkpoint *c)
{
	if (!c->s->cache.part)
		return true;
	for (size_t i = 0; i < c->count; i++) {
		if (!c->entry[i].skip && !c->entry[i].result && !c->entry[i].whole)
			return true;
	}
	return false;
}

/* Step 2. */
static void sync_files(struct checkpoint *c)
{
	unsigned int files_max = c->s->cache.open.max;
	size_t max = files_max && files_max < SYNC_AT_ONCE ? files_max : SYNC_AT_ONCE;
	struct sync_item item[SYNC_AT_ONCE];
	uint64_t mark[SYNC_AT_ONCE];
	bool fresh = false;

	for (size_t at = 0; at < c->count;)
		at = sync_some(c, at, item, mark, max);
	find_removed(c);
	for (size_t i = 0; i < c->count; i++)
		fresh |= !c->entry[i].skip && c->entry[i].fresh;
	/* Without a row nobody looks for this name; store_finish() syncs the next one. */
	if (fresh && needs_rows(c))
		sync_names(c);
}

/* Objects whose rows are to be written, with those of fresh versions among them. */
static int gather_records(struct checkpoint *c, bool *ret_more)
{
	struct store *s = c->s;
	struct object_row row;
	struct record *rec;
	size_t max;
	int r = 0;

	mtx_lock(&s->lock);
	for (size_t i = 0; i < c->count; i++) {
		struct entry *e = &c->entry[i];

		if (e->skip || e->result || !e->fresh || e->v->rec->version != e->v)
			continue;
		e->v->rec->version_row = e->v->id;
		records_mark_first(&s->records, e->v->rec);
	}
	max = RECORDS_AT_ONCE + c->count;
	c->record = calloc(max, sizeof(struct record *));
	if (!c->record)
		r = -ENOMEM;
	while (!r && c->record_count < max && (rec = TAILQ_FIRST(&s->records.dirty)) != NULL) {
		record_row(rec, &row);
		batch_object(&c->batch, &row);
		TAILQ_REMOVE(&s->records.dirty, rec, link);
		rec->dirty = false;
		c->record[c->record_count++] = rec;
	}
	*ret_more = !TAILQ_EMPTY(&s->records.dirty);
	mtx_unlock(&s->lock);
	return r;
}

static void gather_rows(struct checkpoint *c)
{
	for (size_t i = 0; i < c->count; i++) {
		struct entry *e = &c->entry[i];

		if (e->skip || e->result)
			continue;
		STAILQ_CONCAT(&c->batch.steps, &e->rows.steps);
		c->batch.count += e->rows.count;
		e->rows.count = 0;
	}
}

/* Atimes that changed since they were last written. */
static void gather_touches(struct checkpoint *c, struct version **list, size_t count)
{
	struct extent x;

	for (size_t i = 0; i < count; i++) {
		struct version *v = list[i];
		uint32_t newest;

		mtx_lock(&v->lock);
		newest = v->flushed_s;
		for (uint64_t at = 0; v->has_row && !v->closed && !extmap_next(v->map, at, &x);
		     at = x.range.end) {
			if (x.atime_s > v->flushed_s && !x.evicting)
				batch_touch(&c->batch, v->id, x.range, x.atime_s);
			newest = x.atime_s > newest ? x.atime_s : newest;
		}
		/* The second that runs may bring more of its reads. */
		v->flushed_s = newest > 0 ? newest - 1 : 0;
		mtx_unlock(&v->lock);
	}
}

static void release_touched(struct version **list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		bool put;

		mtx_lock(&list[i]->lock);
		put = version_unhold_locked(list[i], HOLD_TOUCHED);
		mtx_unlock(&list[i]->lock);
		if (put)
			version_put(list[i]);
	}
	store_put_all(list, count);
}

/* Step 4. rows: step 3 was. */
static void count_durable(struct checkpoint *c, bool rows)
{
	struct store *s = c->s;

	for (size_t i = 0; i < c->count; i++) {
		struct entry *e = &c->entry[i];
		struct version *v = e->v;
		bool put = false;

		if (e->skip || e->result)
			continue;
		mtx_lock(&v->lock);
		v->has_row |= rows;
		v->file_new &= v->backing != e->b;
		v->durable_bytes += v->syncing.bytes;
		c->bytes += v->syncing.bytes;
		c->files += v->syncing.bytes > 0;
		atomic_fetch_add(&s->durable, v->syncing.bytes);
		atomic_fetch_sub(&s->dirty_bytes, v->syncing.bytes);
		rangeset_done(&v->syncing);
		if (v->dirty.bytes == 0 && !v->meta_dirty)
			put = version_unhold_locked(v, HOLD_DIRTY);
		mtx_unlock(&v->lock);
		if (put)
			version_put(v);
	}
	atomic_fetch_add(&s->checkpoints, 1);
}

/* The commit failed: syncing stays as it is and is part of the next snapshot. */
static void undo_commit(struct checkpoint *c)
{
	mtx_lock(&c->s->lock);
	for (size_t i = 0; i < c->record_count; i++)
		records_mark(&c->s->records, c->record[i]);
	mtx_unlock(&c->s->lock);
	for (size_t i = 0; i < c->count; i++) {
		mtx_lock(&c->entry[i].v->lock);
		if (!c->entry[i].skip)
			c->entry[i].v->meta_dirty = true;
		mtx_unlock(&c->entry[i].v->lock);
	}
}

/* Records beyond those of the first transaction. */
static int commit_more(struct store *s)
{
	struct checkpoint c = {.s = s};
	bool more = true;
	int r = 0;

	while (!r && more) {
		batch_init(&c.batch);
		c.record_count = 0;
		r = gather_records(&c, &more);
		if (!r)
			r = store_apply(s, &c.batch, false);
		if (r)
			undo_commit(&c);
		batch_done(&c.batch);
		free(c.record);
		c.record = NULL;
	}
	return r;
}

static int commit(struct checkpoint *c, bool flush)
{
	struct version **touched = NULL;
	size_t touched_count = 0;
	bool more = false;
	int r;

	if (!needs_rows(c)) {
		count_durable(c, false);
		return 0;
	}
	r = store_need_db(c->s);
	if (r) {
		undo_commit(c);
		return r;
	}
	r = gather_records(c, &more);
	gather_rows(c);
	if (!r && flush)
		r = store_collect(c->s, is_touched, &touched, &touched_count);
	gather_touches(c, touched, touched_count);
	if (!r && (c->batch.count > 0 || c->batch.error))
		r = store_apply(c->s, &c->batch, false);
	if (!r && c->batch.count > 0)
		count_durable(c, true);
	if (r)
		undo_commit(c);
	release_touched(touched, touched_count);
	return !r && more ? commit_more(c->s) : r;
}

static int begin(struct checkpoint *c)
{
	struct version **list = NULL;
	int r, error = 0;

	r = store_collect(c->s, is_new, &list, &c->count);
	if (r)
		return r;
	c->entry = calloc(c->count + 1, sizeof(*c->entry));
	if (!c->entry) {
		store_put_all(list, c->count);
		c->count = 0;
		return -ENOMEM;
	}
	for (size_t i = 0; i < c->count; i++) {
		c->entry[i].v = list[i];
		batch_init(&c->entry[i].rows);
		r = snapshot(&c->entry[i]);
		if (r) {
			c->entry[i].skip = true;
			error = r;
		}
	}
	free(list);
	return error;
}

static int end(struct checkpoint *c)
{
	int r = 0;

	for (size_t i = 0; i < c->count; i++) {
		struct entry *e = &c->entry[i];

		if (e->removed) {
			log_warn("%s (%" PRIx64
				 ") was removed by somebody else: what was in it is fetched again",
				 store_file(c->s), e->v->id);
			forget_removed(c->s, e->v);
		} else if (!e->skip && e->result) {
			log_error(
				"%s can't be synced: %s (what was not yet durable is fetched again)",
				store_file(c->s), strerror(-e->result));
			r = e->result;
			space_failed(c->s, 0, r);
			forget_uncommitted(c->s, e->v, e->unnamed);
		}
		backing_put(e->b);
		batch_done(&e->rows);
		version_put(e->v);
	}
	batch_done(&c->batch);
	free(c->entry);
	free(c->record);
	return r;
}

int checkpoint_run(struct store *s, bool flush)
{
	struct checkpoint c = {.s = s};
	uint64_t begun_us = clock_now_us();
	int r, error;

	batch_init(&c.batch);
	error = begin(&c);
	sync_files(&c);
	r = commit(&c, flush);
	if (r)
		log_error("checkpoint: %s (it will be tried again)", strerror(-r));
	else if (c.count > 0)
		log_debug("checkpoint: %" PRIu64 " bytes of %zu files, %" PRIu64 " ms", c.bytes,
			  c.files, (clock_now_us() - begun_us) / USEC_PER_MS);
	error = error ? error : r;
	r = end(&c);
	return error ? error : r;
}
