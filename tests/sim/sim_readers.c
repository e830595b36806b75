/*
 * sim_readers.c - what readers get: latency, rate, bytes that were not asked for
 *
 * The figures of the project's benchmark table (bench/README) in simulated time, beside backfill
 * and each other.
 */
#include "sim.h"

#define MS     UINT64_C(1000)
#define WINDOW (128 * MIB)

static struct sched_config config(void)
{
	return (struct sched_config){
		.max_connections = 64,
		.max_per_origin = 16,
		.connect_timeout_us = 10000000,
		.stall_timeout_us = 20000000,
		.retry_time_us = 60000000,
		.seed = 7,
	};
}

struct readers {
	struct sim_reader *reader[64];
	unsigned int count;
};

static bool all_read(void *arg)
{
	const struct readers *rs = arg;

	for (unsigned int i = 0; i < rs->count; i++) {
		if (!sim_reader_done(rs->reader[i]))
			return false;
	}
	return true;
}

static bool never(void *arg)
{
	(void)arg;
	return false;
}

/* 4 KiB here and there of a cold GiB, with or without backfill of it on the same link. */
static void random_reads(const char *name, uint64_t think_us, uint64_t link_bps, bool backfill,
			 uint64_t median_us, uint64_t p99_us)
{
	struct sched_config cfg = config();
	struct sim *m = sim_new(&cfg);
	struct sim_server_config sc = {.think_us = think_us, .link_bps = link_bps};
	struct sim_server *sv = sim_server(m, &sc);
	struct sim_file *f = sim_file(m, 1024 * MIB, true, &sv, 1);
	struct readers rs = {.count = 1};
	struct sim_stats st;
	uint64_t p50, p99;
	bool ok;

	if (backfill) {
		sim_want(m, f, range_make(0, 1024 * MIB), PRIO_BACKFILL);
		sim_run(m, sim_now(m) + 2000000, never, NULL);
	}
	rs.reader[0] = sim_reader(m, f, range_make(backfill ? 512 * MIB : 0, 1024 * MIB), 4 * KIB,
				  64, false, true, WINDOW);
	ok = sim_run(m, sim_now(m) + 60000000, all_read, &rs);
	p50 = sim_reader_latency_us(rs.reader[0], 50);
	p99 = sim_reader_latency_us(rs.reader[0], 99);
	sim_stats(m, &st);
	sim_row(ok && p50 <= median_us && p99 <= p99_us && (backfill || st.sent <= 4 * MIB),
		"%-44s median %6.2f ms (<= %.1f), p99 %6.2f (<= %.1f), %.2f MiB sent, %lu requests",
		name, (double)p50 / MS, (double)median_us / MS, (double)p99 / MS,
		(double)p99_us / MS, (double)st.sent / (double)MIB, (unsigned long)st.requests);
	sim_free(m);
}

static void sequential(const char *name, struct sim_server_config sc, uint64_t size, uint64_t read,
		       unsigned int readers, bool one_file, double least_mib_s)
{
	struct sched_config cfg = config();
	struct sim *m = sim_new(&cfg);
	struct sim_server *sv = sim_server(m, &sc);
	struct sim_file *f = one_file ? sim_file(m, size * readers, true, &sv, 1) : NULL;
	struct readers rs = {.count = readers};
	struct sim_stats st;
	uint64_t start = sim_now(m), last = 0, first = 0;
	double rate;
	bool ok;

	for (unsigned int i = 0; i < readers; i++) {
		struct sim_file *file = one_file ? f : sim_file(m, size, true, &sv, 1);
		uint64_t off = one_file ? i * size : 0;

		rs.reader[i] = sim_reader(m, file, range_make(off, off + size), read,
					  (unsigned int)(size / read), true, true, WINDOW);
	}
	ok = sim_run(m, start + 120000000, all_read, &rs);
	for (unsigned int i = 0; i < readers; i++) {
		last = max_u64(last, sim_reader_done_us(rs.reader[i]));
		first = max_u64(first, sim_reader_latency_us(rs.reader[i], 100));
	}
	rate = (double)(size * readers) / (double)MIB / ((double)(last - start) / 1e6);
	sim_stats(m, &st);
	sim_row(ok && rate >= least_mib_s && st.sent <= size * readers + size * readers / 50,
		"%-44s %6.1f MiB/s (>= %.1f), %.3f s, sent %.3f, worst wait %.1f ms, %lu requests, %lu connections",
		name, rate, least_mib_s, (double)(last - start) / 1e6,
		(double)st.sent / (double)(size * readers), (double)first / MS,
		(unsigned long)st.requests, (unsigned long)st.most_connections);
	sim_free(m);
}

