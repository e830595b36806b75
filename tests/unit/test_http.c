/*
 * test_http.c - what is said in HTTP: ranges, dates, header lines
 */
#include "core/http.h"
#include "response.h"
#include "suite.h"

static struct http_resp resp;

START_TEST(ranges_are_inclusive_on_the_wire)
{
	char buf[HTTP_RANGE_TEXT_MAX];

	ck_assert_int_eq(http_format_range(buf, sizeof(buf), range_make(0, 1)), 0);
	ck_assert_str_eq(buf, "0-0");
	ck_assert_int_eq(http_format_range(buf, sizeof(buf), range_make(65536, 131072)), 0);
	ck_assert_str_eq(buf, "65536-131071");
	ck_assert_int_eq(http_format_range(buf, sizeof(buf), range_make(7, SIZE_UNKNOWN)), 0);
	ck_assert_str_eq(buf, "7-");
	ck_assert_int_eq(http_format_range(buf, sizeof(buf),
					   range_make(UINT64_MAX - 2, UINT64_MAX - 1)),
			 0);
	ck_assert_int_eq(http_format_range(buf, 3, range_make(0, 1)), -ENOBUFS);
}
END_TEST

static const struct {
	const char *text;
	int error;
	uint64_t off, end, total;
} content_ranges[] = {
	{"bytes 0-9/10", 0, 0, 10, 10},
	{"Bytes 0-9/10", 0, 0, 10, 10},
	{"bytes  0-9/10 ", 0, 0, 10, 10},
	{"bytes\t5-5/6", 0, 5, 6, 6},
	{"bytes 0-9/*", 0, 0, 10, SIZE_UNKNOWN},
	{"bytes */10", 0, 0, 0, 10},
	{"bytes */0", 0, 0, 0, 0},
	{"bytes 0-9223372036854775805/9223372036854775807", 0, 0, INT64_MAX - 1, INT64_MAX},
	{"bytes */*", -EINVAL, 0, 0, 0},
	{"bytes 0-9/9", -EINVAL, 0, 0, 0},
	{"bytes 0-9/0", -EINVAL, 0, 0, 0},
	{"bytes 9-0/10", -EINVAL, 0, 0, 0},
	{"bytes 0-9", -EINVAL, 0, 0, 0},
	{"bytes 0-9/", -EINVAL, 0, 0, 0},
	{"bytes 0-/10", -EINVAL, 0, 0, 0},
	{"bytes -9/10", -EINVAL, 0, 0, 0},
	{"bytes 0-9/10x", -EINVAL, 0, 0, 0},
	{"bytes 0-9/10,20-29/30", -EINVAL, 0, 0, 0},
	{"bytes 0 - 9/10", -EINVAL, 0, 0, 0},
	{"bytes +0-9/10", -EINVAL, 0, 0, 0},
	{"bytes=0-9/10", -EINVAL, 0, 0, 0},
	{"bytes:0-9/10", -EINVAL, 0, 0, 0},
	{"bytes0-9/10", -EINVAL, 0, 0, 0},
	{"0-9/10", -EINVAL, 0, 0, 0},
	{"items 0-9/10", -EINVAL, 0, 0, 0},
	{"bytes", -EINVAL, 0, 0, 0},
	{"bytes ", -EINVAL, 0, 0, 0},
	{"", -EINVAL, 0, 0, 0},
	{"bytes 0-9223372036854775807/*", -EINVAL, 0, 0, 0},
	{"bytes 0-18446744073709551615/*", -EINVAL, 0, 0, 0},
	{"bytes 0-9/18446744073709551616", -EINVAL, 0, 0, 0},
	{"bytes 0-99999999999999999999999999/*", -EINVAL, 0, 0, 0},
};

START_TEST(content_range_table)
{
	struct range r = {77, 77};
	uint64_t total = 77;
	const char *text = content_ranges[_i].text;

	ck_assert_msg(http_parse_content_range(text, strlen(text), &r, &total) ==
			      content_ranges[_i].error,
		      "%s", text);
	if (content_ranges[_i].error) {
		ck_assert_uint_eq(r.off + r.end + total, 3 * 77);
		return;
	}
	ck_assert_uint_eq(r.off, content_ranges[_i].off);
	ck_assert_uint_eq(r.end, content_ranges[_i].end);
	ck_assert_uint_eq(total, content_ranges[_i].total);
}
END_TEST

