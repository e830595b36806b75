/*
 * reader.c - open files: reads that wait, and what is fetched ahead of them
 *
 * handle_read() runs on a caller's thread and never waits. A read is a struct demand, whose own
 * waiter stands in for the caller's, so that the engine hears of its end. One whose bytes are there
 * is answered at once and nobody else hears of it. One that is parked is freed by the engine thread
 * when both its messages have been handled: want_msg (fetch this) and done_msg (it was answered);
 * either may come first.
 */
#include <signal.h>
#include <stdio.h>

#include "base/clock.h"
#include "engine/internal.h"
#include "engine/readers.h"
#include "engine/task.h"

/* Read-ahead of one reader, at most; and of what the cache can hold, or it evicts itself. */
#define READ_WINDOW_MAX	  (UINT64_C(32) << 20)
#define READ_WINDOW_SHARE 8
#define READ_RANGES_MAX	  4096 /* of one object that are told apart; then only their sum is known */

/* ---- answers ---- */

static void demand_handled(struct engine *e, struct msg *m);

/* By the origin that the handle has had from its opening on, so that each is counted once. */
static void parked_add(struct handle *h, int n)
{
	atomic_fetch_add(&h->obj->e->parked, n);
	if (h->origin)
		atomic_fetch_add(&h->origin->parked, n);
}

/* Any thread, under no lock. */
static void demand_done(struct waiter *w, int error, const void *data)
{
	struct demand *d = container_of(w, struct demand, w);
	struct waiter *user = d->user;
	struct object *o = d->h->obj;

	/* From within version_read(): it was not parked, and demand_read() will let go of it. */
	if (pthread_equal(pthread_self(), d->reader) && d->reading) {
		user->done(user, error, data);
		return;
	}
	parked_add(d->h, -1);
	/* First the message: after the caller's done() the handle may be closed and everything
	 * gone. */
	engine_post(o->e, &d->done_msg, demand_handled);
	user->done(user, error, data);
}

void demand_put(struct demand *d)
{
	if (atomic_fetch_sub(&d->refs, 1) == 1)
		free(d);
}

/* Asked for and answered. */
static void demand_leave(struct demand *d)
{
	TAILQ_REMOVE(&d->h->demands, d, in_handle);
	if (d->listed)
		TAILQ_REMOVE(&d->h->obj->e->demands, d, in_engine);
	d->h->demand_count--;
	demand_put(d);
}

static void handle_free_closed(struct handle *h);

/* The reader was answered. */
static void demand_handled(struct engine *e, struct msg *m)
{
	struct demand *d = container_of(m, struct demand, done_msg);
	struct handle *h = d->h;

	(void)e;
	d->answered = true;
	if (!d->asked)
		return;
	want_remove(&d->want, clock_now_us());
	demand_leave(d);
	object_rest(h->obj);
	handle_free_closed(h);
}

/* Answer with error, unless that has happened. */
static void demand_fail(struct demand *d, int error)
{
	if (!d->answered && version_cancel(d->h->version, &d->w))
		demand_done(&d->w, error, NULL);
}

void demand_failed(struct want *w, enum verdict why)
{
	struct demand *d = container_of(w, struct demand, want);
	struct object *o = d->h->obj;
	enum verdict_class class = verdict_class(why);

	if (class != VERDICT_CLASS_OURS)
		failmem_add(&o->failures, w->range, -EIO, clock_now_us() + FAILMEM_KEEP_US);
	object_failed(o, why);
	demand_fail(d, -EIO);
}

/* ---- asking ---- */

static bool handle_superseded(struct handle *h)
{
	bool other;

	mtx_lock(&h->obj->e->lock);
	other = h->obj->version != h->version;
	mtx_unlock(&h->obj->e->lock);
	return other;
}

static void demand_asked(struct engine *e, struct msg *m)
{
	struct demand *d = container_of(m, struct demand, want_msg);
	struct handle *h = d->h;
	struct object *o = h->obj;
	uint64_t now_us = clock_now_us();
	struct task *t;

	d->asked = true;
	h->demand_count++;
	TAILQ_INSERT_TAIL(&h->demands, d, in_handle);
	if (d->answered) {
		demand_leave(d);
		handle_free_closed(h);
		return;
	}
	if (d->pid > 0) {
		TAILQ_INSERT_TAIL(&e->demands, d, in_engine);
		d->listed = true;
	}
	if (d->cancelled) {
		demand_fail(d, -EINTR);
		return;
	}
	d->want.kind = WANT_DEMAND;
	d->want.prio = PRIO_DEMAND;
	d->want.range = range_to_blocks(d->w.range, version_size(h->version));
	if (atomic_load(&e->stopping) || h->closed || o->content_bad || handle_superseded(h) ||
	    failmem_find(&o->failures, d->want.range, now_us) || task_open(o, true, &t) < 0) {
		demand_fail(d, -EIO);
		return;
	}
	pulls_report(t, now_us);
	want_add(t, &d->want, now_us);
}

