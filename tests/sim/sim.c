/*
 * sim.c - a network, servers and readers in simulated time
 */
#include "sim_internal.h"

#define CWND_FIRST (14 * KIB)
#define CWND_MAX   (6 * MIB)
#define REPORT_US  10000
#define WRITTEN_US 2000
#define KEEPALIVE  (64 * KIB) /* a rest up to this is read rather than the connection closed */

uint64_t sim_random(struct sim *m)
{
	m->random ^= m->random >> 12;
	m->random ^= m->random << 25;
	m->random ^= m->random >> 27;
	return m->random * UINT64_C(0x2545F4914F6CDD1D);
}

/* ---- what the scheduler asks for ---- */

static int op_next_gap(void *ctx, void *task_user, struct range within, struct range *ret)
{
	struct sim_file *f = task_user;

	(void)ctx;
	return rangeset_next_gap(&f->have, within, ret);
}

static bool chance(struct sim *m, unsigned int percent)
{
	return percent && sim_random(m) % 100 < percent;
}

static void op_start(void *ctx, struct lease *l)
{
	struct sim *m = ctx;
	struct flow *fl = calloc(1, sizeof(*fl));
	struct sim_file *f = l->task_user;
	struct sim_server *sv = f->server[l->source];

	fl->lease = l;
	l->user = fl;
	fl->file = f;
	fl->server = sv;
	fl->asked_end = min_u64(atomic_load(&l->end), f->size);
	fl->pos = (double)l->off;
	fl->kept = l->off;
	fl->breaks_at = fl->stalls_at = UINT64_MAX;
	fl->conn = TAILQ_FIRST(&sv->idle);
	m->stats.requests++;
	if (fl->conn) {
		TAILQ_REMOVE(&sv->idle, fl->conn, entry);
		fl->state = FLOW_WAIT;
		fl->at_us = m->now_us + sv->cfg.rtt_us + sv->cfg.think_us;
	} else {
		fl->conn = calloc(1, sizeof(*fl->conn));
		fl->conn->cwnd = CWND_FIRST;
		sv->open++;
		m->stats.connections++;
		m->stats.most_connections = max_u64(m->stats.most_connections, sv->open);
		fl->state = FLOW_CONNECT;
		fl->at_us = m->now_us + sv->cfg.rtt_us;
	}
	if (chance(m, sv->cfg.late_percent))
		fl->at_us += sv->cfg.late_us;
	TAILQ_INSERT_TAIL(&m->flows, fl, entry);
}

static void op_shrunk(void *ctx, struct lease *l)
{
	(void)ctx;
	(void)l;
}

static void op_cancel(void *ctx, struct lease *l, bool at_once)
{
	struct flow *fl = l->user;

	(void)ctx;
	(void)at_once;
	fl->cancelled = true;
}

static void op_hold(void *ctx, struct lease *l, bool hold)
{
	struct flow *fl = l->user;

	(void)ctx;
	fl->held = hold;
	/* What is on its way arrives all the same. */
	fl->left = hold ? fl->rate * (double)fl->server->cfg.rtt_us / 1e6 + 64 * KIB : 0;
}

void fill_done(struct sim *m, struct fill *fi)
{
	TAILQ_REMOVE(&m->fills, fi, entry);
	TAILQ_INSERT_TAIL(&m->gone, fi, entry);
}

static void op_satisfied(void *ctx, void *want_user)
{
	fill_done(ctx, want_user);
}

static void op_failed(void *ctx, void *want_user, enum verdict why)
{
	struct sim *m = ctx;
	struct fill *fi = want_user;

	fi->want = NULL;
	if (fi->reader && fi->prio == PRIO_DEMAND) {
		fi->reader->failed++;
		m->reading = true;
		fi->reader->file->why = why;
		return;
	}
	if (fi->file) {
		fi->file->failed = true;
		fi->file->why = why;
	}
	fill_done(m, fi);
}

