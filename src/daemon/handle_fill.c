/*
 * handle_fill.c - fetch whole files because somebody asked for it
 *
 * An order has a thread: that of its connection, or with "wait": false one of its own. It goes
 * through the files and keeps a window of fills in the engine, so that a million files are not a
 * million objects. The engine's thread ends fills; all it does here is to mark the slot.
 */
#include <inttypes.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/log.h"
#include "daemon/orders.h"
#include "daemon/select.h"

#define WINDOW	      64
#define ACTIVE_SHOWN  32
#define SURVEY_STRIDE 4096
#define WAIT_US	      (100 * USEC_PER_MS)
#define DROPPED	      "dropped by another order"

enum slot_state {
	SLOT_FREE,
	SLOT_BUSY,  /* the engine has it; fill may be cancelled */
	SLOT_ENDED, /* the order's thread is to take it back */
};

struct slot {
	struct fill_job *job;
	enum slot_state state; /* job.lock */
	struct fill *fill;     /* job.lock, while busy */
	int error;	       /* job.lock, once ended */
	struct object *obj;    /* reference */
	size_t at;	       /* in the selection */
};

struct fill_job {
	struct orders *od;
	struct control_call *call; /* NULL: nobody waits */
	struct selection sel;
	struct order_progress p;
	size_t next, surveyed;
	bool gone; /* the client, or the mount */

	LIST_ENTRY(fill_job) running; /* orders.lock; until its selection is let go */
	atomic_bool *dropped; /* of each item: a drop came meanwhile, it is not wanted any more */
	LIST_ENTRY(fill_job) link; /* without a client: orders.lock */
	pthread_t thread;
	atomic_bool over; /* the thread does nothing more */

	struct mtx lock; /* RANK_JOB; guards what the slots say */
	struct cnd ended;
	struct slot slot[WINDOW];
	unsigned int busy;
};

/* ---- sizes ---- */

/* An item counts with these bytes from now on; without a size it counts with what there is of it.
 */
static void account(struct fill_job *job, struct selected *item, uint64_t size, uint64_t cached)
{
	uint64_t counted = item->size == SIZE_UNKNOWN ? item->cached : item->size;
	uint64_t counts = size == SIZE_UNKNOWN ? cached : size;

	cached = min_u64(cached, counts);
	job->p.sizes_unknown += (size == SIZE_UNKNOWN) - (uint64_t)(item->size == SIZE_UNKNOWN);
	job->p.bytes += counts - counted;
	job->p.bytes_done += cached - item->cached;
	item->size = size;
	item->cached = cached;
}

static struct engine *job_engine(struct fill_job *job)
{
	return mount_engine(orders_mount(job->od));
}

static void survey_one(struct fill_job *job)
{
	struct selected *item = &job->sel.item[job->surveyed++];
	struct object_info info;

	if (engine_peek(job_engine(job), job->sel.manifest, item->index, &info) != -ENOMEM)
		account(job, item, info.size, info.bytes_cached);
}

/* How much there is to do altogether, a part of it at a time. */
static void survey(struct fill_job *job)
{
	for (unsigned int n = 0; n < SURVEY_STRIDE && job->surveyed < job->sel.count; n++)
		survey_one(job);
}

/* Nothing is left to do for item, not even to make it durable. */
static bool all_there(struct fill_job *job, const struct selected *item)
{
	struct object_info info;

	return item->size == item->cached &&
	       engine_peek(job_engine(job), job->sel.manifest, item->index, &info) == 0 &&
	       info.state == OBJECT_COMPLETE && info.bytes_durable >= info.size;
}

/* ---- slots ---- */

static void fill_done(void *ctx, int error)
{
	struct slot *slot = ctx;
	struct fill_job *job = slot->job;

	mtx_lock(&job->lock);
	slot->state = SLOT_ENDED;
	slot->fill = NULL;
	slot->error = error;
	cnd_signal(&job->ended);
	mtx_unlock(&job->lock);
}

