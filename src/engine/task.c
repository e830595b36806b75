/*
 * task.c - what the engine wants of one version, and from where
 *
 * The engine thread alone enters. A task joins a sched_task with the entry's URLs, the version that
 * the bytes go to, and the wants of readers and orders. Wants for a version whose extents are still
 * being loaded wait here, because the sched would take what it can't see yet for complete.
 */
#include "base/clock.h"
#include "engine/internal.h"
#include "engine/readers.h"
#include "engine/task.h"

#define FORGIVE_US (10 * USEC_PER_SEC) /* sources that refused are not asked again before */
#define GIVEN_UP_US \
	(5 * USEC_PER_SEC) /* who comes so soon after somebody was told is told as well */

/* task.main was the URL's index while the sources were put in order. */
static void main_url_to_source(struct task *t)
{
	for (unsigned int i = 0; i < t->source_count; i++) {
		if (t->main >= 0 && t->source[i].url == (unsigned int)t->main) {
			t->main = (int)i;
			return;
		}
	}
	t->main = -1;
}

static int task_sources(struct task *t)
{
	struct engine *e = t->e;
	uint64_t bad = t->obj->sources_bad;
	unsigned int n = 0;

	t->source = calloc(t->entry.url_count, sizeof(*t->source));
	if (!t->source)
		return -ENOMEM;
	/* Those that sent bytes with a wrong checksum come last. */
	for (int pass = 0; pass < 2; pass++) {
		for (unsigned int i = 0; i < t->entry.url_count; i++) {
			struct source *s = &t->source[n];

			if (((bad >> i) & 1) != (uint64_t)pass)
				continue;
			s->url = i;
			s->validator = VALIDATOR_INIT;
			if (t->main == (int)i)
				s->validator = t->obj->validator;
			s->origin = origin_enter(e, t->entry.url[i]);
			if (!s->origin)
				return -ENOMEM;
			origin_ref(e, s->origin);
			s->at = origin_ref(e, s->origin);
			n++;
		}
	}
	t->source_count = n;
	main_url_to_source(t);
	return 0;
}

void task_resolve(struct task *t, unsigned int index, char *url, uint64_t until_us)
{
	struct source *s = &t->source[index];
	struct origin *at = url ? origin_enter(t->e, url) : NULL;

	free(s->resolved);
	s->resolved = url;
	s->resolved_until_us = url ? until_us : 0;
	at = origin_ref(t->e, at ? at : s->origin);
	origin_put(t->e, s->at);
	s->at = at;
	if (t->st)
		sched_source_set_origin(t->e->sched, t->st, index, s->at->sched);
}

void hints_sweep(struct engine *e, uint64_t now_us)
{
	struct task *t;

	TAILQ_FOREACH (t, &e->tasks, link) {
		for (unsigned int i = 0; i < t->source_count; i++) {
			struct source *s = &t->source[i];

			/* While its target is banned it says whom to wait for. */
			if (s->resolved_until_us && now_us >= s->resolved_until_us &&
			    now_us >= atomic_load(&s->at->banned_until_us))
				task_resolve(t, i, NULL, 0);
		}
	}
}

static int task_enter(struct task *t)
{
	struct sched_origin *origin[MANIFEST_URLS_MAX];

	for (unsigned int i = 0; i < t->source_count; i++)
		origin[i] = t->source[i].origin->sched;
	return sched_task_new(t->e->sched, t->obj->size, origin, t->source_count, t, &t->st);
}

static void task_free(struct task *t)
{
	if (!t)
		return;
	for (unsigned int i = 0; t->source && i < t->entry.url_count; i++) {
		free(t->source[i].resolved);
		origin_put(t->e, t->source[i].at);
		origin_put(t->e, t->source[i].origin);
	}
	free(t->source);
	version_put(t->version);
	mtx_done(&t->lock);
	entry_done(&t->entry);
	free(t);
}

/* What the version before has taught of the sources. */
static void task_restrain(struct task *t)
{
	struct object *o = t->obj;

	for (unsigned int i = 0; i < t->source_count; i++) {
		if (o->sources_long >> t->source[i].url & 1)
			sched_source_refuse(t->st, i, VERDICT_SIZE);
	}
	if (o->sources_long)
		t->refused_us = o->sources_long_us;
	sched_task_wait(t->e->sched, t->st, o->ask_after_us, VERDICT_CHANGED, clock_now_us());
}