static const struct {
	const char *text;
	int error;
	int64_t s;
} dates[] = {
	{"Sun, 06 Nov 1994 08:49:37 GMT", 0, 784111777},
	{"Sunday, 06-Nov-94 08:49:37 GMT", 0, 784111777},
	{"Sun Nov  6 08:49:37 1994", 0, 784111777},
	{"Wed Nov 16 08:49:37 1994", 0, 784975777},
	{"Thu, 01 Jan 1970 00:00:00 GMT", 0, 0},
	{"Wed, 31 Dec 1969 23:59:59 GMT", 0, -1},
	{"Tue, 29 Feb 2000 12:00:00 GMT", 0, 951825600},
	{"Tue, 19 Jan 2038 03:14:08 GMT", 0, INT64_C(2147483648)},
	{"Fri, 31 Dec 9999 23:59:59 GMT", 0, HTTP_DATE_MAX_S},
	{"Mon, 01 Jan 0001 00:00:00 GMT", 0, INT64_C(-62135596800)},
	{"Tuesday, 01-Jan-69 00:00:00 GMT", 0, INT64_C(3124224000)},
	{"Thursday, 01-Jan-70 00:00:00 GMT", 0, 0},
	{"Sat, 31 Dec 2016 23:59:60 GMT", 0, 1483228800},
	{"Mon, 06 Nov 1994 08:49:37 GMT", 0, 784111777}, /* the name of the day carries nothing */
	{"Mon, 29 Feb 1900 00:00:00 GMT", -EINVAL, 0},
	{"Sun, 31 Apr 1994 08:49:37 GMT", -EINVAL, 0},
	{"Sun, 00 Nov 1994 08:49:37 GMT", -EINVAL, 0},
	{"Sat, 01 Jan 0000 00:00:00 GMT", -EINVAL, 0},
	{"Sun, 06 Nov 1994 24:00:00 GMT", -EINVAL, 0},
	{"Sun, 06 Nov 1994 08:60:37 GMT", -EINVAL, 0},
	{"Sun, 06 Nov 1994 08:49:61 GMT", -EINVAL, 0},
	{"Sun, 06 Nov 1994 08:49:37 CET", -EINVAL, 0},
	{"Sun, 06 Nov 1994 08:49:37", -EINVAL, 0},
	{"Sun, 6 Nov 1994 08:49:37 GMT", -EINVAL, 0},
	{"Son, 06 Nov 1994 08:49:37 GMT", -EINVAL, 0},
	{"Sun, 06 Nob 1994 08:49:37 GMT", -EINVAL, 0},
	{"Sun, 06 Nov 94 08:49:37 GMT", -EINVAL, 0},
	{"Sun, 06 Nov 1994 08:49:37 GMT ", -EINVAL, 0},
	{"Sun, 06 Nov 19940 08:49:37 GMT", -EINVAL, 0},
	{"06 Nov 1994 08:49:37 GMT", -EINVAL, 0},
	{"784111777", -EINVAL, 0},
	{"-1", -EINVAL, 0},
	{"", -EINVAL, 0},
};

START_TEST(date_table)
{
	int64_t s = 77;

	ck_assert_msg(http_parse_date(dates[_i].text, strlen(dates[_i].text), &s) ==
			      dates[_i].error,
		      "%s", dates[_i].text);
	ck_assert_int_eq(s, dates[_i].error ? 77 : dates[_i].s);
}
END_TEST

