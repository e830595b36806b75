/*
 * space.c - how much may be allocated: --cache-size and --min-free, held when bytes are written
 *
 * A writer reserves before it writes. Over a limit it is refused at once (its bytes reach the
 * waiting readers through memory) and eviction is set going, so that a later write finds room: no
 * write ever waits for an eviction, and the limits are never passed. Bytes that nobody asked for
 * set nothing going and must fit below the mark where eviction begins.
 *
 * Where others have filled the disk so far that there would be no room with all evicted, nothing is
 * evicted: what is there is worth more than nothing. That, and a disk that refuses, is "degraded".
 *
 * The account is in whole blocks of the file system. What the file system itself needs to map
 * fragmented files is kept free: one block of it maps more than 300 of our 64 KiB blocks, and a
 * 256th of the limit is ten times that.
 */
#include "base/clock.h"
#include "store/store_priv.h"

#define SPACE_RETRY_US (1 * USEC_PER_SEC)
#define SPACE_WAIT_US  (500 * USEC_PER_MS) /* for an eviction, by who can wait */
#define SPACE_ROOM_MAX (UINT64_C(256) << 20)
/* Kept free in any case: with no room for its log the database can neither record nor forget. */
#define SPACE_DATABASE (UINT64_C(4) << 20)
#define SPACE_NO_LIMIT UINT64_MAX

uint64_t space_len(const struct store *s, uint64_t bytes)
{
	uint64_t mask = s->cache.fs_block - 1;

	return add_sat_u64(bytes, mask) & ~mask;
}

static uint64_t space_limit(const struct store *s)
{
	uint64_t size = s->cfg.cache_size;

	return size == SPACE_NO_LIMIT ? size : size - size / 256;
}

/* Eviction begins this much before the limit, and backfill ends there. */
static uint64_t space_room(const struct store *s)
{
	uint64_t limit = space_limit(s);

	return limit == SPACE_NO_LIMIT ? 0 : min_u64(limit / 16, SPACE_ROOM_MAX);
}

static uint64_t space_min_free(const struct store *s)
{
	return max_u64(s->cfg.min_free, SPACE_DATABASE);
}

