/*
 * model_sched.c - seeded random operations on the scheduler against what anybody can see from
 * outside
 *
 * The oracle knows wants, leases and the bytes that came, and nothing of how the scheduler decides:
 *   - leases are blocks that somebody wants and nobody has or fetches (S1, S2); no origin and not
 * all together run more than allowed, and demands leave their part to origins that have fewer (S3);
 * a lower class never starts where a demand could (S4); an origin that runs nothing gets a slot for
 * its demand where another origin has several (S6)
 *   - no byte comes twice, except for hedges and sources without ranges
 *   - when the network is good again, everything wanted is there, and nothing is asked any more
 */
#include <bsd/sys/queue.h>

#include "core/rangeset.h"
#include "core/sched.h"
#include "seed.h"

#define FILES	4
#define ORIGINS 3
#define STEPS	3000

struct want {
	TAILQ_ENTRY(want) entry;
	struct file *file;
	struct range range;
	enum prio prio;
	struct sched_want *want;
};

struct run {
	TAILQ_ENTRY(run) entry;
	struct lease *lease;
	struct file *file;
	int origin;
	uint64_t asked_end, pos, kept;
	bool connected, answered, cancelled, hurried, ended, whole, held, overlaps;
	enum prio prio; /* at its start */
};

struct file {
	struct sched_task *task;
	uint64_t size;
	int origin[2];
	int sources;
	struct rangeset have;
	bool trouble; /* a source of it has failed: it may have nobody to ask */
	bool probe;
};

static struct model {
	struct sched *sched;
	struct sched_config cfg;
	struct sched_origin *origin[ORIGINS];
	bool no_ranges[ORIGINS];
	struct file file[FILES];
	TAILQ_HEAD(, want) wants, gone;
	TAILQ_HEAD(, run) runs;
	uint64_t now_us, due_us, random, twice;
	bool good; /* the network */
	bool in_tick;
} m;

static void fail(const char *what)
{
	fprintf(stderr, "model_sched: %s\n", what);
	abort();
}

static uint64_t rnd(uint64_t n)
{
	return seed_below(&m.random, n);
}

static uint64_t end_of(const struct run *r)
{
	return min_u64(atomic_load(&r->lease->end), r->file->size);
}

static bool covered(const struct file *f, uint64_t off)
{
	const struct run *r;

	TAILQ_FOREACH (r, &m.runs, entry) {
		if (r->file == f && !r->lease->probe && r->lease->off <= off && off < end_of(r))
			return true;
	}
	return false;
}

static bool wanted(const struct file *f, uint64_t off)
{
	const struct want *w;

	TAILQ_FOREACH (w, &m.wants, entry) {
		if (w->file == f && block_floor(w->range.off) <= off && off < w->range.end)
			return true;
	}
	return false;
}

/* Somebody at another mirror of f is giving up a slot: it is worth waiting for. */
static bool room_elsewhere(const struct file *f, int origin)
{
	const struct run *r;

	TAILQ_FOREACH (r, &m.runs, entry) {
		bool mirror =
			f->origin[0] == r->origin || (f->sources > 1 && f->origin[1] == r->origin);

		if (mirror && r->origin != origin && r->hurried && !r->ended)
			return true;
	}
	return false;
}

/*
 * A demand that could start at this origin now, as far as can be seen from here; with only, one
 * that nobody else can serve.
 */
static bool demand_could(int origin, bool only)
{
	struct sched_origin_info info;
	const struct want *w;

	sched_origin_info(m.origin[origin], &info);
	if (info.banned_until_us)
		return false;
	TAILQ_FOREACH (w, &m.wants, entry) {
		struct range in = range_to_blocks(w->range, w->file->size), gap;

		if (w->prio != PRIO_DEMAND || w->file->trouble || w->file->origin[0] != origin ||
		    m.no_ranges[origin] || room_elsewhere(w->file, origin) ||
		    (only && w->file->sources > 1 && w->file->origin[1] != origin))
			continue;
		while (rangeset_next_gap(&w->file->have, in, &gap) == 0) {
			for (uint64_t off = gap.off; off < gap.end; off += BLOCK_SIZE) {
				if (!covered(w->file, off))
					return true;
			}
			in.off = gap.end;
		}
	}
	return false;
}

