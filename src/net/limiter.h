/*
 * limiter.h - a token bucket that all instances share (--limit-rate, --fill-rate)
 *
 * Bytes are taken after they have come, so the bucket may go into debt, which everybody waits for.
 * Who is urgent goes on while the debt is small, others only when there is none: so urgent ones
 * take first, others what they leave, and the rate holds for all of them together. Thread-safe.
 */
#ifndef NET_LIMITER_H
#define NET_LIMITER_H

#include "base/lock.h"

struct limiter {
	struct mtx lock;   /* RANK_LIMITER; guards tokens and at_us */
	int64_t tokens;	   /* bytes; negative: debt */
	uint64_t at_us;	   /* when tokens were counted */
	uint64_t rate_bps; /* bytes a second, 0: no limit (then nothing else is used) */
	int64_t burst;	   /* tokens never grow beyond; urgent ones go on down to -burst */
};

void limiter_init(struct limiter *l, uint64_t rate_bps, uint64_t now_us);
void limiter_done(struct limiter *l);
void limiter_take(struct limiter *l, uint64_t bytes, uint64_t now_us);
/* 0: go on. Else the time when enough of the debt is paid, if nobody takes more. */
uint64_t limiter_wait_until(struct limiter *l, bool urgent, uint64_t now_us);

#endif