/* d is in the version's list, or was answered meanwhile by another thread. */
static int park(struct demand *d)
{
	struct object *o = d->h->obj;
	struct origin *at = d->h->origin;

	parked_add(d->h, 1);
	if (at && atomic_load(&at->parked) > (int)o->e->cfg.parked_per_origin &&
	    version_cancel(d->h->version, &d->w)) {
		parked_add(d->h, -1);
		demand_put(d);
		return -EIO;
	}
	engine_post(o->e, &d->want_msg, demand_asked);
	return -EINPROGRESS;
}

/* 0: answered on this thread. -EINPROGRESS: it will be. -errno: not answered. */
static int demand_read(struct demand *d)
{
	int r;

	atomic_fetch_add(&d->refs, 1);
	d->reader = pthread_self();
	d->reading = true;
	r = version_read(d->h->version, &d->w);
	d->reading = false;
	if (r == -EINPROGRESS)
		return park(d);
	demand_put(d);
	return r;
}

/* ---- windows ---- */

void readers_bound(struct engine *e)
{
	uint64_t share = e->store ? store_capacity(e->store) / READ_WINDOW_SHARE : READ_WINDOW_MAX;

	atomic_store(&e->window_max,
		     block_floor(max_u64(min_u64(share, READ_WINDOW_MAX), BLOCK_SIZE)));
}

static void windows_posted(struct engine *e, struct msg *m);

static void look_ahead(struct handle *h, struct range r, bool hit)
{
	struct object *o = h->obj;
	struct readahead_limit limit = {.window_max = atomic_load(&o->e->window_max)};
	struct range ahead;
	uint64_t size = version_size(h->version);
	bool post = false;

	if (h->origin) {
		limit.rate_bps = atomic_load(&h->origin->rate_bps);
		limit.ttfb_us = atomic_load(&h->origin->ttfb_us);
	}
	mtx_lock(&h->lock);
	readahead_read(&h->ra, r, size, hit, &limit, &ahead);
	if (!range_empty(ahead) && h->window_count < ARRAY_SIZE(h->windows)) {
		h->windows[h->window_count++] = ahead;
		post = !h->window_posted;
		h->window_posted = true;
	}
	mtx_unlock(&h->lock);
	if (post)
		engine_post(o->e, &h->window_msg, windows_posted);
}

void window_ended(struct want *w)
{
	TAILQ_REMOVE(&w->h->window_wants, w, in_handle);
	w->h->window_want_count--;
	free(w);
}

static void window_remove(struct want *w, uint64_t now_us)
{
	want_remove(w, now_us);
	window_ended(w);
}

static void window_add(struct handle *h, struct range r, uint64_t now_us)
{
	struct want *w = calloc(1, sizeof(*w)), *old, *tmp;
	struct task *t;

	if (!w || task_open(h->obj, true, &t) < 0) {
		free(w);
		return;
	}
	/* One that goes on where another ended takes its place: first the new, so that no lease
	 * ends. */
	TAILQ_FOREACH (old, &h->window_wants, in_handle) {
		if (old->range.end == r.off) {
			r.off = old->range.off;
			break;
		}
	}
	*w = (struct want){.kind = WANT_WINDOW, .prio = PRIO_WINDOW, .range = r, .h = h};
	TAILQ_INSERT_TAIL(&h->window_wants, w, in_handle);
	h->window_want_count++;
	want_add(t, w, now_us); /* w may be gone after it */
	TAILQ_FOREACH_SAFE (old, &h->window_wants, in_handle, tmp) {
		if (old != w &&
		    (range_contains(r, old->range) || h->window_want_count > WINDOWS_MAX))
			window_remove(old, now_us);
	}
}

