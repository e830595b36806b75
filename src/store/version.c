/*
 * version.c - the bytes of one version: read them or wait for them
 *
 * A read asks the map and parks in one critical section. What is there is pinned, so that it is not
 * punched meanwhile, and read into memory after the lock. The answer goes out of that memory, once
 * it is known that nobody else changed the file until then (trust.c): out of a mapping, or by
 * splice, a file that is shortened at that instant would answer with zeros. (MEASURED: a fifth
 * slower than a mapping, some 3 GiB/s.)
 * Blocks whose sums came from the database are checked first, and all after somebody changed the
 * file; a wrong one is condemned (forget.c makes a gap of it, and lost() tells), and the read parks
 * for it.
 *
 * Pins are counted by epoch: version_drain() starts a new one and waits for the readers of the old,
 * so that readers who keep coming can't hold off an eviction for ever.
 */
#include <xxhash.h>

#include "base/clock.h"
#include "store/store_priv.h"

/* So often a file may be changed by somebody else while one read goes on; then it has failed. */
#define CHANGES_MAX 100

struct version *version_new(struct store *s, struct record *rec, uint64_t id,
			    const struct validator *validator, uint64_t size)
{
	struct version *v = calloc(1, sizeof(*v));

	if (!v)
		return NULL;
	v->map = extmap_new(size);
	if (!v->map) {
		free(v);
		return NULL;
	}
	mtx_init(&v->lock, RANK_VERSION, "version");
	cnd_init(&v->changed);
	TAILQ_INIT(&v->waiters);
	TAILQ_INIT(&v->claims);
	TAILQ_INIT(&v->turns);
	rangeset_init(&v->dirty);
	rangeset_init(&v->syncing);
	rangeset_init(&v->condemned);
	rangeset_init(&v->dropped);
	v->validator = validator ? *validator : VALIDATOR_INIT;
	v->store = s;
	v->rec = rec;
	v->id = id;
	atomic_init(&v->refs, 1);
	return v;
}

void version_free(struct version *v)
{
	if (!v)
		return;
	backing_put(v->backing);
	rangeset_done(&v->dirty);
	rangeset_done(&v->syncing);
	rangeset_done(&v->condemned);
	rangeset_done(&v->dropped);
	extmap_free(v->map);
	cnd_done(&v->changed);
	mtx_done(&v->lock);
	free(v);
}

struct version *version_get(struct version *v)
{
	atomic_fetch_add_explicit(&v->refs, 1, memory_order_relaxed);
	return v;
}

void version_put(struct version *v)
{
	unsigned int refs;

	if (!v)
		return;
	refs = atomic_load(&v->refs);
	while (refs > 1) {
		if (atomic_compare_exchange_weak(&v->refs, &refs, refs - 1))
			return;
	}
	store_release(v);
}

void version_hold_locked(struct version *v, enum version_hold hold)
{
	if (v->holds & hold)
		return;
	v->holds |= hold;
	version_get(v);
}

bool version_unhold_locked(struct version *v, enum version_hold hold)
{
	if (!(v->holds & hold))
		return false;
	v->holds &= ~(unsigned int)hold;
	return true;
}

/* ---- pins ---- */

unsigned int version_pin_locked(struct version *v)
{
	unsigned int pin = v->epoch & 1;

	v->pins[pin]++;
	return pin;
}

void version_unpin_locked(struct version *v, unsigned int pin)
{
	if (--v->pins[pin] == 0)
		cnd_broadcast(&v->changed);
}

void version_drain(struct version *v)
{
	unsigned int old;

	mtx_lock(&v->lock);
	old = v->epoch & 1;
	v->epoch++;
	while (v->pins[old] > 0)
		cnd_wait(&v->changed, &v->lock);
	mtx_unlock(&v->lock);
}

/* ---- blocks ---- */

size_t version_block_len(const struct version *v, uint64_t off)
{
	return (size_t)range_len(range_intersect(range_of_length(off, BLOCK_SIZE),
						 (struct range){0, extmap_size(v->map)}));
}

