/*
 * readahead.c - what to fetch beyond what a reader asked for
 * Callers: the engine, for each READ of the kernel.
 *
 * The rule is to fetch ahead as much as has been read in one run (less what the kernel reads ahead
 * itself), so that no program costs more than twice what it read; a first read of a run gets
 * nothing (strided page faults, random pages, probes of a header). Two signs make it wider, because
 * a run that doubles per round trip is slow over far links:
 *   - it began at 0 with a full kernel read-ahead (128 KiB: cp, dd, cat; programs that look at a
 *     header send 4 to 64 KiB) and went on from there,
 *   - it has read RUN_LONG from 0 on without a gap.
 * Then two bandwidth-delay products, or what they may be while the rate is unknown, up to half a
 * second or 32 first-byte times of data. A run whose skips exceed a quarter of what it read gets no
 * window, and neither does one that has found all it read in the cache: what looks at a file a
 * second time makes no request.
 */
#include "core/readahead.h"

#define KERNEL_READ (UINT64_C(128) << 10)
#define RUN_LONG    (UINT64_C(1) << 20)
/* A gap that READs sent side by side may leave between each other for a moment. */
#define REORDER_BYTES (UINT64_C(512) << 10)
#define SKIP_MAX      (UINT64_C(16) << 20)
/*
 * The end of a file that is read in full reads is read to its end, where a read that close to the
 * end is no accident: page faults in a mapping are full reads as well.
 */
#define TAIL_BYTES    (UINT64_C(1) << 20)
#define TAIL_SHARE    64
#define RANDOM_MISSES 3
#define WIDE_GROWTH   4
#define WIDE_BLIND    (UINT64_C(4) << 20)
#define WIDE_GUESS    (UINT64_C(32) << 20)
#define GUESS_BPS     (UINT64_C(160) << 20)
#define BOUND_US      UINT64_C(500000)
#define BOUND_TTFBS   32

void readahead_init(struct readahead *ra)
{
	*ra = (struct readahead){.clock = 0};
}

/* How far r is from where c expects its reader; UINT64_MAX: not this one's. */
static uint64_t distance(const struct readahead_cursor *c, struct range r)
{
	uint64_t reach = max_u64(REORDER_BYTES, min_u64(c->run, SKIP_MAX));

	if (c->used == 0)
		return UINT64_MAX;
	if (r.off >= c->next)
		return r.off - c->next <= reach ? r.off - c->next : UINT64_MAX;
	return c->next - r.off <= REORDER_BYTES ? c->next - r.off : UINT64_MAX;
}

static struct readahead_cursor *cursor_find(struct readahead *ra, struct range r)
{
	struct readahead_cursor *best = NULL;
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < READAHEAD_CURSORS; i++) {
		uint64_t d = distance(&ra->cursor[i], r);

		if (d < least) {
			least = d;
			best = &ra->cursor[i];
		}
	}
	return best;
}

static struct readahead_cursor *cursor_new(struct readahead *ra, struct range r)
{
	struct readahead_cursor *c = &ra->cursor[0];

	for (int i = 1; i < READAHEAD_CURSORS; i++) {
		if (ra->cursor[i].used < c->used)
			c = &ra->cursor[i];
	}
	*c = (struct readahead_cursor){
		.next = r.off,
		.bold = r.off == 0 && range_len(r) >= KERNEL_READ,
	};
	return c;
}

static void cursor_advance(struct readahead_cursor *c, struct range r)
{
	if (r.off > c->next) {
		c->skipped += r.off - c->next;
		c->run += range_len(r);
	} else if (r.end > c->next) {
		c->run += r.end - c->next;
	} else {
		/* It fills what an earlier one seemed to skip, or reads again. */
		uint64_t filled = min_u64(range_len(r), c->skipped);

		c->skipped -= filled;
		c->run += filled;
	}
	c->next = max_u64(c->next, r.end);
	c->reads++;
}

static uint64_t bytes_in(uint64_t rate_bps, uint64_t us)
{
	return (uint64_t)((double)rate_bps * (double)us / 1e6);
}

static uint64_t wide_window(const struct readahead_cursor *c, const struct readahead_limit *limit)
{
	/* A first megabyte says little of the rate of a far link; a reader of whole files goes on.
	 */
	uint64_t guess = max_u64(bytes_in(GUESS_BPS, limit->ttfb_us), WIDE_BLIND);
	uint64_t first = min_u64(guess, WIDE_GUESS), bound = WIDE_GUESS;

	if (limit->rate_bps) {
		bound = bytes_in(limit->rate_bps, max_u64(BOUND_TTFBS * limit->ttfb_us, BOUND_US));
		bound = max_u64(bound, first);
		first = max_u64(2 * bytes_in(limit->rate_bps, limit->ttfb_us), first);
	}
	if (c->bold)
		return min_u64(max_u64(first, WIDE_GROWTH * c->run), bound);
	/* The last of what came in was the kernel's own read-ahead: nobody has looked at it yet. */
	return min_u64(c->run - min_u64(c->run, KERNEL_READ), bound);
}

static uint64_t window(const struct readahead *ra, struct readahead_cursor *c, struct range r,
		       uint64_t size, const struct readahead_limit *limit)
{
	if (c->reads < 2) {
		bool tail = range_len(r) >= KERNEL_READ &&
			    size - r.end <= min_u64(TAIL_BYTES, size / TAIL_SHARE);

		return tail && ra->random_misses < RANDOM_MISSES ? size - r.end : 0;
	}
	if (c->skipped > c->run / 4)
		return 0;
	if (c->run >= RUN_LONG && c->run == c->next)
		c->bold = true;
	return block_floor(wide_window(c, limit));
}

void readahead_read(struct readahead *ra, struct range r, uint64_t size, bool hit,
		    const struct readahead_limit *limit, struct range *ret_window)
{
	struct readahead_cursor *c;
	uint64_t from, to;

	r = range_intersect(r, range_make(0, size));
	*ret_window = range_make(r.end, r.end);
	if (range_empty(r))
		return;
	c = cursor_find(ra, r);
	if (!c) {
		c = cursor_new(ra, r);
		if (!hit && r.off != 0 && ra->random_misses < UINT32_MAX)
			ra->random_misses++;
	}
	c->used = ++ra->clock;
	cursor_advance(c, r);
	c->missed |= !hit;
	if (c->run >= RUN_LONG)
		ra->random_misses = 0;
	if (!c->missed)
		return;
	c->window = min_u64(window(ra, c, r, size, limit), limit->window_max);
	/* Asked for in pieces worth a request: again when a quarter of it is read. */
	if (c->window == 0 || (c->ahead > c->next && c->ahead - c->next > c->window / 4 * 3))
		return;
	from = max_u64(c->ahead, block_ceil(r.end));
	to = min_u64(block_ceil(add_sat_u64(c->next, c->window)), size);
	if (from >= to)
		return;
	c->ahead = to;
	*ret_window = range_make(from, to);
}
