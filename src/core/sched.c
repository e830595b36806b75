/*
 * sched.c - tasks, wants and the tick of the scheduler
 * Callers: the engine thread, tests/sim. One thread at a time; no locks.
 *
 * Events only note what they change: a task that something happened to is kicked, an origin
 * touched. The tick that follows finds their places anew, so that its price is that of what
 * happened and not of how many tasks there are. See sched_internal.h for the other files.
 */
#include "core/sched_internal.h"

static const char *const prio_names[] = {
	[PRIO_DEMAND] = "demand",
	[PRIO_WINDOW] = "window",
	[PRIO_FILL] = "fill",
	[PRIO_BACKFILL] = "backfill",
};
_Static_assert(ARRAY_SIZE(prio_names) == PRIO_COUNT, "name every prio");

const char *prio_name(enum prio p)
{
	return prio_names[p];
}

/* ---- timers and meters ---- */

int timer_compare(const struct timer *a, const struct timer *b)
{
	if (a->at_us != b->at_us)
		return a->at_us < b->at_us ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}
RB_GENERATE(timer_tree, timer, entry, timer_compare)

void timer_init(struct timer *t, void (*fire)(struct sched *, struct timer *, uint64_t))
{
	*t = (struct timer){.at_us = NEVER, .fire = fire};
}

void timer_set(struct sched *s, struct timer *t, uint64_t at_us)
{
	if (t->at_us != NEVER)
		RB_REMOVE(timer_tree, &s->timers, t);
	t->at_us = at_us;
	if (at_us == NEVER)
		return;
	t->order = s->timer_order++;
	RB_INSERT(timer_tree, &s->timers, t);
}

void meter_restart(struct meter *m, uint64_t now_us)
{
	m->since_us = now_us;
	m->bytes = 0;
}

void meter_add(struct meter *m, uint64_t bytes, uint64_t window_us, uint64_t now_us)
{
	uint64_t span = now_us - m->since_us;

	m->bytes += bytes;
	if (span < window_us || span == 0)
		return;
	uint64_t rate = (uint64_t)((double)m->bytes * 1e6 / (double)span);

	m->rate_bps = m->rate_bps ? m->rate_bps / 2 + rate / 2 : rate;
	meter_restart(m, now_us);
}

uint64_t meter_rate(const struct meter *m, uint64_t window_us, uint64_t now_us)
{
	uint64_t span = now_us - m->since_us;
	uint64_t rate = span ? (uint64_t)((double)m->bytes * 1e6 / (double)span) : 0;

	if (m->rate_bps == 0)
		return rate;
	return span > 2 * window_us && rate < m->rate_bps ? rate : m->rate_bps;
}

/* ---- the scheduler ---- */

struct sched *sched_new(const struct sched_config *cfg, const struct sched_ops *ops, void *ctx)
{
	struct sched *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->cfg = *cfg;
	if (s->cfg.max_connections == 0)
		s->cfg.max_connections = 1;
	if (s->cfg.max_per_origin == 0)
		s->cfg.max_per_origin = 1;
	s->ops = *ops;
	s->ctx = ctx;
	s->random = cfg->seed ? cfg->seed : 1;
	RB_INIT(&s->timers);
	RB_INIT(&s->by_key);
	TAILQ_INIT(&s->origins);
	TAILQ_INIT(&s->dirty);
	TAILQ_INIT(&s->crowded);
	TAILQ_INIT(&s->tasks);
	TAILQ_INIT(&s->kicked);
	TAILQ_INIT(&s->spilling);
	TAILQ_INIT(&s->running);
	for (int p = 0; p < PRIO_COUNT; p++)
		TAILQ_INIT(&s->ready[p]);
	return s;
}

void sched_free(struct sched *s)
{
	struct sched_origin *o;

	if (!s)
		return;
	assert(TAILQ_EMPTY(&s->tasks));
	while ((o = TAILQ_FIRST(&s->origins))) {
		TAILQ_REMOVE(&s->origins, o, all_entry);
		origin_free(o);
	}
	free(s);
}

struct sched_origin *sched_origin_get(struct sched *s, const char *key)
{
	struct sched_origin *o = origin_new(s, key);
	struct sched_origin *old;

	if (!o)
		return NULL;
	old = RB_INSERT(origin_tree, &s->by_key, o);
	if (old) {
		origin_free(o);
		return old;
	}
	TAILQ_INSERT_TAIL(&s->origins, o, all_entry);
	return o;
}