static void windows_posted(struct engine *e, struct msg *m)
{
	struct handle *h = container_of(m, struct handle, window_msg);
	struct range list[WINDOWS_MAX];
	uint64_t now_us = clock_now_us();
	unsigned int count;

	mtx_lock(&h->lock);
	count = h->window_count;
	memcpy(list, h->windows, count * sizeof(list[0]));
	h->window_count = 0;
	h->window_posted = false;
	mtx_unlock(&h->lock);

	if (e->degraded || e->cfg.offline || atomic_load(&e->stopping) || h->closed ||
	    h->obj->content_bad || handle_superseded(h))
		return;
	for (unsigned int i = 0; i < count; i++) {
		struct range r = range_to_blocks(list[i], version_size(h->version));

		if (!range_empty(r) && !failmem_find(&h->obj->failures, r, now_us))
			window_add(h, r, now_us);
	}
}

/* ---- reading ---- */

static void handle_unref(struct handle *h);

/* How much of it has been read, now also r. */
static uint64_t read_distinct(struct object *o, struct range r)
{
	uint64_t bytes;

	mtx_lock(&o->read_lock);
	if (rangeset_add(&o->read, r) < 0 || o->read.count > READ_RANGES_MAX) {
		o->read_before += o->read.bytes;
		rangeset_done(&o->read);
		rangeset_init(&o->read);
	}
	bytes = o->read_before + o->read.bytes;
	mtx_unlock(&o->read_lock);
	return bytes;
}

static void count_read(struct object *o, struct range r, bool hit)
{
	struct engine *e = o->e;

	atomic_fetch_add(&o->reads, 1);
	atomic_fetch_add(&e->reads, 1);
	if (hit) {
		atomic_fetch_add(&o->read_hits, 1);
		atomic_fetch_add(&e->read_hits, 1);
	}
	if (e->cfg.fill != FILL_NONE && !e->cfg.offline && !atomic_load(&o->backfill_posted) &&
	    read_distinct(o, r) >= e->cfg.fill_after &&
	    !atomic_exchange(&o->backfill_posted, true)) {
		object_get(o);
		engine_post(e, &o->backfill_msg, backfill_posted);
	}
}

struct demand *demand_new(struct handle *h, struct waiter *w, int pid)
{
	struct demand *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	atomic_init(&d->refs, 1);
	d->e = h->obj->e;
	d->user = w;
	d->h = h;
	d->pid = pid;
	d->w.range = w->range;
	d->w.done = demand_done;
	return d;
}

void demand_begin(struct demand *d)
{
	struct waiter *w = d->user;
	struct handle *h = d->h;
	struct object *o = h->obj;
	struct range r = d->w.range;
	int ret;

	if (atomic_load(&o->e->stopping)) {
		w->done(w, -EIO, NULL);
		return;
	}
	/* Once it is answered the caller may close the handle and let go of d, before we return. */
	atomic_fetch_add(&h->refs, 1);
	ret = demand_read(d);
	if (ret < 0 && ret != -EINPROGRESS) {
		w->done(w, ret, NULL);
	} else {
		look_ahead(h, r, ret == 0);
		count_read(o, r, ret == 0);
	}
	handle_unref(h);
}

static void demand_cancelled(struct engine *e, struct msg *m)
{
	struct demand *d = container_of(m, struct demand, cancel_msg);

	(void)e;
	d->cancelled = true; /* if it has not been asked yet */
	if (d->asked && !d->answered) {
		want_remove(&d->want, clock_now_us());
		demand_fail(d, -EINTR);
	}
	demand_put(d);
}

void demand_cancel(struct demand *d)
{
	if (atomic_exchange(&d->cancel_posted, true))
		return;
	atomic_fetch_add(&d->refs, 1);
	engine_post(d->e, &d->cancel_msg, demand_cancelled);
}

void demand_signalled(struct demand *d)
{
	atomic_store(&d->signalled, true);
}

int handle_read(struct handle *h, struct waiter *w, int pid)
{
	struct demand *d = demand_new(h, w, pid);

	if (!d)
		return -ENOMEM;
	demand_begin(d);
	demand_put(d); /* NOLINT(clang-analyzer-unix.Malloc): the reference of demand_new() */
	return 0;
}

struct version *handle_version(struct handle *h)
{
	return h->version;
}

uint64_t handle_size(struct handle *h)
{
	return version_size(h->version);
}

/* ---- open and close ---- */

static void handle_opened(struct engine *e, struct msg *m)
{
	struct handle *h = container_of(m, struct handle, open_msg);

	(void)e;
	object_wake(h->obj);
	learned_recall_reads(h->obj);
	object_arrived(h->obj);
	revalidate_opened(h->obj, clock_now_us());
}

