/*
 * head.c - is the answer believed
 *
 * Callers: libcurl, with each header line, before any byte of a body. Only the final header block
 * counts; what comes after it (trailers of a chunked body) is bounded and otherwise ignored.
 */
#include <strings.h>

#include "base/clock.h"
#include "net/run.h"

void head_begin(struct run *r)
{
	http_resp_init(r->resp);
	r->judged = false;
	r->header_bytes = 0;
	r->header_lines = 0;
	r->status_line[0] = '\0';
	r->replay = 0;
	r->pauses &= PAUSE_HOLD;
}

static bool line_is_blank(const char *line, size_t len)
{
	return len == 0 || line[0] == '\n' || (len >= 2 && line[0] == '\r' && line[1] == '\n');
}

static bool line_begins(const char *line, size_t len, const char *with)
{
	size_t n = strlen(with);

	return len >= n && strncasecmp(line, with, n) == 0;
}

/* "HTTP/1.1 503 Service Unavailable" → "503 Service Unavailable", printable. */
static void head_keep_status(struct run *r, const char *line, size_t len)
{
	const char *space = memchr(line, ' ', len);
	size_t n = 0;

	for (const char *p = space ? space + 1 : line;
	     p < line + len && n + 1 < sizeof(r->status_line); p++) {
		if (*p == '\r' || *p == '\n')
			break;
		r->status_line[n++] = *p >= ' ' && *p <= '~' ? *p : '?';
	}
	r->status_line[n] = '\0';
}

/* Decided: how the run will end. False: break off. */
static bool head_decide(struct run *r, enum verdict v, uint64_t rest)
{
	r->outcome = v;
	return run_drain(r, rest, DRAIN_BYTES, clock_now_us());
}

static bool head_redirects(int status)
{
	return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

static uint64_t head_connect_us(const struct run *r)
{
	curl_off_t resolved = 0, connected = 0;
	long made = 0;

	if (curl_easy_getinfo(r->easy, CURLINFO_NUM_CONNECTS, &made) || made == 0 ||
	    curl_easy_getinfo(r->easy, CURLINFO_NAMELOOKUP_TIME_T, &resolved) ||
	    curl_easy_getinfo(r->easy, CURLINFO_CONNECT_TIME_T, &connected))
		return 0;
	return connected > resolved ? (uint64_t)(connected - resolved) : 1;
}

static void head_begin_body(struct run *r, enum verdict v)
{
	uint64_t now_us = clock_now_us(), behind;

	r->phase = RUN_BODY;
	r->good = v;
	r->at = r->use.body_off;
	/* Of a whole body everything may be of use: the lease is now the engine's to widen. */
	r->from = v == VERDICT_PART ? r->rq.range.off : max_u64(r->rq.grid, r->use.body_off);
	/* Only whole blocks leave here, so a part of one at the front is of no use. */
	behind = (r->from - r->rq.grid) & (BLOCK_SIZE - 1);
	if (r->from >= r->rq.grid && behind)
		r->from += BLOCK_SIZE - behind;
	r->pos = r->from;
	r->stall_us = r->rate_us = r->progress_us = now_us;
	r->stall_bytes = r->bytes_received;
	r->rate_bytes = 0;
}

/* PART or WHOLE. False: break off. */
static bool head_good(struct run *r, enum verdict v)
{
	const char *resolved = r->first_hop ? NULL : r->url;
	uint64_t rest = UINT64_MAX;

	if (r->use.body_end != SIZE_UNKNOWN && r->use.body_end >= r->use.body_off)
		rest = r->use.body_end - r->use.body_off;
	if (r->on_resolved)
		resolved = r->rq.resolved;
	else if (!r->first_hop && r->scope != ADDR_PUBLIC)
		policy_grant(r->inst->shared, &r->home, &r->origin);

	r->rq.ops->connected(r->rq.user, head_connect_us(r), r->asked_us);
	if (r->rq.ops->head(r->rq.user, v, &r->use, r->resp, resolved, r->fresh_s) == TRANSFER_DROP)
		return head_decide(r, VERDICT_CANCELLED, rest);
	if (r->rq.probe)
		return head_decide(r, v, rest);
	head_begin_body(r, v);
	if (!body_check_end(r))
		return true;
	r->outcome = v;
	return run_drain(r, rest, run_worth_draining(r), clock_now_us());
}

static bool head_judge(struct run *r)
{
	enum verdict v = http_judge(&r->want, r->resp, &r->use);
	uint64_t rest = r->resp->has_length ? r->resp->length : UINT64_MAX;

	r->judged = true;
	if (v == VERDICT_PART || v == VERDICT_WHOLE)
		return head_good(r, v);
	if (v == VERDICT_REDIRECT && !head_redirects(r->resp->status))
		v = VERDICT_REFUSED;
	if (r->on_resolved && v != VERDICT_REDIRECT && hop_resolved_died(r, v, r->resp->status))
		r->ask_home = true;
	return head_decide(r, v, rest);
}

/* CURLOPT_HEADERFUNCTION: one line, with its end. */
size_t head_on_line(char *data, size_t size, size_t count, void *user)
{
	struct run *r = user;
	size_t len = size * count;

	r->header_bytes += len;
	r->header_lines++;
	if (r->header_bytes > HEADER_BYTES_MAX || r->header_lines > HEADER_LINES_MAX ||
	    (line_begins(data, len, "Location:") && len > HTTP_LOCATION_MAX)) {
		r->outcome = VERDICT_HEADERS;
		return 0;
	}
	if (r->judged || !run_is_http(r))
		return len;
	if (line_begins(data, len, "HTTP/"))
		head_keep_status(r, data, len);
	http_resp_line(r->resp, data, len);
	if (!line_is_blank(data, len))
		return len;
	if (r->resp->status >= 100 && r->resp->status < 200 && r->resp->status != 101)
		return len; /* interim: the final one follows */
	return head_judge(r) ? len : 0;
}

/*
 * ftp and sftp have no headers: what libcurl learned takes their place, and is judged all the same.
 * Of a range it tells no total; a probe is asked without one (easy.c), so that it does.
 */
static void head_invent(struct run *r, uint64_t length, long filetime)
{
	struct http_resp *resp = r->resp;

	http_resp_init(resp);
	resp->has_length = length != SIZE_UNKNOWN && !r->rq.probe;
	resp->length = length;
	if (r->rq.ranged && length != 0) {
		resp->status = 206;
		resp->has_content_range = resp->content_range_ok = true;
		resp->range = r->rq.range;
		if (!r->rq.probe && length != SIZE_UNKNOWN)
			resp->range = range_of_length(r->rq.range.off, length);
		resp->total = r->rq.probe ? length : r->want.size;
	} else {
		resp->status = 200;
		resp->has_length = length != SIZE_UNKNOWN;
		resp->total = length;
	}
	resp->validator.size = resp->total;
	if (filetime >= 0) {
		resp->validator.last_modified = filetime;
		resp->has_validator_header = true;
	}
}

bool head_synthesise(struct run *r)
{
	curl_off_t length = -1;
	long filetime = -1;

	if (run_is_http(r)) {
		r->outcome = VERDICT_PROTOCOL; /* a body, or an end, without a header */
		return false;
	}
	curl_easy_getinfo(r->easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
	curl_easy_getinfo(r->easy, CURLINFO_FILETIME, &filetime);
	head_invent(r, length >= 0 ? (uint64_t)length : SIZE_UNKNOWN, filetime);
	return head_judge(r);
}
