/*
 * body.c - which bytes of a response are handed on, and when
 *
 * Callers: libcurl (body_on_data) and run.c, on the instance's thread.
 *
 * Always true:
 *   B1  a chunk begins on the grid of blocks, and what leaves here ends on it or at the object's
 *       end.
 *   B2  no byte at or behind the lease's end, as it is when the byte comes, or of the range that
 *       the response named, is handed on.
 *   B3  pos <= chunk_off, and chunk_off + chunk->len == at while a chunk is open.
 *
 * One copy: from libcurl's buffer into the chunk. (A second, of less than a block, where
 * whole blocks have to go before the one behind them is whole.)
 */
#include "base/clock.h"
#include "net/run.h"

uint64_t body_limit(const struct run *r)
{
	uint64_t end = atomic_load_explicit(r->rq.end, memory_order_acquire);

	if (end != SIZE_UNKNOWN)
		end = add_sat_u64(end, r->rq.end_add);
	if (r->judged && r->use.total != SIZE_UNKNOWN)
		end = min_u64(end, r->use.total);
	return end;
}

static uint64_t body_next_boundary(const struct run *r, uint64_t at)
{
	return add_sat_u64(r->rq.grid, block_floor(at - r->rq.grid) + BLOCK_SIZE);
}

static void body_discard(struct run *r, uint64_t bytes)
{
	r->bytes_discarded += bytes;
	atomic_fetch_add_explicit(&r->inst->shared->bytes_discarded, bytes, memory_order_relaxed);
}

static void body_hand_over(struct run *r)
{
	struct chunk *c = r->chunk;

	r->chunk = NULL;
	r->pos = r->chunk_off + c->len;
	r->rq.ops->body(r->rq.user, r->chunk_off, c);
}

static void body_drop_chunk(struct run *r)
{
	body_discard(r, r->chunk->len);
	chunk_free(r->chunk);
	r->chunk = NULL;
}

/* Keep only what lies before the lease's end as it is now. */
static void body_trim(struct run *r, uint64_t limit)
{
	if (!r->chunk || r->chunk_off + r->chunk->len <= limit)
		return;
	if (limit <= r->chunk_off) {
		body_drop_chunk(r);
		return;
	}
	body_discard(r, r->chunk_off + r->chunk->len - limit);
	r->chunk->len = limit - r->chunk_off;
}

/*
 * Of a whole body without a length only its end shows that it is not longer than the object: until
 * then the last of it stays here, so that nobody takes the object for complete.
 */
static bool body_awaits_end(const struct run *r)
{
	return r->good == VERDICT_WHOLE && r->use.body_end == SIZE_UNKNOWN &&
	       r->use.total != SIZE_UNKNOWN && r->at >= r->use.total &&
	       body_limit(r) == r->use.total;
}

static bool body_awaited(const struct run *r, size_t whole)
{
	return r->rq.ops->awaited(r->rq.user, range_of_length(r->chunk_off, whole));
}

/* A block has just become whole, so the chunk is nothing but whole blocks. */
static void body_block_whole(struct run *r, uint64_t now_us)
{
	if (body_awaits_end(r))
		return;
	if (r->chunk->len + BLOCK_SIZE > CHUNK_SIZE || now_us - r->chunk_first_us >= FLUSH_US ||
	    body_awaited(r, r->chunk->len))
		body_hand_over(r);
}

/* Take what can be taken; less than len: the lease's end, or no chunk is to be had. */
static size_t body_take(struct run *r, const char *data, size_t len, uint64_t limit,
			uint64_t now_us)
{
	size_t used = 0;

	if (r->at < r->from) {
		used = min_u64(len, r->from - r->at);
		r->at += used;
		body_discard(r, used);
	}
	while (used < len && r->at < limit) {
		uint64_t boundary = body_next_boundary(r, r->at);
		size_t n = min_u64(len - used, min_u64(boundary, limit) - r->at);

		if (!r->chunk) {
			r->chunk = pool_get(&r->inst->shared->pool, &r->inst->pool_client,
					    r->rq.urgent, r->inst->shared);
			if (!r->chunk)
				break;
			r->chunk_off = r->at;
			r->chunk_first_us = now_us;
		}
		memcpy(r->chunk->data + r->chunk->len, data + used, n);
		r->chunk->len += n;
		r->at += n;
		used += n;
		if (r->at == boundary)
			body_block_whole(r, now_us);
	}
	return used;
}

