/*
 * engine.c - birth, death and totals of the engine
 *
 * What it is made of, in the order it is made: store, transfers, writers, workers, the sched and
 * its thread. Taken apart the other way round: the engine's thread ends when nothing is under way
 * any more, so that nobody is left to post to it.
 */
#include "base/clock.h"
#include "engine/internal.h"
#include "engine/readers.h"
#include "engine/task.h"

#define PARKED_DEFAULT 4096
#define DROP_DRAIN_US  USEC_PER_SEC /* a stuck transfer must not hold up a drop */

/* A store thread says that bytes of a version became gaps. */
struct loss {
	struct msg msg;
	struct store *store; /* only compared, and so is version */
	struct object_key key;
	const struct version *version;
};

/*
 * Not all of o is there. Its version may be one that the store alone had in memory: what became of
 * it the record tells. True: it was complete.
 */
static bool object_lost(struct object *o, const struct version *v)
{
	struct engine *e = o->e;
	struct store_record rec = {.complete = false};
	bool was = false;

	if (store_lookup(o->store, &o->key, &rec) < 0)
		rec.bytes_cached = 0;
	mtx_lock(&e->lock);
	if (!o->version)
		o->cached = o->fresh ? 0 : rec.bytes_cached;
	if (o->size > 0 && (o->version ? o->version == v : !rec.complete)) {
		was = o->complete;
		o->complete = false;
	}
	mtx_unlock(&e->lock);
	return was;
}

static void bytes_lost(struct engine *e, struct msg *m)
{
	struct loss *loss = container_of(m, struct loss, msg);
	struct object *o;
	struct task *t;
	bool was;

	mtx_lock(&e->lock);
	o = object_find_locked(e, loss->store, &loss->key);
	mtx_unlock(&e->lock);
	was = o && object_lost(o, loss->version);
	TAILQ_FOREACH (t, &e->tasks, link) {
		if (t->version == loss->version) {
			sched_task_lost(e->sched, t->st, clock_now_us());
			break;
		}
	}
	if (was)
		object_tell(o);
	if (o)
		object_arrived(o); /* all may be there again */
	free(loss);
}

static void store_lost(void *ctx, struct version *v)
{
	struct engine *e = ctx;
	struct loss *loss;

	if (atomic_load(&e->closing))
		return;
	loss = malloc(sizeof(*loss));
	if (!loss) {
		log_warn("no memory to fetch again what the cache lost");
		return;
	}
	loss->store = version_store(v);
	loss->key = *version_key(v);
	loss->version = v;
	engine_post(e, &loss->msg, bytes_lost);
}

int engine_store(struct engine *e, const struct store_config *cfg, struct store **ret,
		 char owner[STORE_OWNER_MAX])
{
	struct store_config own = *cfg;

	own.lost = store_lost;
	own.ctx = e;
	return store_open(&own, ret, owner);
}

static int engine_make_parts(struct engine *e, char owner[STORE_OWNER_MAX])
{
	static const char *const lane_name[LANE_COUNT] = {"demand", "bulk"};
	int r;

	r = e->cfg.store.dir ? engine_store(e, &e->cfg.store, &e->store, owner) : 0;
	if (r == 0) {
		readers_bound(e);
		r = fetch_shared_new(&e->cfg.fetch, &e->shared);
	}
	for (int i = e->cfg.one_lane ? LANE_BULK : 0; i < LANE_COUNT && r == 0; i++) {
		r = writer_new(&e->writer[i]);
		if (r == 0)
			r = fetch_new(e->shared, lane_name[i], &e->fetch[i]);
	}
	if (e->cfg.one_lane) {
		e->writer[LANE_DEMAND] = e->writer[LANE_BULK];
		e->fetch[LANE_DEMAND] = e->fetch[LANE_BULK];
	}
	if (r == 0)
		r = worker_new(e, &e->checkpointer);
	if (r == 0)
		r = worker_new(e, &e->verifier);
	if (r < 0)
		return r;

	e->sched = sched_new(&e->cfg.sched, &engine_sched_ops, e);
	e->stillborn_max = e->cfg.sched.max_connections + 64;
	e->stillborn = calloc(e->stillborn_max, sizeof(struct lease *));
	if (!e->sched || !e->stillborn)
		return -ENOMEM;
	r = -pthread_create(&e->thread, NULL, engine_main, e);
	e->started = r == 0;
	return r;
}

