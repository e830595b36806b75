/*
 * fuzz_http_resp.c - any bytes as a header block, judged against any wish
 *
 * The first bytes choose what was asked and what is known; the rest are lines. Whatever comes, a
 * body is placed only where the response itself said, inside the size, and the judge is of the same
 * mind twice.
 */
#include "core/http.h"
#include "fuzz.h"

struct wish {
	uint8_t flags;
	uint8_t flags_too;
	uint16_t off; /* in blocks */
	uint16_t len;
	uint32_t size;
};

static void make_want(const struct wish *w, struct validator *have, struct http_want *want)
{
	uint64_t off = (uint64_t)w->off << BLOCK_SHIFT;

	*want = (struct http_want){
		.range = range_make(off, w->flags & 1 ? SIZE_UNKNOWN : off + w->len + 1),
		.ranged = w->flags & 2,
		.if_range = w->flags & 4,
		.size = w->flags & 8 ? SIZE_UNKNOWN : w->size,
		.size_pinned = w->flags & 16,
		.content_pinned = w->flags & 32,
		.ignore_etag = w->flags & 64,
		.have = w->flags & 128 ? have : NULL,
	};
	*have = VALIDATOR_INIT;
	if (w->flags_too & 1)
		must(validator_set_etag(have, "\"a\"", 3) == 0, "a tag");
	if (w->flags_too & 2)
		have->last_modified = 784111777;
	if (w->flags_too & 4)
		have->size = want->size;
}

static void check_resp(const struct http_resp *r)
{
	must(r->status == 0 || (r->status >= 100 && r->status <= 999), "status");
	must(!r->has_length || (r->length <= INT64_MAX && !r->malformed), "length");
	must(!r->content_range_ok || (r->range.off <= r->range.end && r->range.end <= r->total),
	     "range");
	must(memchr(r->location, '\0', sizeof(r->location)) != NULL, "location ends");
	must(memchr(r->filename, '\0', sizeof(r->filename)) != NULL, "filename ends");
	must(memchr(r->validator.etag, '\0', sizeof(r->validator.etag)) != NULL, "tag ends");
	must(!r->has_location || r->location[0], "a location is not empty");
	must(r->fresh_s >= -1 && r->fresh_s <= HTTP_RETRY_MAX_S, "freshness");
	must(r->retry_after_s >= -1 && r->retry_after_s <= HTTP_RETRY_MAX_S, "retry");
}

static void check_use(const struct http_want *want, const struct http_resp *r, enum verdict v,
		      const struct http_use *use)
{
	must(!r->malformed, "nothing malformed is used");
	must(use->body_off <= want->range.off || v == VERDICT_WHOLE, "covers the start");
	must(use->body_off < use->body_end, "some byte");
	if (want->size != SIZE_UNKNOWN) {
		must(use->total == want->size, "the size is kept");
		must(use->body_end == SIZE_UNKNOWN || use->body_end <= want->size, "inside it");
	}
	if (r->encoded)
		must(r->has_length && use->total == want->size, "stored encodings only");
	if (v == VERDICT_WHOLE)
		must(r->status == 200 && use->body_off == 0, "the whole body is from 0");
	else
		must(r->status == 206 && use->body_off == r->range.off &&
			     use->body_end <= r->range.end && use->body_end > want->range.off,
		     "a part is where it says");
}

static void judge(const struct wish *w, const struct http_resp *r)
{
	struct validator have;
	struct http_want want;
	struct http_use use;
	struct http_use again;
	enum verdict v;

	/* Equal bytes in both, padding too, whether or not they are written. */
	memset(&use, 0, sizeof(use));
	memset(&again, 0, sizeof(again));
	make_want(w, &have, &want);
	v = http_judge(&want, r, &use);
	must(v < VERDICT_COUNT && verdict_name(v), "a verdict");
	must(http_judge(&want, r, &again) == v, "the same twice");
	must(use.body_off == again.body_off && use.body_end == again.body_end, "used the same");
	if (v == VERDICT_PART || v == VERDICT_WHOLE)
		check_use(&want, r, v, &use);
	if (v == VERDICT_REDIRECT)
		must(r->has_location, "a redirect has a target");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct http_resp r;
	const char *line;
	const char *end;
	struct wish w;

	if (size < sizeof(w))
		return 0;
	memcpy(&w, data, sizeof(w));
	line = (const char *)data + sizeof(w);
	end = (const char *)data + size;
	http_resp_init(&r);
	while (line < end) {
		const char *newline = memchr(line, '\n', (size_t)(end - line));
		size_t len = newline ? (size_t)(newline + 1 - line) : (size_t)(end - line);

		http_resp_line(&r, line, len);
		check_resp(&r);
		line += len;
	}
	judge(&w, &r);
	return 0;
}
