/*
 * sim_matrix.c - the scheduler against the best possible schedule
 *
 * Best: the bytes over what the link, or all the responses that may run, can carry, after one
 * connection and one first byte. Slow start is the path's and counts against us. Run with -v for
 * every row.
 */
#include "sim.h"

static struct sched_config config(unsigned int connections)
{
	return (struct sched_config){
		.connections = connections,
		.max_connections = 64,
		.max_per_origin = 16,
		.connect_timeout_us = 10000000,
		.stall_timeout_us = 20000000,
		.retry_time_us = 60000000,
		.seed = 42,
	};
}

struct files {
	struct sim_file *file[4096];
	unsigned int count;
};

static bool all_done(void *arg)
{
	const struct files *fs = arg;

	for (unsigned int i = fs->count; i-- > 0;) {
		if (!sim_file_done_us(fs->file[i]) && !sim_file_failed(fs->file[i]))
			return false;
	}
	return true;
}

struct download {
	const char *name;
	unsigned int connections;
	uint64_t size;
	unsigned int count;
	struct sim_server_config server;
	unsigned int best_connections; /* that the bound may use */
	double least;		       /* best over taken, at least */
	double waste;		       /* sent over needed, at most */
	bool size_unknown;
};

static double best_us(const struct download *d)
{
	const struct sim_server_config *c = &d->server;
	double rate = c->link_bps ? (double)c->link_bps : 10.0 * 1024 * (double)MIB;
	double responses = (double)c->response_bps * d->best_connections;
	double rounds =
		d->size < MIB ? (d->count + d->best_connections - 1) / d->best_connections : 1;

	if (c->response_bps && responses < rate)
		rate = responses;
	return (double)c->rtt_us + rounds * (double)(c->rtt_us + c->think_us) +
	       (double)d->size * d->count * 1e6 / rate;
}

static void download(const struct download *d)
{
	struct sched_config cfg = config(d->connections);
	struct files *fs = calloc(1, sizeof(*fs));
	struct sim *m;
	struct sim_server *sv;
	struct sim_stats st;
	uint64_t start, last = 0;
	double best = best_us(d), ratio, waste;
	bool done;

	if (d->connections > cfg.max_per_origin)
		cfg.max_per_origin = d->connections;
	m = sim_new(&cfg);
	sv = sim_server(m, &d->server);
	start = sim_now(m);
	fs->count = d->count;
	for (unsigned int i = 0; i < d->count; i++) {
		fs->file[i] = sim_file(m, d->size, !d->size_unknown, &sv, 1);
		sim_want(m, fs->file[i], range_make(0, d->size_unknown ? SIZE_UNKNOWN : d->size),
			 PRIO_FILL);
	}
	done = sim_run(m, start + (uint64_t)(best * 20) + 60000000, all_done, fs);
	for (unsigned int i = 0; i < d->count; i++)
		last = max_u64(last, sim_file_done_us(fs->file[i]));
	sim_stats(m, &st);
	ratio = best / (double)(last - start);
	waste = (double)st.sent / (double)(d->size * d->count);
	sim_row(done && ratio >= d->least && waste <= d->waste,
		"%-38s %7.3f s, best %7.3f, ratio %.3f (>= %.2f), sent %.4f, %3lu requests, %2lu connections",
		d->name, (double)(last - start) / 1e6, best / 1e6, ratio, d->least, waste,
		(unsigned long)st.requests, (unsigned long)st.connections);
	sim_free(m);
	free(fs);
}