/* What origins leave to those that have fewer. */
static unsigned int reserve(void)
{
	unsigned int most = m.cfg.max_connections;

	return most >= 16 ? most / 8 : most > 1;
}

/* A demand at an origin that runs nothing has somebody giving up a slot for it, if any can. */
static void check_none_starves(void)
{
	unsigned int running[ORIGINS] = {0}, demands[ORIGINS] = {0}, all = 0;
	bool several = false;
	struct run *r;

	TAILQ_FOREACH (r, &m.runs, entry) {
		if (r->ended)
			continue;
		if (r->cancelled)
			return;
		running[r->origin]++;
		demands[r->origin] += r->lease->prio == PRIO_DEMAND;
		several = several || r->lease->prio != PRIO_DEMAND || demands[r->origin] > 1;
		all++;
	}
	for (int i = 0; i < ORIGINS; i++) {
		if (running[i] == 0 && (several || all < m.cfg.max_connections) &&
		    demand_could(i, true))
			fail("S6: an origin that runs nothing gets no slot");
	}
}

/* ---- ops ---- */

static int op_next_gap(void *ctx, void *task_user, struct range within, struct range *ret)
{
	struct file *f = task_user;

	(void)ctx;
	return rangeset_next_gap(&f->have, within, ret);
}

static void check_start(const struct run *r)
{
	const struct lease *l = r->lease;
	uint64_t end = atomic_load(&l->end);
	struct run *o;
	bool first_sight = m.no_ranges[r->origin] && l->off == 0;

	if (l->probe)
		return;
	if (l->off % BLOCK_SIZE ||
	    (end % BLOCK_SIZE && end != r->file->size && end != SIZE_UNKNOWN) || l->off >= end)
		fail("S2: bad lease");
	end = min_u64(end, r->file->size);
	TAILQ_FOREACH (o, &m.runs, entry) {
		if (o->file != r->file || o->lease->probe || o->cancelled || o->lease->off >= end ||
		    end_of(o) <= l->off || end_of(o) == o->lease->off)
			continue;
		/* A hedge is for a demand, inside what is asked and has no answer yet. */
		if (l->prio == PRIO_DEMAND && !o->answered && o->lease->off <= l->off &&
		    end_of(o) >= end)
			continue;
		if (!first_sight && !o->whole)
			fail("S1: leases overlap");
	}
	if (first_sight)
		return;
	for (uint64_t off = l->off; off < end; off += BLOCK_SIZE) {
		if (rangeset_contains(&r->file->have,
				      range_to_blocks(range_of_length(off, 1), r->file->size)))
			fail("lease of what is there");
		if (!wanted(r->file, off))
			fail("lease of what nobody wants");
	}
}

static void op_start(void *ctx, struct lease *l)
{
	struct run *r = calloc(1, sizeof(*r)), *o;
	unsigned int here = 1, all = 1, demands = 0, demands_here = 0;

	(void)ctx;
	r->lease = l;
	r->file = l->task_user;
	r->origin = r->file->origin[l->source];
	r->asked_end = min_u64(atomic_load(&l->end), r->file->size);
	r->pos = r->kept = l->off;
	r->prio = l->prio;
	l->user = r;
	TAILQ_FOREACH (o, &m.runs, entry) {
		if (o->ended)
			continue;
		here += o->origin == r->origin;
		all++;
		if (!o->cancelled && o->lease->prio == PRIO_DEMAND) {
			demands_here += o->origin == r->origin;
			demands++;
		}
	}
	if (here > m.cfg.max_per_origin || all > m.cfg.max_connections)
		fail("S3: too many leases");
	if (r->prio == PRIO_DEMAND &&
	    demands + min_u64(demands_here, reserve()) >= m.cfg.max_connections)
		fail("S3: nothing is left to others");
	check_start(r);
	if (r->prio != PRIO_DEMAND && demand_could(r->origin, false) &&
	    here <= m.cfg.max_per_origin)
		fail("S4: a lower class started before a demand");
	TAILQ_INSERT_TAIL(&m.runs, r, entry);
}

