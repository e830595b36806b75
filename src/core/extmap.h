/*
 * extmap.h - which blocks of one version are in the cache, where they came from, and their
 * checksums
 *
 * An extent is a run of whole blocks (the last block of the version may be short) with one source
 * and a checksum per block. No lock of its own: the version's lock guards it. No I/O. Every call is
 * O(log n) in the number of extents plus O(extents and blocks it touches).
 *
 * Always true:
 *   X1  extents are disjoint, on block boundaries (or end at the size), ordered by offset.
 *   X2  touching extents are one, unless their sources differ, one of them is evicting, or the
 *       sum would be longer than EXTENT_BLOCKS_MAX (so that merging and a row of the database
 *       stay bounded).
 *   X3  a block that is evicting is neither present nor a gap: readers don't get it, nobody
 *       fetches it.
 */
#ifndef CORE_EXTMAP_H
#define CORE_EXTMAP_H

#include "core/range.h"

#define EXTENT_BLOCKS_MAX 1024 /* 64 MiB of data, 8 KiB of checksums */

struct extmap;

/* A look at one extent; sums points into the map and lives until the map changes. */
struct extent {
	struct range range;
	uint16_t source;  /* index of the mirror that sent it */
	uint32_t atime_s; /* when it was last read, wall clock seconds; 0 never */
	bool evicting;
	const uint64_t *sums; /* XXH3-64 of each block as received */
};

/* size may be SIZE_UNKNOWN until extmap_set_size(). NULL: no memory. */
struct extmap *extmap_new(uint64_t size);
void extmap_free(struct extmap *m);
uint64_t extmap_size(const struct extmap *m);
/* 0, or -EINVAL: an extent would end past it, or a size was already known and differs. */
int extmap_set_size(struct extmap *m, uint64_t size);

/*
 * r is now in the cache: r.off on a block boundary, r.end on one or at the size; sums one per
 * block. verified: false for rows read back from the database (each block is checked at its first
 * use). Parts that are there already keep their first checksum and source; evicting parts are left
 * alone. 0, -EINVAL (alignment, past the size) or -ENOMEM (then nothing changed).
 */
int extmap_add(struct extmap *m, struct range r, uint16_t source, const uint64_t *sums,
	       bool verified, uint32_t atime_s);
/* r (grown inward to whole blocks) is a gap, evicting or not. 0 or -ENOMEM: nothing changed. */
int extmap_remove(struct extmap *m, struct range r);
/* Present parts of r (whole blocks) become evicting, or present again. 0 or -ENOMEM. */
int extmap_set_evicting(struct extmap *m, struct range r, bool evicting);

/* All of r present (not evicting)? An empty r is. */
bool extmap_has(const struct extmap *m, struct range r);
/* First gap in within: neither present nor evicting, clipped to within and size. 0 or -ENOENT. */
int extmap_next_gap(const struct extmap *m, struct range within, struct range *ret);
/* First extent that ends after off, whole. 0 or -ENOENT. */
int extmap_next(const struct extmap *m, uint64_t off, struct extent *ret);

uint64_t extmap_bytes(const struct extmap *m); /* present */
size_t extmap_count(const struct extmap *m);   /* extents */
/* Known size and every byte present. */
bool extmap_complete(const struct extmap *m);

/* First block in r that is present but not verified. 0 or -ENOENT. */
int extmap_next_unverified(const struct extmap *m, struct range r, uint64_t *ret_block_off,
			   uint64_t *ret_sum);
void extmap_set_verified(struct extmap *m, uint64_t block_off);
/* No block is any more, whatever it was before. */
void extmap_set_unverified(struct extmap *m);
/* Extents that overlap r were read at atime_s (kept at its largest). */
void extmap_touch(struct extmap *m, struct range r, uint32_t atime_s);

/* Abort with a message unless X1 to X3 hold; for tests and --enable-debug. O(n). */
void extmap_check(const struct extmap *m);

#endif
