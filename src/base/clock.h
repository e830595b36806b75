/*
 * clock.h - the only place that asks what time it is
 *
 * Everything that schedules or waits counts in monotonic microseconds; src/core never calls this,
 * it gets the time as an argument.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define USEC_PER_MS  UINT64_C(1000)
#define USEC_PER_SEC UINT64_C(1000000)

/* CLOCK_MONOTONIC in microseconds. Never fails, never goes back, stands still while suspended. */
uint64_t clock_now_us(void);

/* Wall clock, seconds since 1970: for people and for dates of servers, never for waits. */
int64_t clock_wall_s(void);

/* A CLOCK_MONOTONIC instant as pthread_cond_timedwait() wants it (see cnd_init() in lock.h). */
struct timespec clock_timespec(uint64_t at_us);

#endif