static struct origin *object_origin(struct object *o)
{
	struct origin *at;

	mtx_lock(&o->e->lock);
	at = o->origin;
	if (at)
		at->refs++;
	mtx_unlock(&o->e->lock);
	return at;
}

int object_open(struct object *o, uint64_t generation, struct handle **ret)
{
	struct handle *h;
	int r = object_openable(o, generation);

	if (r < 0)
		return r;
	h = calloc(1, sizeof(*h));
	if (!h)
		return -ENOMEM;
	r = object_version(o, generation, true, &h->version);
	if (r < 0) {
		free(h);
		return r;
	}
	h->obj = object_get(o);
	h->origin = object_origin(o);
	atomic_init(&h->refs, 1);
	mtx_init(&h->lock, RANK_HANDLE, "handle");
	mtx_lock(&h->lock);
	readahead_init(&h->ra);
	mtx_unlock(&h->lock);
	TAILQ_INIT(&h->demands);
	TAILQ_INIT(&h->window_wants);
	engine_post(o->e, &h->open_msg, handle_opened);
	*ret = h;
	return 0;
}

/* With the last demand of a closed handle, the handle goes. */
static void handle_free_closed(struct handle *h)
{
	struct object *o = h->obj;

	if (!h->closed || h->demand_count > 0)
		return;
	version_put(h->version);
	origin_put(o->e, h->origin);
	mtx_done(&h->lock);
	free(h);
	mtx_lock(&o->e->lock);
	o->handles--;
	mtx_unlock(&o->e->lock);
	object_rest(o);
	object_put(o);
}

/*
 * Nobody waits for it any more. What is under way for it goes on as backfill where the object has
 * one, whose want covers it, and ends where it has none.
 */
static void demand_demote(struct demand *d, uint64_t now_us)
{
	want_remove(&d->want, now_us);
	demand_fail(d, -EIO);
}

static void handle_closed(struct engine *e, struct msg *m)
{
	struct handle *h = container_of(m, struct handle, close_msg);
	uint64_t now_us = clock_now_us();
	struct demand *d;
	struct want *w, *next;

	(void)e;
	h->closed = true;
	object_arrived(h->obj); /* all there since an earlier mount, but not proven then */
	TAILQ_FOREACH (d, &h->demands, in_handle)
		demand_demote(d, now_us);
	TAILQ_FOREACH_SAFE (w, &h->window_wants, in_handle, next)
		window_remove(w, now_us);
	handle_free_closed(h);
}

static void handle_unref(struct handle *h)
{
	if (atomic_fetch_sub(&h->refs, 1) == 1)
		engine_post(h->obj->e, &h->close_msg, handle_closed);
}

void handle_close(struct handle *h)
{
	if (h)
		handle_unref(h);
}

/* ---- readers that are no more ---- */

/* Is SIGKILL pending for thread pid (proc(5), SigPnd)? The kernel turns other ends into it. */
static bool being_killed(int pid)
{
	static const char key[] = "SigPnd:";
	unsigned long long pending = 0;
	char path[32], line[128];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	while (fgets(line, sizeof(line), f)) {
		if (strncmp(line, key, strlen(key)) == 0)
			pending = strtoull(line + strlen(key), NULL, 16);
	}
	fclose(f);
	return pending >> (SIGKILL - 1) & 1;
}

static bool reader_gone(struct demand *d)
{
	if (kill(d->pid, 0) < 0 && errno == ESRCH)
		return true;
	return atomic_load(&d->signalled) && being_killed(d->pid);
}

void readers_sweep(struct engine *e, uint64_t now_us)
{
	struct demand *d, *tmp;

	TAILQ_FOREACH_SAFE (d, &e->demands, in_engine, tmp) {
		/*
		 * The kernel does not tell when a reader is killed, whose READ stays ours. One that
		 * waits for the READ itself is not gone before it is answered.
		 */
		if (d->answered || !reader_gone(d))
			continue;
		TAILQ_REMOVE(&e->demands, d, in_engine);
		d->listed = false;
		demand_demote(d, now_us);
	}
}

void readers_stop(struct engine *e)
{
	struct task *t, *tmp;

	TAILQ_FOREACH_SAFE (t, &e->tasks, link, tmp)
		task_drop_wants(t, WANT_DEMAND);
}
