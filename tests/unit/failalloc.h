/*
 * failalloc.h - let the n-th allocation of the code under test fail
 *
 * For a test linked with -Wl,--wrap=malloc,--wrap=calloc. Fail the first, the second, … until a run
 * passes without a failure: then every path was taken.
 */
#ifndef TESTS_UNIT_FAILALLOC_H
#define TESTS_UNIT_FAILALLOC_H

#include "base/base.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);

static unsigned int failalloc_at; /* which one from now on fails; 0: none */

static inline bool failalloc_now(void)
{
	return failalloc_at > 0 && --failalloc_at == 0;
}

void *__wrap_malloc(size_t size)
{
	return failalloc_now() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	return failalloc_now() ? NULL : __real_calloc(count, size);
}

/* Did the run since failalloc_at was set get as far as the failure? Ends the failing. */
static inline bool failalloc_hit(void)
{
	bool hit = failalloc_at == 0;

	failalloc_at = 0;
	return hit;
}

#endif
