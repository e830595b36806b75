/*
 * fetch.c - an instance: one thread, one curl multi, and the queue of orders to it
 *
 * Callers: the engine, from any thread. Theory of operation: each fetch_*() leaves an order in the
 * transfer under the instance's lock and wakes the thread; the thread alone touches libcurl and
 * runs (run.h).
 *
 * A struct transfer is only the handle that the caller has. It outlives its run by FETCH_LINGER_US,
 * because an order and the end it has not heard of yet may cross.
 *
 * Always true, under f->lock:
 *   F1  a transfer is in queue exactly while queued is set; it has orders then.
 *   F2  once ended is set nobody but the thread touches the transfer.
 */
#include <pthread.h>
#include <signal.h>

#include "base/clock.h"
#include "net/run.h"

/* Timers are looked at no more often; body() and answers never wait for them. */
#define TICK_US UINT64_C(5000)

enum order {
	ORDER_START = 1,
	ORDER_CANCEL = 2,
	ORDER_HOLD = 4,
	ORDER_SHRUNK = 8,
	ORDER_AT_ONCE = 16 /* with ORDER_CANCEL */
};

struct transfer {
	TAILQ_ENTRY(transfer) link; /* of queue, later of ended */
	unsigned int orders;	    /* of enum order */
	bool hold;		    /* what ORDER_HOLD means */
	bool queued, ended;
	struct run *run; /* the thread's; NULL once ended */
	uint64_t ended_us;
};
TAILQ_HEAD(transfer_list, transfer);

struct fetch {
	struct mtx lock; /* RANK_QUEUE; guards the two below and the orders of all transfers */
	struct transfer_list queue;
	bool stopping;

	/* The thread's own. */
	struct instance inst;
	struct run_list runs;
	struct transfer_list ended; /* oldest first */
	uint64_t tick_us;	    /* timers were looked at */
	pthread_t thread;
};

static void fetch_wake(struct fetch *f)
{
	curl_multi_wakeup(f->inst.multi);
}

static void fetch_chunk_came(struct pool_client *c)
{
	struct instance *inst = container_of(c, struct instance, pool_client);

	atomic_store_explicit(&inst->pool_woken, true, memory_order_release);
	curl_multi_wakeup(inst->multi);
}

/* ---- orders, from any thread ---- */

/* True: the thread has to be woken. */
static bool fetch_order_locked(struct fetch *f, struct transfer *t, enum order order)
	REQUIRES(f->lock);
static bool fetch_order_locked(struct fetch *f, struct transfer *t, enum order order)
{
	bool was_empty = TAILQ_EMPTY(&f->queue);

	if (t->ended)
		return false;
	t->orders |= order;
	if (t->queued)
		return false;
	t->queued = true;
	TAILQ_INSERT_TAIL(&f->queue, t, link);
	return was_empty;
}

static void fetch_order(struct fetch *f, struct transfer *t, enum order order)
{
	bool wake;

	mtx_lock(&f->lock);
	wake = fetch_order_locked(f, t, order);
	mtx_unlock(&f->lock);
	if (wake)
		fetch_wake(f);
}

int fetch_start(struct fetch *f, const struct transfer_request *rq, struct transfer **ret)
{
	struct transfer *t = calloc(1, sizeof(*t));
	bool wake = false, stopping;

	if (!t || run_new(rq, &t->run) < 0) {
		free(t);
		return -ENOMEM;
	}
	t->run->inst = &f->inst;
	t->run->transfer = t;
	mtx_lock(&f->lock);
	stopping = f->stopping;
	if (!stopping) {
		*ret = t;
		wake = fetch_order_locked(f, t, ORDER_START);
	}
	mtx_unlock(&f->lock);
	if (stopping) {
		run_free(t->run);
		free(t);
		return -ESHUTDOWN;
	}
	if (wake)
		fetch_wake(f);
	return 0;
}

