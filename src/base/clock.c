/*
 * clock.c - the only place that asks what time it is
 */
#include "base/clock.h"

uint64_t clock_now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * USEC_PER_SEC + (uint64_t)ts.tv_nsec / 1000;
}

int64_t clock_wall_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return ts.tv_sec;
}

struct timespec clock_timespec(uint64_t at_us)
{
	struct timespec ts = {
		.tv_sec = (time_t)(at_us / USEC_PER_SEC),
		.tv_nsec = (long)(at_us % USEC_PER_SEC) * 1000,
	};

	return ts;
}
