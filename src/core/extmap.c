/*
 * extmap.c - which blocks of one version are in the cache, where they came from, and their
 * checksums Callers: version (reads and writes), checkpoint (rows), evict. The version's lock
 * guards it.
 *
 * A change that may cut or join extents builds the new extents of its neighbourhood beside the map
 * first and exchanges them when all memory is there, so that -ENOMEM leaves the map as it was.
 * Appending to an extent, what a download does most, grows it in place.
 */
#include "core/extmap.h"

#include <bsd/sys/tree.h>
#include <inttypes.h>

#define BITS 64

struct extmap_node {
	union {
		RB_ENTRY(extmap_node) link;
		struct extmap_node *next; /* while it is being built */
	};
	struct range range;
	uint64_t *sums; /* capacity of them, then a bit for each block: not verified yet */
	uint32_t atime_s;
	uint16_t capacity;   /* in blocks */
	uint16_t unverified; /* bits set */
	uint16_t source;
	bool evicting;
};

RB_HEAD(extmap_tree, extmap_node);

struct extmap {
	struct extmap_tree tree;
	uint64_t size;
	uint64_t bytes; /* present */
	size_t count;
};

static int node_compare(const struct extmap_node *a, const struct extmap_node *b)
{
	return a->range.off < b->range.off ? -1 : a->range.off > b->range.off;
}

/* libbsd has no __unused for RB_GENERATE_STATIC */
RB_GENERATE_INTERNAL(extmap_tree, extmap_node, link, node_compare,
		     __attribute__((__unused__)) static)

static struct extmap_node *node_next(struct extmap_node *n)
{
	return extmap_tree_RB_NEXT(n);
}

/* First node that ends at or after off: the first that a range from off on may touch. */
static struct extmap_node *first_ending_from(const struct extmap *m, uint64_t off)
{
	struct extmap_node *n = RB_ROOT(&m->tree);
	struct extmap_node *best = NULL;

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

/* First node that ends after off: the first that a range from off on may overlap. */
static struct extmap_node *first_ending_after(const struct extmap *m, uint64_t off)
{
	return off == UINT64_MAX ? NULL : first_ending_from(m, off + 1);
}

/* ---- one node ---- */

static unsigned int node_blocks(const struct extmap_node *n)
{
	return (unsigned int)range_blocks(n->range);
}

static unsigned int node_index(const struct extmap_node *n, uint64_t off)
{
	return (unsigned int)((off - n->range.off) >> BLOCK_SHIFT);
}

static uint64_t *node_bits(const struct extmap_node *n)
{
	return n->sums + n->capacity;
}

static bool node_bit(const struct extmap_node *n, unsigned int i)
{
	return node_bits(n)[i / BITS] >> (i % BITS) & 1;
}

static void node_set_bit(struct extmap_node *n, unsigned int i)
{
	node_bits(n)[i / BITS] |= UINT64_C(1) << (i % BITS);
	n->unverified++;
}

static void node_free(struct extmap_node *n)
{
	if (n)
		free(n->sums);
	free(n);
}

/* Room for so many blocks in all. 0 or -ENOMEM. */
static int node_reserve(struct extmap_node *n, unsigned int blocks)
{
	unsigned int capacity = n->capacity * 2u;
	uint64_t *sums;

	if (blocks <= n->capacity)
		return 0;
	if (capacity < blocks)
		capacity = blocks;
	if (capacity > EXTENT_BLOCKS_MAX)
		capacity = EXTENT_BLOCKS_MAX;
	assert(blocks <= capacity);
	sums = calloc(capacity + (capacity + BITS - 1) / BITS, sizeof(*sums));
	if (!sums)
		return -ENOMEM;
	if (n->capacity) {
		memcpy(sums, n->sums, n->capacity * sizeof(*sums));
		memcpy(sums + capacity, node_bits(n),
		       (n->capacity + BITS - 1u) / BITS * sizeof(*sums));
	}
	free(n->sums);
	n->sums = sums;
	n->capacity = (uint16_t)capacity;
	return 0;
}

static void map_link(struct extmap *m, struct extmap_node *n)
{
	RB_INSERT(extmap_tree, &m->tree, n);
	m->count++;
	if (!n->evicting)
		m->bytes += range_len(n->range);
}

static void map_drop(struct extmap *m, struct extmap_node *n)
{
	RB_REMOVE(extmap_tree, &m->tree, n);
	m->count--;
	if (!n->evicting)
		m->bytes -= range_len(n->range);
	node_free(n);
}

/* ---- pieces: what the extents of a neighbourhood will consist of ---- */

struct piece {
	struct range range;
	const uint64_t *sums;
	const struct extmap_node
		*from; /* its bits tell what is verified; NULL: all_unverified does */
	bool all_unverified;
	bool evicting;
	uint16_t source;
	uint32_t atime_s;
};

/* The part of n that lies in range. */
static struct piece piece_of(const struct extmap_node *n, struct range range)
{
	return (struct piece){
		.range = range,
		.sums = n->sums + node_index(n, range.off),
		.from = n,
		.evicting = n->evicting,
		.source = n->source,
		.atime_s = n->atime_s,
	};
}

static struct piece piece_part(const struct piece *p, struct range range)
{
	struct piece part = *p;

