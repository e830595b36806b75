/*
 * retry.c - how long to wait after a failure
 * Callers: origin (bans), sched_source (one source of one task).
 */
#include "core/retry.h"

uint64_t retry_random(uint64_t *state)
{
	uint64_t x = *state;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*state = x;
	return x * UINT64_C(0x2545F4914F6CDD1D);
}

uint64_t retry_delay_us(unsigned int failures, uint64_t first_us, uint64_t max_us, uint64_t *state)
{
	unsigned int doublings = failures > 0 ? failures - 1 : 0;
	uint64_t delay = doublings < 32 ? first_us << doublings : max_us;

	if (delay > max_us)
		delay = max_us;
	/* Equal jitter: clients that failed together come back apart, none at once. */
	return delay / 2 + retry_random(state) % (delay / 2 + 1);
}
