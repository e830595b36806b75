/*
 * lease.c - what the sched asks for, and what it is told
 *
 * The engine thread alone enters: as struct sched_ops from within sched_*(), and with the messages
 * that pull.c posts. In ops nothing may call back into the sched; in messages everything may.
 */
#include "base/clock.h"
#include "engine/internal.h"

#define ASKED_INTERVAL_S 60 /* how often an unchanged answer is worth a row in the database */
#define WHOLE_CLOSED_US	 (2 * USEC_PER_SEC)  /* a whole body goes on so long for nobody … */
#define WHOLE_OPEN_US	 (30 * USEC_PER_SEC) /* … and where somebody may read on */
/*
 * Answers with one other ETag in a row, then it is another version: of two nodes behind a balancer
 * the same one answers so often in a row in one of 32 cases. With the pauses between them some 2 s.
 */
#define FLIPS_MAX 6

/* ---- ops ---- */

static int op_next_gap(void *ctx, void *task_user, struct range within, struct range *ret)
{
	struct task *t = task_user;

	(void)ctx;
	return t->version ? version_next_gap(t->version, within, ret) : -ENOENT;
}

static struct pull *pull_new(struct task *t, struct lease *l)
{
	struct object *o = t->obj;
	struct pull *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->e = t->e;
	p->lease = l;
	p->task = t;
	p->probe = l->probe;
	p->demand = l->prio == PRIO_DEMAND;
	p->source = l->source;
	p->source_url = t->source[l->source].url;
	p->version = t->version && !l->probe ? version_get(t->version) : NULL;
	p->fetch = t->e->fetch[p->demand ? LANE_DEMAND : LANE_BULK];
	p->slice_off = o->slice.off;
	p->slice_end = o->slice.end;
	p->size = o->size;
	p->total = SIZE_UNKNOWN;
	p->stream_size = SIZE_UNKNOWN;
	p->pinned = object_content_pinned(o);
	p->ignore_etag = t->source[l->source].origin->ignore_etag;
	p->started_us = clock_now_us();
	p->got = VALIDATOR_INIT;
	atomic_init(&p->end, l->probe ? l->off + 1 : atomic_load(&l->end));
	atomic_init(&p->pos, l->off);
	atomic_init(&p->pending, 1);
	atomic_init(&p->prio, (int)l->prio);
	t->refs++;
	LIST_INSERT_HEAD(&t->pulls, p, link);
	t->e->pulls++;
	l->user = p;
	return p;
}

static void pull_free(struct pull *p)
{
	struct task *t = p->task;

	LIST_REMOVE(p, link);
	t->e->pulls--;
	task_put(t);
	version_put(p->version);
	free(p->resolved);
	free(p->asked);
	free(p);
}

static uint64_t to_wire(const struct pull *p, uint64_t off)
{
	return off == SIZE_UNKNOWN ? p->slice_end : add_sat_u64(off, p->slice_off);
}

static void pull_request(struct pull *p, struct transfer_request *rq)
{
	struct task *t = p->task;
	struct object *o = t->obj;
	struct source *s = &t->source[p->source];

	p->lease->unranged |= s->no_total && o->size == SIZE_UNKNOWN;
	p->ranged = !p->lease->unranged;
	p->asked_all = p->lease->off == 0 && atomic_load(&p->end) >= o->size;
	p->used_resolved =
		s->resolved && (!s->resolved_until_us || p->started_us < s->resolved_until_us);
	mtx_lock(&t->lock);
	rq->validator = s->validator;
	rq->validator_date = s->validator_date;
	mtx_unlock(&t->lock);

	rq->url = t->entry.url[s->url];
	rq->resolved = p->used_resolved ? s->resolved : NULL;
	rq->headers = t->headers;
	rq->range = range_make(p->ranged ? to_wire(p, p->lease->off) : 0,
			       to_wire(p, atomic_load(&p->end)));
	rq->ranged = p->ranged;
	rq->probe = p->probe;
	rq->if_range = p->ranged && !p->probe && !s->no_if_range && !p->ignore_etag;
	rq->fill = p->lease->prio >= PRIO_FILL;
	rq->urgent = p->demand;
	rq->foreign = atomic_load(&o->foreign);
	rq->grid = p->slice_off;
	rq->end = &p->end;
	rq->end_add = p->slice_off;
	rq->ops = &pull_ops;
	rq->user = p;
	rq->want = (struct http_want){
		.range = rq->range,
		.ranged = rq->ranged,
		.if_range = rq->if_range,
		.size = object_sliced(o) ? SIZE_UNKNOWN : o->size,
		.size_pinned = !object_sliced(o) && o->manifest_size != SIZE_UNKNOWN,
		.content_pinned = p->pinned,
		.ignore_etag = p->ignore_etag,
		.have = validator_strength(&rq->validator) != VALIDATOR_NONE ? &rq->validator
									     : NULL,
	};
}

