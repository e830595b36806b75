/*
 * get.c - files of a manifest into ordinary files: whose turn it is, totals, what is told
 */
#include "get/get.h"

#include "base/clock.h"
#include "get/internal.h"

static const char *const state_names[] = {
	[GET_WAITING] = "waiting", [GET_RUNNING] = "running", [GET_DONE] = "done",
	[GET_THERE] = "there",	   [GET_FAILED] = "failed",   [GET_STOPPED] = "stopped",
};
_Static_assert(ARRAY_SIZE(state_names) == GET_STATE_COUNT, "name every get_state");

const char *get_state_name(enum get_state st)
{
	return state_names[st];
}

/* ---- birth and death ---- */

int get_new(const struct get_config *cfg, struct manifest *m, const struct get_file *files,
	    size_t count, struct get **ret)
{
	struct get *g = calloc(1, sizeof(*g));
	char owner[STORE_OWNER_MAX];
	int r;

	if (!g)
		return -ENOMEM;
	mtx_init(&g->lock, RANK_JOB, "get");
	TAILQ_INIT(&g->turns);
	TAILQ_INIT(&g->running);
	STAILQ_INIT(&g->told);
	g->cfg = *cfg;
	g->cfg.engine.store.dir = NULL; /* each file has a store of its own */
	g->cfg.engine.fill = FILL_NONE;
	g->cfg.engine.filenames = cfg->content_disposition;
	g->cfg.engine.one_lane = true;
	g->manifest = manifest_get(m);
	g->count = count;
	g->file = calloc(count + 1, sizeof(*g->file));
	r = g->file ? 0 : -ENOMEM;
	for (size_t i = 0; r == 0 && i < count; i++) {
		uint64_t size = manifest_size(m, files[i].index);

		g->file[i].g = g;
		g->file[i].path = files[i].path;
		g->file[i].own = files[i].own;
		g->file[i].index = files[i].index;
		g->file[i].target.dirfd = -1;
		g->file[i].last.size = size;
	}
	if (r == 0)
		r = engine_new(&g->cfg.engine, &g->engine, owner);
	if (r < 0) {
		get_free(g);
		return r;
	}
	*ret = g;
	return 0;
}

void get_free(struct get *g)
{
	if (!g)
		return;
	engine_free(g->engine);
	manifest_put(g->manifest);
	for (size_t i = 0; g->file && i < g->count; i++)
		free(g->file[i].own_path);
	free(g->file);
	mtx_done(&g->lock);
	free(g);
}

/* ---- running ---- */

bool get_stopping(struct get *g)
{
	bool stopping;

	mtx_lock(&g->lock);
	stopping = g->stopping;
	mtx_unlock(&g->lock);
	return stopping;
}

static void tell_locked(struct get *g, struct file *f) REQUIRES(g->lock)
{
	if (f->told)
		return;
	f->told = true;
	STAILQ_INSERT_TAIL(&g->told, f, told_link);
}

/* The next one's turn; NULL: there is none. */
static struct file *begin_next(struct get *g)
{
	struct file *f = NULL;

	mtx_lock(&g->lock);
	if (!g->stopping && g->next < g->count) {
		f = &g->file[g->next++];
		f->state = GET_RUNNING;
		f->began_us = clock_now_us();
		TAILQ_INSERT_TAIL(&g->running, f, running_link);
		tell_locked(g, f);
	}
	mtx_unlock(&g->lock);
	return f;
}

static void add_ended_locked(struct get *g, const struct file *f) REQUIRES(g->lock)
{
	struct get_totals *t = &g->ended;

	t->done += f->state == GET_DONE;
	t->there += f->state == GET_THERE;
	t->failed += f->state == GET_FAILED;
	t->bytes += f->last.bytes;
	t->fetched += f->last.fetched;
	t->discarded += f->last.discarded;
	t->requests += f->last.requests;
	t->retries += f->last.retries;
}

static void run_files(struct get *g)
{
	struct file *f;

	while ((f = begin_next(g)) != NULL) {
		file_fetch(f);
		mtx_lock(&g->lock);
		f->last.took_us = clock_now_us() - f->began_us;
		TAILQ_REMOVE(&g->running, f, running_link);
		add_ended_locked(g, f);
		tell_locked(g, f);
		mtx_unlock(&g->lock);
	}
}

static void *file_main(void *arg)
{
	pthread_setname_np(pthread_self(), "rgetfs-file");
	run_files(arg);
	return NULL;
}

