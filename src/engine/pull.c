/*
 * pull.c - a transfer's callbacks: what the fetch threads do for a lease
 *
 * Net calls in from a fetch thread; nothing here blocks. Bytes are handed to a writer, everything
 * else is noted in the pull and posted to the engine thread, which decides (answer.c). The one
 * decision that must be made at once, whether an answer may be kept at all, is pull_head()'s.
 */
#include "base/clock.h"
#include "engine/internal.h"
#include "engine/task.h"

/*
 * So long a redirect is used again whatever it says: sites that forbid it for each of their files
 * are common, and a question before each range would double what a read takes. Validators tell a
 * change.
 */
#define HINT_MIN_S 10

static uint64_t to_object(const struct pull *p, uint64_t wire)
{
	return wire > p->slice_off ? wire - p->slice_off : 0;
}

static void pull_on_connected(void *user, uint64_t connect_us, uint64_t asked_us)
{
	struct pull *p = user;

	/* Told with the answer, when it is known whose connection it is. */
	p->connect_us = connect_us;
	p->asked_us = asked_us;
	p->connected = true;
}

/* The object's size as this answer tells it; SIZE_UNKNOWN. */
static uint64_t answered_size(const struct pull *p, uint64_t total)
{
	if (total == SIZE_UNKNOWN)
		return SIZE_UNKNOWN;
	return to_object(p, min_u64(total, p->slice_end));
}

static bool fits(const struct pull *p, const struct validator *have)
{
	switch (validator_compare(have, &p->got, p->pinned)) {
	case VALIDATOR_SAME:
		return true;
	case VALIDATOR_FLIPPED:
		return p->ignore_etag;
	case VALIDATOR_DIFFERENT:
		break;
	}
	return false;
}

/*
 * Is this answer of the version that we fetch? Each source is compared with its own earlier
 * answers, and the one that the version is known by with that. Two first contacts may have met two
 * versions: then only the first to come here is right.
 */
static bool same_version(struct pull *p)
{
	struct task *t = p->task;
	struct source *s = &t->source[p->source];
	struct validator have;
	bool same, main;

	mtx_lock(&t->lock);
	if (t->main < 0 && validator_strength(&p->got) > VALIDATOR_SIZE)
		t->main = (int)p->source;
	main = t->main < 0 || t->main == (int)p->source;
	same = fits(p, &s->validator);
	if (same) {
		/* A later answer proves nothing of bytes that came with the first. */
		if (s->validator.last_modified == VALIDATOR_NO_TIME &&
		    p->got.last_modified != VALIDATOR_NO_TIME)
			s->validator_date = p->date;
		validator_learn(&s->validator, &p->got);
	}
	mtx_unlock(&t->lock);

	if (!same || !p->version)
		return same;
	if (p->total != SIZE_UNKNOWN && version_size(p->version) != p->total &&
	    version_set_size(p->version, p->total) < 0)
		return false;
	if (!main)
		return true;
	version_learn(p->version, &p->got);
	version_validator(p->version, &have);
	return fits(p, &have);
}

/* The body is the whole object from its start: one at a time, and it runs to the end. */
static bool take_whole(struct pull *p)
{
	bool none = false;

	if (!atomic_compare_exchange_strong(&p->task->whole, &none, true))
		return false;
	atomic_store(&p->whole, true);
	atomic_store(&p->end, p->total != SIZE_UNKNOWN ? p->total : p->size);
	return true;
}

/* It serves ranges, but not under our condition: asked again without, unless all was asked for. */
static bool only_refused(const struct pull *p, const struct http_use *use)
{
	return use->if_range_refused &&
	       !(atomic_load(&p->pos) == 0 && atomic_load(&p->end) >= p->size);
}

static enum transfer_answer pull_on_head(void *user, enum verdict v, const struct http_use *use,
					 const struct http_resp *resp, const char *resolved,
					 int64_t fresh_s)
{
	struct pull *p = user;
	bool keep = true;

	p->answer = v;
	p->use = *use;
	p->got = resp->validator;
	p->date = resp->date;
	if (p->slice_off > 0 || p->slice_end != SIZE_UNKNOWN)
		p->got.size = SIZE_UNKNOWN; /* of the resource, not of our part of it */
	p->total = answered_size(p, use->total);
	p->resolved = resolved ? strdup(resolved) : NULL;
	if (p->e->cfg.filenames && resp->filename[0])
		p->filename = strdup(resp->filename);
	p->resolved_until_us =
		fresh_s < 0
			? UINT64_MAX
			: clock_now_us() + max_u64((uint64_t)fresh_s, HINT_MIN_S) * USEC_PER_SEC;
	if (!same_version(p)) {
		p->mismatch = true;
		return TRANSFER_DROP;
	}
	if (v == VERDICT_PART && p->total == SIZE_UNKNOWN && p->size == SIZE_UNKNOWN) {
		p->no_total = true;
		return TRANSFER_DROP;
	}
	p->answered = true;
	p->ask_again = only_refused(p, use);
	if (p->ask_again)
		keep = false;
	else if (v == VERDICT_WHOLE && !p->probe)
		keep = take_whole(p);
	engine_post(p->e, &p->answered_msg, pull_answered);
	/* A probe's one byte is waited for, so that its connection lives on; a whole body is not.
	 */
	return keep && (!p->probe || v == VERDICT_PART) ? TRANSFER_KEEP : TRANSFER_DROP;
}

