/*
 * range.h - half-open ranges of bytes, and the grid of blocks
 */
#ifndef CORE_RANGE_H
#define CORE_RANGE_H

#include <assert.h>

#include "base/base.h"

/* All is fetched, kept and checked in blocks of this size; the last of a file may be shorter. */
#define BLOCK_SHIFT 16
#define BLOCK_SIZE  (UINT64_C(1) << BLOCK_SHIFT)

/* The size of an object nobody has told us yet. */
#define SIZE_UNKNOWN UINT64_MAX

struct range {
	uint64_t off; /* first byte */
	uint64_t end; /* behind the last byte */
};

static inline struct range range_make(uint64_t off, uint64_t end)
{
	assert(off <= end);
	return (struct range){off, end};
}

/* off + len, ending at UINT64_MAX where that does not fit. */
static inline struct range range_of_length(uint64_t off, uint64_t len)
{
	return (struct range){off, add_sat_u64(off, len)};
}

static inline uint64_t range_len(struct range r)
{
	return r.end - r.off;
}

static inline bool range_empty(struct range r)
{
	return r.off >= r.end;
}

static inline bool range_overlaps(struct range a, struct range b)
{
	return a.off < b.end && b.off < a.end;
}

static inline bool range_contains(struct range outer, struct range inner)
{
	return outer.off <= inner.off && inner.end <= outer.end;
}

/* What both have; empty (off == end) when they have nothing. */
static inline struct range range_intersect(struct range a, struct range b)
{
	struct range r = {max_u64(a.off, b.off), min_u64(a.end, b.end)};

	if (r.end < r.off)
		r.end = r.off;
	return r;
}

static inline uint64_t block_floor(uint64_t off)
{
	return off & ~(BLOCK_SIZE - 1);
}

/* The next block boundary at or after off; the last boundary there is where that does not fit. */
static inline uint64_t block_ceil(uint64_t off)
{
	return off > UINT64_MAX - (BLOCK_SIZE - 1) ? block_floor(UINT64_MAX)
						   : block_floor(off + BLOCK_SIZE - 1);
}

/* r grown to whole blocks of an object of size bytes (SIZE_UNKNOWN: not clipped). */
static inline struct range range_to_blocks(struct range r, uint64_t size)
{
	return range_intersect((struct range){block_floor(r.off), block_ceil(r.end)},
			       (struct range){0, size});
}

/* How many blocks r touches. */
static inline uint64_t range_blocks(struct range r)
{
	return range_empty(r) ? 0 : ((r.end - 1) >> BLOCK_SHIFT) - (r.off >> BLOCK_SHIFT) + 1;
}

#endif