static bool task_uses(const struct sched_task *t, const struct sched_origin *o)
{
	const struct lease_priv *l;

	for (unsigned int i = 0; i < t->source_count; i++) {
		if (t->source[i].origin == o)
			return true;
	}
	/* Those that are being written are in no list of o any more. */
	TAILQ_FOREACH (l, &t->leases, task_entry) {
		if (l->origin == o || l->via == o)
			return true;
	}
	return t->queued_at == o || t->probe_at == o;
}

bool sched_origin_drop(struct sched *s, struct sched_origin *o, uint64_t now_us)
{
	const struct sched_task *t;

	if (o->running || !TAILQ_EMPTY(&o->leases) || o->ready || o->dirty || o->crowded ||
	    now_us < o->banned_until_us)
		return false;
	TAILQ_FOREACH (t, &s->tasks, all_entry) {
		if (task_uses(t, o))
			return false;
	}
	timer_set(s, &o->ban_timer, NEVER);
	timer_set(s, &o->hold_timer, NEVER);
	RB_REMOVE(origin_tree, &s->by_key, o);
	TAILQ_REMOVE(&s->origins, o, all_entry);
	origin_free(o);
	return true;
}

/* ---- tasks ---- */

static void task_timer(struct sched *s, struct timer *timer, uint64_t now_us)
{
	struct sched_task *t = container_of(timer, struct sched_task, timer);

	(void)s;
	if (t->probe_wanted && t->probe_prio == PRIO_DEMAND && s->cfg.retry_time_us &&
	    now_us >= t->probe_asked_us + s->cfg.retry_time_us) {
		t->probe_wanted = false;
		probe_dequeue(t);
		s->ops.probe_failed(s->ctx, t->user, t->last ? t->last : VERDICT_STALL);
	}
	task_kick(t);
}

void task_arm(struct sched_task *t, uint64_t at_us)
{
	if (at_us < t->timer.at_us)
		timer_set(t->sched, &t->timer, at_us);
}

int sched_task_new(struct sched *s, uint64_t size, struct sched_origin *const *sources,
		   unsigned int source_count, void *task_user, struct sched_task **ret)
{
	struct sched_task *t = calloc(1, sizeof(*t) + source_count * sizeof(t->source[0]));

	if (!t)
		return -ENOMEM;
	t->sched = s;
	t->user = task_user;
	t->size = size;
	t->source_count = source_count;
	for (unsigned int i = 0; i < source_count; i++)
		t->source[i].origin = sources[i];
	for (int p = 0; p < PRIO_COUNT; p++) {
		TAILQ_INIT(&t->pending[p]);
		TAILQ_INIT(&t->covered[p]);
	}
	TAILQ_INIT(&t->leases);
	timer_init(&t->timer, task_timer);
	connect_init(t);
	TAILQ_INSERT_TAIL(&s->tasks, t, all_entry);
	*ret = t;
	return 0;
}

void task_kick(struct sched_task *t)
{
	t->tried = 0;
	if (t->kicked || t->closed)
		return;
	t->kicked = true;
	TAILQ_INSERT_TAIL(&t->sched->kicked, t, kicked_entry);
}

static void task_unkick(struct sched_task *t)
{
	if (!t->kicked)
		return;
	t->kicked = false;
	TAILQ_REMOVE(&t->sched->kicked, t, kicked_entry);
}

void task_free_if_done(struct sched_task *t)
{
	if (!t->closed || t->lease_count > 0)
		return;
	/* The endings of its last leases may have set them once more. */
	timer_set(t->sched, &t->timer, NEVER);
	timer_set(t->sched, &t->connect.timer, NEVER);
	TAILQ_REMOVE(&t->sched->tasks, t, all_entry);
	free(t);
}

static struct sched_want *task_first_want(struct sched_task *t)
{
	struct sched_want *w = NULL;

	for (int p = 0; p < PRIO_COUNT && !w; p++) {
		w = TAILQ_FIRST(&t->pending[p]);
		if (!w)
			w = TAILQ_FIRST(&t->covered[p]);
	}
	return w; /* NOLINT(clang-analyzer-unix.Malloc): want_drop() takes it out of its list */
}

void sched_task_close(struct sched *s, struct sched_task *t, uint64_t now_us)
{
	struct lease_priv *l, *next;
	struct sched_want *w;

	(void)now_us;
	while ((w = task_first_want(t)))
		want_drop(w);
	t->closed = true;
	t->probe_wanted = false;
	task_dequeue(t);
	probe_dequeue(t);
	task_unkick(t);
	task_unspill(t);
	timer_set(s, &t->timer, NEVER);
	timer_set(s, &t->connect.timer, NEVER);
	TAILQ_FOREACH_SAFE (l, &s->running, sched_entry, next) {
		if (l->pub.task == t)
			lease_cancel(l);
	}
	task_free_if_done(t);
}

