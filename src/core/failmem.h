/*
 * failmem.h - ranges of a version that failed a moment ago
 *
 * After a failed READ the kernel asks for the same page again; without a memory each such page
 * would wait out a whole deadline again. A range that failed answers with its error at once until
 * its time is over or its origin answers (then the caller forgets all). Pure, a plain value,
 * bounded: with more failures than fit, the one that ends first is forgotten (its range then waits
 * once more, which is slow and right). No lock of its own.
 */
#ifndef CORE_FAILMEM_H
#define CORE_FAILMEM_H

#include "core/range.h"

#define FAILMEM_MAX	16
#define FAILMEM_KEEP_US UINT64_C(5000000) /* how long a failure is remembered */

struct failmem {
	struct {
		struct range range;
		int error;	   /* negative errno */
		uint64_t until_us; /* monotonic; not any more at this time */
	} item[FAILMEM_MAX];
	unsigned int count;
};

void failmem_init(struct failmem *m);
/* r failed with error (a negative errno). Joins what it touches when error is the same; the later
 * end counts. */
void failmem_add(struct failmem *m, struct range r, int error, uint64_t until_us);
/* The error of a failure that overlaps r, 0 none. */
int failmem_find(const struct failmem *m, struct range r, uint64_t now_us);

#endif
