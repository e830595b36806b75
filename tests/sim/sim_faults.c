/*
 * sim_faults.c - what becomes of wants when servers fail, refuse, stall or die
 */
#include "sim.h"

#define MS  UINT64_C(1000)
#define SEC UINT64_C(1000000)

static struct sched_config config(void)
{
	return (struct sched_config){
		.max_connections = 64,
		.max_per_origin = 16,
		.connect_timeout_us = 10 * SEC,
		.stall_timeout_us = 20 * SEC,
		.retry_time_us = 60 * SEC,
		.seed = 3,
	};
}

static bool never(void *arg)
{
	(void)arg;
	return false;
}

static bool file_done(void *arg)
{
	return sim_file_done_us(arg) || sim_file_failed(arg);
}

static bool reader_done(void *arg)
{
	return sim_reader_done(arg);
}

struct fault {
	const char *name;
	unsigned int connections;
	uint64_t size;
	struct sim_server_config server[2]; /* the second: a mirror when it has a key */
	double most_s;
	uint64_t most_requests, most_busy;
	double waste;
};

static void fault(const struct fault *d)
{
	struct sched_config cfg = config();
	struct sim_server *sv[2];
	struct sim_stats st;
	struct sim_file *f;
	struct sim *m;
	unsigned int n = 1;
	uint64_t start;
	double took;
	bool ok;

	cfg.connections = d->connections;
	m = sim_new(&cfg);
	start = sim_now(m);
	sv[0] = sim_server(m, &d->server[0]);
	if (d->server[1].key)
		sv[n++] = sim_server(m, &d->server[1]);
	f = sim_file(m, d->size, true, sv, n);
	sim_want(m, f, range_make(0, d->size), PRIO_FILL);
	sim_run(m, start + 1000 * SEC, file_done, f);
	took = (double)(sim_now(m) - start) / SEC;
	sim_stats(m, &st);
	ok = sim_file_done_us(f) && took <= d->most_s && st.requests <= d->most_requests &&
	     st.busy <= d->most_busy && (double)st.sent <= d->waste * (double)d->size;
	sim_row(ok,
		"%-44s %7.3f s (<= %.1f), %lu requests, %lu refused, sent %.3f, %lu twice, %lu at once",
		d->name, took, d->most_s, (unsigned long)st.requests, (unsigned long)st.busy,
		(double)st.sent / (double)d->size, (unsigned long)(st.twice / KIB),
		(unsigned long)st.most_connections);
	sim_free(m);
}

