/*
 * limiter.c - a token bucket that all instances share
 *
 * Callers: body.c on instance threads, for each piece that curl brings.
 */
#include "net/limiter.h"

#include "base/base.h"
#include "base/clock.h"

/* So much may come at once after a pause: 50 ms of the rate, but a piece of curl's at least. */
#define LIMITER_BURST_MIN (UINT64_C(16) * 1024)
#define LIMITER_BURST_DIV 20

void limiter_init(struct limiter *l, uint64_t rate_bps, uint64_t now_us)
{
	*l = (struct limiter){.at_us = now_us};
	mtx_init(&l->lock, RANK_LIMITER, "limiter");
	/* 2^40 B/s is no limit at all, and keeps rate * time within 64 bits for hours. */
	l->rate_bps = min_u64(rate_bps, UINT64_C(1) << 40);
	l->burst = (int64_t)max_u64(l->rate_bps / LIMITER_BURST_DIV, LIMITER_BURST_MIN);
	l->tokens = l->burst;
}

void limiter_done(struct limiter *l)
{
	mtx_done(&l->lock);
}

static void limiter_refill_locked(struct limiter *l, uint64_t now_us) REQUIRES(l->lock);
static void limiter_refill_locked(struct limiter *l, uint64_t now_us)
{
	uint64_t passed_us, earned;

	if (now_us <= l->at_us)
		return;
	/* Ten seconds pay any debt that matters; more would only overflow. */
	passed_us = min_u64(now_us - l->at_us, 10 * USEC_PER_SEC);
	earned = l->rate_bps * passed_us / USEC_PER_SEC;
	if (earned == 0)
		return; /* at_us stays, so that short intervals add up */
	l->at_us = now_us;
	l->tokens += (int64_t)earned;
	if (l->tokens > l->burst)
		l->tokens = l->burst;
}

void limiter_take(struct limiter *l, uint64_t bytes, uint64_t now_us)
{
	if (l->rate_bps == 0)
		return;
	mtx_lock(&l->lock);
	limiter_refill_locked(l, now_us);
	l->tokens -= (int64_t)bytes;
	mtx_unlock(&l->lock);
}

uint64_t limiter_wait_until(struct limiter *l, bool urgent, uint64_t now_us)
{
	int64_t least = urgent ? -l->burst : 0;
	uint64_t until = 0;

	if (l->rate_bps == 0)
		return 0;
	mtx_lock(&l->lock);
	limiter_refill_locked(l, now_us);
	if (l->tokens < least)
		until = now_us + (uint64_t)(least - l->tokens) * USEC_PER_SEC / l->rate_bps + 1;
	mtx_unlock(&l->lock);
	return until;
}
