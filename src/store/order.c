/*
 * order.c - what a user orders of a store: checkpoint, drop, verify, figures
 *
 * Each waits for a whole round of the upkeep thread, so that what it promises is durable when it
 * returns.
 */
#include "store/store_priv.h"

int store_checkpoint(struct store *s)
{
	int r;

	store_round(s, WORK_NEW | WORK_NOW);
	mtx_lock(&s->lock);
	r = s->checkpoint_error;
	mtx_unlock(&s->lock);
	return r;
}

int store_drop_wait(struct store *s)
{
	int r;

	store_round(s, WORK_CONDEMNED);
	mtx_lock(&s->lock);
	r = s->forget_error;
	mtx_unlock(&s->lock);
	return r;
}

int store_drop_end(struct version *v)
{
	int r;

	if (!v)
		return 0;
	mtx_lock(&v->lock);
	r = v->drop_error;
	mtx_unlock(&v->lock);
	version_put(v);
	return r;
}

int store_drop_begin(struct store *s, const struct object_key *key, bool wrong,
		     struct version **ret_version)
{
	struct version *v = NULL;
	int r;

	r = store_version_by_id(s, key, 0, &v);
	if (r == -ENOENT) {
		*ret_version = NULL;
		return 0;
	}
	if (r)
		return r;
	version_wait_loaded(v);
	mtx_lock(&v->lock);
	r = wrong ? version_condemn_locked(v, (struct range){0, extmap_size(v->map)})
		  : version_drop_locked(v);
	mtx_unlock(&v->lock);
	if (r)
		version_put(v);
	else
		*ret_version = v;
	return r;
}

int store_drop(struct store *s, const struct object_key *key)
{
	struct version *v = NULL;
	int r;

	r = store_drop_begin(s, key, false, &v);
	if (!r && v)
		store_drop_wait(s);
	return r ? r : store_drop_end(v);
}

/* One extent's blocks, copied, so that they can be checked without the lock. */
struct check {
	struct range range;
	uint64_t sums[EXTENT_BLOCKS_MAX];
	uint8_t bad[EXTENT_BLOCKS_MAX];
	bool untold; /* some could not be checked: those after are not either */
	struct backing *b;
	struct trust_look look;
	unsigned int pin;
};

static bool check_begin(struct version *v, uint64_t off, struct check *c)
{
	struct extent x;
	bool found;

	mtx_lock(&v->lock);
	found = v->backing && extmap_next(v->map, off, &x) == 0;
	if (found) {
		c->range = x.range;
		memset(c->bad, 0, sizeof(c->bad));
		c->untold = false;
		c->b = NULL;
		if (!x.evicting) {
			memcpy(c->sums, x.sums, range_blocks(x.range) * sizeof(x.sums[0]));
			c->b = backing_get(v->backing);
			c->pin = version_pin_locked(v);
			trust_look_locked(v, c->b, &c->look);
		}
	}
	mtx_unlock(&v->lock);
	return found;
}

static struct range check_block(const struct check *c, uint64_t n)
{
	return range_intersect(range_of_length(c->range.off + n * BLOCK_SIZE, BLOCK_SIZE),
			       c->range);
}

/* Enter what was found out. Blocks that are bad now. */
static uint64_t check_end(struct version *v, struct check *c, int *error)
{
	uint64_t bad = 0;
	bool holds;

	trust_stat(c->b, &c->look);
	mtx_lock(&v->lock);
	holds = trust_holds_locked(v, &c->look, 0);
	for (uint64_t n = 0; n < range_blocks(c->range); n++) {
		struct range r = check_block(c, n);

		if (!extmap_has(v->map, r))
			continue;
		if (!c->bad[n]) {
			if (holds && !c->untold)
				extmap_set_verified(v->map, r.off);
			continue;
		}
		bad++;
		if (version_condemn_locked(v, r))
			*error = -ENOMEM;
	}
	version_unpin_locked(v, c->pin);
	mtx_unlock(&v->lock);
	if (c->look.damaged)
		trust_mend(v, c->b, &c->look);
	backing_put(c->b);
	return bad;
}

int store_verify(struct store *s, const struct object_key *key, uint64_t *ret_blocks,
		 uint64_t *ret_bad)
{
	uint64_t blocks = 0, bad = 0;
	struct version *v = NULL;
	struct check *c;
	int r, error = 0;

	r = store_version_by_id(s, key, 0, &v);
	c = r ? NULL : malloc(sizeof(*c));
	if (!r && !c)
		r = -ENOMEM;
	if (!r)
		version_wait_loaded(v);
	for (uint64_t at = 0; !r && check_begin(v, at, c); at = c->range.end) {
		if (!c->b)
			continue;
		for (uint64_t n = 0; n < range_blocks(c->range); n++) {
			struct range b = check_block(c, n);

			int e = version_check_block(c->b, b.off, (size_t)range_len(b), c->sums[n]);

			c->bad[n] = e == -EILSEQ;
			if (e && e != -EILSEQ) {
				c->untold = true;
				error = e;
				break;
			}
			blocks++;
		}
		bad += check_end(v, c, &error);
	}
	atomic_fetch_add(&s->bad_blocks, bad);
	if (!r && bad)
		r = store_drop_wait(s);
	free(c);
	version_put(v);
	if (r && r != -ENOENT)
		return r;
	if (error)
		return error;
	*ret_blocks = blocks;
	*ret_bad = bad;
	return 0;
}

bool store_doubted(struct store *s, const struct object_key *key)
{
	struct trust_look look = {.damaged = false};
	struct backing *b = NULL;
	struct version *v = NULL;
	uint64_t end, off, sum;
	unsigned int pin = 0;
	bool doubted;

	if (store_version_by_id(s, key, 0, &v))
		return false; /* it has no blocks */
	version_wait_loaded(v);
	mtx_lock(&v->lock);
	if (v->backing) {
		b = backing_get(v->backing);
		pin = version_pin_locked(v);
		trust_look_locked(v, b, &look);
	}
	mtx_unlock(&v->lock);
	if (b)
		trust_stat(b, &look);
	mtx_lock(&v->lock);
	end = extmap_complete(v->map) ? extmap_size(v->map) : 0;
	doubted = b && !trust_holds_locked(v, &look, end);
	doubted |= !extmap_next_unverified(v->map, (struct range){0, UINT64_MAX}, &off, &sum);
	if (b)
		version_unpin_locked(v, pin);
	mtx_unlock(&v->lock);
	if (look.damaged)
		trust_mend(v, b, &look);
	backing_put(b);
	version_put(v);
	return doubted;
}

void store_stats(struct store *s, struct store_stats *ret)
{
	uint64_t disk = 0;

	cache_disk_free(&s->cache, &disk);
	mtx_lock(&s->lock);
	*ret = (struct store_stats){.bytes_cached = atomic_load(&s->cached),
				    .bytes_durable = atomic_load(&s->durable),
				    .bytes_evicted = atomic_load(&s->evicted),
				    .blocks_bad = atomic_load(&s->bad_blocks),
				    .checkpoints = atomic_load(&s->checkpoints),
				    .cache_size = s->cfg.cache_size,
				    .disk_free = disk,
				    .degraded = space_degraded_locked(s, disk)};
	/* What can't be recorded is not durable: it is tried again until it can. */
	if (!ret->degraded)
		ret->degraded = s->checkpoint_error;
	mtx_unlock(&s->lock);
}