int version_check_block(struct backing *b, uint64_t off, size_t len, uint64_t sum)
{
	void *buf = malloc(BLOCK_SIZE);
	int r;

	if (!buf)
		return -ENOMEM;
	r = backing_read(b, off, buf, len);
	if (r != -ENOMEM && r != -EMFILE && r != -ENFILE && (r || XXH3_64bits(buf, len) != sum))
		r = -EILSEQ;
	free(buf);
	return r;
}

int version_condemn_locked(struct version *v, struct range r)
{
	int error;

	r = range_to_blocks(r, extmap_size(v->map));
	error = rangeset_add(&v->condemned, r);
	if (error)
		return error;
	error = extmap_set_evicting(v->map, r, true);
	if (error) {
		/* Left in condemned it does no harm: only what is evicting is forgotten. */
		return error;
	}
	version_hold_locked(v, HOLD_CONDEMNED);
	return 0;
}

int version_drop_locked(struct version *v)
{
	struct extent x;
	int error = 0;

	for (uint64_t at = 0; !error && !extmap_next(v->map, at, &x); at = x.range.end) {
		if (x.evicting)
			continue; /* by somebody who knows better whether it may be shown again */
		error = rangeset_add(&v->dropped, x.range);
		if (!error)
			error = extmap_set_evicting(v->map, x.range, true);
	}
	v->drop_error = error;
	if (v->dropped.bytes > 0)
		version_hold_locked(v, HOLD_CONDEMNED);
	return error;
}

bool version_waits_locked(const struct version *v, struct range r)
{
	struct waiter *w;

	TAILQ_FOREACH (w, &v->waiters, link) {
		if (range_overlaps(w->range, r))
			return true;
	}
	return false;
}

/* ---- waiters ---- */

/* The n-th block that w touches, clipped to what w wants of it. */
static struct range waiter_block(const struct waiter *w, unsigned int n)
{
	uint64_t off = block_floor(w->range.off) + n * BLOCK_SIZE;

	return range_intersect(range_of_length(off, BLOCK_SIZE), w->range);
}

static bool waiter_ready_locked(const struct version *v, const struct waiter *w)
{
	uint64_t blocks = range_blocks(w->range);

	if (!w->memory_blocks)
		return !v->loading && extmap_has(v->map, w->range);
	for (unsigned int n = 0; n < blocks; n++) {
		if (w->memory_blocks & (UINT32_C(1) << n))
			continue;
		if (v->loading || !extmap_has(v->map, waiter_block(w, n)))
			return false;
	}
	return true;
}

static void waiter_end(struct waiter *w, int error, const void *data)
{
	void *memory = w->memory;

	w->memory = NULL;
	w->memory_blocks = 0;
	w->done(w, error, data); /* w may be gone after it */
	free(memory);
}

static void version_park_locked(struct version *v, struct waiter *w)
{
	if (!w->memory_blocks) {
		free(w->memory);
		w->memory = NULL;
	}
	TAILQ_INSERT_TAIL(&v->waiters, w, link);
	v->waiter_count++;
}

static void version_unpark_locked(struct version *v, struct waiter *w)
{
	TAILQ_REMOVE(&v->waiters, w, link);
	v->waiter_count--;
}

void version_collect_locked(struct version *v, struct range r, struct waiter_list *list)
{
	struct waiter *w, *next;

	TAILQ_FOREACH_SAFE (w, &v->waiters, link, next) {
		if (range_overlaps(w->range, r) && waiter_ready_locked(v, w)) {
			version_unpark_locked(v, w);
			TAILQ_INSERT_TAIL(list, w, link);
		}
	}
}

/*
 * Bytes of a pinned waiter that are not in its memory yet. 0, -ENOMEM, or what the disk says;
 * *ret_end: how far the file was read.
 */
static int waiter_fill(struct waiter *w, struct backing *b, uint64_t *ret_end)
{
	uint64_t blocks = range_blocks(w->range), end = 0;
	int r = 0;

	if (!w->memory)
		w->memory = malloc((size_t)range_len(w->range));
	if (!w->memory)
		r = -ENOMEM;
	for (unsigned int n = 0; !r && n < blocks;) {
		struct range part = waiter_block(w, n++);

		if (w->memory_blocks & (UINT32_C(1) << (n - 1)))
			continue;
		while (n < blocks && !(w->memory_blocks & (UINT32_C(1) << n)))
			part.end = waiter_block(w, n++).end;
		end = part.end;
		r = b ? backing_read(b, part.off, (char *)w->memory + (part.off - w->range.off),
				     (size_t)range_len(part))
		      : -EIO;
	}
	*ret_end = end;
	return r;
}