static void op_start(void *ctx, struct lease *l)
{
	struct engine *e = ctx;
	struct task *t = l->task_user;
	struct transfer_request rq = {0};
	struct pull *p;

	l->user = NULL;
	p = pull_new(t, l);
	if (!p) {
		assert(e->stillborn_count < e->stillborn_max);
		e->stillborn[e->stillborn_count++] = l;
		return;
	}
	pull_request(p, &rq);
	atomic_fetch_add(&t->obj->requests, 1);
	tell_lease(p, "begins");
	/* Further on it only asks whether there are ranges. */
	if (p->probe && l->off == 0) {
		mtx_lock(&e->lock);
		t->obj->checking = true;
		mtx_unlock(&e->lock);
	}
	if (fetch_start(p->fetch, &rq, &p->transfer) < 0) {
		p->transfer = NULL;
		p->result =
			(struct transfer_result){.verdict = VERDICT_INTERNAL, .pos = rq.range.off};
		engine_post(e, &p->ended_msg, pull_ended);
		pull_unpend(p);
	}
}

bool leases_bury(struct engine *e, uint64_t now_us)
{
	unsigned int count = e->stillborn_count;

	for (unsigned int i = 0; i < count; i++) {
		struct lease *l = e->stillborn[i];

		sched_lease_ended(e->sched, l, VERDICT_INTERNAL, l->off, 0, now_us);
		sched_lease_written(e->sched, l, now_us);
	}
	e->stillborn_count = 0;
	return count > 0;
}

/* Until we hear of its end; an order that crosses that on its way does nothing (FETCH_LINGER_US).
 */
static bool pull_listens(const struct pull *p)
{
	return p->transfer && !p->ended;
}

static void op_shrunk(void *ctx, struct lease *l)
{
	struct pull *p = l->user;

	(void)ctx;
	/* Between head()'s word that the body is the whole and the sched's, the end is head()'s. */
	if (!p || (atomic_load(&p->whole) && !p->whole_lease))
		return;
	atomic_store(&p->end, atomic_load(&l->end));
	tell_lease(p, "is cut");
	if (pull_listens(p))
		fetch_shrunk(p->fetch, p->transfer);
}

static void pull_cancel(struct pull *p, bool at_once)
{
	if (pull_listens(p))
		fetch_cancel(p->fetch, p->transfer, at_once);
}

static void op_cancel(void *ctx, struct lease *l, bool at_once)
{
	(void)ctx;
	if (!l->user)
		return;
	tell_lease(l->user, "is cancelled");
	pull_cancel(l->user, at_once);
}

static bool task_unwanted(struct task *t, uint64_t now_us)
{
	uint64_t grace_us;

	if (t->want_count || !atomic_load(&t->whole)) {
		t->unwanted_us = 0;
		return false;
	}
	mtx_lock(&t->e->lock);
	grace_us = t->obj->handles > 0 ? WHOLE_OPEN_US : WHOLE_CLOSED_US;
	mtx_unlock(&t->e->lock);
	if (!t->unwanted_us)
		t->unwanted_us = now_us;
	return now_us - t->unwanted_us >= grace_us;
}

