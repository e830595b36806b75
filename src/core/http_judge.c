/*
 * http_judge.c - is this response what we asked for, of the version we have? (DESIGN: honest HTTP)
 * Callers: transfer, once for each final header block, before it keeps a byte of the body.
 *
 * The order of the questions is the order of what a wrong answer would cost: framing, encoding,
 * which bytes, which size, which version.
 */
#include "core/http.h"

#include "core/validator.h"

/* The size of the object that the response tells differs from what we know. */
static bool size_differs(const struct http_want *want, uint64_t total)
{
	return total != SIZE_UNKNOWN && want->size != SIZE_UNKNOWN && total != want->size;
}

static enum verdict size_verdict(const struct http_want *want)
{
	return want->size_pinned ? VERDICT_SIZE : VERDICT_CHANGED;
}

/*
 * Is it of another version? *ret_flipped: it is not, though the ETag differs, because want says
 * that ETags of this origin mean nothing.
 */
static bool is_other_version(const struct http_want *want, const struct http_resp *resp)
{
	struct validator have;
	struct validator got = resp->validator;

	if (!want->have)
		return false;
	have = *want->have;
	if (want->ignore_etag) {
		have.etag[0] = '\0';
		got.etag[0] = '\0';
	}
	return validator_compare(&have, &got, want->content_pinned) != VALIDATOR_SAME;
}

/*
 * An encoded body is the object only when the object itself is stored so; its length tells. A
 * server that compresses on the fly has no length beforehand, or another one.
 */
static bool encoding_is_stored(const struct http_want *want, const struct http_resp *resp,
			       uint64_t total, uint64_t body_length)
{
	return resp->has_length && resp->length == body_length && total != SIZE_UNKNOWN &&
	       total == want->size;
}

static uint64_t known_or(uint64_t total, uint64_t size)
{
	return total != SIZE_UNKNOWN ? total : size;
}

static enum verdict judge_empty(const struct http_want *want, const struct http_resp *resp)
{
	if (size_differs(want, 0))
		return size_verdict(want);
	return is_other_version(want, resp) ? VERDICT_CHANGED : VERDICT_EMPTY;
}

/* It gave us all of a version that is ours, although If-Range named that version. */
static bool refused_if_range(const struct http_want *want, const struct http_resp *resp,
			     uint64_t total)
{
	const struct validator *have = want->have;
	bool asked_all = want->range.off == 0 && want->range.end >= known_or(total, want->size);

	if (!want->ranged || !want->if_range || !have || asked_all)
		return false;
	if (have->etag[0] || resp->validator.etag[0])
		return strcmp(have->etag, resp->validator.etag) == 0;
	return have->last_modified != VALIDATOR_NO_TIME &&
	       have->last_modified == resp->validator.last_modified;
}

static enum verdict judge_whole(const struct http_want *want, const struct http_resp *resp,
				struct http_use *ret_use)
{
	uint64_t length = resp->has_length ? resp->length : SIZE_UNKNOWN;

	if (resp->encoded && !encoding_is_stored(want, resp, length, length))
		return VERDICT_ENCODED;
	if (length == 0)
		return judge_empty(want, resp);
	if (size_differs(want, length))
		return size_verdict(want);
	if (is_other_version(want, resp))
		return VERDICT_CHANGED;
	*ret_use = (struct http_use){
		.body_off = 0,
		.body_end = length,
		.total = known_or(length, want->size),
		.if_range_refused = refused_if_range(want, resp, length),
	};
	return VERDICT_WHOLE;
}

static enum verdict judge_part(const struct http_want *want, const struct http_resp *resp,
			       struct http_use *ret_use)
{
	struct range r = resp->range;

	if (resp->multipart || !resp->content_range_ok)
		return VERDICT_NO_CONTENT_RANGE;
	if (resp->encoded && !encoding_is_stored(want, resp, resp->total, range_len(r)))
		return VERDICT_ENCODED;
	if (size_differs(want, resp->total) || (!range_empty(r) && r.end > want->size))
		return size_verdict(want);
	if (is_other_version(want, resp))
		return VERDICT_CHANGED;
	/* A body longer than its range starts who knows where; a shorter one leaves a gap. */
	if (resp->has_length && resp->length > range_len(r))
		return VERDICT_WRONG_RANGE;
	if (resp->has_length)
		r.end = r.off + resp->length;
	if (r.off > want->range.off || r.end <= want->range.off)
		return VERDICT_WRONG_RANGE;
	*ret_use = (struct http_use){
		.body_off = r.off,
		.body_end = r.end,
		.total = known_or(resp->total, want->size),
	};
	return VERDICT_PART;
}

/* 416: with a total it says which size the server knows. */
static enum verdict judge_unsatisfied(const struct http_want *want, const struct http_resp *resp)
{
	if (!resp->content_range_ok || !range_empty(resp->range))
		return VERDICT_UNSATISFIABLE;
	if (resp->total == 0)
		return judge_empty(want, resp);
	if (size_differs(want, resp->total))
		return size_verdict(want);
	if (is_other_version(want, resp))
		return VERDICT_CHANGED;
	/* By its own word it has it (a node that is being filled, an overloaded one). */
	return want->range.off < resp->total ? VERDICT_DENIES_RANGE : VERDICT_UNSATISFIABLE;
}

static enum verdict judge_redirect(const struct http_resp *resp)
{
	switch (resp->status) {
	case 300:
	case 301:
	case 302:
	case 303:
	case 307:
	case 308:
		return resp->has_location ? VERDICT_REDIRECT : VERDICT_REFUSED;
	default:
		return VERDICT_REFUSED; /* 304: we never ask that way */
	}
}

static enum verdict judge_refusal(int status)
{
	switch (status) {
	case 401:
	case 403:
	case 407:
		return VERDICT_DENIED;
	case 404:
	case 410:
		return VERDICT_GONE;
	case 408:
	case 425:
		return VERDICT_SERVER;
	case 429:
	case 503:
		return VERDICT_BUSY;
	default:
		return status >= 500 ? VERDICT_SERVER : VERDICT_REFUSED;
	}
}

enum verdict http_judge(const struct http_want *want, const struct http_resp *resp,
			struct http_use *ret_use)
{
	if (resp->status == 0)
		return resp->malformed ? VERDICT_HEADERS : VERDICT_PROTOCOL;
	if (resp->status >= 400 && resp->status != 416)
		return judge_refusal(resp->status); /* its body and framing are not used */
	if (resp->malformed)
		return VERDICT_HEADERS;
	if (resp->status == 200)
		return judge_whole(want, resp, ret_use);
	if (resp->status == 206)
		return judge_part(want, resp, ret_use);
	if (resp->status == 416)
		return judge_unsatisfied(want, resp);
	if (resp->status >= 300)
		return judge_redirect(resp);
	return VERDICT_REFUSED;
}

enum verdict http_judge_length(const struct http_want *want, const struct http_resp *resp,
			       uint64_t bytes, bool ended)
{
	if (want->size == SIZE_UNKNOWN)
		return VERDICT_WHOLE;
	if (bytes > want->size)
		return size_verdict(want);
	/*
	 * Only chunks have an end of their own. Something dying may write it as well: what we know
	 * from the server itself is not given up for that.
	 */
	if (ended && bytes < want->size && resp->chunked && want->size_pinned)
		return VERDICT_SIZE;
	return VERDICT_WHOLE;
}