static struct slot *slot_free(struct fill_job *job)
{
	struct slot *found = NULL;

	mtx_lock(&job->lock);
	for (unsigned int i = 0; i < WINDOW && !found; i++) {
		if (job->slot[i].state == SLOT_FREE)
			found = &job->slot[i];
	}
	mtx_unlock(&job->lock);
	return found;
}

static void said_failed(struct fill_job *job, uint32_t index, const char *why)
{
	json_t *path = select_path(job->sel.manifest, index);

	job->p.files_failed++;
	if (!job->call)
		log_warn("fill: %s: %s", json_string_value(path), why);
	else if (select_failed(job->call, json_string_value(path), why) < 0)
		job->gone = true;
	json_decref(path);
}

static const char *fill_words(const struct object_info *info, int error)
{
	if (error == -ECANCELED)
		return DROPPED;
	if (info->error[0])
		return info->error;
	if (error == -EFBIG)
		return "larger than the cache may become (--cache-size, --min-free)";
	return error == -EILSEQ ? "the content differs from its checksum" : strerror(-error);
}

static void skip_dropped(struct fill_job *job, size_t at)
{
	if (job->call)
		said_failed(job, job->sel.item[at].index, DROPPED);
	else
		job->p.files_failed++; /* of a million a line each in the log helps nobody */
}

static void slot_cancel(struct fill_job *job, struct slot *slot)
{
	mtx_lock(&job->lock);
	/* done() can't return before we unlock, so that the fill is still there. */
	if (slot->state == SLOT_BUSY)
		fill_cancel(slot->fill);
	mtx_unlock(&job->lock);
}

static void slot_start(struct fill_job *job, struct slot *slot)
{
	size_t at = job->next++;
	struct object *o;
	int r;

	if (at == job->surveyed)
		survey_one(job);
	if (atomic_load(&job->dropped[at])) {
		skip_dropped(job, at);
		return;
	}
	if (all_there(job, &job->sel.item[at])) {
		job->p.files_done++;
		return;
	}
	r = engine_object(job_engine(job), job->sel.manifest, job->sel.item[at].index, &o);
	if (r == 0) {
		slot->obj = o;
		slot->at = at;
		slot->state = SLOT_BUSY;
		job->busy++;
		r = object_fill(o, fill_done, slot, &slot->fill);
		if (r == 0) {
			/* The drop saw the object in memory, or we see the drop. */
			if (atomic_load(&job->dropped[at]))
				slot_cancel(job, slot);
			return;
		}
		slot->state = SLOT_FREE;
		job->busy--;
		object_put(o);
	}
	said_failed(job, job->sel.item[at].index, strerror(-r));
}

/* Only the order's thread takes slots and gives them back; BUSY becomes ENDED on the engine's. */
static void slot_take_back(struct fill_job *job, struct slot *slot)
{
	struct selected *item = &job->sel.item[slot->at];
	struct object_info info;

	object_info(slot->obj, &info);
	/* One that failed without a size is not waited for. */
	account(job, item, slot->error && info.size == SIZE_UNKNOWN ? info.bytes_cached : info.size,
		info.bytes_cached);
	if (slot->error == 0)
		job->p.files_done++;
	else if (slot->error != -ECANCELED || !orders_over(job->od, job->call))
		said_failed(job, item->index, fill_words(&info, slot->error));
	object_put(slot->obj);
	slot->obj = NULL;
	slot->state = SLOT_FREE;
	job->busy--;
}

static bool any_ended_locked(const struct fill_job *job) REQUIRES(job->lock)
{
	for (unsigned int i = 0; i < WINDOW; i++) {
		if (job->slot[i].state == SLOT_ENDED)
			return true;
	}
	return false;
}

