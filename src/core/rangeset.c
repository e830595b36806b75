/*
 * rangeset.c - a set of bytes as disjoint, non-touching ranges
 * Callers: checkpoint (what was written), sched (what is covered), version. Their locks guard it.
 *
 * Always true: ranges are not empty and between two of them there is at least one byte.
 */
#include "core/rangeset.h"

struct rangeset_node {
	RB_ENTRY(rangeset_node) link;
	struct range range;
};

static int node_compare(const struct rangeset_node *a, const struct rangeset_node *b)
{
	return a->range.off < b->range.off ? -1 : a->range.off > b->range.off;
}

/* libbsd has no __unused for RB_GENERATE_STATIC */
RB_GENERATE_INTERNAL(rangeset_tree, rangeset_node, link, node_compare,
		     __attribute__((__unused__)) static)

/* First node that ends at or after off: the first that a range from off on may touch. */
static struct rangeset_node *first_ending_from(const struct rangeset *s, uint64_t off)
{
	struct rangeset_node *n = RB_ROOT(&s->tree);
	struct rangeset_node *best = NULL;

	while (n) {
		if (n->range.end >= off) {
			best = n;
			n = RB_LEFT(n, link);
		} else {
			n = RB_RIGHT(n, link);
		}
	}
	return best;
}

/* First node that ends after off. */
static struct rangeset_node *first_ending_after(const struct rangeset *s, uint64_t off)
{
	return off == UINT64_MAX ? NULL : first_ending_from(s, off + 1);
}

static struct rangeset_node *node_insert(struct rangeset *s, struct rangeset_node *n,
					 struct range r)
{
	n->range = r;
	RB_INSERT(rangeset_tree, &s->tree, n);
	s->bytes += range_len(r);
	s->count++;
	return n;
}

static void node_drop(struct rangeset *s, struct rangeset_node *n)
{
	RB_REMOVE(rangeset_tree, &s->tree, n);
	s->bytes -= range_len(n->range);
	s->count--;
	free(n);
}

/* Keeps its place in the order: r may not pass a neighbour. */
static void node_resize(struct rangeset *s, struct rangeset_node *n, struct range r)
{
	s->bytes += range_len(r);
	s->bytes -= range_len(n->range);
	n->range = r;
}

void rangeset_init(struct rangeset *s)
{
	RB_INIT(&s->tree);
	s->bytes = 0;
	s->count = 0;
}

void rangeset_done(struct rangeset *s)
{
	struct rangeset_node *n = RB_MIN(rangeset_tree, &s->tree);

	while (n) {
		struct rangeset_node *next = RB_NEXT(rangeset_tree, &s->tree, n);

		node_drop(s, n);
		n = next;
	}
	rangeset_init(s);
}

int rangeset_add(struct rangeset *s, struct range r)
{
	struct rangeset_node *n;
	struct rangeset_node *next;

	if (range_empty(r))
		return 0;
	n = first_ending_from(s, r.off);
	if (!n || n->range.off > r.end) {
		n = malloc(sizeof(*n));
		if (!n)
			return -ENOMEM;
		node_insert(s, n, r);
		return 0;
	}

	/* The first that touches grows; what it then reaches goes. */
	r.off = min_u64(r.off, n->range.off);
	r.end = max_u64(r.end, n->range.end);
	while ((next = RB_NEXT(rangeset_tree, &s->tree, n)) && next->range.off <= r.end) {
		r.end = max_u64(r.end, next->range.end);
		node_drop(s, next);
	}
	node_resize(s, n, r);
	return 0;
}

int rangeset_remove(struct rangeset *s, struct range r)
{
	struct rangeset_node *n;
	struct rangeset_node *next;

	if (range_empty(r))
		return 0;
	n = first_ending_after(s, r.off);
	if (n && n->range.off < r.off && n->range.end > r.end) {
		struct rangeset_node *right = malloc(sizeof(*right));
		uint64_t end = n->range.end;

		if (!right)
			return -ENOMEM;
		node_resize(s, n, range_make(n->range.off, r.off));
		node_insert(s, right, range_make(r.end, end));
		return 0; /* NOLINT(clang-analyzer-unix.Malloc): the tree owns it */
	}
	for (; n && n->range.off < r.end; n = next) {
		next = RB_NEXT(rangeset_tree, &s->tree, n);
		if (n->range.off < r.off)
			node_resize(s, n, range_make(n->range.off, r.off));
		else if (n->range.end > r.end)
			node_resize(s, n, range_make(r.end, n->range.end));
		else
			node_drop(s, n);
	}
	return 0;
}

bool rangeset_contains(const struct rangeset *s, struct range r)
{
	const struct rangeset_node *n;

	if (range_empty(r))
		return true;
	n = first_ending_after(s, r.off);
	return n && range_contains(n->range, r);
}

int rangeset_next(const struct rangeset *s, uint64_t off, struct range *ret)
{
	const struct rangeset_node *n = first_ending_after(s, off);

	if (!n)
		return -ENOENT;
	*ret = n->range;
	return 0;
}

int rangeset_next_gap(const struct rangeset *s, struct range within, struct range *ret)
{
	struct rangeset_node *n;
	struct range gap = within;

	if (range_empty(within))
		return -ENOENT;
	n = first_ending_after(s, within.off);
	if (n && n->range.off <= within.off) {
		gap.off = n->range.end;
		n = RB_NEXT(rangeset_tree, &s->tree, n);
	}
	if (n)
		gap.end = min_u64(gap.end, n->range.off);
	if (gap.off >= within.end)
		return -ENOENT;
	*ret = gap;
	return 0;
}

void rangeset_swap(struct rangeset *a, struct rangeset *b)
{
	struct rangeset tmp = *a;

	*a = *b;
	*b = tmp;
}