/*
 * The sched trims what nobody wants; but a body that can only come whole would start from 0 again
 * for the next read, so that it goes on for a while.
 */
void wholes_sweep(struct engine *e, uint64_t now_us)
{
	struct task *t;
	struct pull *p;

	TAILQ_FOREACH (t, &e->tasks, link) {
		if (!task_unwanted(t, now_us))
			continue;
		LIST_FOREACH (p, &t->pulls, link) {
			if (p->whole_lease)
				pull_cancel(p, false);
		}
	}
}

static void op_hold(void *ctx, struct lease *l, bool hold)
{
	struct pull *p = l->user;

	(void)ctx;
	if (!p)
		return;
	tell_lease(p, hold ? "is held" : "goes on");
	if (pull_listens(p))
		fetch_hold(p->fetch, p->transfer, hold);
}

static void op_satisfied(void *ctx, void *want_user)
{
	(void)ctx;
	want_satisfied(want_user);
}

static void op_failed(void *ctx, void *want_user, enum verdict why)
{
	(void)ctx;
	want_failed(want_user, why);
}

static void op_probe_failed(void *ctx, void *task_user, enum verdict why)
{
	struct task *t = task_user;
	struct object *o = t->obj;
	uint64_t now_us = clock_now_us();
	int error = verdict_errno(why);

	(void)ctx;
	if (!o)
		return;
	mtx_lock(&o->e->lock);
	o->checking = false;
	mtx_unlock(&o->e->lock);
	object_failed(o, why);
	o->probe_failed_us = now_us;
	if (!t->refused_us)
		t->refused_us = now_us;
	if (why == VERDICT_GONE)
		o->gone_us = now_us;
	if (o->revalidating)
		revalidate_failed(o);
	probes_give_up(t, now_us);
	probes_answer(o, error == -ENOENT || error == -ETIMEDOUT ? error : -EIO);
}

const struct sched_ops engine_sched_ops = {
	.next_gap = op_next_gap,
	.start = op_start,
	.shrunk = op_shrunk,
	.cancel = op_cancel,
	.hold = op_hold,
	.satisfied = op_satisfied,
	.failed = op_failed,
	.probe_failed = op_probe_failed,
};

/* ---- messages ---- */

static void pull_count(struct pull *p, uint64_t bytes)
{
	if (p->task->obj && bytes > p->counted)
		atomic_fetch_add(&p->task->obj->bytes_fetched, bytes - p->counted);
	p->counted = max_u64(p->counted, bytes);
}

static void pull_report(struct pull *p, uint64_t now_us)
{
	struct lease *l = p->lease;
	uint64_t pos = atomic_load(&p->pos);

	if (p->probe || pos <= l->off || p->ended)
		return;
	pull_count(p, pos - l->off);
	sched_lease_progress(p->e->sched, l, pos, now_us);
}

void pull_progressed(struct engine *e, struct msg *m)
{
	struct pull *p = container_of(m, struct pull, progress_msg);

	(void)e;
	atomic_store(&p->progress_posted, false);
	atomic_store(&p->prio, (int)p->lease->prio);
	pull_report(p, clock_now_us());
}

void pulls_report(struct task *t, uint64_t now_us)
{
	struct pull *p;

	LIST_FOREACH (p, &t->pulls, link)
		pull_report(p, now_us);
}

/*
 * Nodes of one origin may name equal bytes by ETags of their own. That is proven when the ETag that
 * we know comes back, in answer to a question asked after the other one was seen.
 */
static void flips_settle(struct pull *p, struct source *s)
{
	if (!s->flips || p->started_us <= s->flip_us)
		return;
	s->flips = 0;
	if (s->origin->ignore_etag)
		return;
	s->origin->ignore_etag = true;
	log_warn("%s: its nodes disagree on ETags: ignored from now on", s->origin->key);
}