static const struct fault faults[] = {
	{"503 for 3 s after 1 s, 8 connections",
	 8,
	 256 * MIB,
	 {{.rtt_us = 20 * MS,
	   .response_bps = 4 * MIB,
	   .reset_percent = 30,
	   .busy_from_us = 2 * SEC,
	   .busy_to_us = 5 * SEC}},
	 18,
	 60,
	 12,
	 1.01},
	{"503 for 3 s at once, Retry-After 2 s",
	 0,
	 32 * MIB,
	 {{.rtt_us = 20 * MS,
	   .link_bps = 16 * MIB,
	   .busy_to_us = 4 * SEC,
	   .retry_after_us = 2 * SEC}},
	 9,
	 6,
	 3,
	 1.0},
	{"four connections allowed, 16 tried by auto",
	 0,
	 256 * MIB,
	 {{.response_bps = 8 * MIB, .max_connections = 4}},
	 14,
	 120,
	 30,
	 1.01},
	{"three in ten responses break",
	 8,
	 256 * MIB,
	 {{.rtt_us = 20 * MS, .response_bps = 8 * MIB, .reset_percent = 30}},
	 6,
	 80,
	 0,
	 1.02},
	{"a fifth of the responses stop",
	 8,
	 64 * MIB,
	 {{.rtt_us = 20 * MS, .response_bps = 4 * MIB, .stall_percent = 20}},
	 8,
	 60,
	 0,
	 1.02},
	{"a fifth of the responses stop, auto",
	 0,
	 64 * MIB,
	 {{.rtt_us = 20 * MS, .link_bps = 8 * MIB, .stall_percent = 20}},
	 40,
	 60,
	 0,
	 1.02},
	{"the first mirror is dead",
	 0,
	 64 * MIB,
	 {{.key = "http://a", .dead = true}, {.key = "http://b", .link_bps = 50 * MIB}},
	 1.5,
	 20,
	 0,
	 1.01},
	{"the first mirror has no such file",
	 0,
	 64 * MIB,
	 {{.key = "http://a", .gone = true}, {.key = "http://b", .link_bps = 50 * MIB}},
	 1.5,
	 20,
	 0,
	 1.01},
	{"the first mirror dies after 1 s",
	 0,
	 256 * MIB,
	 {{.key = "http://a", .link_bps = 50 * MIB, .dies_at_us = 2 * SEC},
	  {.key = "http://b", .link_bps = 50 * MIB}},
	 6.0,
	 40,
	 0,
	 1.01},
	{"the first mirror ignores ranges",
	 8,
	 64 * MIB,
	 {{.key = "http://a", .link_bps = 50 * MIB, .no_ranges = true},
	  {.key = "http://b", .link_bps = 50 * MIB}},
	 2.0,
	 40,
	 0,
	 1.6},
	{"no ranges, three in ten break",
	 0,
	 32 * MIB,
	 {{.link_bps = 50 * MIB, .no_ranges = true, .reset_percent = 30}},
	 4.0,
	 20,
	 0,
	 4.0},
};

/* Late answers now and then: a second request makes up for them, one in twenty at most. */
static void hedging(void)
{
	struct sched_config cfg = config();
	struct sim_server_config sc = {.think_us = 20 * MS, .late_percent = 4, .late_us = 2 * SEC};
	struct sim *m = sim_new(&cfg);
	struct sim_server *sv = sim_server(m, &sc);
	struct sim_file *f = sim_file(m, 4096 * MIB, true, &sv, 1);
	struct sim_reader *r =
		sim_reader(m, f, range_make(0, 4096 * MIB), 4 * KIB, 1000, false, false, 0);
	struct sched_stats st;
	bool ok = sim_run(m, sim_now(m) + 200 * SEC, reader_done, r);

	sched_stats(sim_sched(m), &st);
	sim_row(ok && sim_reader_latency_us(r, 97) < 100 * MS && st.hedges * 20 <= st.requests &&
			st.hedges > 10,
		"%-44s p50 %.1f, p97 %.1f, p99 %.1f, max %.1f ms; %lu hedges of %lu",
		"4 % of the answers come 2 s late", (double)sim_reader_latency_us(r, 50) / MS,
		(double)sim_reader_latency_us(r, 97) / MS,
		(double)sim_reader_latency_us(r, 99) / MS,
		(double)sim_reader_latency_us(r, 100) / MS, (unsigned long)st.hedges,
		(unsigned long)st.requests);
	sim_free(m);
}

