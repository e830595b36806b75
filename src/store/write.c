/*
 * write.c - bytes come in: to the readers who wait, to the backing file, into the map
 *
 * Several writer threads at once, also for one version and even for the same range (a hedged
 * transfer): a range is written by the one whose claim came first, so that a sum in the map and the
 * bytes on the disk are of the same response. Readers whose whole range has just come are answered
 * before the disk is touched; others as soon as their last byte is in the map.
 *
 * What the cache can't keep (limits, a full or failing disk, blocks being evicted) is copied into
 * the memory of those who wait for it, and stays a gap.
 */
#include <fcntl.h>
#include <sys/random.h>
#include <xxhash.h>

#include "base/clock.h"
#include "base/log.h"
#include "store/store_priv.h"

#define WRITE_BLOCKS_MAX 64 /* of one step: 4 MiB, so that waiters are served in between */
/* MEASURED: with early write-back the final sync takes 4 instead of 175 ms. */
#define WRITEBACK_BYTES	   (UINT64_C(8) << 20)
#define WRITE_FILE_WAIT_US (2 * USEC_PER_SEC)

static uint64_t random_cookie(void)
{
	uint64_t cookie;

	if (getrandom(&cookie, sizeof(cookie), 0) != sizeof(cookie))
		cookie = clock_now_us() * UINT64_C(0x9e3779b97f4a7c15);
	return cookie;
}

/* The backing file, made at the first byte; a reference. 0 or -errno. */
static int version_backing(struct version *v, struct backing **ret)
{
	struct backing *b = NULL;
	uint64_t cookie, size;
	int r;

	mtx_lock(&v->lock);
	while (v->making)
		cnd_wait(&v->changed, &v->lock);
	if (v->backing || v->file_error) {
		r = v->file_error;
		if (!r)
			*ret = backing_get(v->backing);
		mtx_unlock(&v->lock);
		return r;
	}
	v->making = true; /* version_set_size() waits for it as well */
	/* Before there is a file: the sweep removes those that nobody in memory knows. */
	cookie = random_cookie();
	v->cookie = cookie;
	size = extmap_size(v->map);
	mtx_unlock(&v->lock);

	r = cache_create(&v->store->cache, v->id, cookie, size, &b);
	mtx_lock(&v->lock);
	v->making = false;
	if (!r) {
		v->backing = b;
		v->file_new = true;
		*ret = backing_get(b);
	} else {
		v->cookie = 0;
	}
	cnd_broadcast(&v->changed);
	mtx_unlock(&v->lock);
	return r;
}

int claim_take_locked(struct version *v, struct range within, struct claim *c)
{
	struct range gap;
	struct claim *other;

	while (!range_empty(within)) {
		if (extmap_next_gap(v->map, within, &gap))
			return -ENOENT;
		gap.end = min_u64(gap.end, gap.off + WRITE_BLOCKS_MAX * BLOCK_SIZE);
		TAILQ_FOREACH (other, &v->claims, link) {
			if (!range_overlaps(other->range, gap))
				continue;
			if (other->range.off <= gap.off) {
				within.off = min_u64(other->range.end, within.end);
				gap.end = gap.off;
				break;
			}
			gap.end = other->range.off;
		}
		if (!range_empty(gap)) {
			c->range = gap;
			TAILQ_INSERT_TAIL(&v->claims, c, link);
			return 0;
		}
	}
	return -ENOENT;
}

void claim_drop_locked(struct version *v, struct claim *c)
{
	TAILQ_REMOVE(&v->claims, c, link);
	cnd_broadcast(&v->changed);
}

/* Enter written blocks. 0, -ENOMEM, -ESTALE. */
static int enter_locked(struct version *v, const struct backing *b, struct range r, uint16_t source,
			const uint64_t *sums, bool *ret_writeback)
{
	int error;

	if (v->closed)
		return -ESTALE;
	if (v->backing != b)
		return -EIO; /* its sync failed meanwhile: nothing that went through b is trusted */
	error = rangeset_add(&v->dirty, r);
	if (error)
		return error;
	error = extmap_add(v->map, r, source, sums, true, (uint32_t)clock_wall_s());
	if (error) {
		/* Without memory to split what it merged with it stays: a little more is synced. */
		rangeset_remove(&v->dirty, r);
		return error;
	}
	version_hold_locked(v, HOLD_DIRTY);
	v->writeback_bytes += range_len(r);
	if (v->writeback_bytes >= WRITEBACK_BYTES) {
		v->writeback_bytes = 0;
		*ret_writeback = true;
	}
	atomic_fetch_add(&v->store->cached, range_len(r));
	atomic_fetch_add(&v->store->dirty_bytes, range_len(r));
	return 0;
}

