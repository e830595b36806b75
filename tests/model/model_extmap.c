/*
 * model_extmap.c - random operations on an extent map against one cell per block
 *
 * Ranges of extents longer than EXTENT_BLOCKS_MAX happen, as do maps whose last block is short and
 * whose size is learned late.
 */
#include "core/extmap.h"
#include "seed.h"

#define CELLS 4096
#define STEPS 1500

enum cell_state { GAP, PRESENT, EVICTING };

struct cell {
	enum cell_state state;
	uint16_t source;
	uint32_t atime_s; /* at least: an extent may have joined others */
	uint64_t sum;
	bool verified;
};

struct model {
	struct cell cell[CELLS];
	uint64_t size;	    /* as the map knows it */
	uint64_t real_size; /* to be learned */
	struct extmap *map;
	uint64_t rng;
};

static void fail(const char *what, uint64_t off)
{
	printf("FAILED: %s at %" PRIu64 " (block %" PRIu64 ")\n", what, off, off >> BLOCK_SHIFT);
	abort();
}

static uint64_t cells_used(const struct model *m)
{
	return (m->real_size + BLOCK_SIZE - 1) >> BLOCK_SHIFT;
}

/* The bytes of cells [first, end) as far as the map may hold them now. */
static struct range cells_range(const struct model *m, uint64_t first, uint64_t end)
{
	struct range r = {first << BLOCK_SHIFT, end << BLOCK_SHIFT};

	return m->size == SIZE_UNKNOWN ? r : range_intersect(r, range_make(0, m->size));
}

/* Cells that can be whole now: the short last one only once the size is known. */
static uint64_t cells_allowed(const struct model *m)
{
	return m->size == SIZE_UNKNOWN ? m->real_size >> BLOCK_SHIFT : cells_used(m);
}

static void random_cells(struct model *m, uint64_t *ret_first, uint64_t *ret_end)
{
	static const uint64_t most[] = {3, 3, 20, 200, CELLS};
	uint64_t allowed = cells_allowed(m);
	uint64_t first = seed_below(&m->rng, allowed + 1);

	*ret_first = first;
	*ret_end = min_u64(allowed, first + seed_below(&m->rng, most[seed_below(&m->rng, 5)]));
}

/* Bytes, not on the grid. */
static struct range random_bytes(struct model *m)
{
	uint64_t first;
	uint64_t end;
	struct range r;

	random_cells(m, &first, &end);
	r = cells_range(m, first, end);
	if (range_empty(r))
		return r;
	r.off +=
		seed_below(&m->rng, 3) ? 0 : seed_below(&m->rng, min_u64(range_len(r), BLOCK_SIZE));
	r.end -=
		seed_below(&m->rng, 3) ? 0 : seed_below(&m->rng, min_u64(range_len(r), BLOCK_SIZE));
	return r;
}

static struct range cell_bytes(const struct model *m, uint64_t i)
{
	return range_intersect(range_make(i << BLOCK_SHIFT, (i + 1) << BLOCK_SHIFT),
			       range_make(0, m->real_size));
}

static bool is_whole_in(const struct model *m, uint64_t i, struct range r)
{
	return range_contains(r, cell_bytes(m, i)) && i < cells_allowed(m);
}

/* The whole of a gap somewhere: what is on both sides may have to become one with it. */
static void random_gap(struct model *m, uint64_t *ret_first, uint64_t *ret_end)
{
	uint64_t i = seed_below(&m->rng, cells_allowed(m) + 1);

	while (i < cells_allowed(m) && m->cell[i].state != GAP)
		i++;
	*ret_first = i;
	while (i < cells_allowed(m) && m->cell[i].state == GAP)
		i++;
	*ret_end = i;
}