void sched_task_set_size(struct sched *s, struct sched_task *t, uint64_t size, uint64_t now_us)
{
	struct lease_priv *l;
	struct sched_want *w;

	(void)s;
	(void)now_us;
	if (t->size == size || t->closed)
		return;
	t->size = size;
	TAILQ_FOREACH (l, &t->leases, task_entry) {
		if (lease_end(l) > size)
			atomic_store(&l->pub.end, max_u64(size, l->pub.off));
		l->asked_end = min_u64(l->asked_end, size);
	}
	for (int p = 0; p < PRIO_COUNT; p++) {
		TAILQ_FOREACH (w, &t->pending[p], entry)
			w->range = range_intersect(w->range, range_make(0, size));
		TAILQ_FOREACH (w, &t->covered[p], entry)
			w->range = range_intersect(w->range, range_make(0, size));
	}
	task_recheck(t, range_make(0, UINT64_MAX));
}

int sched_task_probe(struct sched *s, struct sched_task *t, enum prio prio, uint64_t now_us)
{
	if (t->closed)
		return 0;
	if (!t->probe_wanted || prio < t->probe_prio) {
		probe_dequeue(t);
		t->probe_wanted = true;
		t->probe_prio = prio;
		t->probe_asked_us = now_us;
	}
	if (prio == PRIO_DEMAND && s->cfg.retry_time_us)
		task_arm(t, t->probe_asked_us + s->cfg.retry_time_us);
	task_kick(t);
	return 0;
}

void sched_task_forgive(struct sched *s, struct sched_task *t, uint64_t now_us)
{
	(void)s;
	(void)now_us;
	for (unsigned int i = 0; i < t->source_count; i++) {
		struct source *src = &t->source[i];

		*src = (struct source){.origin = src->origin};
		origin_unban(src->origin);
	}
	t->last = VERDICT_PART;
	task_kick(t);
}

void sched_task_lost(struct sched *s, struct sched_task *t, uint64_t now_us)
{
	(void)s;
	(void)now_us;
	task_recheck(t, range_make(0, UINT64_MAX));
}

/* No source is left: every want ends, none of them can be served. */
void task_fail(struct sched_task *t, enum verdict why)
{
	struct sched *s = t->sched;
	struct sched_want *w;

	while ((w = task_first_want(t))) {
		void *user = w->user;

		want_drop(w);
		s->ops.failed(s->ctx, user, why);
	}
	if (t->probe_wanted && !t->probe) {
		t->probe_wanted = false;
		probe_dequeue(t);
		s->ops.probe_failed(s->ctx, t->user, why);
	}
}

/* ---- wants ---- */

void want_set_pending(struct sched_want *w, bool pending)
{
	struct sched_task *t = w->task;

	if (w->pending == pending)
		return;
	TAILQ_REMOVE(w->pending ? &t->pending[w->prio] : &t->covered[w->prio], w, entry);
	w->pending = pending;
	TAILQ_INSERT_TAIL(w->pending ? &t->pending[w->prio] : &t->covered[w->prio], w, entry);
}

void want_drop(struct sched_want *w)
{
	struct sched_task *t = w->task;

	TAILQ_REMOVE(w->pending ? &t->pending[w->prio] : &t->covered[w->prio], w, entry);
	t->want_count[w->prio]--;
	timer_set(t->sched, &w->timer, NEVER);
	free(w);
}

void task_recheck(struct sched_task *t, struct range r)
{
	struct sched_want *w, *next;

	for (int p = 0; p < PRIO_COUNT; p++) {
		TAILQ_FOREACH_SAFE (w, &t->covered[p], entry, next) {
			if (range_overlaps(w->range, r) || range_empty(w->range))
				want_set_pending(w, true);
		}
	}
	task_kick(t);
}

static void want_insert(struct sched_want *w, enum prio prio, uint64_t now_us)
{
	struct sched_task *t = w->task;
	struct sched *s = t->sched;
	uint64_t patience = s->cfg.retry_time_us;

	w->prio = prio;
	w->pending = true;
	TAILQ_INSERT_TAIL(&t->pending[prio], w, entry);
	t->want_count[prio]++;
	w->added_us = w->mark_us = now_us;
	w->near_bytes = 0;
	if (prio == PRIO_FILL)
		patience = patience > NEVER / 10 ? NEVER : patience * 10;
	if (patience && (prio == PRIO_DEMAND || prio == PRIO_FILL))
		timer_set(s, &w->timer, add_sat_u64(now_us, patience));
	else
		timer_set(s, &w->timer, NEVER);
	task_kick(t);
}