static void op_probe_failed(void *ctx, void *task_user, enum verdict why)
{
	struct sim_file *f = task_user;

	(void)ctx;
	f->failed = true;
	f->why = why;
}

/* ---- the parts ---- */

struct sim *sim_new(const struct sched_config *cfg)
{
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
	struct sim *m = calloc(1, sizeof(*m));

	m->random = cfg->seed ? cfg->seed : 1;
	m->now_us = 1000000;
	TAILQ_INIT(&m->servers);
	TAILQ_INIT(&m->files);
	TAILQ_INIT(&m->readers);
	TAILQ_INIT(&m->flows);
	TAILQ_INIT(&m->ended);
	TAILQ_INIT(&m->fills);
	TAILQ_INIT(&m->gone);
	m->sched = sched_new(cfg, &ops, m);
	return m;
}

struct sched *sim_sched(struct sim *m)
{
	return m->sched;
}

uint64_t sim_now(const struct sim *m)
{
	return m->now_us;
}

struct sim_server *sim_server(struct sim *m, const struct sim_server_config *cfg)
{
	struct sim_server *sv = calloc(1, sizeof(*sv));

	sv->cfg = *cfg;
	if (!sv->cfg.link_bps)
		sv->cfg.link_bps = 10 * 1024 * MIB;
	if (!sv->cfg.rtt_us)
		sv->cfg.rtt_us = 100;
	TAILQ_INIT(&sv->idle);
	sv->origin = sched_origin_get(m->sched, cfg->key ? cfg->key : "http://one:80");
	TAILQ_INSERT_TAIL(&m->servers, sv, entry);
	return sv;
}

struct sim_file *sim_file(struct sim *m, uint64_t size, bool size_known,
			  struct sim_server *const *servers, unsigned int n)
{
	struct sim_file *f = calloc(1, sizeof(*f));
	struct sched_origin *origins[8];

	f->size = size;
	rangeset_init(&f->have);
	for (unsigned int i = 0; i < n; i++) {
		f->server[i] = servers[i];
		origins[i] = servers[i]->origin;
	}
	sched_task_new(m->sched, size_known ? size : SIZE_UNKNOWN, origins, n, f, &f->task);
	TAILQ_INSERT_TAIL(&m->files, f, entry);
	return f;
}

struct fill *fill_new(struct sim *m, struct sim_file *f, struct sim_reader *r, struct range want,
		      enum prio p)
{
	struct fill *fi = calloc(1, sizeof(*fi));
	struct sim_file *of = f || !r ? f : r->file;
	enum verdict why;

	assert(of);
	fi->file = f;
	fi->reader = r;
	fi->range = want;
	fi->prio = p;
	TAILQ_INSERT_TAIL(&m->fills, fi, entry);
	if (sched_want_add(m->sched, of->task, want, p, fi, m->now_us, &fi->want, &why) < 0) {
		fi->want = NULL;
		op_failed(m, fi, why);
	}
	return fi;
}

void sim_want(struct sim *m, struct sim_file *f, struct range r, enum prio p)
{
	fill_new(m, f, NULL, r, p);
	m->changed = true;
}

void sim_probe(struct sim *m, struct sim_file *f, enum prio p)
{
	sched_task_probe(m->sched, f->task, p, m->now_us);
	m->changed = true;
}

bool sim_file_has(const struct sim_file *f, struct range r)
{
	return rangeset_contains(&f->have, r);
}

bool sim_file_probed(const struct sim_file *f)
{
	return f->probed;
}

bool sim_file_failed(const struct sim_file *f)
{
	return f->failed;
}

enum verdict sim_file_why(const struct sim_file *f)
{
	return f->why;
}

uint64_t sim_file_done_us(const struct sim_file *f)
{
	return f->done_us;
}

struct sched_task *sim_file_task(struct sim_file *f)
{
	return f->task;
}

/* ---- transfers ---- */