	part.range = range;
	part.sums += (range.off - p->range.off) >> BLOCK_SHIFT;
	return part;
}

/* X2: must n and p, which follows it, be one extent? */
static bool node_joins(const struct extmap_node *n, const struct piece *p)
{
	return n->range.end == p->range.off && n->source == p->source && !n->evicting &&
	       !p->evicting && node_blocks(n) + range_blocks(p->range) <= EXTENT_BLOCKS_MAX;
}

/* n grows by p at its end. 0 or -ENOMEM, n unchanged. */
static int node_append(struct extmap_node *n, const struct piece *p)
{
	unsigned int have = node_blocks(n);
	unsigned int more = (unsigned int)range_blocks(p->range);
	unsigned int first = p->from ? node_index(p->from, p->range.off) : 0;

	if (node_reserve(n, have + more) < 0)
		return -ENOMEM;
	memcpy(n->sums + have, p->sums, more * sizeof(*n->sums));
	if (p->from ? p->from->unverified > 0 : p->all_unverified) {
		for (unsigned int i = 0; i < more; i++) {
			if (!p->from || node_bit(p->from, first + i))
				node_set_bit(n, have + i);
		}
	}
	n->range.end = p->range.end;
	if (n->atime_s < p->atime_s)
		n->atime_s = p->atime_s;
	return 0;
}

/* New nodes in order, touching ones joined; not in the map yet. */
struct builder {
	struct extmap_node *first;
	struct extmap_node *last;
	int error;
};

static void builder_free(struct builder *b)
{
	while (b->first) {
		struct extmap_node *next = b->first->next;

		node_free(b->first);
		b->first = next;
	}
}

/* A new node of at most EXTENT_BLOCKS_MAX. */
static int builder_new_node(struct builder *b, const struct piece *p)
{
	struct extmap_node *n = calloc(1, sizeof(*n));

	if (!n)
		return -ENOMEM;
	n->range = (struct range){p->range.off, p->range.off};
	n->source = p->source;
	n->evicting = p->evicting;
	if (node_append(n, p) < 0) {
		node_free(n);
		return -ENOMEM;
	}
	if (b->last)
		b->last->next = n;
	else
		b->first = n;
	b->last = n;
	return 0;
}

static void builder_add(struct builder *b, const struct piece *p)
{
	uint64_t end;

	if (b->error || range_empty(p->range))
		return;
	if (b->last && node_joins(b->last, p)) {
		b->error = node_append(b->last, p);
		return;
	}
	for (uint64_t off = p->range.off; off < p->range.end && !b->error; off = end) {
		struct piece part;

		end = min_u64(p->range.end, add_sat_u64(off, EXTENT_BLOCKS_MAX * BLOCK_SIZE));
		part = piece_part(p, (struct range){off, end});
		b->error = builder_new_node(b, &part);
	}
}

/*
 * What a change of r rebuilds: the nodes that overlap it and those that touch what is left of them,
 * since a shortened node may have to join its other neighbour. In terms of nodes: all that touch
 * this range.
 */
static struct range neighbourhood(const struct extmap *m, struct range r)
{
	const struct extmap_node *n = first_ending_after(m, r.off);