static uint64_t sub_floor(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static void evict_locked(struct store *s, uint64_t wanted) REQUIRES(s->lock);
static void evict_locked(struct store *s, uint64_t wanted)
{
	s->evict_wanted = max_u64(s->evict_wanted, wanted);
	if (!(s->work & WORK_EVICT)) {
		s->work |= WORK_EVICT;
		cnd_signal(&s->wake);
	}
}

/* Will the disk have no room for len more bytes whatever is evicted? */
static bool hopeless_locked(const struct store *s, uint64_t len, uint64_t disk) REQUIRES(s->lock);
static bool hopeless_locked(const struct store *s, uint64_t len, uint64_t disk)
{
	return add_sat_u64(space_min_free(s), s->inflight + len) >
	       add_sat_u64(disk, sub_floor(s->used, s->inflight));
}

/* Is there no room for one block more as it is? */
static bool full_locked(const struct store *s, uint64_t disk) REQUIRES(s->lock);
static bool full_locked(const struct store *s, uint64_t disk)
{
	uint64_t block = space_len(s, BLOCK_SIZE);

	return add_sat_u64(s->used, block) > space_limit(s) ||
	       add_sat_u64(space_min_free(s), s->inflight + block) > disk;
}

static void degrade_locked(struct store *s, int error) REQUIRES(s->lock);
static void degrade_locked(struct store *s, int error)
{
	s->degraded = error;
	s->retry_us = clock_now_us() + SPACE_RETRY_US;
}

int space_degraded_locked(struct store *s, uint64_t disk)
{
	if (s->degraded == -ENOSPC && clock_now_us() >= s->retry_us && !full_locked(s, disk))
		s->degraded = 0;
	return s->degraded;
}

int space_reserve(struct store *s, uint64_t bytes, bool evict)
{
	uint64_t len = space_len(s, bytes), limit = space_limit(s), room = space_room(s);
	uint64_t now = clock_now_us(), disk = 0;
	int r = 0, untold = cache_disk_free(&s->cache, &disk);
	uint64_t over = 0, wanted = 0;

	mtx_lock(&s->lock);
	if (s->degraded && now < s->retry_us) {
		r = s->degraded;
	} else if (untold) {
		r = untold;
		degrade_locked(s, r);
	} else if (hopeless_locked(s, len, disk)) {
		r = -ENOSPC;
		degrade_locked(s, r);
	} else {
		over = sub_floor(add_sat_u64(s->used, len), evict ? limit : limit - room);
		over = max_u64(over,
			       sub_floor(add_sat_u64(space_min_free(s), s->inflight + len), disk));
		if (over) {
			r = -ENOSPC;
			wanted = over;
		} else {
			s->used += len;
			s->inflight += len;
			wanted = sub_floor(s->used, limit - room);
		}
		if (wanted && evict)
			evict_locked(s, wanted);
	}
	mtx_unlock(&s->lock);
	return r;
}

void space_written(struct store *s, uint64_t bytes)
{
	mtx_lock(&s->lock);
	s->inflight -= space_len(s, bytes);
	s->degraded = 0;
	mtx_unlock(&s->lock);
}

/* Errors of the disk, which concern every file; the others are this file's or this moment's. */
static bool space_is_disk(int error)
{
	return error == -ENOSPC || error == -EIO || error == -EDQUOT || error == -EROFS;
}

void space_failed(struct store *s, uint64_t bytes, int error)
{
	uint64_t len = space_len(s, bytes);

	mtx_lock(&s->lock);
	s->used -= len;
	s->inflight -= len;
	if (space_is_disk(error))
		degrade_locked(s, error);
	mtx_unlock(&s->lock);
}

void space_evicted(struct store *s, uint64_t freed)
{
	uint64_t disk = 0;
	int untold = cache_disk_free(&s->cache, &disk);

	mtx_lock(&s->lock);
	if (freed == 0 && !untold && full_locked(s, disk))
		degrade_locked(s, -ENOSPC);
	mtx_unlock(&s->lock);
}

void space_release(struct store *s, uint64_t bytes)
{
	mtx_lock(&s->lock);
	s->used -= min_u64(s->used, space_len(s, bytes));
	mtx_unlock(&s->lock);
}

void space_adjust(struct store *s, uint64_t was, uint64_t is)
{
	mtx_lock(&s->lock);
	s->used = s->used - min_u64(s->used, space_len(s, was)) + space_len(s, is);
	mtx_unlock(&s->lock);
}

void store_make_room(struct store *s, uint64_t bytes)
{
	uint64_t len = space_len(s, bytes), limit = space_limit(s);
	uint64_t until_us = clock_now_us() + SPACE_WAIT_US;

	mtx_lock(&s->lock);
	while (!s->stopping && !s->degraded && add_sat_u64(s->used, len) > limit) {
		evict_locked(s, s->used + len - limit);
		if (!cnd_wait_until(&s->done, &s->lock, until_us))
			break;
	}
	mtx_unlock(&s->lock);
}

uint64_t store_capacity(struct store *s)
{
	uint64_t disk = 0, keep = space_min_free(s), most;

	cache_disk_free(&s->cache, &disk);
	mtx_lock(&s->lock);
	most = sub_floor(add_sat_u64(s->used, disk), add_sat_u64(keep, s->inflight));
	mtx_unlock(&s->lock);
	return min_u64(most, space_limit(s) - space_room(s));
}

bool store_has_room(struct store *s, uint64_t need)
{
	uint64_t limit = space_limit(s), disk = 0;
	uint64_t now = clock_now_us(), keep = space_min_free(s);
	bool room;

	cache_disk_free(&s->cache, &disk);
	need = space_len(s, need);
	mtx_lock(&s->lock);
	/* When it is time to try the disk again, backfill may be the one that tries. */
	room = (!s->degraded || now >= s->retry_us) &&
	       add_sat_u64(s->used, need) <= limit - space_room(s) &&
	       add_sat_u64(add_sat_u64(keep, keep / 16), s->inflight + need) <= disk;
	mtx_unlock(&s->lock);
	return room;
}