/* Against libc, which knows the calendar too, over all years that it and the format share. */
START_TEST(dates_there_and_back)
{
	for (int64_t t = INT64_C(-62135596800); t <= HTTP_DATE_MAX_S; t += 86400 * 17 + 4321) {
		char buf[HTTP_DATE_TEXT_MAX];
		char expected[HTTP_DATE_TEXT_MAX];
		time_t clock = (time_t)t;
		struct tm tm;
		int64_t back;

		http_format_date(buf, t);
		ck_assert_ptr_nonnull(gmtime_r(&clock, &tm));
		strftime(expected, sizeof(expected), "%a, %d %b ", &tm);
		snprintf(expected + strlen(expected), sizeof(expected) - strlen(expected),
			 "%04u %02u:%02u:%02u GMT", (unsigned int)(tm.tm_year + 1900) % 10000,
			 (unsigned int)tm.tm_hour % 100, (unsigned int)tm.tm_min % 100,
			 (unsigned int)tm.tm_sec % 100);
		ck_assert_str_eq(buf, expected);
		ck_assert_int_eq(http_parse_date(buf, strlen(buf), &back), 0);
		ck_assert_int_eq(back, t);
	}
}
END_TEST

START_TEST(dates_out_of_range_are_cut)
{
	char buf[HTTP_DATE_TEXT_MAX];

	http_format_date(buf, INT64_MIN);
	ck_assert_str_eq(buf, "Mon, 01 Jan 0001 00:00:00 GMT");
	http_format_date(buf, INT64_MAX);
	ck_assert_str_eq(buf, "Fri, 31 Dec 9999 23:59:59 GMT");
}
END_TEST

START_TEST(a_plain_response)
{
	response_read(&resp, "HTTP/1.1 206 Partial Content\n"
			     "content-range: bytes 10-19/100\n"
			     "Content-Length:10\n"
			     "ETAG:  \"abc\" \n"
			     "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT\n"
			     "Date: Sun, 06 Nov 1994 08:49:47 GMT\n"
			     "X-Other: whatever\n");
	ck_assert_int_eq(resp.status, 206);
	ck_assert(!resp.malformed);
	ck_assert(resp.has_length);
	ck_assert_uint_eq(resp.length, 10);
	ck_assert(resp.has_content_range);
	ck_assert(resp.content_range_ok);
	ck_assert_uint_eq(resp.range.off, 10);
	ck_assert_uint_eq(resp.range.end, 20);
	ck_assert_uint_eq(resp.total, 100);
	ck_assert(resp.has_validator_header);
	ck_assert_str_eq(resp.validator.etag, "\"abc\"");
	ck_assert_int_eq(resp.validator.last_modified, 784111777);
	ck_assert_uint_eq(resp.validator.size, 100);
	ck_assert_int_eq(resp.date, 784111787);
	ck_assert_int_eq(resp.retry_after_s, -1);
	ck_assert(!resp.encoded);
	ck_assert(!resp.multipart);
	ck_assert(!resp.has_location);
}
END_TEST

START_TEST(only_the_final_block_counts)
{
	response_read(&resp, "HTTP/1.1 200 Connection established\n"
			     "Content-Length: 5\nETag: \"proxy\"\nContent-Encoding: gzip\n\n"
			     "HTTP/1.1 103 Early Hints\n"
			     "Link: </x>\n\n"
			     "HTTP/2 206\n"
			     "content-range: bytes 0-0/7\n");
	ck_assert_int_eq(resp.status, 206);
	ck_assert(!resp.has_length);
	ck_assert(!resp.encoded);
	ck_assert_str_eq(resp.validator.etag, "");
	ck_assert_uint_eq(resp.total, 7);
}
END_TEST

START_TEST(trailers_change_nothing)
{
	response_read(&resp,
		      "HTTP/1.1 200 OK\nETag: \"a\"\n\nETag: \"b\"\nContent-Length: 5\nnonsense\n");
	ck_assert_str_eq(resp.validator.etag, "\"a\"");
	ck_assert(!resp.has_length);
	ck_assert(!resp.malformed);
}
END_TEST