/* Keep the bytes of a claim; it is dropped. 0 or -errno. */
static int claim_write(struct version *v, struct claim *c, const unsigned char *data,
		       uint16_t source, bool evict)
{
	uint64_t sums[WRITE_BLOCKS_MAX], len = range_len(c->range);
	struct store *s = v->store;
	struct backing *b = NULL;
	bool writeback = false, removed = false;
	int r;

	r = space_reserve(s, len, evict);
	if (r) {
		mtx_lock(&v->lock);
		claim_drop_locked(v, c);
		mtx_unlock(&v->lock);
		return r;
	}
	r = version_backing(v, &b);
	if (!r) {
		for (uint64_t at = 0; at < len; at += BLOCK_SIZE)
			sums[at >> BLOCK_SHIFT] =
				XXH3_64bits(data + at, (size_t)min_u64(BLOCK_SIZE, len - at));
		trust_write_begin(v, b);
		r = backing_write(b, c->range.off, data, (size_t)len);
	}
	mtx_lock(&v->lock);
	if (!r)
		r = enter_locked(v, b, c->range, source, sums, &writeback);
	if (!r)
		claim_drop_locked(v, c);
	mtx_unlock(&v->lock);
	if (r) {
		/* Some of it may be allocated; the claim keeps others away until it is not. */
		if (b)
			backing_punch(&s->cache, b, c->range);
		mtx_lock(&v->lock);
		claim_drop_locked(v, c);
		/* Somebody removed the file: the checkpoint finds that out and makes way. */
		removed = r == -ENOENT && b && b == v->backing && !v->closed;
		if (removed) {
			v->meta_dirty = true;
			version_hold_locked(v, HOLD_DIRTY);
		}
		mtx_unlock(&v->lock);
	}
	if (b)
		trust_write_end(v, b);
	if (removed)
		store_poke(s, WORK_NEW);
	if (r)
		space_failed(s, len, r);
	else
		space_written(s, len);
	if (writeback)
		backing_writeback(b);
	backing_put(b);
	return r;
}

/* Waiters whose whole range is in r, off the list. */
static void take_inside_locked(struct version *v, struct range r, struct waiter_list *list)
{
	struct waiter *w, *next;

	TAILQ_FOREACH_SAFE (w, &v->waiters, link, next) {
		if (range_contains(r, w->range)) {
			TAILQ_REMOVE(&v->waiters, w, link);
			v->waiter_count--;
			TAILQ_INSERT_TAIL(list, w, link);
		}
	}
}

static void answer_inside(struct waiter_list *list, struct range r, const unsigned char *data)
{
	struct waiter *w;

	while ((w = TAILQ_FIRST(list)) != NULL) {
		void *memory = w->memory;

		TAILQ_REMOVE(list, w, link);
		w->memory = NULL;
		w->memory_blocks = 0;
		w->done(w, 0, data + (w->range.off - r.off));
		free(memory);
	}
}

/* Into w's memory: what of r it wants and the map does not have. False: no memory. */
static bool deliver_to(struct version *v, struct waiter *w, struct range r,
		       const unsigned char *data)
{
	struct range both = range_intersect(w->range, r);
	uint64_t first = block_floor(w->range.off);

	for (uint64_t at = block_floor(both.off); at < both.end; at += BLOCK_SIZE) {
		struct range part = range_intersect(range_of_length(at, BLOCK_SIZE), w->range);

		assert(range_contains(r, part)); /* r is of whole blocks, w ends within the size */
		if (extmap_has(v->map, part))
			continue;
		if (!w->memory)
			w->memory = malloc((size_t)range_len(w->range));
		if (!w->memory)
			return false;
		memcpy((char *)w->memory + (part.off - w->range.off), data + (part.off - r.off),
		       (size_t)range_len(part));
		w->memory_blocks |= UINT32_C(1) << ((at - first) >> BLOCK_SHIFT);
	}
	return true;
}

