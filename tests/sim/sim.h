/*
 * sim.h - a network, servers and readers in simulated time, driven by the real scheduler
 *
 * A fluid model in steps of SIM_STEP_US: each server has one link that its responses share fairly,
 * each response is capped by the server and by its connection's congestion window, which starts at
 * 14 KiB and doubles each round trip while it is the limit. There is no loss and no queue. What it
 * cannot say is in the table of NETWORK figures of a real link, not here.
 */
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include "core/rangeset.h"
#include "core/readahead.h"
#include "core/sched.h"

#define SIM_STEP_US 250
#define MIB	    (UINT64_C(1) << 20)
#define KIB	    (UINT64_C(1) << 10)

struct sim_server_config {
	const char *key;
	uint64_t rtt_us;
	uint64_t think_us;	      /* before the first byte, beside the round trip */
	uint64_t link_bps;	      /* shared by all its responses, 0: 10 GiB/s */
	uint64_t response_bps;	      /* cap of each, 0 none */
	unsigned int max_connections; /* more are answered with 503; 0 none */
	bool no_ranges;
	bool gone;					   /* 404 */
	bool dead;					   /* no connection */
	uint64_t busy_from_us, busy_to_us, retry_after_us; /* 503 in that time */
	unsigned int reset_percent;			   /* of the responses break somewhere */
	unsigned int stall_percent;			   /* … or stop somewhere */
	unsigned int late_percent;			   /* … or begin late_us later */
	uint64_t late_us;
	uint64_t dies_at_us; /* 0 never: every connection breaks, no new ones */
};

struct sim;
struct sim_server;
struct sim_file;
struct sim_reader;

struct sim *sim_new(const struct sched_config *cfg);
void sim_free(struct sim *m);
struct sched *sim_sched(struct sim *m);
uint64_t sim_now(const struct sim *m);
struct sim_server *sim_server(struct sim *m, const struct sim_server_config *cfg);
struct sim_file *sim_file(struct sim *m, uint64_t size, bool size_known,
			  struct sim_server *const *servers, unsigned int n);
/* Want all of f (or a part of it) at this priority. */
void sim_want(struct sim *m, struct sim_file *f, struct range r, enum prio p);
void sim_probe(struct sim *m, struct sim_file *f, enum prio p);
bool sim_file_has(const struct sim_file *f, struct range r);
bool sim_file_probed(const struct sim_file *f);
bool sim_file_failed(const struct sim_file *f);
enum verdict sim_file_why(const struct sim_file *f);
uint64_t sim_file_done_us(const struct sim_file *f); /* when its last byte came */
struct sched_task *sim_file_task(struct sim_file *f);

/*
 * A reader: count reads of len bytes, one after another, of consecutive or random places of within.
 * ahead: read-ahead as the engine does it.
 */
struct sim_reader *sim_reader(struct sim *m, struct sim_file *f, struct range within, uint64_t len,
			      unsigned int count, bool sequential, bool ahead, uint64_t window_max);
bool sim_reader_done(const struct sim_reader *r);
unsigned int sim_reader_failed(const struct sim_reader *r);
uint64_t sim_reader_done_us(const struct sim_reader *r);
/* p-th percentile of its latencies. */
uint64_t sim_reader_latency_us(const struct sim_reader *r, unsigned int percent);

/* Until pred(arg) or the time; true: pred. */
bool sim_run(struct sim *m, uint64_t until_us, bool (*pred)(void *arg), void *arg);

struct sim_stats {
	uint64_t sent, twice, connections, requests, busy, most_connections;
	uint64_t ticks;
};
void sim_stats(const struct sim *m, struct sim_stats *ret);
unsigned int sim_server_connections(const struct sim_server *sv);

/* A line of TAP. */
void sim_row(bool ok, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* The plan; what main() returns. */
int sim_end(void);

#endif