/* Nobody answers: a demand fails at its deadline, a fill at ten times it, backfill goes on. */
static void deadlines(void)
{
	struct sched_config cfg = config();
	struct sim_server_config sc = {.dead = true};
	struct sim *m = sim_new(&cfg);
	struct sim_server *sv = sim_server(m, &sc);
	struct sim_file *a = sim_file(m, MIB, true, &sv, 1), *b = sim_file(m, MIB, true, &sv, 1);
	struct sim_file *c = sim_file(m, MIB, true, &sv, 1);
	struct sim_reader *r = sim_reader(m, a, range_make(0, MIB), 4 * KIB, 1, true, false, 0);
	uint64_t start = sim_now(m), demand, fill;
	struct sim_stats st;

	sim_want(m, b, range_make(0, MIB), PRIO_FILL);
	sim_want(m, c, range_make(0, MIB), PRIO_BACKFILL);
	sim_run(m, start + 700 * SEC, reader_done, r);
	demand = sim_reader_latency_us(r, 100);
	sim_run(m, start + 700 * SEC, file_done, b);
	fill = sim_now(m) - start;
	sim_run(m, start + 3600 * SEC, never, NULL);
	sim_stats(m, &st);
	sim_row(sim_reader_failed(r) == 1 && demand >= 60 * SEC && demand < 62 * SEC &&
			sim_file_failed(b) && fill >= 600 * SEC && fill < 620 * SEC &&
			!sim_file_failed(c) && st.requests < 120,
		"%-44s demand fails after %.1f s, fill %.1f s, backfill never; %lu requests in an hour",
		"a dead server", (double)demand / SEC, (double)fill / SEC,
		(unsigned long)st.requests);
	sim_free(m);
}

/* 503 for ever with a demand waiting: its deadline counts whatever Retry-After says. */
static void busy_for_ever(void)
{
	struct sched_config cfg = config();
	struct sim_server_config sc = {.busy_to_us = UINT64_MAX, .retry_after_us = 86400 * SEC};
	struct sim *m = sim_new(&cfg);
	struct sim_server *sv = sim_server(m, &sc);
	struct sim_file *f = sim_file(m, MIB, true, &sv, 1);
	struct sim_reader *r = sim_reader(m, f, range_make(0, MIB), 4 * KIB, 1, true, false, 0);
	struct sim_stats st;

	sim_run(m, sim_now(m) + 700 * SEC, reader_done, r);
	sim_stats(m, &st);
	sim_row(sim_reader_failed(r) == 1 && sim_reader_latency_us(r, 100) < 62 * SEC &&
			st.requests <= 2 && sim_file_why(f) == VERDICT_BUSY,
		"%-44s fails after %.1f s, %lu requests", "Retry-After: a day",
		(double)sim_reader_latency_us(r, 100) / SEC, (unsigned long)st.requests);
	sim_free(m);
}

/* A slow drip above and below the 1 KiB/s that count. */
static void drip(uint64_t bps, double least_s, double most_s)
{
	struct sched_config cfg = config();
	struct sim_server_config sc = {.link_bps = bps};
	struct sim *m = sim_new(&cfg);
	struct sim_server *sv = sim_server(m, &sc);
	struct sim_file *f = sim_file(m, 2 * MIB, true, &sv, 1);
	struct sim_reader *r = sim_reader(m, f, range_make(0, 2 * MIB), 2 * MIB, 1, true, false, 0);
	uint64_t start = sim_now(m);
	double took;

	sim_run(m, start + 2000 * SEC, reader_done, r);
	took = (double)(sim_now(m) - start) / SEC;
	sim_row(sim_reader_failed(r) == 1 && took >= least_s && took <= most_s,
		"a drip of %4lu B/s%25s fails after %.1f s", (unsigned long)bps, "", took);
	sim_free(m);
}

struct many {
	struct sim_file *file[10000];
	unsigned int count;
};

static bool all_probed(void *arg)
{
	const struct many *a = arg;

	return sim_file_probed(a->file[a->count - 1]) && sim_file_probed(a->file[0]) &&
	       sim_file_probed(a->file[a->count / 2]);
}

