/*
 * retry.h - how long to wait after a failure
 *
 * Pure; the random state is the caller's, so that a run repeats with its seed.
 */
#ifndef CORE_RETRY_H
#define CORE_RETRY_H

#include "base/base.h"

/* Of one source of one object: a broken connection is mostly cured by the next one. */
#define RETRY_SOURCE_FIRST_US UINT64_C(100000)
#define RETRY_SOURCE_MAX_US   UINT64_C(30000000)
/* Of a whole origin: it has said itself that it wants rest, or cannot be reached. */
#define RETRY_ORIGIN_FIRST_US UINT64_C(500000)
#define RETRY_ORIGIN_MAX_US   UINT64_C(60000000)
/* A server that asks for more than this is asked again anyway. */
#define RETRY_AFTER_MAX_US UINT64_C(3600000000)

/* The next pseudo-random number (xorshift64*); *state must not be 0. */
uint64_t retry_random(uint64_t *state);
/* first * 2^(failures - 1), at most max, less up to a half by chance; failures from 1. */
uint64_t retry_delay_us(unsigned int failures, uint64_t first_us, uint64_t max_us, uint64_t *state);

#endif