static void op_shrunk(void *ctx, struct lease *l)
{
	uint64_t end = atomic_load(&l->end);

	(void)ctx;
	if (end % BLOCK_SIZE || end <= l->off)
		fail("S2: bad cut");
}

static void op_cancel(void *ctx, struct lease *l, bool at_once)
{
	struct run *r = l->user;

	(void)ctx;
	if ((r->cancelled && (!at_once || r->hurried)) || r->ended)
		fail("cancelled twice or after its end");
	r->cancelled = true;
	r->hurried = at_once;
}

static void op_hold(void *ctx, struct lease *l, bool hold)
{
	struct run *r = l->user;

	(void)ctx;
	if (r->held == hold || r->ended)
		fail("held twice");
	r->held = hold;
}

static void want_gone(struct want *w)
{
	TAILQ_REMOVE(&m.wants, w, entry);
	TAILQ_INSERT_TAIL(&m.gone, w, entry);
}

static void op_satisfied(void *ctx, void *want_user)
{
	struct want *w = want_user;

	(void)ctx;
	if (w->prio == PRIO_DEMAND)
		fail("a demand was called satisfied");
	if (!rangeset_contains(&w->file->have, range_to_blocks(w->range, w->file->size)))
		fail("satisfied without all bytes");
	want_gone(w);
}

static void op_failed(void *ctx, void *want_user, enum verdict why)
{
	struct want *w = want_user;

	(void)ctx;
	if (m.good && !w->file->trouble)
		fail("a want failed on a good network");
	if (why == VERDICT_PART)
		fail("failed without a reason");
	if (w->prio == PRIO_BACKFILL && verdict_class(why) != VERDICT_CLASS_SOURCE &&
	    verdict_class(why) != VERDICT_CLASS_RERESOLVE &&
	    verdict_class(why) != VERDICT_CLASS_VERSION)
		fail("backfill gave up for a passing reason");
	want_gone(w);
}

static void op_probe_failed(void *ctx, void *task_user, enum verdict why)
{
	struct file *f = task_user;

	(void)ctx;
	(void)why;
	if (!f->probe)
		fail("a probe failed that nobody asked for");
	f->probe = false;
}

static const struct sched_ops ops = {
	.next_gap = op_next_gap,
	.start = op_start,
	.shrunk = op_shrunk,
	.cancel = op_cancel,
	.hold = op_hold,
	.satisfied = op_satisfied,
	.failed = op_failed,
	.probe_failed = op_probe_failed,
};

/* ---- what happens ---- */

static void keep(struct run *r)
{
	uint64_t to = min_u64(r->pos, end_of(r));
	struct range k, gap;

	if (r->lease->probe)
		return;
	to = to >= r->file->size ? r->file->size : block_floor(to);
	if (to <= r->kept)
		return;
	k = range_make(r->kept, to);
	if (!r->whole && !r->overlaps) {
		uint64_t news = 0;

		for (struct range in = k; rangeset_next_gap(&r->file->have, in, &gap) == 0;
		     in.off = gap.end)
			news += range_len(gap);
		m.twice += range_len(k) - news;
	}
	rangeset_add(&r->file->have, k);
	r->kept = to;
}

