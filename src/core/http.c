/*
 * http.c - what we say in HTTP, and a response read header line by header line
 * Callers: transfer, on a fetch thread; tests and fuzzers.
 *
 * A value is understood when its line comes; each line leaves the response consistent, so that it
 * may be judged at any time. A field that we act on and that comes twice, differs or is cut in
 * pieces (obs-fold) marks the response malformed: proxies disagree about such, and a guess could
 * place a wrong byte.
 */
#include "core/http.h"

#include <ctype.h>
#include <inttypes.h>
#include <strings.h>

#include "base/size.h"

int http_format_range(char *buf, size_t size, struct range want)
{
	int n;

	assert(want.off < want.end); /* an empty lease is our bug */
	if (want.end == SIZE_UNKNOWN)
		n = snprintf(buf, size, "%" PRIu64 "-", want.off);
	else
		n = snprintf(buf, size, "%" PRIu64 "-%" PRIu64, want.off, want.end - 1);
	return n > 0 && (size_t)n < size ? 0 : -ENOBUFS;
}

/* ---- a value: bytes that are not terminated ---- */

struct value {
	const char *s;
	size_t len;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static struct value value_trim(struct value v)
{
	while (v.len > 0 && is_blank(v.s[0])) {
		v.s++;
		v.len--;
	}
	while (v.len > 0 && is_blank(v.s[v.len - 1]))
		v.len--;
	return v;
}

static bool value_is(struct value v, const char *word)
{
	return v.len == strlen(word) && strncasecmp(v.s, word, v.len) == 0;
}

/* Decimal digits off its front, at most FILE_SIZE_MAX. 0, -EINVAL or -ERANGE. */
static int value_take_number(struct value *v, uint64_t *ret)
{
	uint64_t n = 0;
	size_t i;

	for (i = 0; i < v->len && isdigit((unsigned char)v->s[i]); i++) {
		n = n * 10 + (uint64_t)(v->s[i] - '0'); /* below 10 * 2^63 / 10 + 10: no overflow */
		if (n > FILE_SIZE_MAX)
			return -ERANGE;
		if (n > FILE_SIZE_MAX / 10 && i + 1 < v->len && isdigit((unsigned char)v->s[i + 1]))
			return -ERANGE;
	}
	if (i == 0)
		return -EINVAL;
	v->s += i;
	v->len -= i;
	*ret = n;
	return 0;
}

static bool value_take(struct value *v, char c)
{
	if (v->len == 0 || v->s[0] != c)
		return false;
	v->s++;
	v->len--;
	return true;
}

int http_parse_content_range(const char *value, size_t len, struct range *ret_range,
			     uint64_t *ret_total)
{
	struct value v = value_trim((struct value){value, len});
	struct range r = {0, 0};
	uint64_t total = SIZE_UNKNOWN;
	uint64_t last;
	bool unsatisfied;

	if (v.len < 6 || strncasecmp(v.s, "bytes", 5) != 0 || !is_blank(v.s[5]))
		return -EINVAL;
	v = value_trim((struct value){v.s + 5, v.len - 5});
	unsatisfied = value_take(&v, '*');
	if (!unsatisfied) {
		if (value_take_number(&v, &r.off) < 0 || !value_take(&v, '-') ||
		    value_take_number(&v, &last) < 0 || last < r.off || last >= FILE_SIZE_MAX)
			return -EINVAL;
		r.end = last + 1;
	}
	if (!value_take(&v, '/'))
		return -EINVAL;
	if (!value_take(&v, '*') && value_take_number(&v, &total) < 0)
		return -EINVAL;
	if (v.len > 0 || (unsatisfied && total == SIZE_UNKNOWN) || r.end > total)
		return -EINVAL;
	*ret_range = r;
	*ret_total = total;
	return 0;
}

/* ---- the fields we act on ---- */

enum field {
	FIELD_OTHER,
	FIELD_CONTENT_LENGTH,
	FIELD_CONTENT_RANGE,
	FIELD_CONTENT_TYPE,
	FIELD_CONTENT_ENCODING,
	FIELD_CONTENT_DISPOSITION,
	FIELD_TRANSFER_ENCODING,
	FIELD_ACCEPT_RANGES,
	FIELD_ETAG,
	FIELD_LAST_MODIFIED,
	FIELD_DATE,
	FIELD_RETRY_AFTER,
	FIELD_RATELIMIT_RESET,
	FIELD_LOCATION,
	FIELD_CACHE_CONTROL,
	FIELD_EXPIRES,
	FIELD_AGE,
	FIELD_COUNT
};

static void read_content_length(struct http_resp *r, struct value v)
{
	/* Nothing behind the number; a second one is not believed even when it is the same. */
	if (r->own.length_seen || value_take_number(&v, &r->own.length) < 0 || v.len > 0)
		r->malformed = true;
	r->own.length_seen = true;
}

static void read_content_range(struct http_resp *r, struct value v)
{
	if (r->has_content_range)
		r->malformed = true;
	r->has_content_range = true;
	r->content_range_ok = http_parse_content_range(v.s, v.len, &r->range, &r->total) == 0;
}

static void read_content_type(struct http_resp *r, struct value v)
{
	static const char type[] = "multipart/byteranges";

	if (v.len >= sizeof(type) - 1 && strncasecmp(v.s, type, sizeof(type) - 1) == 0)
		r->multipart = true;
}

/* The first item off a list; empty where there is nothing between two commas. */
static struct value list_take(struct value *v)
{
	const char *comma = memchr(v->s, ',', v->len);
	size_t len = comma ? (size_t)(comma - v->s) : v->len;
	struct value item = value_trim((struct value){v->s, len});