static void do_add(struct model *m)
{
	static uint64_t sums[CELLS];
	uint16_t source = seed_below(&m->rng, 8) ? 0 : 1;
	bool verified = seed_below(&m->rng, 2);
	uint32_t atime_s = (uint32_t)seed_below(&m->rng, 1000);
	uint64_t first;
	uint64_t end;

	if (seed_below(&m->rng, 4))
		random_cells(m, &first, &end);
	else
		random_gap(m, &first, &end);
	if (first == end)
		return;
	for (uint64_t i = first; i < end; i++)
		sums[i - first] = seed_next(&m->rng);
	if (extmap_add(m->map, cells_range(m, first, end), source, sums, verified, atime_s) < 0)
		fail("add", first << BLOCK_SHIFT);
	for (uint64_t i = first; i < end; i++) {
		if (m->cell[i].state == GAP)
			m->cell[i] =
				(struct cell){PRESENT, source, atime_s, sums[i - first], verified};
	}
}

static void do_remove(struct model *m)
{
	struct range r = random_bytes(m);

	if (extmap_remove(m->map, r) < 0)
		fail("remove", r.off);
	for (uint64_t i = 0; i < CELLS; i++) {
		if (is_whole_in(m, i, r))
			m->cell[i].state = GAP;
	}
}

static void do_evicting(struct model *m)
{
	bool evicting = seed_below(&m->rng, 2);
	struct range r = random_bytes(m);

	if (extmap_set_evicting(m->map, r, evicting) < 0)
		fail("set_evicting", r.off);
	for (uint64_t i = 0; i < CELLS; i++) {
		if (is_whole_in(m, i, r) && m->cell[i].state != GAP)
			m->cell[i].state = evicting ? EVICTING : PRESENT;
	}
}

static void do_touch(struct model *m)
{
	uint32_t atime_s = (uint32_t)seed_below(&m->rng, 1000);
	struct range r = random_bytes(m);

	extmap_touch(m->map, r, atime_s);
	for (uint64_t i = 0; i < CELLS; i++) {
		if (m->cell[i].state != GAP && range_overlaps(cell_bytes(m, i), r) &&
		    m->cell[i].atime_s < atime_s)
			m->cell[i].atime_s = atime_s;
	}
}

static void do_verify(struct model *m)
{
	uint64_t i = seed_below(&m->rng, CELLS);

	extmap_set_verified(m->map, i << BLOCK_SHIFT);
	m->cell[i].verified = true;
}

static void do_unverify(struct model *m)
{
	extmap_set_unverified(m->map);
	for (uint64_t i = 0; i < CELLS; i++)
		m->cell[i].verified = false;
}

static void do_size(struct model *m)
{
	if (extmap_set_size(m->map, m->real_size) < 0)
		fail("set_size", m->real_size);
	m->size = m->real_size;
	if (extmap_set_size(m->map, m->real_size + 1) != -EINVAL)
		fail("set_size takes another one", m->real_size);
}

/* X2, in other words than the map's own. */
static bool should_be_one(const struct extent *a, const struct extent *b)
{
	if (a->range.end != b->range.off || a->source != b->source)
		return false;
	if (a->evicting || b->evicting)
		return false;
	return b->range.end - a->range.off <= EXTENT_BLOCKS_MAX << BLOCK_SHIFT;
}

/* Walk the extents: each cell once, with its state, source and sum. */
static void compare_extents(const struct model *m)
{
	struct extent e;
	struct extent before = {.range = {0, 0}, .evicting = true};
	uint64_t pos = 0;
	uint64_t bytes = 0;
	size_t count = 0;
	uint64_t i = 0;

	extmap_check(m->map);
	for (; extmap_next(m->map, pos, &e) == 0; pos = e.range.end) {
		if (should_be_one(&before, &e) || range_blocks(e.range) > EXTENT_BLOCKS_MAX)
			fail("X2", e.range.off);
		before = e;
		for (; i < e.range.off >> BLOCK_SHIFT; i++) {
			if (m->cell[i].state != GAP)
				fail("a cell is missing", i << BLOCK_SHIFT);
		}
		for (uint64_t n = 0; n < range_blocks(e.range); n++, i++) {
			const struct cell *c = &m->cell[i];

			if (c->state != (e.evicting ? EVICTING : PRESENT) ||
			    c->source != e.source || c->sum != e.sums[n] || c->atime_s > e.atime_s)
				fail("a cell differs", i << BLOCK_SHIFT);
		}
		bytes += e.evicting ? 0 : range_len(e.range);
		count++;
	}
	for (; i < CELLS; i++) {
		if (m->cell[i].state != GAP)
			fail("a cell is missing at the end", i << BLOCK_SHIFT);
	}
	if (bytes != extmap_bytes(m->map) || count != extmap_count(m->map))
		fail("bytes or count", bytes);
	if (extmap_complete(m->map) != (bytes == m->size))
		fail("complete", bytes);
}