static void end_run(struct run *r, enum verdict v)
{
	r->ended = true;
	keep(r);
	if (verdict_class(v) != VERDICT_CLASS_GOOD && v != VERDICT_CANCELLED)
		r->file->trouble = true;
	sched_lease_ended(m.sched, r->lease, v, r->pos, 0, m.now_us);
}

/* The answer comes: ranges, the whole body, or a refusal. */
static void answer(struct run *r)
{
	struct file *f = r->file;
	struct run *o;

	if (!m.good && rnd(12) == 0) {
		static const enum verdict bad[] = {VERDICT_BUSY,       VERDICT_SERVER,
						   VERDICT_CONNECT,    VERDICT_RESET,
						   VERDICT_GONE,       VERDICT_DENIED,
						   VERDICT_WRONG_RANGE};
		enum verdict v = bad[rnd(rnd(4) ? 4 : ARRAY_SIZE(bad))];

		end_run(r, v);
		return;
	}
	if (m.no_ranges[r->origin]) {
		r->file->trouble = true;
		if (!sched_lease_whole(m.sched, r->lease, m.now_us)) {
			sched_task_set_size(m.sched, f->task, f->size, m.now_us);
			f->probe = f->probe && !r->lease->probe;
			end_run(r, r->lease->probe ? VERDICT_WHOLE : VERDICT_CANCELLED);
			return;
		}
		r->whole = true;
		r->pos = r->kept = 0;
		r->asked_end = f->size;
	}
	r->answered = true;
	sched_lease_answered(m.sched, r->lease, m.now_us);
	sched_task_set_size(m.sched, f->task, f->size, m.now_us);
	if (r->lease->probe) {
		f->probe = false;
		end_run(r, VERDICT_PART);
		return;
	}
	/* Another whose answer is on its way too may bring the same before it hears of its end. */
	TAILQ_FOREACH (o, &m.runs, entry) {
		if (o != r && o->file == f && o->cancelled && !o->ended)
			r->overlaps = o->overlaps = true;
	}
}

static void body(struct run *r)
{
	uint64_t end = end_of(r);
	uint64_t bytes = rnd(4) ? rnd(3 * BLOCK_SIZE) : rnd(40 * BLOCK_SIZE);

	r->pos = min_u64(r->pos + bytes, min_u64(end, r->asked_end));
	keep(r);
	if (r->pos >= min_u64(end, r->asked_end)) {
		end_run(r, r->whole ? VERDICT_WHOLE : VERDICT_PART);
		return;
	}
	if (!m.good && rnd(40) == 0) {
		end_run(r, rnd(2) ? VERDICT_RESET : VERDICT_SHORT);
		return;
	}
	sched_lease_progress(m.sched, r->lease, r->pos, m.now_us);
}

/* One event of a random run, biased to the newest; written ones go. */
static void network(void)
{
	struct run *r, *next;
	unsigned int n = 0, pick;

	TAILQ_FOREACH (r, &m.runs, entry)
		n++;
	if (n == 0)
		return;
	pick = (unsigned int)rnd(n);
	TAILQ_FOREACH_SAFE (r, &m.runs, entry, next) {
		if (pick-- == 0)
			break;
	}
	if (r->ended) {
		sched_lease_written(m.sched, r->lease, m.now_us);
		TAILQ_REMOVE(&m.runs, r, entry);
		free(r);
	} else if (r->cancelled && rnd(3)) {
		end_run(r, VERDICT_CANCELLED);
	} else if (!r->connected) {
		r->connected = true;
		sched_lease_connected(m.sched, r->lease, rnd(2) * 1000, m.now_us);
	} else if (!r->answered && !r->cancelled) {
		answer(r);
	} else if (r->answered && !r->held) {
		body(r);
	}
}

