/*
 * scale_extmap.c - an extent map of 10^6 extents costs what O(log n) costs
 *
 * Each operation is timed (CPU time of this process, the best of some rounds) in a map of a
 * thousand and in one of a million extents. A linear one would be a thousand times slower in the
 * second; caches alone make it some ten times. The bound between is far from both, so that a busy
 * machine does not decide.
 */
#include "core/extmap.h"
#include "seed.h"

#define SMALL  UINT64_C(1000)
#define LARGE  UINT64_C(1000000)
#define OPS    2000
#define ROUNDS 5
#define BOUND  150

/* Every second block is there: no extent may join another. */
static struct extmap *map_of(uint64_t extents)
{
	struct extmap *m = extmap_new(SIZE_UNKNOWN);
	uint64_t sum = 1;

	if (!m)
		abort();
	for (uint64_t i = 0; i < extents; i++) {
		uint64_t off = i * 2 * BLOCK_SIZE;

		if (extmap_add(m, range_make(off, off + BLOCK_SIZE), 0, &sum, true, 0) < 0)
			abort();
	}
	return m;
}

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * UINT64_C(1000000000) + (uint64_t)ts.tv_nsec;
}

/* A block that is there, at random, and the gap behind it. */
static struct range a_block(const struct extmap *m, uint64_t *rng)
{
	uint64_t off = seed_below(rng, extmap_count(m) - 1) * 2 * BLOCK_SIZE;

	return range_make(off, off + BLOCK_SIZE);
}

static void op_has(struct extmap *m, uint64_t *rng)
{
	if (!extmap_has(m, a_block(m, rng)))
		abort();
}

static void op_next_gap(struct extmap *m, uint64_t *rng)
{
	struct range r = a_block(m, rng);
	struct range gap;

	r.end = SIZE_UNKNOWN;
	if (extmap_next_gap(m, r, &gap) < 0 || gap.off != r.off + BLOCK_SIZE)
		abort();
}

static void op_next(struct extmap *m, uint64_t *rng)
{
	struct range r = a_block(m, rng);
	struct extent e;

	if (extmap_next(m, r.off + 1, &e) < 0 || e.range.off != r.off)
		abort();
}

static void op_add_and_remove(struct extmap *m, uint64_t *rng)
{
	struct range r = a_block(m, rng);
	uint64_t sum = 2;

	r = range_make(r.end, r.end + BLOCK_SIZE);
	if (extmap_add(m, r, 0, &sum, false, 1) < 0 || extmap_remove(m, r) < 0)
		abort();
}

static void op_evict(struct extmap *m, uint64_t *rng)
{
	struct range r = a_block(m, rng);

	if (extmap_set_evicting(m, r, true) < 0 || extmap_set_evicting(m, r, false) < 0)
		abort();
}

static void op_touch(struct extmap *m, uint64_t *rng)
{
	extmap_touch(m, a_block(m, rng), 7);
}

static void op_verify(struct extmap *m, uint64_t *rng)
{
	extmap_set_verified(m, a_block(m, rng).off);
}

static uint64_t best_time(struct extmap *m, uint64_t seed,
			  void (*op)(struct extmap *m, uint64_t *rng))
{
	uint64_t best = UINT64_MAX;

	for (int round = 0; round < ROUNDS; round++) {
		uint64_t start = cpu_ns();

		for (int i = 0; i < OPS; i++)
			op(m, &seed);
		best = min_u64(best, cpu_ns() - start);
	}
	return best;
}

static void run(uint64_t seed)
{
	static const struct {
		const char *name;
		void (*op)(struct extmap *m, uint64_t *rng);
	} ops[] = {
		{"has", op_has},
		{"next_gap", op_next_gap},
		{"next", op_next},
		{"add and remove", op_add_and_remove},
		{"set_evicting", op_evict},
		{"touch", op_touch},
		{"set_verified", op_verify},
	};
	struct extmap *small = map_of(SMALL);
	struct extmap *large = map_of(LARGE);
	bool bad = false;

	for (size_t i = 0; i < ARRAY_SIZE(ops); i++) {
		uint64_t a = max_u64(1, best_time(small, seed, ops[i].op));
		uint64_t b = best_time(large, seed, ops[i].op);

		printf("%-16s %5" PRIu64 " ns with 10^3, %5" PRIu64
		       " ns with 10^6 extents: %" PRIu64 " times\n",
		       ops[i].name, a / OPS, b / OPS, b / a);
		bad |= b / a > BOUND;
	}
	extmap_check(large);
	if (extmap_count(large) != LARGE || extmap_bytes(large) != LARGE * BLOCK_SIZE)
		abort();
	extmap_free(small);
	extmap_free(large);
	if (bad) {
		printf("FAILED: more than %d times\n", BOUND);
		abort();
	}
}

int main(int argc, char **argv)
{
	return seed_main(argc, argv, 1, run);
}