static void slots_wait(struct fill_job *job)
{
	uint64_t until = clock_now_us() + WAIT_US;
	bool ended[WINDOW];

	mtx_lock(&job->lock);
	while (!any_ended_locked(job)) {
		if (!cnd_wait_until(&job->ended, &job->lock, until))
			break;
	}
	for (unsigned int i = 0; i < WINDOW; i++)
		ended[i] = job->slot[i].state == SLOT_ENDED;
	mtx_unlock(&job->lock);
	for (unsigned int i = 0; i < WINDOW; i++) {
		if (ended[i])
			slot_take_back(job, &job->slot[i]);
	}
}

static void slots_cancel(struct fill_job *job)
{
	for (unsigned int i = 0; i < WINDOW; i++)
		slot_cancel(job, &job->slot[i]);
}

/* ---- what the client hears ---- */

static json_t *active_file(struct fill_job *job, struct slot *slot, const struct object_info *info)
{
	return json_pack("{s:o,s:o,s:o,s:o,s:i}", "path",
			 select_path(job->sel.manifest, job->sel.item[slot->at].index), "size",
			 info->size == SIZE_UNKNOWN ? json_null() : json_number(info->size),
			 "bytes_cached", json_number(info->bytes_cached), "rate_bps",
			 json_number(info->rate_bps), "connections", (int)info->connections);
}

static void report(struct fill_job *job, bool last)
{
	uint64_t now_us = clock_now_us();
	struct object_info info;
	json_t *active, *line;
	char why[sizeof(info.error)] = "";

	if (!job->call || job->gone || (now_us < job->p.next_us && !last))
		return;
	job->p.next_us = now_us + ORDER_PROGRESS_US;
	active = json_array();
	for (unsigned int i = 0; i < WINDOW; i++) {
		struct slot *slot = &job->slot[i];

		if (!slot->obj)
			continue;
		object_info(slot->obj, &info);
		account(job, &job->sel.item[slot->at], info.size, info.bytes_cached);
		if (info.connections && json_array_size(active) < ACTIVE_SHOWN)
			json_array_append_new(active, active_file(job, slot, &info));
		if (info.error[0] && !why[0])
			memcpy(why, info.error, sizeof(why));
	}
	/* Nothing moves: why? */
	line = order_progress_json(&job->p, active);
	if (why[0] && json_array_size(active) == 0)
		json_object_set_new(line, "waiting", json_text(why));
	if (control_progress(job->call, line) < 0)
		job->gone = true;
}

/* ---- the order ---- */

static void job_run(struct fill_job *job)
{
	bool cancelled = false;

	job->p.files = job->sel.count;
	while (job->busy || (job->next < job->sel.count && !cancelled)) {
		struct slot *slot;

		job->gone = job->gone || orders_over(job->od, job->call);
		if (job->gone && !cancelled) {
			slots_cancel(job);
			cancelled = true;
		}
		for (unsigned int n = 0; n < SURVEY_STRIDE && !cancelled; n++) {
			slot = job->next < job->sel.count ? slot_free(job) : NULL;
			if (!slot)
				break;
			slot_start(job, slot);
		}
		survey(job);
		if (job->busy)
			slots_wait(job);
		report(job, false);
	}
	report(job, true);
}

static struct fill_job *job_new(struct orders *od, struct control_call *call)
{
	struct fill_job *job = calloc(1, sizeof(*job));

	if (!job)
		return NULL;
	job->od = od;
	job->call = call;
	mtx_init(&job->lock, RANK_JOB, "fill order");
	cnd_init(&job->ended);
	for (unsigned int i = 0; i < WINDOW; i++)
		job->slot[i].job = job;
	return job;
}

/* 0 or -ENOMEM. A drop may mark its items from now on. */
static int job_enter(struct fill_job *job)
{
	job->dropped = calloc(job->sel.count + 1, sizeof(*job->dropped));
	if (!job->dropped)
		return -ENOMEM;
	mtx_lock(orders_lock(job->od));
	LIST_INSERT_HEAD(orders_running_locked(job->od), job, running);
	mtx_unlock(orders_lock(job->od));
	return 0;
}