/* After r went to the disk or did not: whoever waits for it gets it now. */
static void deliver(struct version *v, struct range r, const unsigned char *data, int error)
{
	struct waiter_list ready = TAILQ_HEAD_INITIALIZER(ready),
			   failed = TAILQ_HEAD_INITIALIZER(failed);
	struct waiter *w, *next;

	mtx_lock(&v->lock);
	v->uncached = error != 0;
	TAILQ_FOREACH_SAFE (w, &v->waiters, link, next) {
		if (!range_overlaps(w->range, r) || deliver_to(v, w, r, data))
			continue;
		TAILQ_REMOVE(&v->waiters, w, link);
		v->waiter_count--;
		TAILQ_INSERT_TAIL(&failed, w, link);
	}
	version_collect_locked(v, r, &ready);
	mtx_unlock(&v->lock);
	version_answer(v, &ready);
	while ((w = TAILQ_FIRST(&failed)) != NULL) {
		TAILQ_REMOVE(&failed, w, link);
		w->done(w, -ENOMEM, NULL);
	}
}

static void write_say(int error)
{
	static struct log_limit limit;
	uint64_t dropped;

	if (error != -ENOSPC && error != -ESTALE &&
	    log_limit_pass(&limit, clock_now_us(), &dropped))
		log_warn("the cache can't keep what was fetched: %s (reads go on without it)",
			 strerror(-error));
}

/*
 * Where as many files have unsynced bytes as may be open, the next one waits for a checkpoint. With
 * no claim held and nobody waiting for these bytes as a whole; not for ever: a file that still
 * can't be made is this write's error.
 */
static void write_wait_for_file(struct version *v)
{
	struct backing *b;

	mtx_lock(&v->lock);
	b = v->backing ? backing_get(v->backing) : NULL;
	mtx_unlock(&v->lock);
	if (openfiles_crowded(&v->store->cache.open, b))
		store_hurry(v->store, WRITE_FILE_WAIT_US);
	backing_put(b);
}

/* Tell the upkeep thread that there is something new; wake it when its time has come. */
static void write_announce(struct store *s)
{
	bool full = atomic_load(&s->dirty_bytes) >= s->cfg.checkpoint_bytes;

	store_poke(s, full ? WORK_NEW | WORK_NOW : WORK_NEW);
}

/* Does anybody make a hole in r? It is a matter of one system call. */
static bool punching_locked(const struct version *v, struct range r)
{
	const struct claim *c;

	TAILQ_FOREACH (c, &v->claims, link) {
		if (c->punch && range_overlaps(c->range, r))
			return true;
	}
	return false;
}

/* 0. -EAGAIN: turn is on the list. */
static int turn_locked(struct version *v, struct write_turn *turn)
{
	if (!v->loading && !v->gated)
		return 0;
	TAILQ_INSERT_TAIL(&v->turns, turn, link);
	return -EAGAIN;
}

int version_write(struct version *v, uint64_t off, const void *data, size_t len, uint16_t source,
		  bool evict, struct write_turn *turn)
{
	struct waiter_list inside = TAILQ_HEAD_INITIALIZER(inside);
	struct range r = range_of_length(off, len), rest = r;
	const unsigned char *bytes = data;
	bool kept = false;
	struct claim c = {.punch = false};
	int error = 0, one = 0;

	mtx_lock(&v->lock);
	if (v->closed)
		error = -ESTALE;
	else if (turn_locked(v, turn))
		error = -EAGAIN;
	else if (len == 0 || (off & (BLOCK_SIZE - 1)) || r.end > extmap_size(v->map) ||
		 ((r.end & (BLOCK_SIZE - 1)) && r.end != extmap_size(v->map)))
		error = -EINVAL;
	else
		take_inside_locked(v, r, &inside);
	mtx_unlock(&v->lock);
	if (error)
		return error;
	answer_inside(&inside, r, bytes);
	write_wait_for_file(v);

	while (!range_empty(rest)) {
		mtx_lock(&v->lock);
		while (punching_locked(v, rest))
			cnd_wait(&v->changed, &v->lock);
		/* The gate may have closed: whoever closed it waits for the claims to go. */
		one = turn_locked(v, turn);
		if (!one)
			one = claim_take_locked(v, rest, &c);
		mtx_unlock(&v->lock);
		if (one)
			break;
		one = claim_write(v, &c, bytes + (c.range.off - off), source, evict);
		kept |= one == 0;
		error = one ? one : error;
		rest.off = c.range.end;
		one = 0;
	}
	if (one == -EAGAIN)
		r.end = rest.off;
	if (!range_empty(r))
		deliver(v, r, bytes, error);
	if (kept)
		write_announce(v->store);
	if (error)
		write_say(error);
	return one == -EAGAIN ? one : error;
}