/*
 * Check the first block of w that is not verified. w is off the list. 0: all are. -EAGAIN: the lock
 * was let go, so that all must be asked again. Else it can't be told now.
 */
static int version_verify_locked(struct version *v, struct waiter *w, bool *ret_poke)
	REQUIRES(v->lock)
{
	struct backing *b;
	uint64_t off, sum, lost = v->trust.lost;
	unsigned int pin;
	size_t len;
	int r;

	if (v->loading || extmap_next_unverified(v->map, w->range, &off, &sum))
		return 0;
	len = version_block_len(v, off);
	b = backing_get(v->backing);
	pin = version_pin_locked(v);
	mtx_unlock(&v->lock);
	r = version_check_block(b, off, len, sum);
	backing_put(b);
	mtx_lock(&v->lock);
	version_unpin_locked(v, pin);
	if (!extmap_has(v->map, range_of_length(off, len)))
		return -EAGAIN;
	if (r && r != -EILSEQ)
		return r;
	if (!r) {
		if (v->trust.lost == lost)
			extmap_set_verified(v->map, off);
		return -EAGAIN;
	}
	atomic_fetch_add(&v->store->bad_blocks, 1);
	r = version_condemn_locked(v, range_of_length(off, len));
	*ret_poke = true;
	return r ? r : -EAGAIN;
}

static void version_touch_locked(struct version *v, struct range r, bool *ret_first)
{
	uint32_t now_s = (uint32_t)clock_wall_s();

	extmap_touch(v->map, r, now_s);
	if (!(v->holds & HOLD_TOUCHED) && !v->closed) {
		version_hold_locked(v, HOLD_TOUCHED);
		*ret_first = true;
	}
}

/*
 * The bytes of w, present and verified, into its memory. 0. -EAGAIN: somebody else changed the
 * file, all must be asked again. -EIO, -ENOENT (the file is gone), -ENOMEM.
 */
static int version_fetch_locked(struct version *v, struct waiter *w) REQUIRES(v->lock)
{
	struct backing *b = v->backing ? backing_get(v->backing) : NULL;
	unsigned int pin = version_pin_locked(v);
	struct trust_look look = {.damaged = false};
	uint64_t end;
	int r;

	if (b)
		trust_look_locked(v, b, &look);
	mtx_unlock(&v->lock);
	r = waiter_fill(w, b, &end);
	if (b)
		trust_stat(b, &look);
	mtx_lock(&v->lock);
	if (b && end > 0 && !trust_holds_locked(v, &look, end))
		r = -EAGAIN;
	version_unpin_locked(v, pin);
	mtx_unlock(&v->lock);
	if (look.damaged)
		trust_mend(v, b, &look);
	backing_put(b);
	mtx_lock(&v->lock);
	return r;
}

/*
 * Bring the bytes of w into its memory if they are there, else park it. w is on no list. 0: they
 * are. -EINPROGRESS: parked. Else what w is to be told.
 */
static int version_serve_locked(struct version *v, struct waiter *w, bool *ret_poke,
				bool *ret_touched) REQUIRES(v->lock)
{
	int r;

	for (int tries = 0; tries < CHANGES_MAX;) {
		if (w->range.end > extmap_size(v->map))
			return -EINVAL; /* the size has come since it was asked */
		if (!waiter_ready_locked(v, w)) {
			if (w->cancelled)
				return -ECANCELED;
			version_park_locked(v, w);
			return -EINPROGRESS;
		}
		r = version_verify_locked(v, w, ret_poke);
		if (r == -EAGAIN)
			continue;
		if (r)
			return r;
		version_touch_locked(v, w->range, ret_touched);
		r = version_fetch_locked(v, w);
		tries += r == -EAGAIN;
		if (r == -EAGAIN)
			continue;
		if (r != -EIO && r != -ENOENT)
			return r;
		/* The disk does not give it back: as good as a wrong checksum. */
		atomic_fetch_add(&v->store->bad_blocks, range_blocks(w->range));
		r = version_condemn_locked(v, w->range);
		*ret_poke = true;
		if (r)
			return r;
	}
	return -EIO;
}

