/*
 * run.c - one transfer under way: its life, its timers, its end
 *
 * Callers: fetch.c on the instance's thread. libcurl's callbacks never end a run themselves: they
 * set outcome and break off, and run_hop_done() hears of it outside of libcurl.
 *
 * Always true:
 *   R1  end() is called exactly once, as the last callback.
 *   R2  while pauses is not empty the stall timers stand still.
 */
#include "net/run.h"

#include "base/clock.h"

int run_new(const struct transfer_request *rq, struct run **ret)
{
	struct run *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->rq = *rq;
	r->want = rq->want;
	if (rq->want.have)
		r->want.have = &r->rq.validator;
	r->fd = -1;
	r->good = r->outcome = VERDICT_COUNT;
	r->pos = r->at = r->from = rq->range.off;
	r->resp = malloc(sizeof(*r->resp));
	r->errbuf = calloc(1, CURL_ERROR_SIZE);
	if (!r->resp || !r->errbuf || owned_copy(&r->owned, rq->url, &r->rq.url) < 0 ||
	    owned_copy(&r->owned, rq->resolved, &r->rq.resolved) < 0 ||
	    owned_list(&r->owned, rq->headers, &r->rq.headers) < 0) {
		run_free(r);
		return -ENOMEM;
	}
	http_resp_init(r->resp);
	*ret = r;
	return 0;
}

void run_free(struct run *r)
{
	if (!r)
		return;
	hop_done(r);
	owned_done(&r->owned);
	free(r->resp);
	free(r->errbuf);
	free(r);
}

/* ---- the end ---- */

static void run_report(struct run *r, enum verdict v, CURLcode code)
{
	struct transfer_result res = {
		.verdict = v,
		.http_status = r->resp->status,
		.pos = r->pos,
		.bytes_received = r->bytes_received,
		.bytes_discarded = r->bytes_discarded,
		.body_bytes = r->body_bytes,
		.redirects = r->redirects,
		.url = r->url,
	};

	if (r->resp->retry_after_s > 0)
		res.retry_after_us =
			min_u64((uint64_t)r->resp->retry_after_s, UINT32_MAX) * USEC_PER_SEC;
	failure_detail(r, code, v, res.detail, sizeof(res.detail));
	r->phase = RUN_OVER;
	r->rq.ops->end(r->rq.user, &res, r->resp->status ? r->resp : NULL);
}

static void run_finish(struct run *r, enum verdict v, CURLcode code)
{
	if (r->phase == RUN_OVER)
		return;
	if (r->chunk)
		body_close(r, false);
	easy_end(r);
	run_report(r, v, code);
}

void run_end(struct run *r, enum verdict v)
{
	run_finish(r, v, CURLE_OK);
}

static void run_follow(struct run *r)
{
	enum verdict v;

	r->outcome = VERDICT_COUNT;
	r->phase = RUN_ASKING;
	v = hop_next(r);
	if (v != VERDICT_PART)
		run_end(r, v);
}

/* What became of a hop that libcurl has finished with code. */
static enum verdict run_hop_verdict(struct run *r, CURLcode code)
{
	if (r->outcome != VERDICT_COUNT)
		return r->outcome;
	if (code == CURLE_OK && !r->judged && !head_synthesise(r))
		return r->outcome;
	if (r->phase == RUN_BODY) {
		if (code == CURLE_OK && body_ended_wrong(r))
			return r->outcome;
		if (body_close(r, code == CURLE_OK))
			return r->good;
		if (code == CURLE_OK)
			return VERDICT_SHORT;
	} else if (code == CURLE_OK) {
		return r->outcome != VERDICT_COUNT ? r->outcome : VERDICT_PROTOCOL;
	}
	return failure_verdict(r, code);
}

void run_hop_done(struct run *r, CURLcode code)
{
	enum verdict v;

	if (r->phase == RUN_OVER)
		return;
	v = run_hop_verdict(r, code);
	if (v == VERDICT_REDIRECT || r->ask_home) {
		run_follow(r);
		return;
	}
	if (!r->judged && hop_resolved_died(r, v, 0)) {
		r->ask_home = true;
		run_follow(r);
		return;
	}
	run_finish(r, v, code);
}

void run_start(struct run *r)
{
	enum verdict v;
	int error = hop_init(r);

	if (error < 0) {
		run_end(r, error == -EINVAL ? VERDICT_SCHEME : VERDICT_INTERNAL);
		return;
	}
	v = hop_first(r);
	if (v != VERDICT_PART)
		run_end(r, v);
}

/* ---- reading for nothing ---- */

uint64_t run_worth_draining(const struct run *r)
{
	/* Twice what is in flight anyway: a new connection would cost a round trip and slow start.
	 */
	uint64_t in_flight =
		r->rate_bps * min_u64(socket_rtt_us(r->fd), USEC_PER_SEC) / USEC_PER_SEC;

	return max_u64(DRAIN_LAST, 2 * in_flight);
}

bool run_drain(struct run *r, uint64_t rest, uint64_t at_most, uint64_t now_us)
{
	r->phase = RUN_DRAINING;
	r->drain_until_us = now_us + DRAIN_US;
	r->drain_left = rest == UINT64_MAX ? DRAIN_BYTES : rest;
	return rest == UINT64_MAX || rest <= at_most;
}