static void keep(struct sim *m, struct flow *fl, uint64_t to)
{
	struct sim_file *f = fl->file;
	struct range r, gap;

	if (fl->lease->probe)
		return;
	to = min_u64(to, atomic_load(&fl->lease->end));
	to = to >= f->size ? f->size : block_floor(to);
	if (to <= fl->kept)
		return;
	r = range_make(fl->kept, to);
	for (struct range in = r; rangeset_next_gap(&f->have, in, &gap) == 0; in.off = gap.end)
		m->stats.twice -= range_len(gap);
	m->stats.twice += range_len(r);
	rangeset_add(&f->have, r);
	fl->kept = to;
	if (f->have.bytes == f->size && !f->done_us)
		f->done_us = m->now_us;
}

static void flow_end(struct sim *m, struct flow *fl, enum verdict v, bool reuse)
{
	struct sim_server *sv = fl->server;

	if (reuse) {
		TAILQ_INSERT_HEAD(&sv->idle, fl->conn, entry);
	} else {
		sv->open--;
		free(fl->conn);
	}
	fl->conn = NULL;
	fl->state = FLOW_ENDED;
	TAILQ_REMOVE(&m->flows, fl, entry);
	TAILQ_INSERT_TAIL(&m->ended, fl, entry);
	keep(m, fl, (uint64_t)fl->pos);
	fl->at_us = m->now_us + WRITTEN_US;
	sched_lease_ended(m->sched, fl->lease, v, (uint64_t)fl->pos, fl->retry_after_us, m->now_us);
	m->changed = true;
}

/* The header has come. */
static void flow_answer(struct sim *m, struct flow *fl)
{
	struct sim_server *sv = fl->server;
	struct lease *l = fl->lease;
	struct sim_file *f = fl->file;
	uint64_t len = fl->asked_end > l->off ? fl->asked_end - l->off : 1;

	if (sv->cfg.gone) {
		flow_end(m, fl, VERDICT_GONE, true);
		return;
	}
	if ((m->now_us >= sv->cfg.busy_from_us && m->now_us < sv->cfg.busy_to_us) ||
	    (sv->cfg.max_connections && sv->open > sv->cfg.max_connections)) {
		fl->retry_after_us = sv->cfg.retry_after_us;
		m->stats.busy++;
		flow_end(m, fl, VERDICT_BUSY, false);
		return;
	}
	fl->state = FLOW_BODY;
	fl->reported_us = m->now_us;
	if (chance(m, sv->cfg.reset_percent))
		fl->breaks_at = l->off + sim_random(m) % len;
	else if (chance(m, sv->cfg.stall_percent))
		fl->stalls_at = l->off + sim_random(m) % len;
	if (sv->cfg.no_ranges) {
		fl->whole = true;
		if (!sched_lease_whole(m->sched, l, m->now_us)) {
			sched_task_set_size(m->sched, f->task, f->size, m->now_us);
			f->probed = f->probed || l->probe;
			flow_end(m, fl, l->probe ? VERDICT_WHOLE : VERDICT_CANCELLED, false);
			return;
		}
		fl->pos = 0;
		fl->kept = 0;
		fl->asked_end = f->size;
	}
	sched_lease_answered(m->sched, l, m->now_us);
	sched_task_set_size(m->sched, f->task, f->size, m->now_us);
	m->changed = true;
	if (l->probe) {
		f->probed = true;
		flow_end(m, fl, VERDICT_PART, true);
	}
}