/* Bytes that the response still promises; UINT64_MAX: it does not say. */
static uint64_t body_rest(const struct run *r)
{
	if (r->use.body_end == SIZE_UNKNOWN)
		return UINT64_MAX;
	return r->use.body_end > r->at ? r->use.body_end - r->at : 0;
}

bool body_check_end(struct run *r)
{
	uint64_t limit = body_limit(r);

	if (max_u64(r->at, r->from) < limit || body_awaits_end(r))
		return false;
	body_trim(r, limit);
	if (r->chunk)
		body_hand_over(r);
	return true;
}

/* All that is wanted has come. Go on reading only if that keeps the connection at a fair price. */
static size_t body_enough(struct run *r, size_t len, size_t surplus, uint64_t now_us)
{
	uint64_t rest = body_rest(r);

	r->outcome = r->good;
	body_discard(r, surplus);
	/* at does not count the surplus of this piece */
	if (rest != UINT64_MAX)
		rest = rest > surplus ? rest - surplus : 0;
	return run_drain(r, rest, run_worth_draining(r), now_us) ? len : 0;
}

/* It is not the object: what is still here of it goes nowhere. */
static void body_disown(struct run *r, enum verdict v, uint64_t bytes)
{
	if (r->chunk)
		body_drop_chunk(r);
	r->outcome = v;
	r->body_bytes = bytes;
}

/* More than its Content-Range or the object's size says, which only a body without a length can
 * bring: nobody knows of what. */
static size_t body_beyond(struct run *r, size_t surplus)
{
	uint64_t bytes = add_sat_u64(r->at, surplus);

	body_discard(r, surplus);
	if (r->good == VERDICT_WHOLE)
		body_disown(r, http_judge_length(&r->want, r->resp, bytes, false), bytes);
	else
		r->outcome = VERDICT_WRONG_RANGE;
	return 0;
}

bool body_ended_wrong(struct run *r)
{
	enum verdict v;

	if (r->good != VERDICT_WHOLE || r->use.body_end != SIZE_UNKNOWN || r->at >= body_limit(r))
		return false;
	v = http_judge_length(&r->want, r->resp, r->at, true);
	if (v == VERDICT_WHOLE)
		return false;
	body_disown(r, v, r->at);
	return true;
}

static void body_count(struct run *r, size_t bytes, uint64_t now_us)
{
	struct fetch_shared *sh = r->inst->shared;
	uint64_t window_us = now_us - r->rate_us;

	r->bytes_received += bytes;
	atomic_fetch_add_explicit(&sh->bytes_received, bytes, memory_order_relaxed);
	limiter_take(&sh->limit, bytes, now_us);
	if (r->rq.fill)
		limiter_take(&sh->fill, bytes, now_us);

	r->rate_bytes += bytes;
	if (window_us >= 50 * USEC_PER_MS) {
		uint64_t bps = r->rate_bytes * USEC_PER_SEC / window_us;

		r->rate_bps = r->rate_bps ? (r->rate_bps * 3 + bps) / 4 : bps;
		r->rate_us = now_us;
		r->rate_bytes = 0;
	}
}

static bool body_must_wait(struct run *r, uint64_t now_us)
{
	struct fetch_shared *sh = r->inst->shared;
	uint64_t until;

	if (r->pauses & PAUSE_HOLD)
		return true;
	until = limiter_wait_until(&sh->limit, r->rq.urgent, now_us);
	if (r->rq.fill)
		until = max_u64(until, limiter_wait_until(&sh->fill, r->rq.urgent, now_us));
	if (until == 0)
		return false;
	r->rate_until_us = until;
	run_pause(r, PAUSE_RATE, now_us);
	return true;
}