#define MS UINT64_C(1000)
static const struct download downloads[] = {
	{"64 MiB, 4 MiB/s a response, 8", 8, 64 * MIB, 1, {.response_bps = 4 * MIB}, 8, 0.98, 1.01},
	{"64 MiB, 4 MiB/s a response, auto",
	 0,
	 64 * MIB,
	 1,
	 {.response_bps = 4 * MIB},
	 16,
	 0.86,
	 1.01},
	{"64 MiB, 4 MiB/s a response, 20 ms, auto",
	 0,
	 64 * MIB,
	 1,
	 {.rtt_us = 20 * MS, .response_bps = 4 * MIB},
	 16,
	 0.58,
	 1.01},
	{"256 MiB, 4 MiB/s, 20 ms, auto",
	 0,
	 256 * MIB,
	 1,
	 {.rtt_us = 20 * MS, .response_bps = 4 * MIB},
	 16,
	 0.83,
	 1.01},
	{"64 MiB, 8 MiB/s link, 30 ms think, auto",
	 0,
	 64 * MIB,
	 1,
	 {.think_us = 30 * MS, .link_bps = 8 * MIB},
	 1,
	 0.98,
	 1.01},
	{"64 MiB, 8 MiB/s link, 30 ms think, 8",
	 8,
	 64 * MIB,
	 1,
	 {.think_us = 30 * MS, .link_bps = 8 * MIB},
	 1,
	 0.97,
	 1.02},
	{"512 MiB, 50 MiB/s link, 20 ms think, auto",
	 0,
	 512 * MIB,
	 1,
	 {.think_us = 20 * MS, .link_bps = 50 * MIB},
	 1,
	 0.97,
	 1.01},
	{"300 MiB, 50 MiB/s link, 20 ms RTT, auto",
	 0,
	 300 * MIB,
	 1,
	 {.rtt_us = 20 * MS, .link_bps = 50 * MIB},
	 1,
	 0.96,
	 1.01},
	{"64 MiB, 8 MiB/s link, 100 ms RTT, auto",
	 0,
	 64 * MIB,
	 1,
	 {.rtt_us = 100 * MS, .link_bps = 8 * MIB},
	 1,
	 0.92,
	 1.01},
	{"64 MiB, 8 MiB/s link, 5 ms RTT, auto",
	 0,
	 64 * MIB,
	 1,
	 {.rtt_us = 5 * MS, .link_bps = 8 * MIB},
	 1,
	 0.97,
	 1.01},
	{"1 MiB, 200 ms think, auto", 0, MIB, 1, {.think_us = 200 * MS}, 1, 0.97, 1.0},
	{"32 MiB, 200 ms think, auto", 0, 32 * MIB, 1, {.think_us = 200 * MS}, 1, 0.90, 1.0},
	{"32 MiB, 200 ms think, auto, no size",
	 0,
	 32 * MIB,
	 1,
	 {.think_us = 200 * MS},
	 1,
	 0.90,
	 1.0,
	 true},
	{"512 MiB, uncapped, auto", 0, 512 * MIB, 1, {.link_bps = 1000 * MIB}, 1, 0.97, 1.0},
	{"6 x 256 KiB, 8 ms think", 0, 256 * KIB, 6, {.think_us = 8 * MS}, 6, 0.80, 1.0},
	{"1000 x 16 KiB, 20 ms think, 16", 0, 16 * KIB, 1000, {.think_us = 20 * MS}, 16, 0.85, 1.0},
	{"1000 x 16 KiB, 20 ms think, 50",
	 50,
	 16 * KIB,
	 1000,
	 {.think_us = 20 * MS},
	 50,
	 0.85,
	 1.0},
	{"64 MiB, no ranges, auto",
	 0,
	 64 * MIB,
	 1,
	 {.link_bps = 50 * MIB, .no_ranges = true},
	 1,
	 0.95,
	 1.01},
	{"64 MiB, no ranges, 8",
	 8,
	 64 * MIB,
	 1,
	 {.link_bps = 50 * MIB, .no_ranges = true},
	 1,
	 0.90,
	 1.10},
};

static const uint64_t rtts_ms[] = {1, 20, 100};
static const uint64_t links_mib[] = {8, 50, 150};
static const uint64_t caps_mib[] = {0, 4};

/* Least ratio for one file and for eight: what was reached, less two hundredths for changes
 * elsewhere. */
static const double leasts[][2] = {
	{0.98, 0.98}, /* cap 0, link 8, 1 ms */
	{0.97, 0.98}, /* cap 0, link 8, 20 ms */
	{0.93, 0.95}, /* cap 0, link 8, 100 ms */
	{0.98, 0.98}, /* cap 0, link 50, 1 ms */
	{0.96, 0.97}, /* cap 0, link 50, 20 ms */
	{0.90, 0.93}, /* cap 0, link 50, 100 ms */
	{0.97, 0.98}, /* cap 0, link 150, 1 ms */
	{0.96, 0.96}, /* cap 0, link 150, 20 ms */
	{0.72, 0.91}, /* cap 0, link 150, 100 ms */
	{0.97, 0.98}, /* cap 4, link 8, 1 ms */
	{0.94, 0.98}, /* cap 4, link 8, 20 ms */
	{0.83, 0.95}, /* cap 4, link 8, 100 ms */
	{0.96, 0.97}, /* cap 4, link 50, 1 ms */
	{0.89, 0.94}, /* cap 4, link 50, 20 ms */
	{0.61, 0.85}, /* cap 4, link 50, 100 ms */
	{0.95, 0.97}, /* cap 4, link 150, 1 ms */
	{0.87, 0.93}, /* cap 4, link 150, 20 ms */
	{0.62, 0.82}, /* cap 4, link 150, 100 ms */
};

/* Every corner: sizes of six seconds at what sixteen responses or the link may bring. */
static void matrix(void)
{
	for (unsigned int i = 0;
	     i < ARRAY_SIZE(rtts_ms) * ARRAY_SIZE(links_mib) * ARRAY_SIZE(caps_mib); i++) {
		uint64_t rtt = rtts_ms[i % 3], link = links_mib[i / 3 % 3], cap = caps_mib[i / 9];
		uint64_t best = cap ? min_u64(16 * cap, link) : link;
		char name[64];
		struct download d = {
			.name = name,
			.size = best * 6 * MIB,
			.count = 1,
			.server = {.rtt_us = rtt * MS,
				   .link_bps = link * MIB,
				   .response_bps = cap * MIB},
			.best_connections = 16,
			.least = leasts[i][0],
			.waste = 1.02,
		};

		snprintf(name, sizeof(name), "%lu ms, link %lu, cap %lu MiB/s", (unsigned long)rtt,
			 (unsigned long)link, (unsigned long)cap);
		download(&d);
		d.count = 8;
		d.size = d.size / 8;
		d.least = leasts[i][1];
		snprintf(name, sizeof(name), "%lu ms, link %lu, cap %lu MiB/s, 8 files",
			 (unsigned long)rtt, (unsigned long)link, (unsigned long)cap);
		download(&d);
	}
}

int main(void)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(downloads); i++)
		download(&downloads[i]);
	matrix();
	return sim_end();
}
