/*
 * rangeset.h - a set of bytes as disjoint, non-touching ranges; all in O(log n)
 *
 * No lock of its own: the owner's lock guards it.
 */
#ifndef CORE_RANGESET_H
#define CORE_RANGESET_H

#include <bsd/sys/tree.h>

#include "core/range.h"

struct rangeset_node;
RB_HEAD(rangeset_tree, rangeset_node);

struct rangeset {
	struct rangeset_tree tree;
	uint64_t bytes; /* in the set */
	size_t count;	/* ranges */
};

void rangeset_init(struct rangeset *s);
void rangeset_done(struct rangeset *s);
/* 0 or -ENOMEM (then nothing changed). Adding what is there is fine. */
int rangeset_add(struct rangeset *s, struct range r);
/* 0 or -ENOMEM (a removal may split one range in two; then nothing changed). */
int rangeset_remove(struct rangeset *s, struct range r);
bool rangeset_contains(const struct rangeset *s, struct range r);
/* The first member range that ends after off, not clipped. 0 or -ENOENT. */
int rangeset_next(const struct rangeset *s, uint64_t off, struct range *ret);
/* The first part of within that is not in the set. 0 or -ENOENT. */
int rangeset_next_gap(const struct rangeset *s, struct range within, struct range *ret);
/* Exchange two sets (a snapshot is: swap with an empty one). */
void rangeset_swap(struct rangeset *a, struct rangeset *b);

#endif