int engine_new(const struct engine_config *cfg, struct engine **ret, char owner[STORE_OWNER_MAX])
{
	struct engine *e = calloc(1, sizeof(*e));
	int r;

	if (!e)
		return -ENOMEM;
	e->cfg = *cfg;
	if (e->cfg.parked_per_origin == 0)
		e->cfg.parked_per_origin = PARKED_DEFAULT;
	mtx_init(&e->queue_lock, RANK_QUEUE, "engine queue");
	cnd_init(&e->queue_more);
	STAILQ_INIT(&e->queue);
	mtx_init(&e->lock, RANK_ENGINE, "engine");
	cnd_init(&e->opened);
	RB_INIT(&e->objects);
	TAILQ_INIT(&e->origins);
	TAILQ_INIT(&e->tasks);
	TAILQ_INIT(&e->demands);
	TAILQ_INIT(&e->idle);
	TAILQ_INIT(&e->backfilling);
	TAILQ_INIT(&e->failed);
	RB_INIT(&e->learned);
	TAILQ_INIT(&e->learned_last);
	TAILQ_INIT(&e->probing);
	TAILQ_INIT(&e->revalidating);
	LIST_INIT(&e->rolls);
	LIST_INIT(&e->waiting);
	e->random = cfg->sched.seed ? cfg->sched.seed : 1;

	r = engine_make_parts(e, owner);
	if (r < 0) {
		engine_free(e);
		return r;
	}
	*ret = e;
	return 0;
}

static void stop_asked(struct engine *e, struct msg *m)
{
	(void)m;
	readers_stop(e);
}

void engine_stop(struct engine *e)
{
	if (!atomic_exchange(&e->stopping, true) && e->started)
		engine_post(e, &e->stop_msg, stop_asked);
}

/* End everything; the thread leaves when the last transfer and the last piece of work have ended.
 */
static void quit_asked(struct engine *e, struct msg *m)
{
	struct object *o, *next;
	struct fill *f, *after;

	(void)m;
	rolls_quit(e);
	backfills_quit(e);
	while ((o = TAILQ_FIRST(&e->failed)) != NULL)
		object_forget_failed(o);
	mtx_lock(&e->lock);
	o = RB_MIN(object_tree, &e->objects);
	if (o)
		o->refs++;
	mtx_unlock(&e->lock);
	for (; o; o = next) {
		LIST_FOREACH_SAFE (f, &o->fills, link, after)
			fill_failed(f, -ECANCELED);
		probes_answer(o, -EIO);
		revalidate_end(o);
		object_wake(o);
		object_release(o);
		mtx_lock(&e->lock);
		next = RB_NEXT(object_tree, &e->objects, o);
		if (next)
			next->refs++;
		mtx_unlock(&e->lock);
		object_put(o);
	}
	e->quitting = true;
}

int engine_free(struct engine *e)
{
	int r = 0;

	if (!e)
		return 0;
	engine_stop(e);
	atomic_store(&e->closing, true);
	if (e->started) {
		engine_post(e, &e->quit_msg, quit_asked);
		pthread_join(e->thread, NULL);
	}
	if (e->object_count > 0)
		log_error("engine: %u objects are still referenced", e->object_count);
	for (int i = e->cfg.one_lane ? LANE_BULK : 0; i < LANE_COUNT; i++)
		fetch_free(e->fetch[i]);
	for (int i = e->cfg.one_lane ? LANE_BULK : 0; i < LANE_COUNT; i++)
		writer_free(e->writer[i]);
	worker_free(e->checkpointer);
	worker_free(e->verifier);
	fetch_shared_free(e->shared);
	if (e->store)
		r = store_close(e->store);
	sched_free(e->sched);
	free(e->stillborn);
	learned_done(e);
	origins_done(e);
	cnd_done(&e->opened);
	mtx_done(&e->lock);
	cnd_done(&e->queue_more);
	mtx_done(&e->queue_lock);
	free(e);
	return r;
}

/* ---- orders that wait, and totals ---- */

int engine_checkpoint(struct engine *e)
{
	return store_checkpoint(e->store);
}

/* Something the engine thread does for a caller who waits until it is done. */
struct errand {
	struct msg msg;
	struct engine *e;
	struct object *obj; /* NULL: it is about none */
	struct cnd ended;   /* its own: many files may be about to end */
	bool done;	    /* engine.lock */
	bool again;	    /* what it waits for has not happened yet */
};

/* Post it and wait; what again became. */
static bool errand_wait(struct errand *r, void (*fn)(struct engine *e, struct msg *m))
{
	struct engine *e = r->e;

	cnd_init(&r->ended);
	r->done = r->again = false;
	engine_post(e, &r->msg, fn);
	mtx_lock(&e->lock);
	while (!r->done)
		cnd_wait(&r->ended, &e->lock);
	mtx_unlock(&e->lock);
	cnd_done(&r->ended);
	return r->again;
}

static bool errand_run(struct engine *e, struct object *o,
		       void (*fn)(struct engine *e, struct msg *m))
{
	struct errand r = {.e = e, .obj = o};

	return errand_wait(&r, fn);
}

/* The last the engine thread has to do with r. */
static void errand_done(struct errand *r)
{
	struct engine *e = r->e;

	mtx_lock(&e->lock);
	r->done = true;
	cnd_signal(&r->ended);
	mtx_unlock(&e->lock);
}

/* What is to be released: found again by store and key, for the object itself may be gone. */
struct release {
	struct errand errand;
	struct store *store;
	struct object_key key;
};