static size_t body_drop(struct run *r, size_t len, uint64_t now_us)
{
	body_count(r, len, now_us);
	body_discard(r, len);
	if (len > r->drain_left)
		return 0;
	r->drain_left -= len;
	return len;
}

/* CURLOPT_WRITEFUNCTION: at most 16 KiB a call; after a pause the same bytes come again. */
size_t body_on_data(char *data, size_t size, size_t count, void *user)
{
	struct run *r = user;
	size_t len = size * count, taken_before, used;
	uint64_t now_us = clock_now_us(), limit, room;

	if (!r->judged && !head_synthesise(r))
		return 0;
	if (r->phase == RUN_DRAINING)
		return body_drop(r, len, now_us);
	if (body_must_wait(r, now_us)) {
		r->paused_in_curl = true;
		return CURL_WRITEFUNC_PAUSE;
	}
	taken_before = min_u64(r->replay, len);
	r->replay -= taken_before;

	limit = body_limit(r);
	room = min_u64(limit, r->use.body_end);
	used = body_take(r, data + taken_before, len - taken_before, room, now_us);
	if (taken_before + used < len && r->at < room) {
		body_count(r, used, now_us);
		r->replay = taken_before + used;
		run_pause(r, PAUSE_POOL, now_us);
		r->paused_in_curl = true;
		return CURL_WRITEFUNC_PAUSE;
	}
	body_count(r, len - taken_before, now_us);
	if (now_us - r->progress_us >= PROGRESS_US) {
		r->progress_us = now_us;
		r->rq.ops->progress(r->rq.user, max_u64(r->pos, min_u64(r->at, limit)));
	}
	if (body_check_end(r))
		return body_enough(r, len, len - taken_before - used, now_us);
	if (taken_before + used < len)
		return body_beyond(r, len - taken_before - used);
	return len;
}

bool body_close(struct run *r, bool complete)
{
	uint64_t limit = body_limit(r);
	bool all = r->at >= limit || (complete && limit == SIZE_UNKNOWN);
	size_t whole;

	body_trim(r, limit);
	if (!r->chunk)
		return all;
	whole = r->chunk->len;
	if (!all)
		whole &= ~(size_t)(BLOCK_SIZE - 1);
	if (whole == 0) {
		body_drop_chunk(r);
		return all;
	}
	body_discard(r, r->chunk->len - whole);
	r->chunk->len = whole;
	body_hand_over(r);
	return all;
}

uint64_t body_flush_due(struct run *r, uint64_t now_us)
{
	size_t whole, tail;
	struct chunk *next = NULL;

	if (!r->chunk || r->chunk->len < BLOCK_SIZE || body_awaits_end(r))
		return UINT64_MAX;
	body_trim(r, body_limit(r));
	if (!r->chunk || r->chunk->len < BLOCK_SIZE)
		return UINT64_MAX;
	tail = r->chunk->len & (BLOCK_SIZE - 1);
	whole = r->chunk->len - tail;
	if (now_us - r->chunk_first_us < FLUSH_US && !body_awaited(r, whole))
		return now_us + PROGRESS_US;
	if (tail > 0) {
		next = pool_get(&r->inst->shared->pool, &r->inst->pool_client, r->rq.urgent,
				r->inst->shared);
		if (!next)
			return now_us + PROGRESS_US;
		memcpy(next->data, r->chunk->data + whole, tail);
		next->len = tail;
		r->chunk->len = whole;
	}
	body_hand_over(r);
	if (next) {
		r->chunk = next;
		r->chunk_off = r->pos;
		r->chunk_first_us = now_us;
	}
	return UINT64_MAX;
}