/* Sizes of 10,000 files; one of the last is asked for by somebody who waits. */
static void probes(void)
{
	struct sched_config cfg = config();
	struct sim_server_config sc = {.think_us = 20 * MS};
	struct sim *m = sim_new(&cfg);
	struct sim_server *sv = sim_server(m, &sc);
	static struct many a = {.count = 10000};
	uint64_t start = sim_now(m), urgent;
	struct sim_stats st;
	bool ok;

	for (unsigned int i = 0; i < a.count; i++) {
		a.file[i] = sim_file(m, MIB, false, &sv, 1);
		sim_probe(m, a.file[i], PRIO_BACKFILL);
	}
	sim_run(m, start + 100 * MS, never, NULL);
	urgent = sim_now(m);
	sim_probe(m, a.file[a.count - 7], PRIO_DEMAND);
	while (!sim_file_probed(a.file[a.count - 7]) && sim_now(m) < start + 60 * SEC)
		sim_run(m, sim_now(m) + MS, never, NULL);
	urgent = sim_now(m) - urgent;
	ok = sim_run(m, start + 60 * SEC, all_probed, &a);
	sim_stats(m, &st);
	sim_row(ok && urgent <= 60 * MS && sim_now(m) - start < 14 * SEC &&
			st.requests <= a.count + 2,
		"%-44s %.2f s, one that is waited for %.1f ms, %lu requests",
		"10,000 sizes at 20 ms", (double)(sim_now(m) - start) / SEC, (double)urgent / MS,
		(unsigned long)st.requests);
	sim_free(m);
}

/*
 * Servers that never answer, with more readers than connections; bulk: all the connections were
 * given to fills of theirs before. A reader of another server waits no longer than without them.
 */
static uint64_t hung(unsigned int servers, unsigned int max_connections, bool bulk,
		     uint64_t alone_us)
{
	struct sched_config cfg = config();
	char key[8][32];
	struct sim_server_config dead = {.late_percent = 100, .late_us = 10000 * SEC};
	struct sim_server_config well = {.rtt_us = 20 * MS, .think_us = 20 * MS};
	struct sim_server *sv;
	struct sim_reader *r;
	struct sim_file *f;
	struct sim *m;
	uint64_t worst;
	bool ok;

	cfg.max_connections = max_connections;
	cfg.connections = bulk ? 16 : 0;
	m = sim_new(&cfg);
	for (unsigned int i = 0; i < servers; i++) {
		snprintf(key[i], sizeof(key[i]), "http://hung%u", i);
		dead.key = key[i];
		sv = sim_server(m, &dead);
		f = sim_file(m, 1024 * MIB, true, &sv, 1);
		if (bulk) {
			sim_want(m, f, range_make(0, 1024 * MIB), PRIO_FILL);
			sim_run(m, sim_now(m) + SEC, never, NULL);
		}
		for (uint64_t k = 0; k < 64; k++)
			sim_reader(m, f, range_of_length(k * 16 * MIB, 16 * MIB), 4 * KIB, 1, true,
				   false, 0);
	}
	sim_run(m, sim_now(m) + SEC, never, NULL);
	sv = sim_server(m, &well);
	f = sim_file(m, 1024 * MIB, true, &sv, 1);
	r = sim_reader(m, f, range_make(0, 1024 * MIB), 4 * KIB, 50, false, false, 0);
	ok = sim_run(m, sim_now(m) + 60 * SEC, reader_done, r);
	worst = sim_reader_latency_us(r, 100);
	sim_row(ok && sim_reader_failed(r) == 0 && worst <= alone_us + MS,
		"%u servers hang, %2u connections%-12s%9s p50 %.1f, max %.1f ms", servers,
		max_connections, bulk ? ", all theirs" : "", "",
		(double)sim_reader_latency_us(r, 50) / MS, (double)worst / MS);
	sim_free(m);
	return worst;
}

int main(void)
{
	uint64_t alone_us;

	for (unsigned int i = 0; i < ARRAY_SIZE(faults); i++)
		fault(&faults[i]);
	hedging();
	deadlines();
	busy_for_ever();
	drip(300, 60, 125);
	drip(2048, 590, 605);
	probes();
	alone_us = hung(0, 64, false, SEC);
	hung(4, 64, false, alone_us);
	hung(4, 64, true, alone_us);
	hung(1, 8, false, alone_us);
	hung(1, 8, true, alone_us);
	hung(7, 8, true, alone_us);
	return sim_end();
}