/* Answer w if its bytes are there, else park it. 0: answered. -EINPROGRESS: parked. */
static int version_attempt(struct version *v, struct waiter *w)
{
	bool poke = false, touched = false;
	int r;

	mtx_lock(&v->lock);
	r = version_serve_locked(v, w, &poke, &touched);
	mtx_unlock(&v->lock);
	if (r != -EINPROGRESS) {
		waiter_end(w, r, r ? NULL : w->memory);
		r = 0;
	}
	if (poke || touched)
		store_poke(v->store, (poke ? WORK_CONDEMNED : 0) | (touched ? WORK_TOUCHED : 0));
	return r;
}

void version_answer(struct version *v, struct waiter_list *list)
{
	struct waiter *w;

	while ((w = TAILQ_FIRST(list)) != NULL) {
		TAILQ_REMOVE(list, w, link);
		version_attempt(v, w);
	}
}

int version_read(struct version *v, struct waiter *w)
{
	uint64_t size = version_size(v);

	if (range_empty(w->range) || range_blocks(w->range) > WAITER_BLOCKS_MAX ||
	    (size != SIZE_UNKNOWN && w->range.end > size))
		return -EINVAL;
	w->memory = NULL;
	w->memory_blocks = 0;
	w->cancelled = false;
	return version_attempt(v, w);
}

bool version_cancel(struct version *v, struct waiter *w)
{
	struct waiter *at;

	mtx_lock(&v->lock);
	TAILQ_FOREACH (at, &v->waiters, link) {
		if (at == w)
			break;
	}
	if (at)
		version_unpark_locked(v, w);
	else
		w->cancelled = true;
	mtx_unlock(&v->lock);
	if (at) {
		free(w->memory);
		w->memory = NULL;
	}
	return at != NULL;
}

static void waiters_end(struct waiter_list *list, int error)
{
	struct waiter *w;

	while ((w = TAILQ_FIRST(list)) != NULL) {
		TAILQ_REMOVE(list, w, link);
		waiter_end(w, error, NULL);
	}
}

unsigned int version_fail(struct version *v, struct range r, int error)
{
	struct waiter_list list = TAILQ_HEAD_INITIALIZER(list);
	struct waiter *w, *next;
	unsigned int count = 0;

	mtx_lock(&v->lock);
	TAILQ_FOREACH_SAFE (w, &v->waiters, link, next) {
		if (range_overlaps(w->range, r)) {
			version_unpark_locked(v, w);
			TAILQ_INSERT_TAIL(&list, w, link);
			count++;
		}
	}
	mtx_unlock(&v->lock);
	waiters_end(&list, error);
	return count;
}

/* Those who wait for bytes behind the end, off the list. */
static void take_past_locked(struct version *v, struct waiter_list *list)
{
	uint64_t size = extmap_size(v->map);
	struct waiter *w, *next;

	TAILQ_FOREACH_SAFE (w, &v->waiters, link, next) {
		if (w->range.end > size) {
			version_unpark_locked(v, w);
			TAILQ_INSERT_TAIL(list, w, link);
		}
	}
}

/* ---- asking ---- */

int version_next_gap(struct version *v, struct range within, struct range *ret)
{
	int r;

	mtx_lock(&v->lock);
	r = v->loading ? -ENOENT : extmap_next_gap(v->map, within, ret);
	mtx_unlock(&v->lock);
	return r;
}

bool version_awaited(struct version *v, struct range r)
{
	bool waits;

	mtx_lock(&v->lock);
	waits = version_waits_locked(v, r);
	mtx_unlock(&v->lock);
	return waits;
}

struct store *version_store(const struct version *v)
{
	return v->store;
}

const struct object_key *version_key(const struct version *v)
{
	return &v->rec->key;
}

/* The sum of the block at off as it was received, and how long it is. False: it is not present. */
static bool block_sum(struct version *v, uint64_t off, size_t *ret_len, uint64_t *ret_sum)
{
	struct extent x;
	bool there;

	mtx_lock(&v->lock);
	there = !v->loading && !extmap_next(v->map, off, &x) && x.range.off <= off && !x.evicting;
	if (there) {
		*ret_len = version_block_len(v, off);
		*ret_sum = x.sums[(off - x.range.off) >> BLOCK_SHIFT];
	}
	mtx_unlock(&v->lock);
	return there;
}

