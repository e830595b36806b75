/*
 * seed.h - random numbers of a model test that a person can have again
 *
 * A model test runs the fixed seeds of its table, or the one given as its argument or in
 * RGETFS_SEED. The seed is printed before its run, so that a failure says how to repeat it.
 */
#ifndef TESTS_MODEL_SEED_H
#define TESTS_MODEL_SEED_H

#include <inttypes.h>

#include "base/base.h"
#include "base/size.h"

/* splitmix64: good enough for choices, the same everywhere. */
static inline uint64_t seed_next(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* Below limit, which is not 0. */
static inline uint64_t seed_below(uint64_t *state, uint64_t limit)
{
	return seed_next(state) % limit;
}

/* Run one seed or all fixed ones. The exit status for main(). */
static inline int seed_main(int argc, char **argv, unsigned int fixed, void (*run)(uint64_t seed))
{
	const char *text = argc > 1 ? argv[1] : getenv("RGETFS_SEED");
	uint64_t seed;

	setvbuf(stdout, NULL, _IOLBF, 0); /* the seed is out before an abort */
	if (text) {
		if (parse_u64(text, UINT64_MAX, &seed) < 0) {
			fprintf(stderr, "usage: %s [SEED]\n", argv[0]);
			return 2;
		}
		printf("seed %" PRIu64 "\n", seed);
		run(seed);
		return 0;
	}
	for (seed = 1; seed <= fixed; seed++) {
		printf("seed %" PRIu64 "\n", seed);
		run(seed);
	}
	return 0;
}

#endif