void run_cancel(struct run *r, bool at_once)
{
	uint64_t rest;

	if (r->phase == RUN_OVER)
		return;
	rest = r->phase == RUN_DRAINING ? r->drain_left : UINT64_MAX;
	if (r->phase == RUN_BODY && r->use.body_end != SIZE_UNKNOWN && r->use.body_end >= r->at)
		rest = r->use.body_end - r->at;
	if (r->chunk)
		body_close(r, false);
	r->ask_home = false;
	r->outcome = VERDICT_CANCELLED;
	if (at_once || r->pauses || rest > DRAIN_BYTES) {
		run_end(r, VERDICT_CANCELLED);
		return;
	}
	run_drain(r, rest, DRAIN_BYTES, clock_now_us());
	r->drain_until_us = clock_now_us() + 50 * USEC_PER_MS;
}

void run_shrunk(struct run *r)
{
	uint64_t rest = UINT64_MAX;

	if (r->phase != RUN_BODY || !body_check_end(r))
		return;
	if (r->use.body_end != SIZE_UNKNOWN)
		rest = r->use.body_end > r->at ? r->use.body_end - r->at : 0;
	r->outcome = r->good;
	if (r->pauses || !run_drain(r, rest, run_worth_draining(r), clock_now_us()))
		run_end(r, r->good);
}

/* ---- pauses ---- */

void run_pause(struct run *r, enum run_pause why, uint64_t now_us)
{
	if (r->pauses == 0)
		r->paused_us = now_us;
	r->pauses |= why;
}

/* An instant from which time is counted, moved by what of the pause came after it. */
static void run_skip_pause(const struct run *r, uint64_t *from_us, uint64_t now_us)
{
	if (*from_us)
		*from_us += now_us - max_u64(r->paused_us, *from_us);
}

void run_unpause(struct run *r, enum run_pause why, uint64_t now_us)
{
	CURLcode code;

	if (!(r->pauses & why))
		return;
	r->pauses &= ~(unsigned int)why;
	if (r->pauses)
		return;
	run_skip_pause(r, &r->stall_us, now_us);
	run_skip_pause(r, &r->rate_us, now_us);
	if (!r->paused_in_curl || !r->easy)
		return;
	r->paused_in_curl = false;
	/* Brings what it had kept back to our callback before it returns; an error ends the hop
	 * only here. */
	code = curl_easy_pause(r->easy, CURLPAUSE_CONT);
	if (code)
		run_hop_done(r, code);
}

void run_hold(struct run *r, bool hold)
{
	uint64_t now_us = clock_now_us();

	if (r->phase == RUN_OVER || hold == ((r->pauses & PAUSE_HOLD) != 0))
		return;
	if (!hold) {
		run_unpause(r, PAUSE_HOLD, now_us);
		return;
	}
	run_pause(r, PAUSE_HOLD, now_us);
	/* Before the answer libcurl would forget it; then the first piece of the body is refused.
	 */
	if (r->phase == RUN_BODY && !r->paused_in_curl) {
		curl_easy_pause(r->easy, CURLPAUSE_RECV);
		r->paused_in_curl = true;
	}
}

/* ---- timers ---- */

/* R2. VERDICT_PART: all is well, *ret_due is when to look again. */
static enum verdict run_check_stall(struct run *r, uint64_t now_us, uint64_t *ret_due)
{
	uint64_t limit_us = r->inst->shared->cfg.stall_timeout_us;
	uint64_t least = limit_us * STALL_RATE_BPS / USEC_PER_SEC;

	*ret_due = UINT64_MAX;
	if (r->pauses || limit_us == 0 || r->asked_us == 0)
		return VERDICT_PART;
	if (!r->judged) {
		*ret_due = r->stall_us + limit_us;
		return now_us >= *ret_due ? VERDICT_STALL : VERDICT_PART;
	}
	if (r->bytes_received - r->stall_bytes >= max_u64(least, 1)) {
		r->stall_us = now_us;
		r->stall_bytes = r->bytes_received;
	}
	*ret_due = r->stall_us + limit_us;
	return now_us >= *ret_due ? VERDICT_STALL : VERDICT_PART;
}

uint64_t run_tick(struct run *r, bool chunks_came, uint64_t now_us)
{
	uint64_t due = UINT64_MAX, stall_due;

	if (r->phase == RUN_BODY && chunks_came)
		run_unpause(r, PAUSE_POOL, now_us);
	if (r->phase == RUN_BODY && (r->pauses & PAUSE_RATE)) {
		if (now_us >= r->rate_until_us)
			run_unpause(r, PAUSE_RATE, now_us);
		if (r->pauses & PAUSE_RATE)
			due = r->rate_until_us;
	}
	if (r->phase == RUN_DRAINING) {
		if (now_us >= r->drain_until_us)
			run_hop_done(r, CURLE_OPERATION_TIMEDOUT);
		else
			due = r->drain_until_us;
		return due;
	}
	if (r->phase == RUN_BODY)
		due = min_u64(due, body_flush_due(r, now_us));
	if (r->phase == RUN_OVER)
		return UINT64_MAX;
	if (run_check_stall(r, now_us, &stall_due) != VERDICT_PART) {
		r->outcome = VERDICT_STALL;
		run_end(r, VERDICT_STALL);
		return UINT64_MAX;
	}
	return min_u64(due, stall_due);
}