static const char *const malformed[] = {
	"HTTP/1.1\n",
	"HTTP/1.1 2000 OK\n",
	"HTTP/1.1 20x OK\n",
	"HTTP/1.1 020 OK\n",
	"HTTP/1.1 200 OK\nContent-Length: 5\nContent-Length: 5\n",
	"HTTP/1.1 200 OK\nContent-Length: 5\nContent-Length: 6\n",
	"HTTP/1.1 200 OK\nContent-Length: 5, 5\n",
	"HTTP/1.1 200 OK\nContent-Length: -5\n",
	"HTTP/1.1 200 OK\nContent-Length: +5\n",
	"HTTP/1.1 200 OK\nContent-Length: 5x\n",
	"HTTP/1.1 200 OK\nContent-Length: 0x5\n",
	"HTTP/1.1 200 OK\nContent-Length:\n",
	"HTTP/1.1 200 OK\nContent-Length: 9223372036854775808\n",
	"HTTP/1.1 200 OK\nContent-Length: 18446744073709551621\n",
	"HTTP/1.1 200 OK\nContent-Length : 5\n",
	"HTTP/1.1 200 OK\nContent-Length: 5\n 6\n",
	"HTTP/1.1 200 OK\nETag:\n \"a\"\n",
	"HTTP/1.1 200 OK\nETag: \"a\"\nETag: \"b\"\n",
	("HTTP/1.1 200 OK\nLast-Modified: Sun, 06 Nov 1994 08:49:37 GMT\n"
	 "Last-Modified: Sun, 06 Nov 1994 08:49:38 GMT\n"),
	"HTTP/1.1 206 OK\nContent-Range: bytes 0-9/10\nContent-Range: bytes 0-9/10\n",
	"HTTP/1.1 302 Found\nLocation: http://a/\nLocation: http://b/\n",
	"HTTP/1.1 302 Found\nLocation: http://a/\n b\n",
	"HTTP/1.1 302 Found\nLocation: http://a/\x01\n",
	"HTTP/1.1 200 OK\nno colon here\n",
	"HTTP/1.1 200 OK\n: no name\n",
};

START_TEST(malformed_table)
{
	response_read(&resp, malformed[_i]);
	ck_assert_msg(resp.malformed, "%s", malformed[_i]);
	ck_assert(!resp.has_length);
}
END_TEST

static const char *const harmless[] = {
	"HTTP/1.1 200 OK\nX Y: z\n",
	"HTTP/1.1 200 OK\nX-Folded: a\n b\n\tc\n",
	"HTTP/1.1 200 OK\nContent-Type: text/plain;\n charset=utf-8\n",
	"HTTP/1.1 200 OK\nLast-Modified: 0\nLast-Modified: -1\n",
	"HTTP/1.1 200 OK\nETag: \"a\"\nETag: \"a\"\n",
	"HTTP/1.1 302 Found\nLocation: http://a/\nLocation: http://a/\n",
	"HTTP/1.1 200 \n",
	"HTTP/1.1 200\n",
	"HTTP/1.0 200 OK\n",
	"HTTP/3 200\n",
};

START_TEST(harmless_table)
{
	response_read(&resp, harmless[_i]);
	ck_assert_msg(!resp.malformed, "%s", harmless[_i]);
	ck_assert_int_ge(resp.status, 200);
}
END_TEST

START_TEST(nul_and_bare_lines)
{
	http_resp_init(&resp);
	http_resp_line(&resp, "HTTP/1.1 200 OK", 15); /* without an end of line */
	http_resp_line(&resp, "Content-Length: 5\n", 18);
	ck_assert(resp.has_length);
	http_resp_line(&resp, "X: a\0b\r\n", 8);
	ck_assert(resp.malformed);
	http_resp_init(&resp);
	http_resp_line(&resp, "", 0);
	ck_assert_int_eq(resp.status, 0);
}
END_TEST

START_TEST(giant_lines)
{
	static char line[1 << 20];

	response_read(&resp, "HTTP/1.1 302 Found\n");
	memset(line, 'x', sizeof(line));
	http_resp_init(&resp);
	http_resp_line(&resp, "HTTP/1.1 302 Found\r\n", 20);
	memcpy(line, "X-Giant: ", 9);
	http_resp_line(&resp, line, sizeof(line));
	memcpy(line, "ETag:    ", 9);
	http_resp_line(&resp, line, sizeof(line));
	ck_assert(!resp.malformed);
	ck_assert_str_eq(resp.validator.etag, ""); /* treated as none */
	memcpy(line, "Location:", 9);
	http_resp_line(&resp, line, 9 + HTTP_LOCATION_MAX - 1);
	ck_assert(resp.has_location);
	ck_assert_uint_eq(strlen(resp.location), HTTP_LOCATION_MAX - 1);
	ck_assert(!resp.malformed);

	http_resp_line(&resp, "HTTP/1.1 302 Found\r\n", 20);
	ck_assert(!resp.has_location);
	http_resp_line(&resp, line, 9 + HTTP_LOCATION_MAX);
	ck_assert(!resp.has_location);
	ck_assert(resp.malformed);
}
END_TEST