static int task_new(struct object *o, struct task **ret)
{
	struct task *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return -ENOMEM;
	t->e = o->e;
	t->store = o->store;
	t->obj = o;
	t->refs = 1;
	TAILQ_INIT(&t->wants);
	LIST_INIT(&t->pulls);
	mtx_init(&t->lock, RANK_TASK, "task");
	entry_init(&t->entry);
	r = manifest_entry(o->manifest, o->index, &t->entry);
	if (r == 0 && t->entry.url_count == 0)
		r = -EINVAL;
	if (r == 0)
		learned_recall_main(o, &t->entry);
	t->main = validator_strength(&o->validator) > VALIDATOR_SIZE ? (int)o->validator_url : -1;
	if (r == 0)
		r = task_sources(t);
	if (r == 0)
		r = task_enter(t);
	if (r < 0) {
		task_free(t);
		return r;
	}
	for (unsigned int i = 0; i < t->entry.header_count; i++)
		t->headers[i] = t->entry.header[i];
	learned_recall(t);
	task_restrain(t);
	TAILQ_INSERT_TAIL(&t->e->tasks, t, link);
	*ret = t;
	return 0;
}

/* What was refused may have been put right; asked again at most so often. */
static void task_forgive(struct task *t)
{
	uint64_t now_us = clock_now_us();

	if (!t->refused_us || now_us - t->refused_us < FORGIVE_US)
		return;
	t->refused_us = 0;
	t->obj->sources_long = 0;
	sched_task_forgive(t->e->sched, t->st, now_us);
	task_restrain(t);
}

int task_open(struct object *o, bool with_version, struct task **ret)
{
	int r = 0;

	object_wake(o);
	if (!o->task)
		r = task_new(o, &o->task);
	if (r == 0 && with_version && !o->task->version)
		r = object_version(o, 0, false, &o->task->version);
	if (r < 0)
		return r;
	task_forgive(o->task);
	*ret = o->task;
	return 0;
}

void task_put(struct task *t)
{
	if (--t->refs == 0)
		task_free(t);
}

void task_close(struct task *t)
{
	struct object *o = t->obj;
	struct want *w;

	learned_keep(t);
	sched_task_close(t->e->sched, t->st, clock_now_us());
	t->st = NULL;
	TAILQ_REMOVE(&t->e->tasks, t, link);
	t->obj = NULL;
	o->task = NULL;
	atomic_store(&o->rate_bps, 0);
	atomic_store(&o->connections, 0);
	mtx_lock(&t->e->lock);
	o->filling = false;
	o->checking = false;
	mtx_unlock(&t->e->lock);

	while ((w = TAILQ_FIRST(&t->wants)) != NULL) {
		TAILQ_REMOVE(&t->wants, w, in_task);
		w->task = NULL;
		w->sw = NULL;
		t->want_count--;
		want_failed(w, VERDICT_CANCELLED);
	}
	t->loading = 0;
	if (o->revalidating)
		revalidate_failed(o);
	task_put(t);
}

/* ---- hosts that are not there ---- */

bool task_unreached(const struct task *t, uint64_t before_us)
{
	for (unsigned int i = 0; i < t->source_count; i++) {
		const struct origin *at = t->source[i].at;

		if (!at->unreached_us || at->unreached_us > before_us)
			return false;
	}
	return true;
}

bool task_given_up(const struct task *t, uint64_t now_us)
{
	for (unsigned int i = 0; i < t->source_count; i++) {
		const struct origin *at = t->source[i].at;

		if (!at->unreached_us || !at->given_up_us ||
		    now_us - at->given_up_us >= GIVEN_UP_US)
			return false;
	}
	return true;
}

void task_give_up(struct task *t, uint64_t now_us)
{
	if (!task_unreached(t, now_us))
		return;
	for (unsigned int i = 0; i < t->source_count; i++)
		t->source[i].at->given_up_us = now_us;
}

void task_test(struct task *t, uint64_t now_us)
{
	for (unsigned int i = 0; i < t->source_count; i++) {
		if (t->source[i].at->unreached_us)
			sched_origin_test(t->e->sched, t->source[i].at->sched, now_us);
	}
}

/* ---- wants ---- */

void task_renew(struct object *o, uint64_t now_us)
{
	struct want_list wants = TAILQ_HEAD_INITIALIZER(wants);
	struct task *t = o->task;
	struct want *w, *tmp;
	int r = 0;

	if (t) {
		TAILQ_FOREACH_SAFE (w, &t->wants, in_task, tmp) {
			want_remove(w, now_us);
			TAILQ_INSERT_TAIL(&wants, w, in_task);
		}
		task_close(t);
	}
	learned_forget(o);
	if (!TAILQ_EMPTY(&wants) || LIST_FIRST(&o->probes))
		r = task_open(o, !TAILQ_EMPTY(&wants), &t);
	while ((w = TAILQ_FIRST(&wants)) != NULL) {
		TAILQ_REMOVE(&wants, w, in_task);
		if (r == 0)
			want_add(t, w, now_us);
		else
			want_failed(w, VERDICT_INTERNAL);
	}
	if (LIST_FIRST(&o->probes))
		probes_renew(o, now_us);
}