void fetch_cancel(struct fetch *f, struct transfer *t, bool at_once)
{
	fetch_order(f, t, at_once ? ORDER_CANCEL | ORDER_AT_ONCE : ORDER_CANCEL);
}

void fetch_hold(struct fetch *f, struct transfer *t, bool hold)
{
	bool wake;

	mtx_lock(&f->lock);
	t->hold = hold;
	wake = fetch_order_locked(f, t, ORDER_HOLD);
	mtx_unlock(&f->lock);
	if (wake)
		fetch_wake(f);
}

void fetch_shrunk(struct fetch *f, struct transfer *t)
{
	fetch_order(f, t, ORDER_SHRUNK);
}

/* ---- the thread ---- */

/* end() was called: the run goes, the handle stays for a while. */
static void fetch_bury(struct fetch *f, struct run *r)
{
	struct transfer *t = r->transfer;

	TAILQ_REMOVE(&f->runs, r, link);
	run_free(r);
	mtx_lock(&f->lock);
	if (t->queued)
		TAILQ_REMOVE(&f->queue, t, link);
	t->queued = false;
	t->ended = true;
	t->run = NULL;
	mtx_unlock(&f->lock);
	t->ended_us = clock_now_us();
	TAILQ_INSERT_TAIL(&f->ended, t, link);
}

static void fetch_free_ended(struct fetch *f, uint64_t before_us)
{
	struct transfer *t, *next;

	for (t = TAILQ_FIRST(&f->ended); t && t->ended_us <= before_us; t = next) {
		next = TAILQ_NEXT(t, link);
		TAILQ_REMOVE(&f->ended, t, link);
		free(t);
	}
}

static void fetch_obey(struct fetch *f, struct transfer *t, unsigned int orders, bool hold)
{
	struct run *r = t->run;

	if (orders & ORDER_START) {
		TAILQ_INSERT_TAIL(&f->runs, r, link);
		if (orders & ORDER_CANCEL)
			run_end(r, VERDICT_CANCELLED);
		else
			run_start(r);
	}
	if (orders & ORDER_CANCEL)
		run_cancel(r, orders & ORDER_AT_ONCE);
	if (orders & ORDER_HOLD)
		run_hold(r, hold);
	if (orders & ORDER_SHRUNK)
		run_shrunk(r);
	if (r->phase == RUN_OVER)
		fetch_bury(f, r);
}

/* False: stop. */
static bool fetch_take_orders(struct fetch *f)
{
	for (;;) {
		struct transfer *t;
		unsigned int orders = 0;
		bool stopping, hold = false;

		mtx_lock(&f->lock);
		stopping = f->stopping;
		t = TAILQ_FIRST(&f->queue);
		if (t) {
			TAILQ_REMOVE(&f->queue, t, link);
			t->queued = false;
			orders = t->orders;
			t->orders = 0;
			hold = t->hold;
		}
		mtx_unlock(&f->lock);
		if (!t)
			return !stopping;
		fetch_obey(f, t, orders | (stopping ? ORDER_CANCEL : 0), hold);
	}
}

static void fetch_reap(struct fetch *f)
{
	CURLMsg *msg;
	int left;

	while ((msg = curl_multi_info_read(f->inst.multi, &left))) {
		CURLcode code = msg->data.result;
		char *private = NULL;
		struct run *r;

		if (msg->msg != CURLMSG_DONE ||
		    curl_easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE, &private) || !private)
			continue;
		r = (struct run *)(void *)private;
		run_hop_done(r, code);
		if (r->phase == RUN_OVER)
			fetch_bury(f, r);
	}
}