int get_run(struct get *g)
{
	/* The caller is one of them: a single file needs no thread. */
	size_t most = max_u64(min_u64(UINT64_C(2) * g->cfg.max_files, g->count), 1), started = 0;
	pthread_t *thread = calloc(most, sizeof(pthread_t));

	if (!thread)
		return -ENOMEM;
	/* With fewer threads it takes longer. */
	while (started < most - 1 && pthread_create(&thread[started], NULL, file_main, g) == 0)
		started++;
	run_files(g);
	for (size_t i = 0; i < started; i++)
		pthread_join(thread[i], NULL);
	free(thread);
	return get_stopping(g) ? -EINTR : 0;
}

void get_stop(struct get *g)
{
	struct file *f;

	mtx_lock(&g->lock);
	g->stopping = true;
	TAILQ_FOREACH (f, &g->running, running_link)
		file_cancel_locked(f);
	mtx_unlock(&g->lock);
}

/* ---- looking ---- */

/* *ret_object: to be asked for the rest without the lock, and put. */
static void info_locked(struct get *g, struct file *f, struct get_info *ret,
			struct object **ret_object) REQUIRES(g->lock)
{
	(void)g;
	*ret = f->last;
	ret->path = f->path;
	ret->index = f->index;
	ret->state = f->state;
	if (f->state == GET_RUNNING)
		ret->took_us = clock_now_us() - f->began_us;
	*ret_object = f->object ? object_get(f->object) : NULL;
}

static void info_add(struct get_info *ret, struct object *o)
{
	struct object_info info;

	if (!o)
		return;
	object_info(o, &info);
	ret->size = info.length_unknown ? SIZE_UNKNOWN : info.size;
	ret->bytes = info.bytes_cached;
	ret->durable = info.bytes_durable;
	ret->fetched = info.bytes_fetched;
	ret->discarded = info.bytes_discarded;
	ret->requests = info.requests;
	ret->retries = info.retries;
	ret->rate_bps = info.rate_bps;
	ret->connections = info.connections;
	snprintf(ret->error, sizeof(ret->error), "%s", info.error);
	object_put(o);
}

size_t get_running(struct get *g, struct get_info *ret, size_t max)
{
	struct object **object = calloc(max + 1, sizeof(struct object *));
	struct file *f;
	size_t n = 0;

	if (!object)
		return 0;
	mtx_lock(&g->lock);
	TAILQ_FOREACH (f, &g->running, running_link) {
		if (n == max)
			break;
		info_locked(g, f, &ret[n], &object[n]);
		n++;
	}
	mtx_unlock(&g->lock);
	for (size_t i = 0; i < n; i++)
		info_add(&ret[i], object[i]);
	free(object);
	return n;
}

void get_totals(struct get *g, struct get_totals *ret)
{
	struct get_info info[GET_RUNNING_MAX];
	size_t n = get_running(g, info, GET_RUNNING_MAX);

	mtx_lock(&g->lock);
	*ret = g->ended;
	ret->files = g->count;
	for (size_t i = 0; i < g->count; i++) {
		uint64_t size = g->file[i].last.size;

		if (g->file[i].state != GET_RUNNING && size == SIZE_UNKNOWN)
			ret->unknown++;
		else if (g->file[i].state != GET_RUNNING)
			ret->bytes_known += size;
	}
	mtx_unlock(&g->lock);
	ret->running = n;
	for (size_t i = 0; i < n; i++) {
		if (info[i].size == SIZE_UNKNOWN)
			ret->unknown++;
		else
			ret->bytes_known += info[i].size;
		ret->bytes += info[i].bytes;
		ret->fetched += info[i].fetched;
		ret->discarded += info[i].discarded;
		ret->requests += info[i].requests;
		ret->retries += info[i].retries;
		ret->connections += info[i].connections;
	}
}

bool get_next(struct get *g, struct get_info *ret, bool *ret_began)
{
	struct object *o = NULL;
	struct file *f;

	mtx_lock(&g->lock);
	f = STAILQ_FIRST(&g->told);
	if (f) {
		STAILQ_REMOVE_HEAD(&g->told, told_link);
		f->told = false;
		*ret_began = !f->told_begin;
		f->told_begin = true;
		info_locked(g, f, ret, &o);
		/* It came to its end before anybody asked: its beginning is told first. */
		if (*ret_began && f->state != GET_RUNNING)
			tell_locked(g, f);
	}
	mtx_unlock(&g->lock);
	info_add(ret, o);
	return f != NULL;
}
