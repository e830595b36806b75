/*
 * draft.c - one entry while its keys are read, the same for every format
 * Callers: format_text, format_json. What each key may say is decided here alone.
 */
#include "manifest/draft.h"

#include <inttypes.h>

#include "base/size.h"
#include "core/http.h"
#include "core/validator.h"
#include "manifest/names.h"

/* What stat and every calendar can show: the years 1 to 9999. */
#define TIME_MIN INT64_C(-62135596800)
#define TIME_MAX INT64_C(253402300799)

#define VALUE_MAX 200 /* numbers, dates and checksums are shorter */

static const char *const key_name[] = {
	[KEY_OUT] = "out",	     [KEY_DIR] = "dir",
	[KEY_SIZE] = "size",	     [KEY_MTIME] = "mtime",
	[KEY_CHECKSUM] = "checksum", [KEY_HEADER] = "header",
	[KEY_ETAG] = "etag",	     [KEY_ID] = "id",
	[KEY_MODE] = "mode",	     [KEY_RANGE] = "range",
};
_Static_assert(ARRAY_SIZE(key_name) == KEY_COUNT, "name every key");

void draft_init(struct draft *d, uint32_t line)
{
	memset(d, 0, offsetof(struct draft, url));
	d->line = line;
	d->size = SIZE_UNKNOWN;
	d->mtime = MANIFEST_NO_TIME;
	d->slice = (struct range){0, SIZE_UNKNOWN};
}

int draft_add_url(struct complaint *c, uint32_t line, struct draft *d, struct span url)
{
	int r = name_check_url(c, line, url);

	if (r < 0)
		return r;
	for (unsigned int i = 0; i < d->url_count; i++) {
		if (span_equal(d->url[i], url))
			return 0;
	}
	if (d->url_count == MANIFEST_URLS_MAX)
		return refuse(c, line, "more than %d URLs for one entry (leave some out)",
			      MANIFEST_URLS_MAX);
	d->url[d->url_count++] = url;
	return 0;
}

/* Decimal digits at text, exactly n; *at moves behind them. */
static bool digits(const char **at, unsigned int n, int *ret)
{
	*ret = 0;
	for (; n > 0; n--, (*at)++) {
		if (**at < '0' || **at > '9')
			return false;
		*ret = *ret * 10 + (**at - '0');
	}
	return true;
}

static bool literal(const char **at, const char *any_of)
{
	if (!**at || !strchr(any_of, **at))
		return false;
	(*at)++;
	return true;
}

/* "Z" or "+01:30", to the end: seconds east of UTC. */
static bool parse_zone(const char *at, int *ret_offset)
{
	int hours, minutes;
	bool west = *at == '-';

	*ret_offset = 0;
	if (literal(&at, "Zz"))
		return !*at;
	if (!literal(&at, "+-") || !digits(&at, 2, &hours) || !literal(&at, ":") ||
	    !digits(&at, 2, &minutes) || hours > 23 || minutes > 59 || *at)
		return false;
	*ret_offset = (west ? -1 : 1) * (hours * 3600 + minutes * 60);
	return true;
}

/* RFC 3339: "2026-11-30T19:48:54.5+01:00", also with a space for the T. Fractions are cut off. */
static int parse_rfc3339(const char *text, int64_t *ret_s)
{
	static const int month_days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	const char *at = text;
	struct tm tm = {0};
	int offset, days;
	bool leap;

	if (!digits(&at, 4, &tm.tm_year) || !literal(&at, "-") || !digits(&at, 2, &tm.tm_mon) ||
	    !literal(&at, "-") || !digits(&at, 2, &tm.tm_mday) || !literal(&at, "Tt ") ||
	    !digits(&at, 2, &tm.tm_hour) || !literal(&at, ":") || !digits(&at, 2, &tm.tm_min) ||
	    !literal(&at, ":") || !digits(&at, 2, &tm.tm_sec))
		return -EINVAL;
	if (literal(&at, ".")) {
		if (!literal(&at, "0123456789"))
			return -EINVAL;
		while (literal(&at, "0123456789"))
			;
	}
	if (!parse_zone(at, &offset))
		return -EINVAL;
	if (tm.tm_year < 1 || tm.tm_mon < 1 || tm.tm_mon > 12 || tm.tm_hour > 23 ||
	    tm.tm_min > 59 || tm.tm_sec > 60)
		return -EINVAL;
	leap = (tm.tm_year % 4 == 0 && tm.tm_year % 100 != 0) || tm.tm_year % 400 == 0;
	days = month_days[tm.tm_mon - 1] + (tm.tm_mon == 2 && leap);
	if (tm.tm_mday < 1 || tm.tm_mday > days)
		return -EINVAL;
	tm.tm_year -= 1900;
	tm.tm_mon--;
	*ret_s = (int64_t)timegm(&tm) - offset;
	return 0;
}

