/*
 * contents.h - what shares its bytes in the cache must not contradict itself
 *
 * Entries of one content are one object to the engine, which takes what it is asked by from one of
 * them and what it is to be from all. For the time of building; one thread.
 */
#ifndef MANIFEST_CONTENTS_H
#define MANIFEST_CONTENTS_H

#include "manifest/draft.h"
#include "manifest/store.h"

struct contents {
	const struct manifest *m;
	uint64_t seed;
	struct complaint *c;
	/* To the rows that tell most of a content: few of each are ever looked at. */
	struct hash_index ids, checksums, urls;
	struct entry other; /* one of those, unpacked */
};

/* m and c are kept until contents_done(), which may come twice. */
void contents_init(struct contents *k, const struct manifest *m, uint64_t seed,
		   struct complaint *c);
void contents_done(struct contents *k);
/*
 * d, to be found at path, will be the next row of m; row_line tells the lines of those before. 0,
 * refused, or -ENOMEM.
 */
int contents_add(struct contents *k, const struct draft *d, struct span path,
		 const uint32_t *row_line);

#endif