static void flow_step(struct sim *m, struct flow *fl)
{
	struct sim_server *sv = fl->server;

	if (sv->cfg.dies_at_us && m->now_us >= sv->cfg.dies_at_us && fl->state != FLOW_CONNECT) {
		flow_end(m, fl, VERDICT_RESET, false);
		return;
	}
	if (fl->cancelled) {
		flow_end(m, fl, VERDICT_CANCELLED, false);
		return;
	}
	if (fl->state == FLOW_CONNECT && m->now_us >= fl->at_us) {
		if (sv->cfg.dead || (sv->cfg.dies_at_us && m->now_us >= sv->cfg.dies_at_us)) {
			flow_end(m, fl, VERDICT_CONNECT, false);
			return;
		}
		fl->state = FLOW_WAIT;
		fl->at_us += sv->cfg.rtt_us + sv->cfg.think_us;
		fl->told = true;
		sched_lease_connected(m->sched, fl->lease, sv->cfg.rtt_us, m->now_us);
	}
	if (!fl->told && fl->state == FLOW_WAIT) {
		fl->told = true;
		sched_lease_connected(m->sched, fl->lease, 0, m->now_us);
	}
	if (fl->state == FLOW_WAIT && m->now_us >= fl->at_us)
		flow_answer(m, fl);
}

static double flow_cap(const struct flow *fl)
{
	const struct sim_server_config *c = &fl->server->cfg;
	double cap = fl->conn->cwnd * 1e6 / (double)c->rtt_us;
	double limit = (double)min_u64(fl->stalls_at, fl->asked_end);

	if (fl->state != FLOW_BODY || fl->pos >= limit || (fl->held && fl->left <= 0))
		return 0;
	if (c->response_bps && cap > (double)c->response_bps)
		cap = (double)c->response_bps;
	return cap;
}

/* Max-min fair shares of a server's link. */
static void share_link(struct sim *m, struct sim_server *sv)
{
	double left = (double)sv->cfg.link_bps;
	unsigned int n = 0;
	struct flow *fl;
	bool again = true;

	TAILQ_FOREACH (fl, &m->flows, entry) {
		if (fl->server != sv)
			continue;
		fl->rate = flow_cap(fl);
		fl->marked = fl->rate <= 0;
		n += !fl->marked;
	}
	while (n > 0 && again) {
		double share = left / n;

		again = false;
		TAILQ_FOREACH (fl, &m->flows, entry) {
			if (fl->server != sv || fl->marked || fl->rate > share)
				continue;
			fl->marked = again = true;
			left -= fl->rate;
			n--;
		}
	}
	TAILQ_FOREACH (fl, &m->flows, entry) {
		if (fl->server == sv && !fl->marked)
			fl->rate = left / n;
	}
}

static void flow_bytes(struct sim *m, struct flow *fl)
{
	double bytes = fl->rate * SIM_STEP_US / 1e6;
	uint64_t end = atomic_load(&fl->lease->end);
	double cap = fl->conn->cwnd * 1e6 / (double)fl->server->cfg.rtt_us;
	bool cut;

	if (fl->state != FLOW_BODY)
		return;
	if (bytes > (double)fl->asked_end - fl->pos)
		bytes = (double)fl->asked_end - fl->pos;
	if (fl->pos < (double)fl->stalls_at && fl->pos + bytes > (double)fl->stalls_at)
		bytes = (double)fl->stalls_at - fl->pos;
	fl->pos += bytes;
	fl->left -= bytes;
	m->stats.sent += (uint64_t)bytes;
	if (fl->rate >= cap * 0.99 && fl->conn->cwnd < CWND_MAX)
		fl->conn->cwnd += bytes;
	if (fl->pos >= (double)fl->breaks_at) {
		flow_end(m, fl, VERDICT_RESET, false);
		return;
	}
	cut = fl->pos >= (double)end && fl->asked_end - end > KEEPALIVE && end < fl->asked_end;
	if (cut || fl->pos >= (double)fl->asked_end - 0.5) {
		fl->pos = cut ? fl->pos : (double)fl->asked_end;
		flow_end(m, fl, fl->whole ? VERDICT_WHOLE : VERDICT_PART, !cut);
		return;
	}
	if (m->now_us - fl->reported_us >= REPORT_US && bytes > 0) {
		fl->reported_us = m->now_us;
		keep(m, fl, (uint64_t)fl->pos);
		sched_lease_progress(m->sched, fl->lease, (uint64_t)fl->pos, m->now_us);
		m->changed = true;
	}
}

/* ---- time ---- */