bool version_contradicts(struct version *v, uint64_t off, const void *data, size_t len)
{
	const unsigned char *bytes = data;
	size_t block;
	uint64_t sum;

	for (size_t at = 0; at < len; at += BLOCK_SIZE) {
		if (block_sum(v, off + at, &block, &sum) && block <= len - at &&
		    XXH3_64bits(bytes + at, block) != sum)
			return true;
	}
	return false;
}

uint64_t version_size(struct version *v)
{
	uint64_t size;

	mtx_lock(&v->lock);
	size = extmap_size(v->map);
	mtx_unlock(&v->lock);
	return size;
}

/* Size or validator are to be written with the next checkpoint, if there is a row at all. */
static bool version_mark_meta_locked(struct version *v)
{
	if (!v->has_row || v->closed)
		return false;
	v->meta_dirty = true;
	version_hold_locked(v, HOLD_DIRTY);
	return true;
}

int version_set_size(struct version *v, uint64_t size)
{
	struct waiter_list past = TAILQ_HEAD_INITIALIZER(past);
	struct backing *b = NULL;
	bool poke = false;
	uint64_t had;
	int r;

	mtx_lock(&v->lock);
	while (v->loading || v->making)
		cnd_wait(&v->changed, &v->lock);
	had = extmap_size(v->map);
	r = extmap_set_size(v->map, size);
	if (!r && had == SIZE_UNKNOWN) {
		poke = version_mark_meta_locked(v);
		b = v->backing ? backing_get(v->backing) : NULL;
		take_past_locked(v, &past);
	}
	mtx_unlock(&v->lock);
	waiters_end(&past, -EINVAL);
	/* A file that can't get its length grows as it is written: nothing else depends on it. */
	if (b) {
		trust_write_begin(v, b);
		backing_set_size(b, size);
		trust_write_end(v, b);
	}
	backing_put(b);
	if (poke)
		store_poke(v->store, WORK_NEW);
	return r;
}

void version_validator(struct version *v, struct validator *ret)
{
	mtx_lock(&v->lock);
	*ret = v->validator;
	mtx_unlock(&v->lock);
}

void version_learn(struct version *v, const struct validator *got)
{
	struct validator had;
	bool poke = false;

	mtx_lock(&v->lock);
	had = v->validator;
	validator_learn(&v->validator, got);
	if (strcmp(had.etag, v->validator.etag) != 0 ||
	    had.last_modified != v->validator.last_modified || had.size != v->validator.size)
		poke = version_mark_meta_locked(v);
	mtx_unlock(&v->lock);
	if (poke)
		store_poke(v->store, WORK_NEW);
}

bool version_complete(struct version *v)
{
	bool complete;

	mtx_lock(&v->lock);
	complete = !v->loading && extmap_complete(v->map);
	mtx_unlock(&v->lock);
	return complete;
}

void version_info(struct version *v, struct version_info *ret)
{
	mtx_lock(&v->lock);
	*ret = (struct version_info){.size = extmap_size(v->map),
				     .bytes_present = extmap_bytes(v->map),
				     .bytes_durable = v->durable_bytes,
				     .extents = extmap_count(v->map),
				     .waiters = v->waiter_count,
				     .uncached = v->uncached,
				     .loading = v->loading};
	mtx_unlock(&v->lock);
}

void version_wait_loaded(struct version *v)
{
	mtx_lock(&v->lock);
	while (v->loading)
		cnd_wait(&v->changed, &v->lock);
	mtx_unlock(&v->lock);
}

void version_admit(struct version *v)
{
	struct write_turns turns = TAILQ_HEAD_INITIALIZER(turns);
	struct write_turn *t;

	mtx_lock(&v->lock);
	if (!v->loading && !v->gated)
		TAILQ_CONCAT(&turns, &v->turns, link);
	mtx_unlock(&v->lock);
	while ((t = TAILQ_FIRST(&turns)) != NULL) {
		TAILQ_REMOVE(&turns, t, link);
		t->ready(t);
	}
}