static const struct {
	const char *lines;
	bool encoded;
} encodings[] = {
	{"Content-Encoding: identity\n", false},
	{"Content-Encoding:\n", false},
	{"Content-Encoding: none\n", false},
	{"Content-Encoding: gzip\n", true},
	{"Content-Encoding: identity, br\n", true},
	{"Content-Encoding: identity\nContent-Encoding: gzip\n", true},
	{"Transfer-Encoding: chunked\n", false},
	{"Transfer-Encoding: Chunked\n", false},
	{"Transfer-Encoding: gzip, chunked\n", true},
};

START_TEST(encoding_table)
{
	char text[200];

	snprintf(text, sizeof(text), "HTTP/1.1 200 OK\n%s", encodings[_i].lines);
	response_read(&resp, text);
	ck_assert_msg(resp.encoded == encodings[_i].encoded, "%s", text);
	ck_assert(!resp.malformed);
}
END_TEST

START_TEST(chunked_has_no_length)
{
	response_read(&resp, "HTTP/1.1 200 OK\nContent-Length: 5\nTransfer-Encoding: chunked\n");
	ck_assert(!resp.has_length);
	ck_assert_uint_eq(resp.validator.size, SIZE_UNKNOWN);
}
END_TEST

START_TEST(the_size_a_response_tells)
{
	response_read(&resp, "HTTP/1.1 200 OK\nContent-Length: 5\n");
	ck_assert_uint_eq(resp.validator.size, 5);
	response_read(&resp, "HTTP/1.1 404 Not Found\nContent-Length: 5\n");
	ck_assert_uint_eq(resp.validator.size, SIZE_UNKNOWN);
	response_read(&resp, "HTTP/1.1 206 OK\nContent-Length: 5\nContent-Range: bytes 0-4/*\n");
	ck_assert_uint_eq(resp.validator.size, SIZE_UNKNOWN);
	response_read(&resp, "HTTP/1.1 416 No\nContent-Length: 5\nContent-Range: bytes */9\n");
	ck_assert_uint_eq(resp.validator.size, 9);
}
END_TEST

#define DATE_LINE "Date: Sun, 06 Nov 1994 08:49:37 GMT\n"

static const struct {
	const char *text;
	int64_t wait_s;
} retries[] = {
	{"HTTP/1.1 503 No\nRetry-After: 120\n", 120},
	{"HTTP/1.1 503 No\nRetry-After: 0\n", 0},
	{"HTTP/1.1 503 No\nRetry-After: 99999999999999999999999\n", HTTP_RETRY_MAX_S},
	{"HTTP/1.1 503 No\nRetry-After: -5\n", -1},
	{"HTTP/1.1 503 No\nRetry-After: 5 minutes\n", -1},
	{"HTTP/1.1 503 No\nRetry-After: Sun, 06 Nov 1994 08:50:37 GMT\n" DATE_LINE, 60},
	{"HTTP/1.1 503 No\n" DATE_LINE "Retry-After: Sun, 06 Nov 1994 08:50:37 GMT\n", 60},
	{"HTTP/1.1 503 No\n" DATE_LINE "Retry-After: Sun, 06 Nov 1994 08:00:00 GMT\n", 0},
	{"HTTP/1.1 503 No\n" DATE_LINE "Retry-After: Fri, 31 Dec 9999 23:59:59 GMT\n",
	 HTTP_RETRY_MAX_S},
	{"HTTP/1.1 503 No\nRetry-After: Sun, 06 Nov 1994 08:50:37 GMT\n",
	 -1}, /* our clock may be wrong */
	{"HTTP/1.1 429 No\nRateLimit-Reset: 30\n", 30},
	{"HTTP/1.1 429 No\nX-RateLimit-Reset: 784111807\n" DATE_LINE, 30},
	{"HTTP/1.1 429 No\nX-RateLimit-Reset: 784111807\n", -1},
	{"HTTP/1.1 429 No\nX-RateLimit-Reset: 9223372036854775807\n" DATE_LINE, -1},
	{"HTTP/1.1 429 No\nRateLimit-Reset: 30\nRetry-After: 7\n", 7},
	{"HTTP/1.1 200 OK\nRateLimit-Reset: 30\n", -1},
	{"HTTP/1.1 503 No\n", -1},
};

