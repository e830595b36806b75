/*
 * answer.c - what an answer, and the end of a transfer, tell of source, object and origin
 *
 * The engine thread alone enters, with messages that pull.c posts. Whether an answer may be kept at
 * all pull_on_head() has decided by then; here is what it means: hints, ETags that flip, sizes,
 * another version, a host that is not there; and what the sched is told of it.
 */
#include "base/clock.h"
#include "engine/internal.h"
#include "engine/readers.h"
#include "engine/task.h"

#define ASKED_INTERVAL_S 60 /* how often an unchanged answer is worth a row in the database */
/*
 * Answers with one other ETag in a row, then it is another version: of two nodes behind a balancer
 * the same one answers so often in a row in one of 32 cases. With the pauses between them some 2 s.
 */
#define FLIPS_MAX 6
/* One fetch instance for all of an origin for so long after it refused a connection. */
#define CROWDED_US (60 * USEC_PER_SEC)

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
		int64_t claim = object_claim(&o->checksum);

		news |= !p->probe && o->asked_s != claim;
		if (!p->probe)
			o->asked_s = claim;
	} else {
		o->asked_s = now_s;
	}
	o->stale = false;
	o->failed = false;
	if (!o->filename && p->filename) {
		o->filename = p->filename;
		p->filename = NULL;
	}
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

/* The size was the word of an earlier answer alone: whichever is right, the checksum tells. */
static bool size_unproven(const struct object *o, uint64_t total)
{
	return o->manifest_size == SIZE_UNKNOWN && !o->etag_pinned && total != SIZE_UNKNOWN &&
	       o->size != SIZE_UNKNOWN && total != o->size;
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
	return main && (!object_version_pinned(o) || size_unproven(o, p->total)) ? VERDICT_CHANGED
										 : VERDICT_CHECKSUM;
}

/* What the end of p means for its object, which is o. */
static enum verdict end_meant(struct pull *p, struct object *o, enum verdict v, uint64_t now_us)
{
	struct source *s = &p->task->source[p->source];

	/* Where a redirect led of late is no authority on the version: the manifest's URL is asked.
	 */
	if (p->used_resolved && (v == VERDICT_CHANGED || v == VERDICT_UNSATISFIABLE))
		return VERDICT_SERVER;
	if (v == VERDICT_CHANGED)
		v = change_meant(p, o);
	/* No byte will come that would have the whole proven. */
	if (v == VERDICT_EMPTY && !content_may_be_empty(o))
		return VERDICT_CHECKSUM;
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

/* Does it take fewer connections than we make? A reset says so as well, before an answer. */
static void origin_learn_room(struct origin *o, const struct pull *p, enum verdict v,
			      uint64_t now_us)
{
	if (v == VERDICT_BUSY || (v == VERDICT_RESET && !p->answered))
		o->crowded_until_us = now_us + CROWDED_US;
	else if (verdict_class(v) == VERDICT_CLASS_GOOD)
		o->worked = p->lane; /* where an idle connection is now */
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
	origin_learn_room(at, p, v, now_us);
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