static bool pull_on_awaited(void *user, struct range r)
{
	struct pull *p = user;

	return p->version &&
	       version_awaited(p->version, range_make(to_object(p, r.off), to_object(p, r.end)));
}

static void pull_write(struct pull *p, uint64_t off, struct chunk *chunk)
{
	struct range r = range_of_length(off, chunk->len);
	enum lane lane = p->demand || version_awaited(p->version, r) ? LANE_DEMAND : LANE_BULK;

	writer_add(p->e->writer[lane], p, off, chunk);
}

static void pull_on_body(void *user, uint64_t wire, struct chunk *chunk)
{
	struct pull *p = user;
	uint64_t off, whole;

	if (wire < p->slice_off) {
		uint64_t skip = min_u64(p->slice_off - wire, chunk->len);

		chunk->len -= skip;
		memmove(chunk->data, chunk->data + skip, chunk->len);
		wire += skip;
	}
	if (p->probe || p->mismatch || chunk->len == 0) {
		chunk_free(chunk);
		return;
	}
	off = to_object(p, wire);
	/* A whole body passes what is there: a proof where the head of the answer has none. */
	if (atomic_load(&p->whole) &&
	    version_contradicts(p->version, off, chunk->data, chunk->len)) {
		p->mismatch = true;
		fetch_cancel(p->fetch, p->transfer, true);
		chunk_free(chunk);
		return;
	}
	atomic_store(&p->pos, off + chunk->len);
	whole = block_floor(chunk->len);
	if (version_size(p->version) != SIZE_UNKNOWN || whole == chunk->len) {
		pull_write(p, off, chunk);
		return;
	}
	/* A stream without a length: this may be its last block, or what a broken connection left
	 * of one. */
	if (p->tail)
		chunk_free(p->tail);
	p->tail = chunk;
	p->tail_off = off;
}

static void pull_on_progress(void *user, uint64_t wire)
{
	struct pull *p = user;

	atomic_store(&p->pos, to_object(p, wire));
	if (!atomic_exchange(&p->progress_posted, true))
		engine_post(p->e, &p->progress_msg, pull_progressed);
}

/* The stream is over, so now its length is known. told: it said so itself, it was not just cut. */
static void finish_stream(struct pull *p, bool told)
{
	uint64_t size = p->tail ? p->tail_off + p->tail->len : to_object(p, p->result.pos);

	if (version_set_size(p->version, size) < 0) {
		/* More than that is there, of a longer one. */
		p->mismatch = told;
		p->result.verdict = told ? VERDICT_CHANGED : VERDICT_SHORT;
		return;
	}
	p->stream_size = size;
	if (p->tail)
		pull_write(p, p->tail_off, p->tail);
	p->tail = NULL;
}

static void pull_on_end(void *user, const struct transfer_result *res, const struct http_resp *resp)
{
	struct pull *p = user;

	p->result = *res;
	p->result.url = NULL;
	p->asked = res->url ? strdup(res->url) : NULL;
	if (p->mismatch)
		p->result.verdict = VERDICT_CHANGED;
	else if (p->no_total)
		p->result.verdict = VERDICT_NO_TOTAL;
	else if (p->probe && p->answered)
		p->result.verdict = VERDICT_PART;
	else if (p->answered && (res->verdict == VERDICT_SIZE || res->verdict == VERDICT_CHANGED))
		p->untrue = true;
	if (resp && !p->answered && !p->mismatch && !p->no_total) {
		p->got = resp->validator;
		if (p->slice_off > 0 || p->slice_end != SIZE_UNKNOWN)
			p->got.size = SIZE_UNKNOWN;
		p->total = answered_size(p, resp->total != SIZE_UNKNOWN ? resp->total
									: resp->validator.size);
	}
	if (p->answered && !p->mismatch && atomic_load(&p->whole) &&
	    res->verdict <= VERDICT_WHOLE && version_size(p->version) == SIZE_UNKNOWN)
		finish_stream(p, resp && resp->chunked);
	if (p->tail)
		chunk_free(p->tail);
	p->tail = NULL;
	if (atomic_load(&p->whole))
		atomic_store(&p->task->whole, false);

	engine_post(p->e, &p->ended_msg, pull_ended);
	pull_unpend(p);
}

void pull_unpend(struct pull *p)
{
	if (atomic_fetch_sub(&p->pending, 1) == 1)
		engine_post(p->e, &p->written_msg, pull_written);
}

const struct transfer_ops pull_ops = {
	.connected = pull_on_connected,
	.head = pull_on_head,
	.body = pull_on_body,
	.awaited = pull_on_awaited,
	.progress = pull_on_progress,
	.end = pull_on_end,
};