/* The last MiB of a file that another reader streams. */
static void beside_stream(const char *name, uint64_t think_us, uint64_t link_bps, uint64_t most_us)
{
	struct sched_config cfg = config();
	struct sim *m = sim_new(&cfg);
	struct sim_server_config sc = {.think_us = think_us, .link_bps = link_bps};
	struct sim_server *sv = sim_server(m, &sc);
	struct sim_file *f = sim_file(m, 512 * MIB, true, &sv, 1);
	struct readers rs = {.count = 1};
	uint64_t start, took;
	bool ok;

	sim_reader(m, f, range_make(0, 512 * MIB), 128 * KIB, 4096, true, true, WINDOW);
	sim_run(m, sim_now(m) + 2000000, never, NULL);
	start = sim_now(m);
	rs.reader[0] = sim_reader(m, f, range_make(511 * MIB, 512 * MIB), 128 * KIB, 8, true, true,
				  WINDOW);
	ok = sim_run(m, start + 60000000, all_read, &rs);
	took = sim_reader_done_us(rs.reader[0]) - start;
	sim_row(ok && took <= most_us, "%-44s %.1f ms (<= %.1f)", name, (double)took / MS,
		(double)most_us / MS);
	sim_free(m);
}

/* A reader that never pauses: backfill beside it gets some of the link, and not much. */
static void starving(void)
{
	struct sched_config cfg = config();
	struct sim *m = sim_new(&cfg);
	struct sim_server_config sc = {.think_us = 20 * MS, .link_bps = 50 * MIB};
	struct sim_server *sv = sim_server(m, &sc);
	struct sim_file *f = sim_file(m, 4096 * MIB, true, &sv, 1);
	struct sim_stats before, after;
	double share;

	sim_want(m, f, range_make(0, 2048 * MIB), PRIO_BACKFILL);
	sim_run(m, sim_now(m) + 1000000, never, NULL);
	sim_reader(m, f, range_make(2048 * MIB, 4096 * MIB), 64 * KIB, 1000000, false, false,
		   WINDOW);
	sim_stats(m, &before);
	sim_run(m, sim_now(m) + 20000000, never, NULL);
	sim_stats(m, &after);
	share = (double)(after.sent - before.sent) / 20.0 / (double)(50 * MIB);
	sim_row(share > 0.05 && share < 0.5, "%-44s the link is %.0f %% used (5 to 50)",
		"backfill beside a reader without a pause", share * 100);
	sim_free(m);
}

int main(void)
{
	random_reads("H. random 4 KiB, 20 ms", 20 * MS, 0, false, 20600, 21500);
	random_reads("H. the same beside backfill, 50 MiB/s", 20 * MS, 50 * MIB, true, 24000,
		     40000);
	random_reads("H. the same beside backfill, 8 MiB/s", 20 * MS, 8 * MIB, true, 40000, 60000);
	sequential("C. 64 MiB, 4 MiB/s a response",
		   (struct sim_server_config){.response_bps = 4 * MIB}, 64 * MIB, 128 * KIB, 1,
		   false, 64 / 2.3);
	sequential("C. the same, 20 ms",
		   (struct sim_server_config){.think_us = 20 * MS, .response_bps = 4 * MIB},
		   64 * MIB, 128 * KIB, 1, false, 64 / 1.6);
	sequential("E'. 32 MiB, 200 ms", (struct sim_server_config){.think_us = 200 * MS}, 32 * MIB,
		   128 * KIB, 1, false, 32 / 0.45);
	sequential("I. 512 MiB, 20 ms, 50 MiB/s a response",
		   (struct sim_server_config){.think_us = 20 * MS, .response_bps = 50 * MIB},
		   512 * MIB, 128 * KIB, 1, false, 380);
	sequential("I. the same in 32 KiB reads",
		   (struct sim_server_config){.think_us = 20 * MS, .response_bps = 50 * MIB},
		   512 * MIB, 32 * KIB, 1, false, 300);
	sequential("one flow fills the link, 20 ms",
		   (struct sim_server_config){.rtt_us = 20 * MS, .link_bps = 50 * MIB}, 256 * MIB,
		   128 * KIB, 1, false, 45);
	sequential("N. 16 readers of 32 MiB, 20 ms",
		   (struct sim_server_config){.think_us = 20 * MS}, 32 * MIB, 128 * KIB, 16, false,
		   700);
	sequential("N. 16 readers of one file, 20 ms",
		   (struct sim_server_config){.think_us = 20 * MS}, 32 * MIB, 128 * KIB, 16, true,
		   700);
	beside_stream("L. last MiB beside a stream, 50 MiB/s", 20 * MS, 50 * MIB, 45 * MS);
	beside_stream("L2. the same, 8 MiB/s", 20 * MS, 8 * MIB, 170 * MS);
	starving();
	return sim_end();
}