/* Is it still there? obj is only compared. */
static void release_look(struct engine *e, struct msg *m)
{
	struct errand *r = container_of(m, struct errand, msg);
	const struct release *rel = container_of(r, struct release, errand);

	mtx_lock(&e->lock);
	r->again = object_find_locked(e, rel->store, &rel->key) == r->obj;
	mtx_unlock(&e->lock);
	errand_done(r);
}

static void release_begin(struct engine *e, struct msg *m)
{
	struct errand *r = container_of(m, struct errand, msg);

	object_forget_failed(r->obj);
	object_put(r->obj);
	/* Behind its end, which is on its way if that was the last reference. */
	engine_post(e, m, release_look);
}

void engine_release(struct object *o)
{
	struct release rel = {.errand = {.e = o->e, .obj = o}, .store = o->store, .key = o->key};
	bool there = errand_wait(&rel.errand, release_begin);

	/* A proof or a message may hold it longer. */
	while (there) {
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
		there = errand_wait(&rel.errand, release_look);
	}
}

/* What nobody waits for must not bring back at once what the user wants gone. */
static void drop_begin(struct engine *e, struct msg *m)
{
	struct errand *r = container_of(m, struct errand, msg);
	struct object *o = r->obj;

	(void)e;
	backfill_forget(o, clock_now_us());
	fills_cancel(o);
	/* Nor may what is cancelled by that, and has not ended yet. */
	r->again = o->task && o->task->want_count == 0 && !LIST_EMPTY(&o->task->pulls);
	errand_done(r);
}

static void drop_end(struct engine *e, struct msg *m)
{
	struct errand *r = container_of(m, struct errand, msg);
	struct object *o = r->obj;
	bool was = o->complete;

	mtx_lock(&e->lock);
	o->cached = 0;
	o->complete = o->size == 0;
	mtx_unlock(&e->lock);
	if (was)
		object_tell(o);
	object_arrived(o); /* a reader may have brought all of it again */
	errand_done(r);
}

/* Until what was cancelled has ended, for all of them together at most DROP_DRAIN_US. */
static void drop_drain(struct object **list, size_t count)
{
	uint64_t until_us = clock_now_us() + DROP_DRAIN_US;

	for (size_t i = 0; i < count; i++)
		errand_run(list[i]->e, list[i], drop_begin);
	for (size_t i = 0; i < count; i++) {
		while (errand_run(list[i]->e, list[i], drop_begin) && clock_now_us() < until_us)
			nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
	}
}

static void drop(struct object **list, size_t count, bool wrong, int *ret_error)
{
	struct version *version[OBJECTS_DROP_MAX] = {NULL};

	assert(count <= OBJECTS_DROP_MAX);
	if (count == 0)
		return;
	drop_drain(list, count);
	for (size_t i = 0; i < count; i++)
		ret_error[i] = store_drop_begin(list[i]->store, &list[i]->key, wrong, &version[i]);
	store_drop_wait(list[0]->store);
	for (size_t i = 0; i < count; i++) {
		if (ret_error[i] == 0)
			ret_error[i] = store_drop_end(version[i]);
		if (ret_error[i] == 0)
			errand_run(list[i]->e, list[i], drop_end);
	}
}

void objects_drop(struct object **list, size_t count, int *ret_error)
{
	drop(list, count, false, ret_error);
}

int object_drop_wrong(struct object *o)
{
	int error = 0;

	drop(&o, 1, true, &error);
	return error;
}

static void forget_failed(struct engine *e, struct msg *m)
{
	struct object *o;

	while ((o = TAILQ_FIRST(&e->failed)) != NULL)
		object_forget_failed(o);
	errand_done(container_of(m, struct errand, msg));
}

static void errand_empty(struct engine *e, struct msg *m)
{
	(void)e;
	errand_done(container_of(m, struct errand, msg));
}

void engine_settle(struct engine *e)
{
	errand_run(e, NULL, errand_empty);
}

void engine_forget_failed(struct engine *e)
{
	errand_run(e, NULL, forget_failed);
	/* Behind the messages by which those that nobody uses are freed. */
	engine_settle(e);
}

int object_verify(struct object *o, uint64_t *ret_blocks, uint64_t *ret_bad)
{
	return store_verify(o->store, &o->key, ret_blocks, ret_bad);
}

void engine_stats(struct engine *e, struct engine_stats *ret)
{
	struct engine_stats st = {0};
	int parked;

	if (e->store)
		store_stats(e->store, &st.store);
	fetch_stats(e->shared, &st.fetch);
	st.fetch.bytes_discarded += atomic_load(&e->unkept);
	mtx_lock(&e->lock);
	st.sched = e->sched_stats;
	st.rate_bps = e->rate_bps;
	st.connections = e->connections;
	st.objects = e->object_count;
	mtx_unlock(&e->lock);
	st.reads = atomic_load(&e->reads);
	st.read_hits = atomic_load(&e->read_hits);
	parked = atomic_load(&e->parked);
	st.parked = parked > 0 ? (unsigned int)parked : 0;
	*ret = st;
}