/* Only the ETag differs. True: ask again before taking it for another version. */
static bool flips_doubt(struct pull *p, struct source *s)
{
	enum validator_match match;

	mtx_lock(&p->task->lock);
	match = validator_compare(&s->validator, &p->got, p->pinned);
	mtx_unlock(&p->task->lock);
	if (match != VALIDATOR_FLIPPED)
		return false;
	if (s->origin->ignore_etag)
		return true; /* asked before that was known */
	if (s->flips == 0 || strcmp(s->flipped, p->got.etag) != 0) {
		memcpy(s->flipped, p->got.etag, sizeof(s->flipped));
		s->flips = 0;
	}
	/* Of several that were under way together one counts: they are no second opinion. */
	if (s->flips == 0 || p->started_us > s->flip_us)
		s->flips++;
	s->flip_us = clock_now_us();
	return s->flips < FLIPS_MAX;
}

/* Where the redirects led, and whether the next request may go there at once. */
static void hint_learn(struct pull *p, struct source *s)
{
	bool worked = p->resolved && p->used_resolved && s->resolved &&
		      strcmp(p->resolved, s->resolved) == 0;

	if (worked && s->resolved_until_us)
		return;
	/* A hint that was used and is not confirmed has died: the manifest's URL itself answered.
	 */
	if (!p->resolved || worked || p->resolved_until_us <= clock_now_us()) {
		if (s->resolved)
			task_resolve(p->task, p->source, NULL, 0);
		return;
	}
	task_resolve(p->task, p->source, p->resolved, p->resolved_until_us);
	p->resolved = NULL;
}

/* What this answer tells of the source. */
static void source_learn(struct pull *p)
{
	struct source *s = &p->task->source[p->source];

	hint_learn(p, s);
	if (p->use.if_range_refused) {
		s->no_if_range = true;
		s->refused_us = clock_now_us();
	}
	flips_settle(p, s);
}

/* What this answer tells of the object; it is of our version. */
static void object_learn(struct object *o, struct pull *p)
{
	struct engine *e = o->e;
	struct validator before = o->validator;
	int64_t now_s = clock_wall_s();
	bool news, main;

	mtx_lock(&p->task->lock);
	main = p->task->main < 0 || p->task->main == (int)p->source;
	mtx_unlock(&p->task->lock);

	mtx_lock(&e->lock);
	if (main) {
		validator_learn(&o->validator, &p->got);
		o->validator_url = p->source_url;
	}
	news = memcmp(&before, &o->validator, sizeof(before)) != 0 ||
	       now_s - o->asked_s >= ASKED_INTERVAL_S;
	if (o->mtime == VALIDATOR_NO_TIME && p->got.last_modified != VALIDATOR_NO_TIME) {
		o->mtime = p->got.last_modified;
		news = true;
	}
	if (object_content_pinned(o)) {
		/* New bytes are to be proven. */
		news |= !p->probe && o->asked_s != 0;
		if (!p->probe)
			o->asked_s = 0;
	} else {
		o->asked_s = now_s;
	}
	o->stale = false;
	o->failed = false;
	if (p->probe)
		o->checking = false;
	if (p->total == SIZE_UNKNOWN && o->size == SIZE_UNKNOWN && p->answer == VERDICT_WHOLE)
		o->length_unknown = true;
	mtx_unlock(&e->lock);

	object_forget_failed(o);
	failmem_init(&o->failures);
	o->told = VERDICT_PART;
	o->gone_us = 0;
	o->probe_failed_us = 0;
	if (!p->probe)
		o->sources_used |= UINT64_C(1) << p->source_url;
	if (o->size == SIZE_UNKNOWN && p->total != SIZE_UNKNOWN) {
		object_sized(o, p->total);
		news = true;
	}
	if (news)
		object_remember(o);
	if (p->probe || LIST_FIRST(&o->probes))
		probes_answer(o, o->size != SIZE_UNKNOWN || o->length_unknown ? 0 : -EIO);
	if (o->revalidating)
		revalidate_answered(o);
}

