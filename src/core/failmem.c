/*
 * failmem.c - ranges of a version that failed a moment ago
 */
#include "core/failmem.h"

void failmem_init(struct failmem *m)
{
	m->count = 0;
}

static void drop(struct failmem *m, unsigned int i)
{
	m->item[i] = m->item[--m->count];
}

/* The one to give up when there is no room: it would be the first to end. */
static unsigned int first_to_end(const struct failmem *m)
{
	unsigned int best = 0;

	for (unsigned int i = 1; i < m->count; i++) {
		if (m->item[i].until_us < m->item[best].until_us)
			best = i;
	}
	return best;
}

void failmem_add(struct failmem *m, struct range r, int error, uint64_t until_us)
{
	if (range_empty(r) || error == 0)
		return;
	/* Those that are there do not touch each other, so one look at each is enough. */
	for (unsigned int i = m->count; i-- > 0;) {
		struct range other = m->item[i].range;

		if (m->item[i].error != error || other.off > r.end || r.off > other.end)
			continue;
		r.off = min_u64(r.off, other.off);
		r.end = max_u64(r.end, other.end);
		until_us = max_u64(until_us, m->item[i].until_us);
		drop(m, i);
	}
	if (m->count == FAILMEM_MAX)
		drop(m, first_to_end(m));
	m->item[m->count].range = r;
	m->item[m->count].error = error;
	m->item[m->count].until_us = until_us;
	m->count++;
}

int failmem_find(const struct failmem *m, struct range r, uint64_t now_us)
{
	for (unsigned int i = 0; i < m->count; i++) {
		if (now_us < m->item[i].until_us && range_overlaps(m->item[i].range, r))
			return m->item[i].error;
	}
	return 0;
}