int sched_want_add(struct sched *s, struct sched_task *t, struct range range, enum prio prio,
		   void *want_user, uint64_t now_us, struct sched_want **ret, enum verdict *ret_why)
{
	struct sched_want *w;
	unsigned int index;
	uint64_t at;

	(void)s;
	if (prio == PRIO_DEMAND && source_pick(t, t->source_count, now_us, &index, &at) == -EIO) {
		*ret_why = source_why(t);
		return -EIO;
	}
	w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->task = t;
	w->user = want_user;
	w->range = gap_blocks(t, range);
	timer_init(&w->timer, demand_deadline);
	want_insert(w, prio, now_us);
	*ret = w;
	return 0;
}

/* Leases that served w look for whom they run now. */
static void want_left(struct sched_task *t, struct range r, uint64_t now_us)
{
	struct lease_priv *l;

	TAILQ_FOREACH (l, &t->leases, task_entry) {
		if (l->state != LEASE_RUNNING || l->cancelled ||
		    !range_overlaps(r, range_make(l->pub.off, lease_end(l))))
			continue;
		lease_reprio(l);
		lease_trim(l, now_us);
	}
}

void sched_want_remove(struct sched *s, struct sched_want *w, uint64_t now_us)
{
	struct sched_task *t = w->task;
	struct range r = w->range;

	(void)s;
	want_drop(w);
	want_left(t, r, now_us);
}

void sched_want_set_prio(struct sched *s, struct sched_want *w, enum prio prio, uint64_t now_us)
{
	struct sched_task *t = w->task;

	(void)s;
	if (w->prio == prio)
		return;
	TAILQ_REMOVE(w->pending ? &t->pending[w->prio] : &t->covered[w->prio], w, entry);
	t->want_count[w->prio]--;
	want_insert(w, prio, now_us);
	want_left(t, w->range, now_us);
}

/* ---- the tick ---- */

static void run_timers(struct sched *s, uint64_t now_us)
{
	struct timer *t;

	while ((t = RB_MIN(timer_tree, &s->timers)) && t->at_us <= now_us) {
		timer_set(s, t, NEVER);
		t->fire(s, t, now_us);
	}
}

void sched_run_kicked(struct sched *s, uint64_t now_us)
{
	struct sched_task *t;

	while ((t = TAILQ_FIRST(&s->kicked))) {
		task_unkick(t);
		task_enqueue(t, now_us);
	}
}

static void run_holds(struct sched *s, uint64_t now_us)
{
	struct sched_origin *o;

	while ((o = TAILQ_FIRST(&s->dirty))) {
		o->dirty = false;
		TAILQ_REMOVE(&s->dirty, o, dirty_entry);
		origin_holds(o, now_us);
	}
}

uint64_t sched_tick(struct sched *s, uint64_t now_us)
{
	struct timer *t;

	run_timers(s, now_us);
	/* Leases make demands and demands make holds, which let others go on: settles in a few
	 * rounds. */
	for (int round = 0; round < 4; round++) {
		run_holds(s, now_us);
		sched_dispatch(s, now_us);
		if (TAILQ_EMPTY(&s->kicked) && TAILQ_EMPTY(&s->dirty))
			break;
	}
	run_holds(s, now_us);
	t = RB_MIN(timer_tree, &s->timers);
	if (!TAILQ_EMPTY(&s->kicked) || !TAILQ_EMPTY(&s->dirty))
		return now_us;
	return t ? max_u64(t->at_us, now_us) : NEVER;
}

/* ---- status ---- */

void sched_task_info(const struct sched_task *t, uint64_t now_us, struct sched_task_info *ret)
{
	*ret = (struct sched_task_info){
		.running = t->running,
		.target = connect_target(t),
		/* Nothing is counted while nothing comes: what was measured last fades. */
		.rate_bps = t->running ? meter_rate(&t->meter, METER_US, now_us) : 0,
		.last = t->last,
	};
	for (int p = 0; p < PRIO_COUNT; p++)
		ret->wants[p] = t->want_count[p];
}

void sched_stats(const struct sched *s, struct sched_stats *ret)
{
	*ret = s->stats;
}