/* A probe met our object without a version; since then somebody may have opened one. */
static bool probe_fits(struct object *o, const struct pull *p)
{
	struct validator have;
	struct version *v;

	mtx_lock(&o->e->lock);
	v = o->version ? version_get(o->version) : NULL;
	mtx_unlock(&o->e->lock);
	if (!v)
		return true;
	version_validator(v, &have);
	if (have.size == SIZE_UNKNOWN && !object_sliced(o))
		have.size = version_size(v);
	version_put(v);
	return p->task->source_count > 1 ||
	       validator_compare(&have, &p->got, p->pinned) != VALIDATOR_DIFFERENT;
}

/* Whoever was asked for all may send all. */
static void origin_learn_ranges(const struct pull *p)
{
	struct origin *at = p->task->source[p->source].at;
	struct sched_ranges ranges = {0};

	if (!p->ranged || p->ask_again || (p->asked_all && p->answer == VERDICT_WHOLE))
		return;
	if (p->task->st)
		sched_task_ranges(p->task->st, p->source, &ranges);
	if (p->answer == VERDICT_WHOLE && !ranges.none)
		return; /* perhaps a bad moment */
	atomic_store(&at->no_ranges, p->answer == VERDICT_WHOLE);
	if (p->answer == VERDICT_WHOLE)
		tell_no_ranges(at);
}

void pull_answered(struct engine *e, struct msg *m)
{
	struct pull *p = container_of(m, struct pull, answered_msg);
	struct task *t = p->task;
	uint64_t now_us = clock_now_us();
	struct origin *at = p->resolved ? origin_enter(e, p->resolved) : NULL;

	source_learn(p);
	if (!at)
		at = t->source[p->source].at;
	sched_lease_set_origin(e->sched, p->lease, at->sched, now_us);
	if (p->connected)
		sched_lease_connected(e->sched, p->lease, p->connect_us, p->asked_us);
	/* One that is asked again without If-Range says nothing of ranges. */
	if (p->answer == VERDICT_WHOLE && !p->ask_again) {
		p->whole_lease = sched_lease_whole(e->sched, p->lease, now_us);
		if (p->whole_lease)
			atomic_store(&p->end, atomic_load(&p->lease->end));
		if (!p->probe && !(p->whole_lease && atomic_load(&p->whole)))
			pull_cancel(p, false);
	}
	/* After an answer without ranges the sched would take this one for one with. */
	if (p->answer != VERDICT_WHOLE || p->whole_lease)
		sched_lease_answered(e->sched, p->lease, now_us);
	/* The reader that gets these bytes opens its window by what they took. */
	origin_publish(at);
	origin_learn_ranges(p);
	at->unreached_us = 0;
	if (!t->obj)
		return;
	if (p->probe && !probe_fits(t->obj, p)) {
		p->probe_changed = true;
		return;
	}
	object_learn(t->obj, p);
}

/* Whom the verdict is on: the host that was asked last. */
static struct origin *pull_blamed(const struct pull *p)
{
	struct origin *o = p->asked ? origin_enter(p->e, p->asked) : NULL;

	return o ? o : p->task->source[p->source].at;
}

/*
 * A hint that failed is dropped; but one whose host is banned now is kept, or made: asked again,
 * the manifest's URL would only lead there during the ban.
 */
static void resolve_failed(struct pull *p, const struct origin *at, enum verdict_class class)
{
	struct source *s = &p->task->source[p->source];

	if (class == VERDICT_CLASS_ORIGIN && at != s->origin) {
		task_resolve(p->task, p->source, p->asked,
			     p->used_resolved ? s->resolved_until_us : 0);
		p->asked = NULL;
	} else if (p->used_resolved) {
		task_resolve(p->task, p->source, NULL, 0);
	}
}