	if (n && n->range.off < r.off)
		r.off = n->range.off;
	n = first_ending_after(m, r.end);
	if (n && n->range.off < r.end)
		r.end = n->range.end;
	return r;
}

/* Put the built nodes in the place of those that touch around. 0 or what stopped the building. */
static int builder_commit(struct builder *b, struct extmap *m, struct range around)
{
	struct extmap_node *n;
	struct extmap_node *next;

	if (b->error) {
		builder_free(b);
		return b->error;
	}
	for (n = first_ending_from(m, around.off); n && n->range.off <= around.end; n = next) {
		next = node_next(n);
		map_drop(m, n);
	}
	for (n = b->first; n; n = next) {
		next = n->next;
		map_link(m, n);
	}
	return 0;
}

/* ---- public ---- */

struct extmap *extmap_new(uint64_t size)
{
	struct extmap *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	RB_INIT(&m->tree);
	m->size = size;
	return m;
}

void extmap_free(struct extmap *m)
{
	struct extmap_node *n;
	struct extmap_node *next;

	if (!m)
		return;
	for (n = RB_MIN(extmap_tree, &m->tree); n; n = next) {
		next = node_next(n);
		map_drop(m, n);
	}
	free(m);
}

uint64_t extmap_size(const struct extmap *m)
{
	return m->size;
}

int extmap_set_size(struct extmap *m, uint64_t size)
{
	const struct extmap_node *last = RB_MAX(extmap_tree, &m->tree);

	if (m->size != SIZE_UNKNOWN)
		return m->size == size ? 0 : -EINVAL;
	if (last && last->range.end > size)
		return -EINVAL;
	m->size = size;
	return 0;
}

static bool aligned_end(const struct extmap *m, uint64_t end)
{
	return end == m->size || end % BLOCK_SIZE == 0;
}

/* r shrunk to whole blocks; the short one at the end of the version is whole. */
static struct range whole_blocks(const struct extmap *m, struct range r)
{
	r.off = block_ceil(r.off);
	r.end = r.end >= m->size ? m->size : block_floor(r.end);
	return r;
}

/* Nothing is there where p goes: grow the extent before it, unless that would then join the next as
 * well. */
static bool append_in_place(struct extmap *m, const struct piece *p, int *ret)
{
	struct extmap_node *n = first_ending_from(m, p->range.off);
	struct extmap_node *next;

	if (!n || !node_joins(n, p))
		return false;
	next = node_next(n);
	if (next && next->range.off <= p->range.end)
		return false;
	*ret = node_append(n, p);
	if (*ret == 0)
		m->bytes += range_len(p->range);
	return true;
}

int extmap_add(struct extmap *m, struct range r, uint16_t source, const uint64_t *sums,
	       bool verified, uint32_t atime_s)
{
	struct piece p = {
		.range = r,
		.sums = sums,
		.all_unverified = !verified,
		.source = source,
		.atime_s = atime_s,
	};
	struct builder b = {0};
	struct range gap;
	struct range around;
	uint64_t pos = r.off;
	int error;

	if (r.off > r.end || r.off % BLOCK_SIZE != 0 || !aligned_end(m, r.end) || r.end > m->size)
		return -EINVAL;
	if (extmap_next_gap(m, r, &gap) < 0)
		return 0;
	if (append_in_place(m, &p, &error))
		return error;

	around = neighbourhood(m, r);
	for (struct extmap_node *n = first_ending_from(m, around.off);
	     n && n->range.off <= around.end; n = node_next(n)) {
		struct piece there = piece_of(n, n->range);

		if (pos < n->range.off) {
			struct piece part =
				piece_part(&p, (struct range){pos, min_u64(n->range.off, r.end)});

			builder_add(&b, &part);
		}
		builder_add(&b, &there);
		pos = max_u64(pos, n->range.end);
	}
	if (pos < r.end) {
		struct piece part = piece_part(&p, (struct range){pos, r.end});

		builder_add(&b, &part);
	}
	return builder_commit(&b, m, around);
}

/* The neighbourhood of r rebuilt, what lies in r itself left out (keep false) or made evicting or
 * not. */
static int rebuild(struct extmap *m, struct range r, bool keep, bool evicting)
{
	struct range around = neighbourhood(m, r);
	struct builder b = {0};

	for (struct extmap_node *n = first_ending_from(m, around.off);
	     n && n->range.off <= around.end; n = node_next(n)) {
		struct range middle = range_intersect(n->range, r);
		struct piece p = piece_of(n, n->range);
		struct piece part;

		if (range_empty(middle)) {
			builder_add(&b, &p);
			continue;
		}
		part = piece_part(&p, (struct range){n->range.off, middle.off});
		builder_add(&b, &part);
		if (keep) {
			part = piece_of(n, middle);
			part.evicting = evicting;
			builder_add(&b, &part);
		}
		if (middle.end < n->range.end) {
			part = piece_of(n, (struct range){middle.end, n->range.end});
			builder_add(&b, &part);
		}
	}
	return builder_commit(&b, m, around);
}

int extmap_remove(struct extmap *m, struct range r)
{
	r = whole_blocks(m, r);
	return range_empty(r) ? 0 : rebuild(m, r, false, false);
}

int extmap_set_evicting(struct extmap *m, struct range r, bool evicting)
{
	r = whole_blocks(m, r);
	return range_empty(r) ? 0 : rebuild(m, r, true, evicting);
}

bool extmap_has(const struct extmap *m, struct range r)
{
	if (range_empty(r))
		return true;
	for (struct extmap_node *n = first_ending_after(m, r.off);
	     n && n->range.off <= r.off && !n->evicting; n = node_next(n)) {
		r.off = n->range.end;
		if (r.off >= r.end)
			return true;
	}
	return false;
}

int extmap_next_gap(const struct extmap *m, struct range within, struct range *ret)
{
	struct range gap = {within.off, min_u64(within.end, m->size)};
	struct extmap_node *n = first_ending_after(m, within.off);

	/* Touching extents are few: they differ in source or state, or are 64 MiB long (X2). */
	for (; n && n->range.off <= gap.off && gap.off < gap.end; n = node_next(n))
		gap.off = n->range.end;
	if (n && n->range.off < gap.end)
		gap.end = n->range.off;
	if (range_empty(gap))
		return -ENOENT;
	*ret = gap;
	return 0;
}

int extmap_next(const struct extmap *m, uint64_t off, struct extent *ret)
{
	const struct extmap_node *n = first_ending_after(m, off);

	if (!n)
		return -ENOENT;
	*ret = (struct extent){
		.range = n->range,
		.source = n->source,
		.atime_s = n->atime_s,
		.evicting = n->evicting,
		.sums = n->sums,
	};
	return 0;
}

uint64_t extmap_bytes(const struct extmap *m)
{
	return m->bytes;
}

size_t extmap_count(const struct extmap *m)
{
	return m->count;
}

bool extmap_complete(const struct extmap *m)
{
	return m->bytes == m->size; /* SIZE_UNKNOWN is more than any map holds */
}

int extmap_next_unverified(const struct extmap *m, struct range r, uint64_t *ret_block_off,
			   uint64_t *ret_sum)
{
	if (range_empty(r))
		return -ENOENT;
	for (struct extmap_node *n = first_ending_after(m, r.off); n && n->range.off < r.end;
	     n = node_next(n)) {
		struct range look = range_intersect(n->range, r);
		unsigned int last;

		if (n->evicting || n->unverified == 0)
			continue;
		last = node_index(n, look.end - 1);
		for (unsigned int i = node_index(n, look.off); i <= last; i++) {
			uint64_t bits = node_bits(n)[i / BITS] >> (i % BITS);

			if (!bits) {
				i |= BITS - 1; /* on to the next word */
				continue;
			}
			i += (unsigned int)__builtin_ctzll(bits);
			if (i > last)
				break;
			*ret_block_off = n->range.off + ((uint64_t)i << BLOCK_SHIFT);
			*ret_sum = n->sums[i];
			return 0;
		}
	}
	return -ENOENT;
}

void extmap_set_verified(struct extmap *m, uint64_t block_off)
{
	struct extmap_node *n = first_ending_after(m, block_off);
	unsigned int i;

	if (!n || n->range.off > block_off)
		return;
	i = node_index(n, block_off);
	if (node_bit(n, i)) {
		node_bits(n)[i / BITS] &= ~(UINT64_C(1) << (i % BITS));
		n->unverified--;
	}
}

void extmap_set_unverified(struct extmap *m)
{
	struct extmap_node *n;

	RB_FOREACH (n, extmap_tree, &m->tree) {
		for (unsigned int i = 0; i < node_blocks(n); i++) {
			if (!node_bit(n, i))
				node_set_bit(n, i);
		}
	}
}

void extmap_touch(struct extmap *m, struct range r, uint32_t atime_s)
{
	if (range_empty(r))
		return;
	for (struct extmap_node *n = first_ending_after(m, r.off); n && n->range.off < r.end;
	     n = node_next(n)) {
		if (n->atime_s < atime_s)
			n->atime_s = atime_s;
	}
}

/* ---- invariants ---- */

static void broken(const struct extmap_node *n, const char *what)
{
	fprintf(stderr, "extmap: [%" PRIu64 ", %" PRIu64 "): %s\n", n->range.off, n->range.end,
		what);
	abort();
}

static void check_node(const struct extmap *m, const struct extmap_node *n)
{
	unsigned int blocks = node_blocks(n);
	unsigned int bits = 0;

	if (range_empty(n->range) || n->range.off % BLOCK_SIZE != 0 ||
	    !aligned_end(m, n->range.end) || n->range.end > m->size)
		broken(n, "X1: not on the grid or outside the version");
	if (blocks > n->capacity || blocks > EXTENT_BLOCKS_MAX)
		broken(n, "X2: too long");
	for (unsigned int i = 0; i < blocks; i++)
		bits += node_bit(n, i);
	if (bits != n->unverified)
		broken(n, "count of unverified blocks");
}

void extmap_check(const struct extmap *m)
{
	struct extmap_node *prev = NULL;
	uint64_t bytes = 0;
	size_t count = 0;

	for (struct extmap_node *n = first_ending_from(m, 0); n; prev = n, n = node_next(n)) {
		check_node(m, n);
		count++;
		if (!n->evicting)
			bytes += range_len(n->range);
		if (!prev)
			continue;
		if (prev->range.end > n->range.off)
			broken(n, "X1: overlaps the one before");
		if (node_joins(prev, &(struct piece){.range = n->range,
						     .source = n->source,
						     .evicting = n->evicting}))
			broken(n, "X2: touches the one before and is not one with it");
	}
	if (bytes != m->bytes || count != m->count) {
		fprintf(stderr, "extmap: counts of bytes or extents are wrong\n");
		abort();
	}
}
