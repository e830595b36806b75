/*
 * sched_gap.c - which wanted range no lease covers, and how much of it one lease takes
 *
 * How long is a bulk lease? A task with one connection takes the whole gap: no idle round trip, and
 * a far end costs nothing, because whoever needs the tail cuts it; the one connection that a cut
 * closes, be it of a TiB, is closed when its part is through. (Simulated: pieces at one connection
 * cost .003 at 20 ms and 2 % more requests.) Beside others a lease takes its share of the work by
 * expected finish, so that all end together, but under auto no more than PIECE_COSTS set-ups'
 * worth: then a trial that is refused ends by itself and one idle round trip a piece would be
 * noise; the next request goes out before it anyway, see lease_ending(). (8, 16, 32, 64 costs: mean
 * ratio to the best schedule .941, .942, .943, .942 with 3662, 3513, 3392, 3250 requests over
 * sim_matrix.)
 */
#include "core/sched_internal.h"

#define GAPS_LOOKED_AT 64

struct range gap_blocks(const struct sched_task *t, struct range r)
{
	struct range all = {0, t->size};

	if (r.end == SIZE_UNKNOWN)
		return range_intersect((struct range){block_floor(r.off), SIZE_UNKNOWN}, all);
	return range_to_blocks(r, t->size);
}

/* The first part of g that no lease of t covers; where none is left, an empty range at what
 * follows. */
static struct range uncovered(const struct sched_task *t, struct range g)
{
	struct lease_priv *l;

	TAILQ_FOREACH (l, &t->leases, task_entry) {
		uint64_t end = lease_end(l);

		if (end <= g.off)
			continue;
		if (l->pub.off >= g.end)
			break;
		if (l->pub.off > g.off) {
			g.end = l->pub.off;
			break;
		}
		g.off = end;
		if (g.off >= g.end)
			return (struct range){g.off, g.off};
	}
	return g;
}

int gap_next(struct sched_task *t, struct range within, struct range *ret)
{
	struct sched *s = t->sched;
	struct range g;

	while (!range_empty(within)) {
		if (s->ops.next_gap(s->ctx, t->user, within, &g) < 0)
			return -ENOENT;
		g = uncovered(t, gap_blocks(t, g));
		if (!range_empty(g)) {
			*ret = g;
			return 0;
		}
		within.off = max_u64(g.end, within.off);
	}
	return -ENOENT;
}

int gap_missing(struct sched_task *t, const struct sched_want *w, struct range *ret)
{
	struct sched *s = t->sched;

	if (range_empty(w->range))
		return -ENOENT;
	return s->ops.next_gap(s->ctx, t->user, w->range, ret);
}

struct range gap_extend(struct sched_task *t, struct range g, enum prio p, uint64_t limit)
{
	struct sched_want *w;
	struct range next;
	bool grown;

	do {
		grown = false;
		for (int c = 0; c <= (int)p; c++) {
			TAILQ_FOREACH (w, &t->pending[c], entry) {
				if (range_len(g) >= limit)
					return g;
				if (w->range.off > g.end || w->range.end <= g.end)
					continue;
				if (gap_next(t, range_make(g.end, w->range.end), &next) < 0 ||
				    next.off != g.end)
					continue;
				g.end = next.end;
				grown = true;
			}
		}
	} while (grown);
	return g;
}

static uint64_t class_gaps(struct sched_task *t, int c, uint64_t limit)
{
	uint64_t bytes = 0;
	struct sched_want *w;
	unsigned int looks = 0;
	struct range g;

	TAILQ_FOREACH (w, &t->pending[c], entry) {
		struct range in = w->range;

		while (bytes < limit && looks++ < GAPS_LOOKED_AT && gap_next(t, in, &g) == 0) {
			bytes = add_sat_u64(bytes, range_len(g));
			in.off = g.end;
		}
	}
	return bytes;
}

uint64_t gap_work(struct sched_task *t, enum prio p, uint64_t limit)
{
	uint64_t bytes = 0, most = 0;
	struct lease_priv *l;

	TAILQ_FOREACH (l, &t->leases, task_entry) {
		if (lease_works(l))
			bytes = add_sat_u64(bytes, lease_rest(l));
	}
	/* Wants of several classes mostly lie in each other: the largest class stands for all. */
	for (int c = 0; c <= (int)p && bytes < limit; c++)
		most = max_u64(most, class_gaps(t, c, limit));
	return add_sat_u64(bytes, most);
}

/* What one more connection of t may be expected to bring; 0 unknown. */
static uint64_t one_rate(const struct sched_task *t, const struct sched_origin *o, uint64_t now_us)
{
	uint64_t sum = 0;
	unsigned int n = 0;
	struct lease_priv *l;

	TAILQ_FOREACH (l, &t->leases, task_entry) {
		uint64_t rate = lease_works(l) && l->answered ? lease_rate(l, now_us) : 0;

		sum += rate;
		n += rate > 0;
	}
	return n ? sum / n : o->lease_bps;
}

struct range gap_piece(struct sched_task *t, const struct sched_origin *o, struct range gap,
		       enum prio p, uint64_t now_us)
{
	unsigned int target = connect_target(t);
	unsigned int busy = task_busy(t, p, now_us);
	uint64_t rate = one_rate(t, o, now_us);
	uint64_t cost = origin_cost_us(o, now_us);
	uint64_t len, least = SPLIT_BLIND_BYTES;

	if (target <= 1 || gap.end == SIZE_UNKNOWN)
		return gap;
	/* By expected finish: everybody gets an equal part of the work, the new one less its
	 * set-up. */
	len = gap_work(t, p, UINT64_MAX) / max_u64(target, busy + 1);
	if (rate) {
		uint64_t lost = (uint64_t)((double)rate * (double)cost / 1e6);

		least = max_u64(SPLIT_MIN_BYTES, 2 * lost);
		len -= min_u64(len, lost / target);
		if (t->sched->cfg.connections == 0)
			len = min_u64(len, max_u64(PIECE_MIN_BYTES,
						   (p <= PRIO_WINDOW ? PIECE_COSTS_WINDOW
								     : PIECE_COSTS) *
							   lost));
	}
	len = block_ceil(max_u64(len, least));
	/* A tiny tail goes with its neighbour. */
	if (range_len(gap) < add_sat_u64(len, max_u64(SPLIT_MIN_BYTES, len / 4)))
		return gap;
	return range_make(gap.off, gap.off + len);
}