static void note_failure(struct object *o, struct pull *p, const struct origin *at, enum verdict v)
{
	enum verdict_class class = verdict_class(v);

	if (class == VERDICT_CLASS_GOOD || (class == VERDICT_CLASS_OURS && v != VERDICT_CACHE))
		return;
	if (class != VERDICT_CLASS_OURS)
		resolve_failed(p, at, class);
	if (class == VERDICT_CLASS_ORIGIN || class == VERDICT_CLASS_RETRY)
		atomic_fetch_add(&o->retries, 1);
	if (v == VERDICT_SIZE && p->untrue)
		object_set_error(o,
				 "%s: %s: the manifest says %" PRIu64
				 " bytes, the server sent %s%" PRIu64
				 " (correct the manifest, or index it again; then rgetfs reload)",
				 verdict_name(v), at->key, o->manifest_size,
				 p->result.body_bytes > o->manifest_size ? "at least " : "",
				 p->result.body_bytes);
	else if (v == VERDICT_SIZE)
		object_set_error(o,
				 "%s: %s: the manifest says %" PRIu64 " bytes, the server %" PRIu64
				 " (correct the manifest, or index it again; then rgetfs reload)",
				 verdict_name(v), at->key, o->manifest_size, p->total);
	else if (v == VERDICT_CHANGED && o->replaced > 1)
		object_set_error(o, "%s: %s: another version in each answer, %u in a row",
				 verdict_name(v), at->key, o->replaced);
	else if (v == VERDICT_CHECKSUM && o->etag_pinned && !object_content_pinned(o))
		object_set_error(o,
				 "%s: %s: another version than the manifest's ETag says "
				 "(index it again, then rgetfs reload)",
				 verdict_name(VERDICT_CHANGED), at->key);
	else
		object_set_error(o, "%s: %s: %s%s%s%s", verdict_name(v), at->key, verdict_text(v),
				 p->result.detail[0] ? " (" : "", p->result.detail,
				 p->result.detail[0] ? ")" : "");
	tell_verdict(o, p, v);
}

/* An answer without a body that is good all the same: the object is empty. */
static void object_empty(struct object *o, struct pull *p)
{
	p->total = 0;
	p->answer = VERDICT_EMPTY;
	object_learn(o, p);
}

/*
 * Another content than the version's: a new version, unless the manifest names the content or the
 * size, or another mirror is the one that the version is known by. Then this source is wrong.
 */
static enum verdict change_meant(struct pull *p, const struct object *o)
{
	bool main;

	if (flips_doubt(p, &p->task->source[p->source]))
		return VERDICT_SERVER;
	mtx_lock(&p->task->lock);
	main = p->task->main < 0 || p->task->main == (int)p->source;
	mtx_unlock(&p->task->lock);
	if (o->manifest_size != SIZE_UNKNOWN && p->total != SIZE_UNKNOWN &&
	    p->total != o->manifest_size)
		return VERDICT_SIZE;
	return main && !object_version_pinned(o) ? VERDICT_CHANGED : VERDICT_CHECKSUM;
}

/* What the end of p means for its object, which is o. */
static enum verdict end_meant(struct pull *p, struct object *o, enum verdict v, uint64_t now_us)
{
	struct source *s = &p->task->source[p->source];

	if (v == VERDICT_CHANGED)
		v = change_meant(p, o);
	if (v == VERDICT_CHANGED)
		object_replaced(o, p->untrue, now_us);
	/* A part without a total is valid (RFC 9110 14.4): the size is asked in another way. */
	if (v == VERDICT_NO_TOTAL && !s->no_total) {
		s->no_total = true;
		return VERDICT_SERVER;
	}
	return v;
}

/* Was o there at all? */
static void origin_learn_reach(struct origin *o, enum verdict v, uint64_t started_us)
{
	if (v == VERDICT_NAME || v == VERDICT_CONNECT) {
		o->unreached = v;
		if (!o->unreached_us)
			o->unreached_us = started_us;
	} else if (verdict_class(v) != VERDICT_CLASS_OURS) {
		o->unreached_us = 0;
	}
}