/* Returns how long to wait for events, in ms. */
static int fetch_tick(struct fetch *f)
{
	uint64_t now_us = clock_now_us(), due_us = UINT64_MAX;
	bool chunks_came =
		atomic_exchange_explicit(&f->inst.pool_woken, false, memory_order_acquire);
	struct run *r, *next;

	/* What the last events changed is in no timer yet: look again as soon as it is time. */
	if (!chunks_came && now_us - f->tick_us < TICK_US)
		return (int)((TICK_US - (now_us - f->tick_us)) / USEC_PER_MS) + 1;
	f->tick_us = now_us;
	for (r = TAILQ_FIRST(&f->runs); r; r = next) {
		next = TAILQ_NEXT(r, link);
		due_us = min_u64(due_us, run_tick(r, chunks_came, now_us));
		if (r->phase == RUN_OVER)
			fetch_bury(f, r);
	}
	if (now_us > FETCH_LINGER_US)
		fetch_free_ended(f, now_us - FETCH_LINGER_US);
	if (due_us <= now_us)
		return 1;
	return (int)min_u64((due_us - now_us) / USEC_PER_MS + 1, UINT64_C(60000));
}

static void *fetch_main(void *user)
{
	struct fetch *f = user;
	struct run *r;

	while (fetch_take_orders(f)) {
		int running, wait_ms;

		curl_multi_perform(f->inst.multi, &running);
		fetch_reap(f);
		wait_ms = fetch_tick(f);
		curl_multi_poll(f->inst.multi, NULL, 0, wait_ms, NULL);
	}
	while ((r = TAILQ_FIRST(&f->runs))) {
		run_cancel(r, true);
		fetch_bury(f, r);
	}
	return NULL;
}

/* ---- life ---- */

static CURLM *fetch_multi(unsigned int max_connections)
{
	CURLM *multi = curl_multi_init();

	if (!multi)
		return NULL;
	/* Idle ones are kept up to here; said outright because the default follows what happens to
	 * run. */
	curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS,
			  (long)(max_connections > 4 ? max_connections : 4));
	curl_multi_setopt(multi, CURLMOPT_PIPELINING, (long)CURLPIPE_NOTHING);
	return multi;
}

/* Signals are for the main thread to see. */
static int fetch_spawn(struct fetch *f, const char *name)
{
	char short_name[16];
	sigset_t all, before;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&f->thread, NULL, fetch_main, f);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error)
		return -error;
	snprintf(short_name, sizeof(short_name), "%s", name);
	pthread_setname_np(f->thread, short_name);
	return 0;
}

int fetch_new(struct fetch_shared *sh, const char *name, struct fetch **ret)
{
	struct fetch *f = calloc(1, sizeof(*f));
	int r;

	if (!f)
		return -ENOMEM;
	mtx_init(&f->lock, RANK_QUEUE, "fetch queue");
	TAILQ_INIT(&f->queue);
	TAILQ_INIT(&f->runs);
	TAILQ_INIT(&f->ended);
	f->inst.shared = sh;
	f->inst.pool_client.wake = fetch_chunk_came;
	f->inst.multi = fetch_multi(sh->cfg.max_connections);
	if (!f->inst.multi) {
		mtx_done(&f->lock);
		free(f);
		return -ENOMEM;
	}
	pool_add_client(&sh->pool, &f->inst.pool_client);
	r = fetch_spawn(f, name);
	if (r < 0) {
		pool_remove_client(&sh->pool, &f->inst.pool_client);
		curl_multi_cleanup(f->inst.multi);
		mtx_done(&f->lock);
		free(f);
		return r;
	}
	*ret = f;
	return 0;
}

void fetch_free(struct fetch *f)
{
	if (!f)
		return;
	mtx_lock(&f->lock);
	f->stopping = true;
	mtx_unlock(&f->lock);
	fetch_wake(f);
	pthread_join(f->thread, NULL);
	pool_remove_client(&f->inst.shared->pool, &f->inst.pool_client);
	curl_multi_cleanup(f->inst.multi);
	sockets_done(&f->inst.sockets);
	fetch_free_ended(f, UINT64_MAX);
	mtx_done(&f->lock);
	free(f);
}
