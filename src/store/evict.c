/*
 * evict.c - which blocks go when room is needed: those that nobody has read for longest
 *
 * On the upkeep thread. All versions compete, open or not: those in memory with the atimes of their
 * maps, the others with the database's index. An extent may be 64 MiB long, so the last one is
 * taken in part, from its front: among bytes read in the same second those are the ones a
 * sequential reader has passed.
 */
#include <inttypes.h>

#include "base/clock.h"
#include "base/log.h"
#include "store/store_priv.h"

#define EVICT_FROM_DB  512		   /* rows looked at in one go */
#define EVICT_PAUSE_US (50 * USEC_PER_MS)  /* after a go that freed nothing */
#define EVICT_VERSIONS 256		   /* in one go: each is a descriptor */
#define EVICT_LEAST    (UINT64_C(1) << 20) /* each go costs a commit */

struct candidate {
	uint32_t atime_s;
	uint64_t id;
	struct range range;
	struct version *v;     /* a reference once taken; NULL: not in memory */
	struct object_key key; /* … then found by this */
};

struct candidates {
	struct candidate *item;
	size_t count, max;
	struct version **loaded; /* sorted by address of nothing: by id */
	size_t loaded_count;
	size_t from_db;
};

static int candidates_add(struct candidates *cs, const struct candidate *c)
{
	if (cs->count == cs->max) {
		size_t max = cs->max ? cs->max * 2 : 256;
		struct candidate *item = reallocarray(cs->item, max, sizeof(*item));

		if (!item)
			return -ENOMEM;
		cs->item = item;
		cs->max = max;
	}
	cs->item[cs->count++] = *c;
	return 0;
}

static int by_atime(const void *va, const void *vb)
{
	const struct candidate *a = va, *b = vb;

	if (a->atime_s != b->atime_s)
		return a->atime_s < b->atime_s ? -1 : 1;
	if (a->id != b->id)
		return a->id < b->id ? -1 : 1;
	return a->range.off < b->range.off ? -1 : a->range.off > b->range.off;
}

static int by_id(const void *va, const void *vb)
{
	const struct version *a = *(struct version *const *)va, *b = *(struct version *const *)vb;

	return a->id < b->id ? -1 : a->id > b->id;
}

static bool any(const struct version *v)
{
	(void)v;
	return true;
}

static int from_memory(struct candidates *cs, struct version *v)
{
	struct candidate c = {.id = v->id, .v = v};
	struct extent x;
	int r = 0;

	mtx_lock(&v->lock);
	for (uint64_t at = 0; !r && !v->loading && !extmap_next(v->map, at, &x); at = x.range.end) {
		if (x.evicting)
			continue;
		c.atime_s = x.atime_s;
		c.range = x.range;
		r = candidates_add(cs, &c);
	}
	mtx_unlock(&v->lock);
	return r;
}

static int from_row(void *ctx, const struct object_key *key, const struct extent_row *e)
{
	struct candidates *cs = ctx;
	struct version like = {.id = e->version}, *likep = &like;
	struct candidate c = {.id = e->version, .atime_s = e->atime_s, .key = *key};
	int r;

	if (cs->loaded_count > 0 &&
	    bsearch(&likep, cs->loaded, cs->loaded_count, sizeof(struct version *), by_id))
		return 0;
	c.range = range_make(e->block << BLOCK_SHIFT, (e->block + e->count) << BLOCK_SHIFT);
	r = candidates_add(cs, &c);
	return r ? r : ++cs->from_db >= EVICT_FROM_DB;
}

struct oldest_job {
	struct dbjob job;
	struct candidates *cs;
};

static int oldest_run(struct dbjob *job, struct extdb *db)
{
	int r = extdb_each_oldest(db, from_row, container_of(job, struct oldest_job, job)->cs);

	return r > 0 ? 0 : r;
}

static int candidates_find(struct store *s, struct candidates *cs)
{
	struct oldest_job job = {.job.run = oldest_run, .cs = cs};
	int r;

	r = store_collect(s, any, &cs->loaded, &cs->loaded_count);
	if (r)
		return r;
	if (cs->loaded_count > 0)
		qsort(cs->loaded, cs->loaded_count, sizeof(struct version *), by_id);
	for (size_t i = 0; !r && i < cs->loaded_count; i++)
		r = from_memory(cs, cs->loaded[i]);
	if (!r)
		r = dbthread_run(&s->db, &job.job);
	if (!r && cs->count > 0)
		qsort(cs->item, cs->count, sizeof(*cs->item), by_atime);
	return r;
}

/* The item of v among those of this go; made if need be. NULL: no memory, or it has changed. */
static struct forget *item_of(struct store *s, struct forget *items, size_t *count,
			      const struct candidate *c)
{
	struct version *v = c->v;

	for (size_t i = 0; i < *count; i++) {
		if (items[i].v->id == c->id)
			return &items[i];
	}
	if (v)
		version_get(v);
	else if (store_version_by_id(s, &c->key, c->id, &v))
		return NULL;
	else
		version_wait_loaded(v);
	forget_init(&items[*count], v);
	return &items[(*count)++];
}

/* Take from the oldest on until wanted bytes are together. Bytes freed. */
static uint64_t evict_some(struct store *s, const struct candidates *cs, uint64_t wanted)
{
	struct forget *items = calloc(cs->count, sizeof(*items));
	uint64_t taken = 0, bytes = 0;
	size_t count = 0;
	int r;

	if (!items)
		return 0;
	for (size_t i = 0; i < cs->count && taken < wanted && count < EVICT_VERSIONS; i++) {
		struct forget *f = item_of(s, items, &count, &cs->item[i]);
		struct range part = cs->item[i].range;

		if (!f)
			continue;
		if (range_len(part) > wanted - taken)
			part.end = min_u64(part.end, part.off + block_ceil(wanted - taken));
		if (rangeset_add(&f->ranges, part) == 0)
			taken += range_len(part);
	}
	r = forget_run(s, items, count, &bytes);
	if (r)
		log_warn("eviction: %s", strerror(-r));
	for (size_t i = 0; i < count; i++) {
		version_put(items[i].v);
		forget_done(&items[i]);
	}
	free(items);
	return bytes;
}

void evict_run(struct store *s)
{
	struct candidates cs = {0};
	uint64_t wanted, freed = 0;

	mtx_lock(&s->lock);
	wanted = s->evict_wanted;
	s->evict_wanted = 0;
	if (s->cfg.cache_size != UINT64_MAX)
		wanted = max_u64(wanted, min_u64(EVICT_LEAST, s->cfg.cache_size / 32));
	mtx_unlock(&s->lock);
	if (candidates_find(s, &cs) == 0 && cs.count > 0)
		freed = evict_some(s, &cs, wanted);
	store_put_all(cs.loaded, cs.loaded_count);
	free(cs.item);
	atomic_fetch_add(&s->evicted, freed);
	log_debug("eviction: %" PRIu64 " bytes went, %" PRIu64 " were to", freed, wanted);
	space_evicted(s, freed);
	mtx_lock(&s->lock);
	s->evict_not_before_us = freed ? 0 : clock_now_us() + EVICT_PAUSE_US;
	mtx_unlock(&s->lock);
}
