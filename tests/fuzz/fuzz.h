/*
 * fuzz.h - what a fuzz target shares with libFuzzer and with the replayer
 *
 * A target is a file fuzz_NAME.c, its corpus the directory corpus/NAME. "make check" runs each over
 * its corpus (replay.c is the main then), "make fuzz" searches for more. An input that broke
 * something joins the corpus.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include "base/base.h"

/* Always 0. Aborts when something does not hold. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Unlike assert() it is there in every build. */
static inline void must(bool holds, const char *what)
{
	if (!holds) {
		fprintf(stderr, "fuzz: does not hold: %s\n", what);
		abort();
	}
}

#endif