static void want_something(void)
{
	struct file *f = &m.file[rnd(FILES)];
	struct want *w = calloc(1, sizeof(*w));
	uint64_t off = rnd(f->size), len = 1 + rnd(rnd(2) ? 3 * BLOCK_SIZE : 100 * BLOCK_SIZE);
	enum verdict why;

	w->file = f;
	w->range = range_intersect(range_of_length(off, len), range_make(0, f->size));
	w->prio = (enum prio)rnd(PRIO_COUNT);
	TAILQ_INSERT_TAIL(&m.wants, w, entry);
	if (sched_want_add(m.sched, f->task, w->range, w->prio, w, m.now_us, &w->want, &why) < 0) {
		if (w->prio != PRIO_DEMAND || !f->trouble)
			fail("a want was refused");
		want_gone(w);
	}
}

static struct want *any_want(void)
{
	struct want *w;
	unsigned int n = 0;

	TAILQ_FOREACH (w, &m.wants, entry)
		n++;
	if (n == 0)
		return NULL;
	n = (unsigned int)rnd(n);
	TAILQ_FOREACH (w, &m.wants, entry) {
		if (n-- == 0)
			break;
	}
	return w;
}

static void lose(void)
{
	struct file *f = &m.file[rnd(FILES)];
	uint64_t off = block_floor(rnd(f->size));
	struct range r = range_to_blocks(range_of_length(off, 1 + rnd(8 * BLOCK_SIZE)), f->size);

	for (uint64_t b = r.off; b < r.end; b += BLOCK_SIZE) {
		/* What a transfer is bringing is not evicted. */
		if (!covered(f, b))
			rangeset_remove(&f->have, range_to_blocks(range_of_length(b, 1), f->size));
	}
	sched_task_lost(m.sched, f->task, m.now_us);
}

static void clean(void)
{
	struct want *w;

	while ((w = TAILQ_FIRST(&m.gone))) {
		TAILQ_REMOVE(&m.gone, w, entry);
		free(w);
	}
}

/* As the engine does: who waits is answered when his bytes are there. */
static void answer_demands(void)
{
	struct want *w, *next;

	TAILQ_FOREACH_SAFE (w, &m.wants, entry, next) {
		if (w->prio != PRIO_DEMAND ||
		    !rangeset_contains(&w->file->have, range_to_blocks(w->range, w->file->size)))
			continue;
		sched_want_remove(m.sched, w->want, m.now_us);
		want_gone(w);
	}
}

static void tick(void)
{
	answer_demands();
	for (int again = 0; again < 4; again++) {
		m.due_us = sched_tick(m.sched, m.now_us);
		sched_check(m.sched);
		clean();
		if (m.due_us > m.now_us) {
			check_none_starves();
			return;
		}
	}
	fail("a tick that is never done");
}

static void step(void)
{
	struct want *w;

	m.now_us += rnd(4) ? rnd(2000) : rnd(200000);
	switch (rnd(16)) {
	case 0:
	case 1:
		want_something();
		break;
	case 2:
		w = any_want();
		if (w && rnd(2)) {
			sched_want_remove(m.sched, w->want, m.now_us);
			want_gone(w);
		} else if (w) {
			w->prio = (enum prio)rnd(PRIO_COUNT);
			sched_want_set_prio(m.sched, w->want, w->prio, m.now_us);
		}
		break;
	case 3:
		if (rnd(10) == 0)
			lose();
		break;
	case 4:
		if (rnd(10) == 0) {
			struct file *f = &m.file[rnd(FILES)];

			f->probe = true;
			sched_task_probe(m.sched, f->task, (enum prio)rnd(PRIO_COUNT), m.now_us);
		}
		break;
	default:
		network();
		break;
	}
	/* A batch of events before a tick, sometimes. */
	if (rnd(3))
		tick();
}

