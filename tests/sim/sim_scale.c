/*
 * sim_scale.c - 100,000 files and thousands of waiting reads: the price of a tick is that of what
 * happened
 *
 * Counts how often the extent map is asked, which is what a tick costs; seconds are printed, not
 * judged.
 */
#include <bsd/sys/queue.h>

#include "base/clock.h"
#include "core/rangeset.h"
#include "core/sched.h"

#define FILES 100000
#define READS 4000

struct file {
	struct sched_task *task;
	struct rangeset have;
	unsigned int left;
	bool probed;
};

struct run {
	TAILQ_ENTRY(run) entry;
	struct lease *lease;
};

static struct {
	struct sched *sched;
	struct file *file;
	TAILQ_HEAD(, run) runs;
	uint64_t now_us, asked, ticks, satisfied, started;
} m;

static unsigned int failures, rows;

static int op_next_gap(void *ctx, void *task_user, struct range within, struct range *ret)
{
	struct file *f = task_user;

	(void)ctx;
	m.asked++;
	return rangeset_next_gap(&f->have, within, ret);
}

static void op_start(void *ctx, struct lease *l)
{
	struct run *r = calloc(1, sizeof(*r));

	(void)ctx;
	r->lease = l;
	m.started++;
	TAILQ_INSERT_TAIL(&m.runs, r, entry);
}

static void op_lease(void *ctx, struct lease *l)
{
	(void)ctx;
	(void)l;
}

static void op_cancel(void *ctx, struct lease *l, bool at_once)
{
	(void)ctx;
	(void)l;
	(void)at_once;
}

static void op_hold(void *ctx, struct lease *l, bool hold)
{
	(void)ctx;
	(void)l;
	(void)hold;
}

static void op_satisfied(void *ctx, void *want_user)
{
	(void)ctx;
	(void)want_user;
	m.satisfied++;
}

static void op_failed(void *ctx, void *user, enum verdict why)
{
	(void)ctx;
	(void)user;
	(void)why;
	failures++;
}

static const struct sched_ops ops = {op_next_gap, op_start,	op_lease,  op_cancel,
				     op_hold,	  op_satisfied, op_failed, op_failed};

static void begin(void)
{
	struct sched_config cfg = {
		.max_connections = 64,
		.max_per_origin = 16,
		.connect_timeout_us = 10000000,
		.stall_timeout_us = 20000000,
		.retry_time_us = 60000000,
		.seed = 1,
	};

	memset(&m, 0, sizeof(m));
	TAILQ_INIT(&m.runs);
	m.now_us = 1000000;
	m.sched = sched_new(&cfg, &ops, NULL);
}

/* The oldest transfer answers, ends and is written. */
static void finish_one(void)
{
	struct run *r = TAILQ_FIRST(&m.runs);
	struct lease *l = r->lease;
	struct file *f = l->task_user;
	uint64_t end = atomic_load(&l->end);

	TAILQ_REMOVE(&m.runs, r, entry);
	sched_lease_connected(m.sched, l, 0, m.now_us);
	sched_lease_answered(m.sched, l, m.now_us);
	if (l->probe)
		f->probed = true;
	else
		rangeset_add(&f->have, range_make(l->off, end));
	sched_lease_ended(m.sched, l, VERDICT_PART, end, 0, m.now_us);
	sched_lease_written(m.sched, l, m.now_us);
	free(r);
}

static void run_all(void)
{
	sched_tick(m.sched, m.now_us);
	while (!TAILQ_EMPTY(&m.runs)) {
		m.now_us += 100;
		finish_one();
		m.ticks++;
		sched_tick(m.sched, m.now_us);
	}
}

static void row(bool ok, const char *name, uint64_t begun_us, uint64_t most_asked)
{
	double s = (double)(clock_now_us() - begun_us) / 1e6;

	rows++;
	ok = ok && m.asked <= most_asked;
	failures += !ok;
	printf("%s %u - %s: %lu ticks, %lu leases, the map asked %lu times (<= %lu), %.2f s\n",
	       ok ? "ok" : "not ok", rows, name, (unsigned long)m.ticks, (unsigned long)m.started,
	       (unsigned long)m.asked, (unsigned long)most_asked, s);
}

static void many_files(bool probes)
{
	struct sched_origin *o;
	struct sched_want *w;
	enum verdict why;
	uint64_t start;

	begin();
	o = sched_origin_get(m.sched, "http://one:80");
	m.file = calloc(FILES, sizeof(m.file[0]));
	start = clock_now_us();
	for (unsigned int i = 0; i < FILES; i++) {
		struct file *f = &m.file[i];

		rangeset_init(&f->have);
		sched_task_new(m.sched, BLOCK_SIZE, &o, 1, f, &f->task);
		if (probes)
			sched_task_probe(m.sched, f->task, PRIO_BACKFILL, m.now_us);
		else
			sched_want_add(m.sched, f->task, range_make(0, BLOCK_SIZE), PRIO_BACKFILL,
				       f, m.now_us, &w, &why);
	}
	run_all();
	row(m.started == FILES && (probes || m.satisfied == FILES), probes ? "probes" : "backfill",
	    start, probes ? 0 : UINT64_C(8) * FILES);
	for (unsigned int i = 0; i < FILES; i++) {
		sched_task_close(m.sched, m.file[i].task, m.now_us);
		rangeset_done(&m.file[i].have);
	}
	free(m.file);
	sched_free(m.sched);
}

/* Thousands of reads parked on one file, each of its own block. */
static void many_reads(void)
{
	struct file f = {.left = READS};
	static struct sched_want *want[READS];
	struct sched_origin *o;
	enum verdict why;
	uint64_t start;
	unsigned int next = 0;

	begin();
	o = sched_origin_get(m.sched, "http://one:80");
	rangeset_init(&f.have);
	sched_task_new(m.sched, BLOCK_SIZE * 4 * READS, &o, 1, &f, &f.task);
	start = clock_now_us();
	for (unsigned int i = 0; i < READS; i++)
		sched_want_add(m.sched, f.task, range_of_length(BLOCK_SIZE * 4 * i, 4096),
			       PRIO_DEMAND, &f, m.now_us, &want[i], &why);
	sched_tick(m.sched, m.now_us);
	while (!TAILQ_EMPTY(&m.runs)) {
		m.now_us += 100;
		finish_one();
		while (next < READS &&
		       rangeset_contains(&f.have, range_of_length(BLOCK_SIZE * 4 * next, 4096)))
			sched_want_remove(m.sched, want[next++], m.now_us);
		m.ticks++;
		sched_tick(m.sched, m.now_us);
	}
	row(next == READS && m.started == READS, "parked reads", start, UINT64_C(16) * READS);
	sched_task_close(m.sched, f.task, m.now_us);
	rangeset_done(&f.have);
	sched_free(m.sched);
}

int main(void)
{
	many_files(false);
	many_files(true);
	many_reads();
	printf("1..%u\n", rows);
	return failures ? 1 : 0;
}