static void compare_gap(struct model *m, struct range r)
{
	struct range got = {0, 0};
	struct range expected;
	uint64_t i = r.off >> BLOCK_SHIFT;
	uint64_t last = range_empty(r) ? i : (r.end - 1) >> BLOCK_SHIFT;
	bool has = true;

	for (uint64_t n = i; !range_empty(r) && n <= last; n++)
		has &= m->cell[n].state == PRESENT;
	if (extmap_has(m->map, r) != has)
		fail("has", r.off);

	while (!range_empty(r) && i <= last && m->cell[i].state != GAP)
		i++;
	if (range_empty(r) || i > last) {
		if (extmap_next_gap(m->map, r, &got) != -ENOENT)
			fail("next_gap finds what is not there", got.off);
		return;
	}
	expected.off = max_u64(i << BLOCK_SHIFT, r.off);
	while (i <= last && m->cell[i].state == GAP)
		i++;
	expected.end = min_u64(i << BLOCK_SHIFT, r.end);
	if (extmap_next_gap(m->map, r, &got) < 0 || got.off != expected.off ||
	    got.end != expected.end)
		fail("next_gap", r.off);
}

static void compare_unverified(const struct model *m, struct range r)
{
	uint64_t off = 0;
	uint64_t sum = 0;
	int found = extmap_next_unverified(m->map, r, &off, &sum);

	for (uint64_t i = 0; i < CELLS; i++) {
		if (m->cell[i].state != PRESENT || m->cell[i].verified ||
		    !range_overlaps(cell_bytes(m, i), r))
			continue;
		if (found < 0 || off != i << BLOCK_SHIFT || sum != m->cell[i].sum)
			fail("next_unverified", i << BLOCK_SHIFT);
		return;
	}
	if (found == 0)
		fail("next_unverified finds what is not there", off);
}

static void step(struct model *m)
{
	uint64_t what = seed_below(&m->rng, 100);
	struct range r;

	if (what < 45)
		do_add(m);
	else if (what < 65)
		do_remove(m);
	else if (what < 80)
		do_evicting(m);
	else if (what < 87)
		do_touch(m);
	else if (what < 98)
		do_verify(m);
	else if (what < 99)
		do_unverify(m);
	else
		do_size(m);
	compare_extents(m);
	r = random_bytes(m);
	compare_gap(m, r);
	compare_unverified(m, r);
}

static void run(uint64_t seed)
{
	static struct model m;

	memset(&m, 0, sizeof(m));
	m.rng = seed;
	/* Small ones are crowded, large ones have extents of full length. */
	m.real_size = seed_below(&m.rng, (seed % 4 < 2 ? CELLS : 64) << BLOCK_SHIFT) + 1;
	if (seed % 3 == 0)
		m.real_size = block_ceil(m.real_size);
	m.size = seed % 2 ? SIZE_UNKNOWN : m.real_size;
	m.map = extmap_new(m.size);
	if (!m.map)
		abort();
	for (int i = 0; i < STEPS; i++)
		step(&m);
	extmap_free(m.map);
}

int main(int argc, char **argv)
{
	return seed_main(argc, argv, 20, run);
}