static void setup(uint64_t seed)
{
	memset(&m, 0, sizeof(m));
	m.random = seed;
	m.now_us = 1000000;
	TAILQ_INIT(&m.wants);
	TAILQ_INIT(&m.gone);
	TAILQ_INIT(&m.runs);
	m.cfg = (struct sched_config){
		.connections = (unsigned int)(rnd(2) ? 0 : 1 + rnd(8)),
		.max_connections = (unsigned int)(2 + rnd(12)),
		.max_per_origin = (unsigned int)(1 + rnd(6)),
		.connect_timeout_us = 10000000,
		.stall_timeout_us = 20000000,
		.retry_time_us = 60000000,
		.seed = seed,
	};
	m.sched = sched_new(&m.cfg, &ops, NULL);
	for (int i = 0; i < ORIGINS; i++) {
		char key[32];

		snprintf(key, sizeof(key), "http://host%d:80", i);
		m.origin[i] = sched_origin_get(m.sched, key);
		m.no_ranges[i] = rnd(10) == 0;
	}
	for (int i = 0; i < FILES; i++) {
		struct file *f = &m.file[i];
		struct sched_origin *sources[2];

		f->size = 1 + rnd(200 * BLOCK_SIZE);
		f->sources = 1 + (int)rnd(2);
		for (int s = 0; s < f->sources; s++) {
			f->origin[s] = (int)rnd(ORIGINS);
			sources[s] = m.origin[f->origin[s]];
		}
		rangeset_init(&f->have);
		f->trouble = rnd(3) == 0; /* also: size unknown */
		if (sched_task_new(m.sched, f->trouble ? SIZE_UNKNOWN : f->size, sources,
				   (unsigned int)f->sources, f, &f->task) < 0)
			fail("no task");
	}
}

/* From now on everything works: all that is wanted must come, in bounded time and requests. */
static void settle(void)
{
	struct want *w;

	m.good = true;
	for (int i = 0; i < FILES; i++) {
		m.file[i].trouble = m.file[i].trouble || m.cfg.connections != 0;
		sched_task_forgive(m.sched, m.file[i].task, m.now_us);
	}
	for (int i = 0; i < 200000; i++) {
		bool quiet = TAILQ_EMPTY(&m.wants) && TAILQ_EMPTY(&m.runs);

		if (quiet)
			break;
		network();
		tick();
		if (TAILQ_EMPTY(&m.runs) && m.due_us == UINT64_MAX && !TAILQ_EMPTY(&m.wants))
			fail("nothing runs, no timer, and something is wanted");
		m.now_us += TAILQ_EMPTY(&m.runs) && m.due_us != UINT64_MAX ? m.due_us - m.now_us
									   : rnd(3000);
	}
	TAILQ_FOREACH (w, &m.wants, entry)
		fail("a want is never served");
	if (!TAILQ_EMPTY(&m.runs))
		fail("a lease never ends");
}

static void teardown(void)
{
	struct run *r;

	for (int i = 0; i < FILES; i++)
		sched_task_close(m.sched, m.file[i].task, m.now_us);
	while ((r = TAILQ_FIRST(&m.runs))) {
		if (!r->ended)
			sched_lease_ended(m.sched, r->lease, VERDICT_CANCELLED, r->pos, 0,
					  m.now_us);
		sched_lease_written(m.sched, r->lease, m.now_us);
		TAILQ_REMOVE(&m.runs, r, entry);
		free(r);
	}
	clean();
	while (!TAILQ_EMPTY(&m.wants)) {
		struct want *w = TAILQ_FIRST(&m.wants);

		TAILQ_REMOVE(&m.wants, w, entry);
		free(w);
	}
	sched_free(m.sched);
	for (int i = 0; i < FILES; i++)
		rangeset_done(&m.file[i].have);
}

static void run_seed(uint64_t seed)
{
	setup(seed);
	for (int i = 0; i < STEPS; i++)
		step();
	settle();
	if (m.twice)
		fail("bytes came twice");
	/* Half of the runs are torn down in the middle of things. */
	if (seed % 2) {
		for (int i = 0; i < 50; i++)
			step();
	}
	teardown();
}

int main(int argc, char **argv)
{
	return seed_main(argc, argv, 150, run_seed);
}