static void written_step(struct sim *m)
{
	struct flow *fl, *next;

	TAILQ_FOREACH_SAFE (fl, &m->ended, entry, next) {
		if (m->now_us < fl->at_us)
			break;
		TAILQ_REMOVE(&m->ended, fl, entry);
		sched_lease_written(m->sched, fl->lease, m->now_us);
		free(fl);
		m->changed = true;
	}
}

static void sim_step(struct sim *m)
{
	struct sim_server *sv;
	struct sim_reader *r;
	struct flow *fl, *next;
	struct fill *fi;

	m->reading = false;
	TAILQ_FOREACH (r, &m->readers, entry)
		reader_step(m, r);
	if (m->changed || m->now_us >= m->tick_us) {
		m->changed = false;
		m->stats.ticks++;
		m->tick_us = sched_tick(m->sched, m->now_us);
		sched_check(m->sched);
	}
	while ((fi = TAILQ_FIRST(&m->gone))) {
		TAILQ_REMOVE(&m->gone, fi, entry);
		free(fi);
	}
	TAILQ_FOREACH (sv, &m->servers, entry)
		share_link(m, sv);
	TAILQ_FOREACH_SAFE (fl, &m->flows, entry, next)
		flow_bytes(m, fl);
	m->now_us += SIM_STEP_US;
	TAILQ_FOREACH_SAFE (fl, &m->flows, entry, next)
		flow_step(m, fl);
	written_step(m);
	/* Nothing moves: straight to the next timer. */
	if (TAILQ_EMPTY(&m->flows) && TAILQ_EMPTY(&m->ended) && !m->changed && !m->reading &&
	    m->tick_us != UINT64_MAX && m->tick_us > m->now_us)
		m->now_us = m->tick_us;
}

bool sim_run(struct sim *m, uint64_t until_us, bool (*pred)(void *arg), void *arg)
{
	while (m->now_us < until_us) {
		if (pred(arg))
			return true;
		sim_step(m);
		if (TAILQ_EMPTY(&m->flows) && TAILQ_EMPTY(&m->ended) && !m->changed &&
		    !m->reading && m->tick_us == UINT64_MAX)
			return pred(arg);
	}
	return pred(arg);
}

void sim_stats(const struct sim *m, struct sim_stats *ret)
{
	*ret = m->stats;
}

unsigned int sim_server_connections(const struct sim_server *sv)
{
	return sv->open;
}

void sim_free(struct sim *m)
{
	struct sim_server *sv;
	struct sim_reader *r;
	struct sim_file *f;
	struct fill *fi;
	struct conn *c;

	TAILQ_FOREACH (f, &m->files, entry)
		sched_task_close(m->sched, f->task, m->now_us);
	while (!TAILQ_EMPTY(&m->flows) || !TAILQ_EMPTY(&m->ended)) {
		struct flow *fl, *next;

		m->now_us += WRITTEN_US;
		TAILQ_FOREACH_SAFE (fl, &m->flows, entry, next)
			flow_step(m, fl);
		written_step(m);
	}
	while ((f = TAILQ_FIRST(&m->files))) {
		TAILQ_REMOVE(&m->files, f, entry);
		rangeset_done(&f->have);
		free(f);
	}
	sched_free(m->sched);
	TAILQ_CONCAT(&m->gone, &m->fills, entry);
	while ((fi = TAILQ_FIRST(&m->gone))) {
		TAILQ_REMOVE(&m->gone, fi, entry);
		free(fi);
	}
	while ((r = TAILQ_FIRST(&m->readers))) {
		TAILQ_REMOVE(&m->readers, r, entry);
		free(r->latency);
		free(r);
	}
	while ((sv = TAILQ_FIRST(&m->servers))) {
		TAILQ_REMOVE(&m->servers, sv, entry);
		while ((c = TAILQ_FIRST(&sv->idle))) {
			TAILQ_REMOVE(&sv->idle, c, entry);
			free(c);
		}
		free(sv);
	}
	free(m);
}
