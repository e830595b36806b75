/*
 * lane.c - one direction of an emulated link
 *
 * The serialiser is a moment: free_ns, when it is done with all that it was given. What waits for
 * it is the time until then times the rate, so nothing has to happen when a packet leaves the
 * queue, and the rate does not depend on how punctually anybody is woken.
 */
#include "lane.h"

#define NSEC_PER_SEC UINT64_C(1000000000)
#define NSEC_PER_US  UINT64_C(1000)
/* Memory for what is on its way, where no rate bounds it. */
#define ON_WAY_MAX (UINT64_C(512) << 20)

/* splitmix64 */
static uint64_t draw(uint64_t *state)
{
	uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static void count(struct lane_count *c, const struct packet *p)
{
	c->packets++;
	c->bytes += p->len;
}

void lane_init(struct lane *l, const struct lane_shape *shape, uint64_t seed)
{
	memset(l, 0, sizeof(*l));
	l->shape = *shape;
	l->random = seed;
	STAILQ_INIT(&l->on_way);
}

void lane_done(struct lane *l)
{
	struct packet *p;

	while ((p = STAILQ_FIRST(&l->on_way))) {
		STAILQ_REMOVE_HEAD(&l->on_way, entry);
		free(p);
	}
}

/* An idle serialiser takes a packet whatever the queue's size is. */
static bool has_room(struct lane *l, const struct packet *p, uint64_t now_ns)
{
	uint64_t waiting;

	if (l->on_way_bytes + p->len > ON_WAY_MAX)
		return false;
	if (l->shape.rate == 0 || l->free_ns <= now_ns)
		return true;
	/* Rounded up: a packet that is nearly out is not out. */
	waiting =
		((l->free_ns - now_ns) * l->shape.rate + NSEC_PER_SEC - 1) / NSEC_PER_SEC + p->len;
	if (waiting > l->shape.queue_bytes)
		return false;
	l->queue_peak = max_u64(l->queue_peak, waiting);
	return true;
}

bool lane_enter(struct lane *l, struct packet *p, uint64_t now_ns)
{
	/* 53 bits are what a double holds. Drawn for every packet, also if the queue drops it. */
	bool lost = (double)(draw(&l->random) >> 11) < l->shape.loss * 0x1p53;

	count(&l->entered, p);
	if (lost) {
		count(&l->lost, p);
		return false;
	}
	if (!has_room(l, p, now_ns)) {
		count(&l->dropped, p);
		return false;
	}
	p->due_ns = now_ns;
	if (l->shape.rate) {
		l->free_ns = max_u64(l->free_ns, now_ns) + p->len * NSEC_PER_SEC / l->shape.rate;
		p->due_ns = l->free_ns;
	}
	p->due_ns += l->shape.delay_ns;
	l->on_way_bytes += p->len;
	STAILQ_INSERT_TAIL(&l->on_way, p, entry);
	return true;
}

uint64_t lane_next_ns(const struct lane *l)
{
	const struct packet *p = STAILQ_FIRST(&l->on_way);

	return p ? p->due_ns : UINT64_MAX;
}

struct packet *lane_leave(struct lane *l, uint64_t now_ns, uint64_t early_ns)
{
	struct packet *p = STAILQ_FIRST(&l->on_way);
	uint64_t late_us;

	if (!p || p->due_ns > now_ns + early_ns)
		return NULL;
	STAILQ_REMOVE_HEAD(&l->on_way, entry);
	l->on_way_bytes -= p->len;
	late_us = now_ns > p->due_ns ? (now_ns - p->due_ns) / NSEC_PER_US : 0;
	l->late[min_u64(late_us / LATE_BUCKET_US, LATE_BUCKETS - 1)]++;
	l->late_max_us = max_u64(l->late_max_us, late_us);
	count(&l->delivered, p);
	return p;
}

uint64_t lane_late_us(const struct lane *l, unsigned int per_mille)
{
	/* Rounded up: of 10 deliveries the 99th percentile is the last. */
	uint64_t rank = (l->delivered.packets * per_mille + 999) / 1000, seen = 0;

	for (size_t i = 0; rank && i < LATE_BUCKETS - 1; i++) {
		seen += l->late[i];
		if (seen >= rank)
			return min_u64(i * LATE_BUCKET_US, l->late_max_us);
	}
	return l->late_max_us;
}