void pull_ended(struct engine *e, struct msg *m)
{
	struct pull *p = container_of(m, struct pull, ended_msg);
	struct object *o = p->task->obj;
	struct lease *l = p->lease;
	enum verdict v = p->mismatch || p->probe_changed ? VERDICT_CHANGED : p->result.verdict;
	uint64_t now_us = clock_now_us();
	uint64_t pos = p->result.pos > p->slice_off ? p->result.pos - p->slice_off : 0;
	struct origin *at = pull_blamed(p);
	bool changed;

	if (p->stream_size != SIZE_UNKNOWN)
		p->total = p->stream_size;
	if (p->untrue)
		p->total = SIZE_UNKNOWN;
	p->ended = true;
	origin_learn_reach(at, v, p->started_us);
	if (verdict_class(v) != VERDICT_CLASS_OURS)
		sched_lease_set_origin(e->sched, l, at->sched, now_us);
	if (o) {
		pull_count(p, p->result.bytes_received);
		atomic_fetch_add(&o->bytes_discarded, p->result.bytes_discarded);
		v = end_meant(p, o, v, now_us);
		if (!p->no_total || v == VERDICT_NO_TOTAL)
			note_failure(o, p, at, v);
	}
	changed = v == VERDICT_CHANGED;
	pos = max_u64(min_u64(pos, atomic_load(&l->end)), l->off);
	tell_ended(p, v, pos);
	if (o && v == VERDICT_EMPTY)
		object_empty(o, p);
	else if (o && v <= VERDICT_WHOLE && o->size == SIZE_UNKNOWN && p->total != SIZE_UNKNOWN)
		object_learn(o, p); /* the stream's end told its length */
	sched_lease_ended(e->sched, l, v, pos, p->result.retry_after_us, now_us);
	o = p->task->obj;
	if (o && changed)
		object_changed(o, &p->got, p->total);
	else if (o && p->untrue)
		object_disown(o, p->source_url, p->task->source_count, now_us);
}

/*
 * The cache took no bytes of p. What nobody asked for waits until there is room; an order goes on
 * while eviction makes some. A disk that takes nothing ends them.
 */
static void pull_refused(struct pull *p, int error)
{
	struct task *t = p->task;
	struct object *o = t->obj;
	uint64_t now_us = clock_now_us();
	struct store_stats stats;
	struct fill *f, *tmp;

	store_stats(t->e->store, &stats);
	if (error != -ENOSPC || stats.degraded)
		t->e->degraded = true;
	if (atomic_load(&p->prio) == PRIO_BACKFILL && !t->e->degraded) {
		backfill_refused(o);
		return;
	}
	task_drop_wants(t, WANT_WINDOW);
	LIST_FOREACH_SAFE (f, &o->fills, link, tmp)
		fill_refused(f, t->e->degraded ? error : 0, now_us);
	backfills_sweep(t->e, now_us);
}

static void pull_unkept(struct pull *p, struct object *o)
{
	uint64_t bytes = atomic_load(&p->unkept);

	atomic_fetch_add(&p->e->unkept, bytes);
	if (o)
		atomic_fetch_add(&o->bytes_discarded, bytes);
}

void pull_written(struct engine *e, struct msg *m)
{
	struct pull *p = container_of(m, struct pull, written_msg);
	struct task *t = p->task;
	struct object *o = t->obj;
	int error = atomic_load(&p->write_error);

	sched_lease_written(e->sched, p->lease, clock_now_us());
	pull_unkept(p, o);
	if (o && error && error != -ESTALE)
		pull_refused(p, error);
	else if (o)
		fills_accepted(o);
	t->refs++;
	pull_free(p);
	o = t->obj;
	if (o) {
		object_arrived(o);
		object_rest(o);
	}
	task_put(t);
}