static void job_leave(struct fill_job *job)
{
	if (!job->dropped)
		return;
	mtx_lock(orders_lock(job->od));
	LIST_REMOVE(job, running);
	mtx_unlock(orders_lock(job->od));
	free(job->dropped);
	job->dropped = NULL;
}

static void mark_dropped(struct fill_job *job, const struct selection *sel)
{
	size_t at = 0;

	for (size_t i = 0; i < sel->count; i++) {
		while (at < job->sel.count && job->sel.item[at].index < sel->item[i].index)
			at++;
		if (at < job->sel.count && job->sel.item[at].index == sel->item[i].index)
			atomic_store(&job->dropped[at], true);
	}
}

void fill_jobs_drop(struct orders *od, const struct selection *sel)
{
	struct fill_job *job;

	mtx_lock(orders_lock(od));
	LIST_FOREACH (job, orders_running_locked(od), running) {
		if (job->sel.manifest == sel->manifest)
			mark_dropped(job, sel);
	}
	mtx_unlock(orders_lock(od));
}

static void job_free(struct fill_job *job)
{
	job_leave(job);
	selection_done(&job->sel);
	cnd_done(&job->ended);
	mtx_done(&job->lock);
	free(job);
}

/* ---- without a client ---- */

static void *background_run(void *arg)
{
	struct fill_job *job = arg;

	pthread_setname_np(pthread_self(), "fill order");
	job_run(job);
	log_info("fill: %" PRIu64 " of %" PRIu64 " files are complete", job->p.files_done,
		 job->p.files);
	job_leave(job);
	selection_done(&job->sel);
	atomic_store(&job->over, true);
	return NULL;
}

void fill_job_free(struct fill_job *job)
{
	pthread_join(job->thread, NULL);
	mtx_lock(orders_lock(job->od));
	LIST_REMOVE(job, link);
	mtx_unlock(orders_lock(job->od));
	job_free(job);
}

static void free_those_over(struct orders *od)
{
	struct fill_job *job;

	do {
		mtx_lock(orders_lock(od));
		LIST_FOREACH (job, orders_jobs_locked(od), link) {
			if (atomic_load(&job->over))
				break;
		}
		mtx_unlock(orders_lock(od));
		if (job)
			fill_job_free(job);
	} while (job);
}

static int background(struct fill_job *job, json_t **ret_result)
{
	json_t *result = json_pack("{s:o,s:o}", "files", json_number(job->sel.count), "missing",
				   json_number(job->sel.missing));
	struct mtx *lock = orders_lock(job->od);
	int r;

	free_those_over(job->od);
	job->call = NULL;
	mtx_lock(lock);
	r = -pthread_create(&job->thread, NULL, background_run, job);
	if (r == 0)
		LIST_INSERT_HEAD(orders_jobs_locked(job->od), job, link);
	mtx_unlock(lock);
	if (r < 0) {
		json_decref(result);
		return r;
	}
	*ret_result = result;
	return 0;
}

int order_fill(void *ctx, struct control_call *call, const json_t *request, json_t **ret_result)
{
	struct orders *od = ctx;
	struct fill_job *job = job_new(od, call);
	int r;

	if (!job)
		return -ENOMEM;
	r = selection_init(&job->sel, orders_mount(od), call, request);
	if (r == 0)
		r = job_enter(job);
	if (r == 0 && json_is_false(json_object_get(request, "wait"))) {
		r = background(job, ret_result);
		if (r == 0)
			return 0;
	} else if (r == 0) {
		job_run(job);
		r = job->gone ? control_explain(call, -ECANCELED, "the mount is ending") : 0;
		if (r == 0)
			*ret_result = order_progress_json(&job->p, NULL);
	}
	job_free(job);
	return r;
}