static void want_take(struct want *w)
{
	struct task *t = w->task;

	if (!t)
		return;
	TAILQ_REMOVE(&t->wants, w, in_task);
	t->want_count--;
	if (!w->sw)
		t->loading--;
	w->sw = NULL;
	w->task = NULL;
}

static void want_enter(struct want *w, uint64_t now_us)
{
	enum verdict why = VERDICT_INTERNAL;
	int r = sched_want_add(w->task->e->sched, w->task->st, w->range, w->prio, w, now_us, &w->sw,
			       &why);

	if (r < 0) {
		w->sw = NULL;
		w->task->loading++; /* want_take() counts one down */
		want_failed(w, r == -EIO ? why : VERDICT_INTERNAL);
	}
}

void want_add(struct task *t, struct want *w, uint64_t now_us)
{
	struct version_info vi;

	assert(t->version && !w->task);
	w->task = t;
	w->sw = NULL;
	TAILQ_INSERT_TAIL(&t->wants, w, in_task);
	t->want_count++;
	version_info(t->version, &vi);
	if (vi.loading || t->e->cfg.offline)
		t->loading++;
	else
		want_enter(w, now_us);
}

void want_remove(struct want *w, uint64_t now_us)
{
	struct sched_want *sw = w->sw;
	struct engine *e;

	if (!w->task)
		return;
	e = w->task->e;
	want_take(w);
	if (sw)
		sched_want_remove(e->sched, sw, now_us);
}

bool task_admit(struct task *t, uint64_t now_us)
{
	struct version_info vi;
	struct want *w, *tmp;

	version_info(t->version, &vi);
	if (vi.loading)
		return true;
	TAILQ_FOREACH_SAFE (w, &t->wants, in_task, tmp) {
		if (w->sw)
			continue;
		if (t->e->cfg.offline) {
			want_take(w);
			want_failed(w, VERDICT_OFFLINE);
		} else {
			t->loading--;
			want_enter(w, now_us);
		}
	}
	return false;
}

void want_satisfied(struct want *w)
{
	want_take(w);
	switch (w->kind) {
	case WANT_DEMAND:
		break; /* its reader has been answered, or will be: done_msg ends it */
	case WANT_WINDOW:
		window_ended(w);
		break;
	case WANT_FILL:
		fill_satisfied(w->fill);
		break;
	case WANT_BACKFILL:
		backfill_satisfied(container_of(w, struct object, backfill_want));
		break;
	}
}

void want_failed(struct want *w, enum verdict why)
{
	/* From the first on: asking again and again does not put the next question off. */
	if (w->task && verdict_refuses(why) && !w->task->refused_us)
		w->task->refused_us = clock_now_us();
	want_take(w);
	switch (w->kind) {
	case WANT_DEMAND:
		demand_failed(w, why);
		break;
	case WANT_WINDOW:
		window_ended(w);
		break;
	case WANT_FILL:
		fill_want_failed(w->fill, why);
		break;
	case WANT_BACKFILL:
		backfill_want_failed(container_of(w, struct object, backfill_want), why);
		break;
	}
}

void task_drop_wants(struct task *t, enum want_kind kind)
{
	struct want *w, *tmp;
	uint64_t now_us = clock_now_us();

	TAILQ_FOREACH_SAFE (w, &t->wants, in_task, tmp) {
		if (w->kind == kind) {
			want_remove(w, now_us);
			want_failed(w, VERDICT_CACHE);
		}
	}
}

bool verdict_refuses(enum verdict v)
{
	enum verdict_class class = verdict_class(v);

	return class == VERDICT_CLASS_SOURCE || class == VERDICT_CLASS_RERESOLVE;
}

int verdict_errno(enum verdict v)
{
	switch (verdict_class(v)) {
	case VERDICT_CLASS_GOOD:
		return 0;
	case VERDICT_CLASS_VERSION:
		return -ESTALE;
	case VERDICT_CLASS_SOURCE:
	case VERDICT_CLASS_RERESOLVE:
		return v == VERDICT_GONE ? -ENOENT : v == VERDICT_DENIED ? -EACCES : -EIO;
	case VERDICT_CLASS_ORIGIN:
	case VERDICT_CLASS_RETRY:
		return -ETIMEDOUT;
	case VERDICT_CLASS_OURS:
		return v == VERDICT_CANCELLED ? -ECANCELED : v == VERDICT_CACHE ? -ENOSPC : -EIO;
	}
	return -EIO;
}