START_TEST(retry_table)
{
	response_read(&resp, retries[_i].text);
	ck_assert_msg(resp.retry_after_s == retries[_i].wait_s, "%s: %d", retries[_i].text,
		      (int)resp.retry_after_s);
}
END_TEST

static const struct {
	const char *text;
	int64_t fresh_s;
} fresh[] = {
	{"HTTP/1.1 302 Found\n", -1},
	{"HTTP/1.1 302 Found\nCache-Control: private\n", -1},
	{"HTTP/1.1 302 Found\nCache-Control: max-age=60\n", 60},
	{"HTTP/1.1 302 Found\nCache-Control: private, MAX-AGE=\"60\"\n", 60},
	{"HTTP/1.1 302 Found\nCache-Control: max-age=60\nAge: 20\n", 40},
	{"HTTP/1.1 302 Found\nAge: 70\nCache-Control: max-age=60\n", 0},
	{"HTTP/1.1 302 Found\nCache-Control: max-age=60, max-age=5\n", 5},
	{"HTTP/1.1 302 Found\nCache-Control: max-age=60\nCache-Control: no-cache\n", 0},
	{"HTTP/1.1 302 Found\nCache-Control: No-Store,max-age=60\n", 0},
	{"HTTP/1.1 302 Found\nCache-Control: no-cache=\"Set-Cookie\"\n", -1},
	{"HTTP/1.1 302 Found\nCache-Control: max-age=soon\n", 0},
	{"HTTP/1.1 302 Found\nCache-Control: max-age=\n", 0},
	{"HTTP/1.1 302 Found\nCache-Control: max-age=\"\n", 0},
	{"HTTP/1.1 302 Found\nCache-Control: max-age=99999999999999999999\n", HTTP_RETRY_MAX_S},
	{"HTTP/1.1 302 Found\nExpires: Sun, 06 Nov 1994 08:50:37 GMT\n" DATE_LINE, 60},
	{"HTTP/1.1 302 Found\n" DATE_LINE "Expires: Fri, 31 Dec 9999 23:59:59 GMT\n",
	 HTTP_RETRY_MAX_S},
	{"HTTP/1.1 302 Found\nExpires: Sun, 06 Nov 1994 08:00:00 GMT\n" DATE_LINE, 0},
	{"HTTP/1.1 302 Found\nExpires: 0\n", 0},
	{"HTTP/1.1 302 Found\nExpires: Sun, 06 Nov 1994 08:50:37 GMT\n", -1},
	{"HTTP/1.1 302 Found\nExpires: 0\nCache-Control: max-age=60\n", 60},
};

START_TEST(fresh_table)
{
	response_read(&resp, fresh[_i].text);
	ck_assert_msg(resp.fresh_s == fresh[_i].fresh_s, "%s: %d", fresh[_i].text,
		      (int)resp.fresh_s);
}
END_TEST

static const struct {
	const char *value, *name;
} dispositions[] = {
	{"attachment; filename=a.txt", "a.txt"},
	{"attachment; filename=\"a b;c.txt\"", "a b;c.txt"},
	{"attachment;filename = \"a\\\"b\\\\c\" ; x=y", "a\"b\\c"},
	{"attachment; filename=\"plain\"; filename*=UTF-8''na%C3%AFve%20x", "na\xc3\xafve x"},
	{"attachment; filename*=utf-8'en'%e2%82%ac; filename=\"plain\"", "\xe2\x82\xac"},
	{"attachment; filename*=ISO-8859-1''%E4", "\xc3\xa4"},
	{"attachment; filename*=UTF-8''%00x; filename=y", "y"},
	{"attachment; filename*=UTF-8''%4; filename=y", "y"},
	{"attachment; filename*=KOI8-R''x; filename=y", "y"},
	{"attachment; filename*=UTF-8'x; filename=y", "y"},
	{"attachment; filename*=\"UTF-8''x\"; filename=y", "y"},
	{"attachment; FILENAME=a", "a"},
	{"filename=a", "a"},
	{"inline", ""},
	{"attachment; filename=", ""},
	{"attachment; filename=\"unterminated", ""},
	{"attachment; filename=\"a\"junk; filename*=UTF-8''b", "a"},
	{"attachment; xfilename=a; filenames=b", ""},
	{";;; filename=../../etc/passwd ;", "../../etc/passwd"},
	{"", ""},
};