/* "1700000000", "-5", "1700000000.25" as find's %T@ writes it: whole seconds, rounded down. */
static int parse_seconds(const char *text, int64_t *ret_s)
{
	bool negative = text[0] == '-';
	const char *at = text + negative;
	int64_t value = 0, fraction = 0;

	if (!literal(&at, "0123456789"))
		return -EINVAL;
	at--;
	for (; *at >= '0' && *at <= '9'; at++) {
		if (__builtin_mul_overflow(value, INT64_C(10), &value) ||
		    __builtin_add_overflow(value, (int64_t)(*at - '0'), &value))
			return -EINVAL;
	}
	if (literal(&at, ".")) {
		if (!literal(&at, "0123456789"))
			return -EINVAL;
		for (at--; *at >= '0' && *at <= '9'; at++)
			fraction |= *at != '0';
	}
	if (*at)
		return -EINVAL;
	*ret_s = negative ? -value - fraction : value;
	return 0;
}

int draft_parse_time(const char *text, int64_t *ret_s)
{
	if (parse_seconds(text, ret_s) == 0 || parse_rfc3339(text, ret_s) == 0)
		return 0;
	return http_parse_date(text, strlen(text), ret_s);
}

/* Octal permission bits; what is asked of write permission is dropped: the mount has none. */
static int set_mode(struct complaint *c, uint32_t line, struct draft *d, const char *value)
{
	unsigned int mode = 0;
	size_t len = strlen(value);

	if (len == 0 || len > 6 || strspn(value, "01234567") != len)
		return refuse(c, line, "mode \"%.20s\" is not octal permission bits (like 0555)",
			      value);
	for (; *value; value++)
		mode = mode << 3 | (unsigned int)(*value - '0');
	if (mode & ~0777u)
		return refuse(
			c, line,
			"mode %#o has more than permission bits (set-user-ID and the like are "
			"not possible, give 0555 for a program)",
			mode);
	d->mode = mode & 0555;
	if (d->mode == 0)
		return refuse(c, line, "mode %#o lets nobody read (give 0444 or 0555)", mode);
	return 0;
}

/* "FIRST-LAST", both included, or "FIRST-". */
static int set_range(struct complaint *c, uint32_t line, struct draft *d, char *value)
{
	char *dash = strchr(value, '-');
	uint64_t first, last;

	if (dash)
		*dash++ = '\0';
	if (!dash || parse_u64(value, FILE_SIZE_MAX - 1, &first) < 0 ||
	    (*dash && parse_u64(dash, FILE_SIZE_MAX - 1, &last) < 0))
		return refuse(c, line,
			      "the range is not FIRST-LAST (two byte positions, the last included, "
			      "or FIRST- for all the rest)");
	if (!*dash) {
		d->slice = (struct range){first, SIZE_UNKNOWN};
		return 0;
	}
	if (last < first)
		return refuse(c, line, "the range ends before it starts (write FIRST-LAST)");
	d->slice = range_make(first, last + 1);
	return 0;
}

static int set_etag(struct complaint *c, uint32_t line, struct draft *d, struct span value)
{
	struct span inner = value;
	bool weak = value.len >= 2 && memcmp(value.s, "W/", 2) == 0;

	if (weak)
		inner = span_make(value.s + 2, value.len - 2);
	if (inner.len >= 2 && inner.s[0] == '"' && inner.s[inner.len - 1] == '"')
		inner = span_make(inner.s + 1, inner.len - 2);
	else if (weak)
		return refuse(
			c, line,
			"a weak etag needs its quotes (write W/\"…\" as the server sends it)");
	if (inner.len == 0 || memchr(inner.s, '"', inner.len) || memchr(inner.s, ' ', inner.len))
		return refuse(c, line,
			      "the etag is empty or has a quote or space inside (write it as the "
			      "server sends it)");
	if (inner.len + 4 >= ETAG_MAX) /* with W/ and quotes */
		return refuse(c, line,
			      "the etag has %zu bytes, at most %d are possible (leave it out)",
			      inner.len, ETAG_MAX - 5);
	d->etag = value;
	return 0;
}

int draft_set_size(struct complaint *c, uint32_t line, struct draft *d, uint64_t size)
{
	if (size > FILE_SIZE_MAX)
		return refuse(c, line,
			      "the size is larger than any file can be (at most %" PRIu64 " bytes)",
			      FILE_SIZE_MAX);
	d->size = size;
	return 0;
}

int draft_set_mtime(struct complaint *c, uint32_t line, struct draft *d, int64_t mtime)
{
	if (mtime < TIME_MIN || mtime > TIME_MAX)
		return refuse(c, line,
			      "the mtime is outside the years 1 to 9999 (give seconds since 1970)");
	d->mtime = mtime;
	return 0;
}

/* The keys whose values are short words. */
static int set_short(struct complaint *c, uint32_t line, struct draft *d, enum key key,
		     struct span value)
{
	char text[VALUE_MAX + 1];
	char shown[QUOTE_MAX];
	uint64_t size;
	int64_t mtime;