	v->s += len + (comma != NULL);
	v->len -= len + (comma != NULL);
	return item;
}

/* Does the list hold anything but the words that change nothing? */
static bool list_has_other_than(struct value v, const char *harmless, const char *harmless_too)
{
	while (v.len > 0) {
		struct value item = list_take(&v);

		if (item.len > 0 && !value_is(item, harmless) && !value_is(item, harmless_too))
			return true;
	}
	return false;
}

static void read_content_encoding(struct http_resp *r, struct value v)
{
	if (list_has_other_than(v, "identity", "none"))
		r->encoded = true;
}

static void read_transfer_encoding(struct http_resp *r, struct value v)
{
	r->chunked = true;
	if (list_has_other_than(v, "identity", "chunked"))
		r->encoded = true;
}

static void read_accept_ranges(struct http_resp *r, struct value v)
{
	if (value_is(v, "none"))
		r->accept_ranges_none = true;
}

static void read_etag(struct http_resp *r, struct value v)
{
	struct validator got = VALIDATOR_INIT;

	if (validator_set_etag(&got, v.s, v.len) < 0)
		got.etag[0] = '\0'; /* as if there were none */
	if (r->own.etag_seen && strcmp(got.etag, r->validator.etag) != 0)
		r->malformed = true;
	memcpy(r->validator.etag, got.etag, sizeof(got.etag));
	r->own.etag_seen = true;
	r->has_validator_header = true;
}

static void read_last_modified(struct http_resp *r, struct value v)
{
	int64_t s;

	if (http_parse_date(v.s, v.len, &s) < 0)
		return; /* "0", "-1", nothing: servers say so for "don't know" */
	if (r->validator.last_modified != VALIDATOR_NO_TIME && r->validator.last_modified != s)
		r->malformed = true;
	r->validator.last_modified = s;
	r->has_validator_header = true;
}

static void read_date(struct http_resp *r, struct value v)
{
	int64_t s;

	if (r->date == VALIDATOR_NO_TIME && http_parse_date(v.s, v.len, &s) == 0)
		r->date = s;
}

static void read_retry_after(struct http_resp *r, struct value v)
{
	struct value number = v;
	uint64_t s;
	int error = value_take_number(&number, &s);

	if (error == -ERANGE || (error == 0 && number.len == 0))
		r->own.retry_delay_s =
			error ? HTTP_RETRY_MAX_S : (int64_t)min_u64(s, (uint64_t)HTTP_RETRY_MAX_S);
	else
		(void)http_parse_date(v.s, v.len, &r->own.retry_at_s);
}

/* Seconds from now, as the drafts have it; a large number is the widespread epoch. */
static void read_ratelimit_reset(struct http_resp *r, struct value v)
{
	uint64_t s;

	if (value_take_number(&v, &s) < 0 || v.len > 0)
		return;
	if (s <= (uint64_t)HTTP_RETRY_MAX_S)
		r->own.reset_delay_s = (int64_t)s;
	else if (s <= (uint64_t)HTTP_DATE_MAX_S)
		r->own.reset_at_s = (int64_t)s;
}

static void read_location(struct http_resp *r, struct value v)
{
	if (v.len >= sizeof(r->location) ||
	    (r->has_location &&
	     (strlen(r->location) != v.len || memcmp(r->location, v.s, v.len) != 0))) {
		r->malformed = true;
		return;
	}
	memcpy(r->location, v.s, v.len);
	r->location[v.len] = '\0';
	r->has_location = v.len > 0;
}

/* Seconds, at most HTTP_RETRY_MAX_S; 0 for what is no number: then it is better asked again. */
static int64_t delta_seconds(struct value v)
{
	uint64_t s;
	int error = value_take_number(&v, &s);

	if (error == -ERANGE)
		return HTTP_RETRY_MAX_S;
	return error || v.len > 0 ? 0 : (int64_t)min_u64(s, (uint64_t)HTTP_RETRY_MAX_S);
}

static void read_cache_control(struct http_resp *r, struct value v)
{
	static const char max_age[] = "max-age=";

	while (v.len > 0) {
		struct value item = list_take(&v);
		int64_t s;

		if (value_is(item, "no-store") || value_is(item, "no-cache"))
			r->own.no_reuse = true;
		if (item.len < sizeof(max_age) - 1 ||
		    strncasecmp(item.s, max_age, sizeof(max_age) - 1) != 0)
			continue;
		item.s += sizeof(max_age) - 1;
		item.len -= sizeof(max_age) - 1;
		if (value_take(&item, '"') && item.len > 0 && item.s[item.len - 1] == '"')
			item.len--;
		s = delta_seconds(item);
		if (r->own.max_age_s < 0 || s < r->own.max_age_s)
			r->own.max_age_s = s;
	}
}

static void read_expires(struct http_resp *r, struct value v)
{
	/* "0" and the like: over already. */
	if (http_parse_date(v.s, v.len, &r->own.expires_s) < 0)
		r->own.expires_s = VALIDATOR_NO_TIME;
	r->own.expires_seen = true;
}

static void read_age(struct http_resp *r, struct value v)
{
	r->own.age_s = delta_seconds(v);
}

static void read_content_disposition(struct http_resp *r, struct value v)
{
	http_disposition_filename(v.s, v.len, &r->own.filename_rank, r->filename);
}

static const struct {
	const char *name;
	void (*read)(struct http_resp *r, struct value v);
	bool exact; /* cut in pieces it would say something else */
} fields[] = {
	[FIELD_OTHER] = {"", NULL, false},
	[FIELD_CONTENT_LENGTH] = {"Content-Length", read_content_length, true},
	[FIELD_CONTENT_RANGE] = {"Content-Range", read_content_range, true},
	[FIELD_CONTENT_TYPE] = {"Content-Type", read_content_type, false},
	[FIELD_CONTENT_ENCODING] = {"Content-Encoding", read_content_encoding, true},
	[FIELD_CONTENT_DISPOSITION] = {"Content-Disposition", read_content_disposition, false},
	[FIELD_TRANSFER_ENCODING] = {"Transfer-Encoding", read_transfer_encoding, true},
	[FIELD_ACCEPT_RANGES] = {"Accept-Ranges", read_accept_ranges, false},
	[FIELD_ETAG] = {"ETag", read_etag, true},
	[FIELD_LAST_MODIFIED] = {"Last-Modified", read_last_modified, true},
	[FIELD_DATE] = {"Date", read_date, false},
	[FIELD_RETRY_AFTER] = {"Retry-After", read_retry_after, false},
	[FIELD_RATELIMIT_RESET] = {"RateLimit-Reset", read_ratelimit_reset, false},
	[FIELD_LOCATION] = {"Location", read_location, true},
	[FIELD_CACHE_CONTROL] = {"Cache-Control", read_cache_control, false},
	[FIELD_EXPIRES] = {"Expires", read_expires, false},
	[FIELD_AGE] = {"Age", read_age, false},
};
_Static_assert(ARRAY_SIZE(fields) == FIELD_COUNT, "read every field");

static enum field field_find(struct value name)
{
	for (int i = FIELD_OTHER + 1; i < FIELD_COUNT; i++) {
		if (value_is(name, fields[i].name))
			return (enum field)i;
	}
	return value_is(name, "X-RateLimit-Reset") ? FIELD_RATELIMIT_RESET : FIELD_OTHER;
}

/* ---- lines ---- */

void http_resp_init(struct http_resp *r)
{
	memset(r, 0, sizeof(*r));
	r->total = SIZE_UNKNOWN;
	r->validator = VALIDATOR_INIT;
	r->date = VALIDATOR_NO_TIME;
	r->retry_after_s = -1;
	r->fresh_s = -1;
	r->own.max_age_s = -1;
	r->own.retry_delay_s = -1;
	r->own.reset_delay_s = -1;
	r->own.retry_at_s = VALIDATOR_NO_TIME;
	r->own.reset_at_s = VALIDATOR_NO_TIME;
}

/* "HTTP/1.1 206 Partial Content", "HTTP/2 206" */
static void read_status_line(struct http_resp *r, struct value v)
{
	const char *space = memchr(v.s, ' ', v.len);
	const char *code = space ? space + 1 : NULL;
	size_t left = code ? v.len - (size_t)(code - v.s) : 0;

	http_resp_init(r);
	if (left < 3 || !isdigit((unsigned char)code[0]) || !isdigit((unsigned char)code[1]) ||
	    !isdigit((unsigned char)code[2]) || (left > 3 && code[3] != ' ') || code[0] == '0') {
		r->malformed = true;
		return;
	}
	r->status = (code[0] - '0') * 100 + (code[1] - '0') * 10 + (code[2] - '0');
}

static bool has_control(struct value v)
{
	for (size_t i = 0; i < v.len; i++) {
		unsigned char c = (unsigned char)v.s[i];

		if ((c < 0x20 && c != '\t') || c == 0x7f)
			return true;
	}
	return false;
}

/* A line that goes on with the field before it (RFC 9112 5.2). */
static void read_fold(struct http_resp *r, struct value v)
{
	enum field f = (enum field)r->own.last_field;

	if (fields[f].exact)
		r->malformed = true;
	else if (f == FIELD_CONTENT_DISPOSITION)
		read_content_disposition(r, value_trim(v));
}

static void read_field(struct http_resp *r, struct value line)
{
	const char *colon = memchr(line.s, ':', line.len);
	struct value name;
	struct value v;
	enum field f;

	r->own.last_field = FIELD_OTHER;
	if (!colon || colon == line.s) {
		r->malformed = true;
		return;
	}
	name = (struct value){line.s, (size_t)(colon - line.s)};
	v = value_trim((struct value){colon + 1, line.len - name.len - 1});
	f = field_find(value_trim(name));
	if (f == FIELD_OTHER)
		return;
	r->own.last_field = f;
	if (value_trim(name).len != name.len || has_control(v)) {
		r->malformed = true; /* "Content-Length : 5" is another field to some proxies */
		return;
	}
	fields[f].read(r, v);
}

/* RFC 9111 4.2.1, by the server's own clock. */
static int64_t freshness(const struct http_resp *r)
{
	int64_t s = r->own.max_age_s;

	if (r->own.no_reuse)
		return 0;
	if (s < 0) {
		if (!r->own.expires_seen)
			return -1;
		if (r->own.expires_s == VALIDATOR_NO_TIME)
			return 0;
		if (r->date == VALIDATOR_NO_TIME)
			return -1;
		s = r->own.expires_s - r->date; /* years from 1 to 9999 */
		s = s > HTTP_RETRY_MAX_S ? HTTP_RETRY_MAX_S : s;
	}
	return s > r->own.age_s ? s - r->own.age_s : 0;
}

/* What follows from several fields together. */
static void settle(struct http_resp *r)
{
	int64_t at = r->own.retry_at_s;

	/* RFC 9112 6.3: Transfer-Encoding overrides. */
	r->has_length = r->own.length_seen && !r->chunked && !r->malformed;
	r->length = r->has_length ? r->own.length : 0;

	r->validator.size = SIZE_UNKNOWN;
	if (r->status == 200 && r->has_length)
		r->validator.size = r->length;
	else if ((r->status == 206 || r->status == 416) && r->content_range_ok)
		r->validator.size = r->total;

	r->fresh_s = freshness(r);
	r->retry_after_s = r->own.retry_delay_s;
	if (r->retry_after_s < 0 && at == VALIDATOR_NO_TIME &&
	    (r->status == 429 || r->status == 503)) {
		r->retry_after_s = r->own.reset_delay_s;
		at = r->own.reset_at_s;
	}
	if (r->retry_after_s < 0 && at != VALIDATOR_NO_TIME && r->date != VALIDATOR_NO_TIME) {
		int64_t wait = at - r->date; /* both are years from 1 to 9999, or a size at most */

		r->retry_after_s = wait < 0 ? 0 : wait;
		if (wait > HTTP_RETRY_MAX_S)
			r->retry_after_s = HTTP_RETRY_MAX_S;
	}
}

void http_resp_line(struct http_resp *r, const char *line, size_t len)
{
	struct value v = {line, len};

	if (v.len > 0 && v.s[v.len - 1] == '\n')
		v.len--;
	if (v.len > 0 && v.s[v.len - 1] == '\r')
		v.len--;

	if (v.len >= 5 && memcmp(v.s, "HTTP/", 5) == 0) {
		read_status_line(r, v);
		return;
	}
	if (v.len == 0)
		r->own.ended = true;
	if (r->own.ended)
		return; /* what follows the block are trailers: too late to change anything */
	if (memchr(v.s, '\0', v.len))
		r->malformed = true;
	else if (is_blank(v.s[0]))
		read_fold(r, v);
	else
		read_field(r, v);
	settle(r);
}
