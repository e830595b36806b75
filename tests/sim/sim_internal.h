/*
 * sim_internal.h - the parts of a simulated world; shared by sim.c (network) and sim_reader.c
 */
#ifndef SIM_SIM_INTERNAL_H
#define SIM_SIM_INTERNAL_H

#include <bsd/sys/queue.h>

#include "sim.h"

enum flow_state { FLOW_CONNECT, FLOW_WAIT, FLOW_BODY, FLOW_ENDED };

struct conn {
	TAILQ_ENTRY(conn) entry;
	double cwnd;
};
TAILQ_HEAD(conn_list, conn);

struct sim_server {
	TAILQ_ENTRY(sim_server) entry;
	struct sim_server_config cfg;
	struct sched_origin *origin;
	struct conn_list idle;
	unsigned int open; /* connections */
};

struct flow {
	TAILQ_ENTRY(flow) entry;
	struct lease *lease;
	struct sim_file *file;
	struct sim_server *server;
	struct conn *conn;
	enum flow_state state;
	uint64_t at_us; /* next state */
	uint64_t asked_end;
	double pos, left; /* left: may still come although held or closed */
	double rate;
	uint64_t reported_us;
	uint64_t breaks_at, stalls_at;
	enum verdict verdict;
	uint64_t retry_after_us;
	bool held, cancelled, marked, whole, told;
	uint64_t kept; /* blocks before this are in the cache */
};
TAILQ_HEAD(flow_list, flow);

struct sim_file {
	TAILQ_ENTRY(sim_file) entry;
	struct sched_task *task;
	uint64_t size;
	struct sim_server *server[8];
	struct rangeset have;
	bool failed, probed;
	enum verdict why;
	uint64_t done_us;
};

struct fill {
	struct sim_file *file; /* NULL: a reader's window */
	struct sim_reader *reader;
	struct sched_want *want;
	struct range range;
	enum prio prio;
	TAILQ_ENTRY(fill) entry;
};
TAILQ_HEAD(fill_list, fill);

struct sim_reader {
	TAILQ_ENTRY(sim_reader) entry;
	struct sim_file *file;
	struct range within, now;
	uint64_t len, window_max, start_us, done_us;
	unsigned int count, done, failed;
	bool sequential, ahead;
	struct sched_want *want;
	struct fill *fill;
	struct readahead ra;
	uint64_t *latency;
};

struct sim {
	struct sched *sched;
	uint64_t now_us, tick_us, random;
	TAILQ_HEAD(, sim_server) servers;
	TAILQ_HEAD(, sim_file) files;
	TAILQ_HEAD(, sim_reader) readers;
	struct flow_list flows, ended;
	struct fill_list fills, gone;
	struct sim_stats stats;
	bool changed, reading;
};

uint64_t sim_random(struct sim *m);
/* Somebody wants want of f, or of r's file: a fill, a window or what r waits for. */
struct fill *fill_new(struct sim *m, struct sim_file *f, struct sim_reader *r, struct range want,
		      enum prio p);
/* It is over; freed after the tick. */
void fill_done(struct sim *m, struct fill *fi);
/* Reads until it must wait. */
void reader_step(struct sim *m, struct sim_reader *r);

#endif