START_TEST(disposition_table)
{
	char text[200];

	snprintf(text, sizeof(text), "HTTP/1.1 200 OK\nContent-Disposition: %s\n",
		 dispositions[_i].value);
	response_read(&resp, text);
	ck_assert_msg(strcmp(resp.filename, dispositions[_i].name) == 0, "%s: %s", text,
		      resp.filename);
}
END_TEST

START_TEST(disposition_in_pieces_and_too_long)
{
	char text[700] = "HTTP/1.1 200 OK\nContent-Disposition: attachment; filename=";

	response_read(&resp,
		      "HTTP/1.1 200 OK\nContent-Disposition: attachment;\n filename=\"a.txt\"\n");
	ck_assert_str_eq(resp.filename, "a.txt");
	ck_assert(!resp.malformed);
	memset(text + strlen(text), 'x', HTTP_NAME_MAX);
	response_read(&resp, text);
	ck_assert_str_eq(resp.filename, "");
	*strrchr(text, 'x') = '\0';
	response_read(&resp, text);
	ck_assert_uint_eq(strlen(resp.filename), HTTP_NAME_MAX - 1);
}
END_TEST

START_TEST(other_fields)
{
	response_read(&resp, "HTTP/1.1 206 OK\nContent-Type: Multipart/ByteRanges; boundary=x\n"
			     "Accept-Ranges: none\nLocation: /x\nContent-Range: nonsense\n");
	ck_assert(resp.multipart);
	ck_assert(resp.accept_ranges_none);
	ck_assert(resp.has_location);
	ck_assert_str_eq(resp.location, "/x");
	ck_assert(resp.has_content_range);
	ck_assert(!resp.content_range_ok);
	response_read(&resp, "HTTP/1.1 200 OK\nAccept-Ranges: bytes\nLocation:\n");
	ck_assert(!resp.accept_ranges_none);
	ck_assert(!resp.has_location);
}
END_TEST

static void fill(TCase *tc)
{
	tcase_add_test(tc, ranges_are_inclusive_on_the_wire);
	tcase_add_loop_test(tc, content_range_table, 0, ARRAY_SIZE(content_ranges));
	tcase_add_loop_test(tc, date_table, 0, ARRAY_SIZE(dates));
	tcase_add_test(tc, dates_there_and_back);
	tcase_add_test(tc, dates_out_of_range_are_cut);
	tcase_add_test(tc, a_plain_response);
	tcase_add_test(tc, only_the_final_block_counts);
	tcase_add_test(tc, trailers_change_nothing);
	tcase_add_loop_test(tc, malformed_table, 0, ARRAY_SIZE(malformed));
	tcase_add_loop_test(tc, harmless_table, 0, ARRAY_SIZE(harmless));
	tcase_add_test(tc, nul_and_bare_lines);
	tcase_add_test(tc, giant_lines);
	tcase_add_loop_test(tc, encoding_table, 0, ARRAY_SIZE(encodings));
	tcase_add_test(tc, chunked_has_no_length);
	tcase_add_test(tc, the_size_a_response_tells);
	tcase_add_loop_test(tc, retry_table, 0, ARRAY_SIZE(retries));
	tcase_add_loop_test(tc, fresh_table, 0, ARRAY_SIZE(fresh));
	tcase_add_loop_test(tc, disposition_table, 0, ARRAY_SIZE(dispositions));
	tcase_add_test(tc, disposition_in_pieces_and_too_long);
	tcase_add_test(tc, other_fields);
}

int main(void)
{
	return suite_run("http", fill);
}