	if (value.len > VALUE_MAX)
		return refuse(c, line,
			      "the value of %s has %zu bytes, at most %d are possible (see "
			      "rgetfs-manifest(5))",
			      key_name[key], value.len, VALUE_MAX);
	memcpy(text, value.s, value.len);
	text[value.len] = '\0';
	if (key == KEY_SIZE) {
		if (parse_size(text, &size) < 0)
			return refuse(
				c, line,
				"size %s is not a size (write bytes, or a number with K, M, G or "
				"T)",
				quote(shown, value));
		return draft_set_size(c, line, d, size);
	}
	if (key == KEY_MTIME) {
		if (draft_parse_time(text, &mtime) < 0)
			return refuse(c, line,
				      "mtime %s is not a time (write seconds since 1970, "
				      "2026-11-30T12:00:00Z or an HTTP date)",
				      quote(shown, value));
		return draft_set_mtime(c, line, d, mtime);
	}
	if (key == KEY_CHECKSUM) {
		if (checksum_parse(text, &d->checksum) < 0)
			return refuse(
				c, line,
				"checksum %s is not ALGORITHM=HEX (md5, sha-1, sha-224, sha-256, "
				"sha-384 or sha-512, and all digits)",
				quote(shown, value));
		return 0;
	}
	return key == KEY_MODE ? set_mode(c, line, d, text) : set_range(c, line, d, text);
}

static int set_header(struct complaint *c, uint32_t line, struct draft *d, struct span value)
{
	struct span name, content;
	int r = name_check_header(c, line, value, &name, &content);

	if (r < 0)
		return r;
	if (d->header_count == MANIFEST_HEADERS_MAX)
		return refuse(c, line, "more than %d headers for one entry (leave some out)",
			      MANIFEST_HEADERS_MAX);
	d->header[d->header_count++] = value;
	return 0;
}

static int set_id(struct complaint *c, uint32_t line, struct draft *d, struct span value)
{
	if (value.len == 0 || value.len > ID_MAX)
		return refuse(c, line, "the id has %zu bytes (give 1 to %d)", value.len, ID_MAX);
	d->id = value;
	return 0;
}

/* aria2's dir is a host path; here it lies in the mount, so its leading slash says nothing. */
static int set_dir(struct complaint *c, uint32_t line, struct draft *d, struct span value)
{
	if (value.len > 0 && value.s[0] == '/')
		value = span_make(value.s + 1, value.len - 1);
	if (value.len > 0 && value.s[value.len - 1] == '/')
		value.len--;
	d->dir = value;
	return value.len ? name_check(c, line, value) : 0;
}

int draft_set(struct complaint *c, uint32_t line, struct draft *d, enum key key, struct span value)
{
	if (d->key_line[key] && key != KEY_HEADER)
		return refuse(c, line, "%s was given on line %u already (leave one out)",
			      key_name[key], d->key_line[key]);
	d->key_line[key] = line;
	if (key == KEY_OUT) {
		d->out = value;
		return name_check(c, line, value);
	}
	if (key == KEY_DIR)
		return set_dir(c, line, d, value);
	if (key == KEY_HEADER)
		return set_header(c, line, d, value);
	if (span_has_control(value) || !span_is_utf8(value))
		return refuse(
			c, line,
			"the value of %s has a control byte or is not UTF-8 (write it as text)",
			key_name[key]);
	if (key == KEY_ETAG)
		return set_etag(c, line, d, value);
	if (key == KEY_ID)
		return set_id(c, line, d, value);
	return set_short(c, line, d, key, value);
}

/* A directory is a name and nothing else. */
static int close_directory(struct complaint *c, struct draft *d)
{
	if (d->url_count)
		return refuse(c, d->line,
			      "a path that ends in a slash is an empty directory and has no URL "
			      "(drop the slash or the URL)");
	for (unsigned int i = 0; i < KEY_COUNT; i++) {
		if (d->key_line[i] && i != KEY_OUT)
			return refuse(c, d->line, "an empty directory has no %s (leave it out)",
				      key_name[i]);
	}
	return 0;
}

int draft_close(struct complaint *c, struct draft *d)
{
	uint64_t len;

	if (d->directory)
		return close_directory(c, d);
	if (d->url_count == 0)
		return refuse(c, d->line,
			      "the entry has no URL (give one, or end its path in a slash for an "
			      "empty directory)");
	if (d->slice.end == SIZE_UNKNOWN) {
		if (d->size != SIZE_UNKNOWN && d->size > FILE_SIZE_MAX - d->slice.off)
			return refuse(c, d->key_line[KEY_RANGE],
				      "range and size together go past the end of any "
				      "file (correct one of them)");
		return 0;
	}
	len = range_len(d->slice);
	if (d->size == SIZE_UNKNOWN)
		d->size = len;
	if (d->size != len)
		return refuse(c, (uint32_t)max_u64(d->key_line[KEY_RANGE], d->key_line[KEY_SIZE]),
			      "the range has %" PRIu64 " bytes and size says %" PRIu64
			      " (leave out the size)",
			      len, d->size);
	return 0;
}
