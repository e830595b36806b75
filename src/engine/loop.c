/*
 * loop.c - the engine thread: messages in, timers, leases out
 *
 * Callers: every thread posts; engine.c starts the thread. A round takes all messages there are,
 * handles them, runs what is due, then lets the sched give out leases once for all of them.
 */
#include "base/clock.h"
#include "engine/internal.h"
#include "engine/readers.h"
#include "engine/task.h"

#define COPY_INTERVAL_US    (100 * USEC_PER_MS) /* rates and counters for other threads */
#define LOADING_INTERVAL_US (2 * USEC_PER_MS)	/* how often to ask whether extents are loaded */

void engine_post(struct engine *e, struct msg *m, void (*fn)(struct engine *e, struct msg *m))
{
	bool first;

	m->fn = fn;
	mtx_lock(&e->queue_lock);
	first = STAILQ_EMPTY(&e->queue);
	STAILQ_INSERT_TAIL(&e->queue, m, link);
	if (first)
		cnd_signal(&e->queue_more);
	mtx_unlock(&e->queue_lock);
}

/* Moves everything queued to list, waiting for something until until_us. */
static void take_messages(struct engine *e, struct msg_list *list, uint64_t until_us)
{
	mtx_lock(&e->queue_lock);
	while (STAILQ_EMPTY(&e->queue)) {
		if (until_us == UINT64_MAX)
			cnd_wait(&e->queue_more, &e->queue_lock);
		else if (!cnd_wait_until(&e->queue_more, &e->queue_lock, until_us))
			break;
	}
	STAILQ_CONCAT(list, &e->queue);
	mtx_unlock(&e->queue_lock);
}

static bool queue_empty(struct engine *e)
{
	bool empty;

	mtx_lock(&e->queue_lock);
	empty = STAILQ_EMPTY(&e->queue);
	mtx_unlock(&e->queue_lock);
	return empty;
}

static void copy_task(struct task *t, uint64_t now_us, uint64_t *rate_bps,
		      unsigned int *connections)
{
	struct sched_task_info info;

	sched_task_info(t->st, now_us, &info);
	if (!info.running)
		info.rate_bps = 0;
	atomic_store(&t->obj->rate_bps, info.rate_bps);
	atomic_store(&t->obj->connections, info.running);
	*rate_bps += info.rate_bps;
	*connections += info.running;
}

/* What object_info() and engine_stats() show, as they must not enter the sched themselves. */
static void copy_state(struct engine *e, uint64_t now_us)
{
	struct sched_stats stats;
	struct task *t;
	struct origin *o;
	uint64_t rate_bps = 0;
	unsigned int connections = 0;

	TAILQ_FOREACH (t, &e->tasks, link)
		copy_task(t, now_us, &rate_bps, &connections);
	sched_stats(e->sched, &stats);

	e->copied_busy = connections > 0;
	tell_sched(&e->sched_stats, &stats);
	mtx_lock(&e->lock);
	e->sched_stats = stats;
	e->rate_bps = rate_bps;
	e->connections = connections;
	TAILQ_FOREACH (t, &e->tasks, link)
		t->obj->filling = t->want_count > 0;
	TAILQ_FOREACH (o, &e->origins, link) {
		if (o->sched)
			origin_publish(o);
	}
	mtx_unlock(&e->lock);
}

/* Once a second: what nobody tells us about. */
static void run_second(struct engine *e, uint64_t now_us)
{
	struct store_stats stats = {0};

	if (e->store)
		store_stats(e->store, &stats);
	if (stats.degraded && !e->degraded)
		log_warn("cache: %s: files are read without keeping their bytes",
			 strerror(-stats.degraded));
	e->degraded = stats.degraded != 0;
	readers_bound(e);
	readers_sweep(e, now_us);
	wholes_sweep(e, now_us);
	probes_sweep(e, now_us);
	revalidate_sweep(e, now_us);
	fills_sweep(e, now_us);
	hints_sweep(e, now_us);
	origins_trim(e, now_us);
	backfills_sweep(e, now_us);
}

/* Returns when to run it again. */
static uint64_t run_timers(struct engine *e, uint64_t now_us)
{
	uint64_t next = UINT64_MAX;
	struct task *t, *tmp;

	TAILQ_FOREACH_SAFE (t, &e->tasks, link, tmp) {
		if (t->loading && task_admit(t, now_us))
			next = now_us + LOADING_INTERVAL_US;
	}
	objects_trim(e);
	if (now_us >= e->second_us) {
		run_second(e, now_us);
		e->second_us = now_us + USEC_PER_SEC;
	}
	if (now_us >= e->copy_us) {
		copy_state(e, now_us);
		e->copy_us = now_us + COPY_INTERVAL_US;
	}
	if (e->pulls || e->copied_busy)
		next = min_u64(next, e->copy_us);
	if (!TAILQ_EMPTY(&e->demands) || !TAILQ_EMPTY(&e->probing) || !TAILQ_EMPTY(&e->backfilling))
		next = min_u64(next, e->second_us);
	return next;
}

void *engine_main(void *arg)
{
	struct engine *e = arg;
	uint64_t next = 0;

	pthread_setname_np(pthread_self(), "engine");
	for (;;) {
		struct msg_list list = STAILQ_HEAD_INITIALIZER(list);
		struct msg *m;
		uint64_t now_us;

		take_messages(e, &list, next);
		while ((m = STAILQ_FIRST(&list)) != NULL) {
			STAILQ_REMOVE_HEAD(&list, link);
			m->fn(e, m);
		}
		now_us = clock_now_us();
		next = run_timers(e, now_us);
		next = min_u64(next, sched_tick(e->sched, now_us));
		if (leases_bury(e, now_us))
			next = now_us;
#ifdef RGETFS_DEBUG
		sched_check(e->sched);
#endif
		if (e->quitting && !e->pulls && !e->works && queue_empty(e))
			break;
	}
	copy_state(e, clock_now_us());
	return NULL;
}
