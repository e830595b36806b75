/*
 * test_http_judge.c - which responses are believed: each line of the world's list that headers can
 * tell
 */
#include "core/http.h"
#include "response.h"
#include "suite.h"

#define LM "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT\n"
#define T  INT64_C(784111777)

/* What was asked, as a set of words. */
enum {
	RANGED = 1,
	IF_RANGE = 2,
	PINNED_SIZE = 4,
	PINNED_CONTENT = 8,
	IGNORE_ETAG = 16,
	TAG = 32,    /* the version has ETag "a" … */
	DATED = 64,  /* … Last-Modified LM … */
	FIRST = 128, /* … or there is none yet */
	FRESH = 256, /* the size is not known */
	AT_0 = 512,  /* asks [0, 1000), not [1000, 2000) */
	OPEN = 1024, /* … to the end */
	ALL = 2048,  /* asks [0, 10000) */
};

#define SIZE 10000

static const struct {
	const char *what;
	unsigned int want;
	const char *text;
	enum verdict verdict;
	uint64_t off, end, total; /* of PART and WHOLE */
	bool if_range_refused;
} cases[] = {
	/* 206 */
	{"as asked", RANGED | TAG,
	 "HTTP/1.1 206 OK\nContent-Range: bytes 1000-1999/10000\nContent-Length: 1000\nETag: \"a\"\n",
	 VERDICT_PART, 1000, 2000, SIZE, false},
	{"no validator in the answer", RANGED | TAG,
	 "HTTP/1.1 206 OK\nContent-Range: bytes 1000-1999/10000\n", VERDICT_PART, 1000, 2000, SIZE,
	 false},
	{"starts earlier", RANGED, "HTTP/1.1 206 OK\nContent-Range: bytes 512-1999/10000\n",
	 VERDICT_PART, 512, 2000, SIZE, false},
	{"starts at 0", RANGED, "HTTP/1.1 206 OK\nContent-Range: bytes 0-9999/10000\n",
	 VERDICT_PART, 0, SIZE, SIZE, false},
	{"ends short", RANGED, "HTTP/1.1 206 OK\nContent-Range: bytes 1000-1099/10000\n",
	 VERDICT_PART, 1000, 1100, SIZE, false},
	{"ends long", RANGED, "HTTP/1.1 206 OK\nContent-Range: bytes 1000-9999/10000\n",
	 VERDICT_PART, 1000, SIZE, SIZE, false},
	{"total unknown", RANGED, "HTTP/1.1 206 OK\nContent-Range: bytes 1000-1999/*\n",
	 VERDICT_PART, 1000, 2000, SIZE, false},
	{"total unknown to all", RANGED | FRESH,
	 "HTTP/1.1 206 OK\nContent-Range: bytes 1000-1999/*\n", VERDICT_PART, 1000, 2000,
	 SIZE_UNKNOWN, false},
	{"size learned", RANGED | FRESH | FIRST,
	 "HTTP/1.1 206 OK\nContent-Range: bytes 1000-1999/4000\n", VERDICT_PART, 1000, 2000, 4000,
	 false},
	{"open end", RANGED | OPEN | FRESH | FIRST,
	 "HTTP/1.1 206 OK\nContent-Range: bytes 1000-3999/4000\n", VERDICT_PART, 1000, 4000, 4000,
	 false},
	{"one byte later", RANGED, "HTTP/1.1 206 OK\nContent-Range: bytes 1001-1999/10000\n",
	 VERDICT_WRONG_RANGE, 0, 0, 0, false},
	{"ends before", RANGED, "HTTP/1.1 206 OK\nContent-Range: bytes 0-999/10000\n",
	 VERDICT_WRONG_RANGE, 0, 0, 0, false},
	{"unsatisfied form", RANGED, "HTTP/1.1 206 OK\nContent-Range: bytes */10000\n",
	 VERDICT_WRONG_RANGE, 0, 0, 0, false},
	{"longer body than range", RANGED,
	 "HTTP/1.1 206 OK\nContent-Range: bytes 1000-1999/10000\nContent-Length: 10000\n",
	 VERDICT_WRONG_RANGE, 0, 0, 0, false},
	{"shorter body than range", RANGED,
	 "HTTP/1.1 206 OK\nContent-Range: bytes 1000-1999/10000\nContent-Length: 300\n",
	 VERDICT_PART, 1000, 1300, SIZE, false},
	{"earlier, body ends before what was asked", RANGED,
	 "HTTP/1.1 206 OK\nContent-Range: bytes 0-1999/10000\nContent-Length: 1000\n",
	 VERDICT_WRONG_RANGE, 0, 0, 0, false},
	{"no Content-Range", RANGED, "HTTP/1.1 206 OK\nContent-Length: 1000\n",
	 VERDICT_NO_CONTENT_RANGE, 0, 0, 0, false},
	{"unparsable Content-Range", RANGED, "HTTP/1.1 206 OK\nContent-Range: bytes 1000-1999\n",
	 VERDICT_NO_CONTENT_RANGE, 0, 0, 0, false},
	{"multipart", RANGED, "HTTP/1.1 206 OK\nContent-Type: multipart/byteranges; boundary=x\n",
	 VERDICT_NO_CONTENT_RANGE, 0, 0, 0, false},
	{"multipart with a Content-Range", RANGED,
	 "HTTP/1.1 206 OK\nContent-Type: multipart/byteranges; boundary=x\nContent-Range: bytes 1000-1999/10000\n",
	 VERDICT_NO_CONTENT_RANGE, 0, 0, 0, false},
	{"other total", RANGED | TAG,
	 "HTTP/1.1 206 OK\nContent-Range: bytes 1000-1999/9999\nETag: \"a\"\n", VERDICT_CHANGED, 0,
	 0, 0, false},
	{"other total, pinned", RANGED | TAG | PINNED_SIZE,
	 "HTTP/1.1 206 OK\nContent-Range: bytes 1000-1999/9999\nETag: \"a\"\n", VERDICT_SIZE, 0, 0,
	 0, false},
	{"beyond the size, total unknown", RANGED | PINNED_SIZE,
	 "HTTP/1.1 206 OK\nContent-Range: bytes 1000-10000/*\n", VERDICT_SIZE, 0, 0, 0, false},
	{"other tag", RANGED | TAG,
	 "HTTP/1.1 206 OK\nContent-Range: bytes 1000-1999/10000\nETag: \"b\"\n", VERDICT_CHANGED, 0,
	 0, 0, false},
	{"other tag, content pinned", RANGED | TAG | PINNED_CONTENT,
	 "HTTP/1.1 206 OK\nContent-Range: bytes 1000-1999/10000\nETag: \"b\"\n", VERDICT_PART, 1000,
	 2000, SIZE, false},
	{"other tag, total unknown, content pinned", RANGED | TAG | PINNED_CONTENT,
	 "HTTP/1.1 206 OK\nContent-Range: bytes 1000-1999/*\nETag: \"b\"\n", VERDICT_PART, 1000,
	 2000, SIZE, false},
	{"other size, content pinned", RANGED | TAG | PINNED_CONTENT,
	 "HTTP/1.1 206 OK\nContent-Range: bytes 1000-1999/9999\nETag: \"b\"\n", VERDICT_CHANGED, 0,
	 0, 0, false},
	{"weak form of the tag", RANGED | TAG,
	 "HTTP/1.1 206 OK\nContent-Range: bytes 1000-1999/10000\nETag: W/\"a\"\n", VERDICT_PART,
	 1000, 2000, SIZE, false},
	{"other tag, equal date: a flip or a replacement", RANGED | TAG | DATED,
	 "HTTP/1.1 206 OK\nContent-Range: bytes 1000-1999/10000\nETag: \"b\"\n" LM, VERDICT_CHANGED,
	 0, 0, 0, false},
	{"the same from an origin that flips", RANGED | TAG | DATED | IGNORE_ETAG,
	 "HTTP/1.1 206 OK\nContent-Range: bytes 1000-1999/10000\nETag: \"b\"\n" LM, VERDICT_PART,
	 1000, 2000, SIZE, false},
	{"equal tag from an origin that flips", RANGED | TAG | DATED | IGNORE_ETAG,
	 "HTTP/1.1 206 OK\nContent-Range: bytes 1000-1999/10000\nETag: \"a\"\n" LM, VERDICT_PART,
	 1000, 2000, SIZE, false},
	{"other date from an origin that flips", RANGED | TAG | DATED | IGNORE_ETAG,
	 "HTTP/1.1 206 OK\nContent-Range: bytes 1000-1999/10000\nETag: \"b\"\nLast-Modified: Sun, 06 Nov 1994 08:49:38 GMT\n",
	 VERDICT_CHANGED, 0, 0, 0, false},
	{"other date", RANGED | DATED,
	 "HTTP/1.1 206 OK\nContent-Range: bytes 1000-1999/10000\nLast-Modified: Sun, 06 Nov 1994 08:49:38 GMT\n",
	 VERDICT_CHANGED, 0, 0, 0, false},
	{"compressed on the fly", RANGED,
	 "HTTP/1.1 206 OK\nContent-Range: bytes 1000-1999/10000\nContent-Encoding: gzip\n",
	 VERDICT_ENCODED, 0, 0, 0, false},
	{"compressed, shorter", RANGED,
	 "HTTP/1.1 206 OK\nContent-Range: bytes 1000-1999/10000\nContent-Length: 300\nContent-Encoding: gzip\n",
	 VERDICT_ENCODED, 0, 0, 0, false},
	{"compressed, other total", RANGED,
	 "HTTP/1.1 206 OK\nContent-Range: bytes 1000-1999/4000\nContent-Length: 1000\nContent-Encoding: gzip\n",
	 VERDICT_ENCODED, 0, 0, 0, false},
	{"stored compressed", RANGED,
	 "HTTP/1.1 206 OK\nContent-Range: bytes 1000-1999/10000\nContent-Length: 1000\nContent-Encoding: gzip\n",
	 VERDICT_PART, 1000, 2000, SIZE, false},
	{"compressed, size unknown", RANGED | FRESH | FIRST,
	 "HTTP/1.1 206 OK\nContent-Range: bytes 1000-1999/10000\nContent-Length: 1000\nContent-Encoding: gzip\n",
	 VERDICT_ENCODED, 0, 0, 0, false},
	{"framing is not believed", RANGED,
	 "HTTP/1.1 206 OK\nContent-Range: bytes 1000-1999/10000\nContent-Length: 1000\nContent-Length: 1000\n",
	 VERDICT_HEADERS, 0, 0, 0, false},

	/* 200 */
	{"range ignored", RANGED, "HTTP/1.1 200 OK\nContent-Length: 10000\n", VERDICT_WHOLE, 0,
	 SIZE, SIZE, false},
	{"range from 0 ignored", RANGED | AT_0, "HTTP/1.1 200 OK\nContent-Length: 10000\n",
	 VERDICT_WHOLE, 0, SIZE, SIZE, false},
	{"plain", 0, "HTTP/1.1 200 OK\nContent-Length: 10000\n", VERDICT_WHOLE, 0, SIZE, SIZE,
	 false},
	{"chunked", RANGED, "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n", VERDICT_WHOLE, 0,
	 SIZE_UNKNOWN, SIZE, false},
	{"chunked, size unknown", RANGED | FRESH | FIRST,
	 "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n", VERDICT_WHOLE, 0, SIZE_UNKNOWN,
	 SIZE_UNKNOWN, false},
	{"If-Range with our tag refused", RANGED | IF_RANGE | TAG,
	 "HTTP/1.1 200 OK\nContent-Length: 10000\nETag: \"a\"\n", VERDICT_WHOLE, 0, SIZE, SIZE,
	 true},
	{"If-Range with our tag refused for all the rest", RANGED | IF_RANGE | TAG | OPEN,
	 "HTTP/1.1 200 OK\nContent-Length: 10000\nETag: \"a\"\n", VERDICT_WHOLE, 0, SIZE, SIZE,
	 true},
	{"If-Range with our date refused", RANGED | IF_RANGE | DATED,
	 "HTTP/1.1 200 OK\nContent-Length: 10000\n" LM, VERDICT_WHOLE, 0, SIZE, SIZE, true},
	{"If-Range, all asked for: nothing was refused", RANGED | IF_RANGE | TAG | ALL,
	 "HTTP/1.1 200 OK\nContent-Length: 10000\nETag: \"a\"\n", VERDICT_WHOLE, 0, SIZE, SIZE,
	 false},
	{"If-Range, no tag in the answer", RANGED | IF_RANGE | TAG,
	 "HTTP/1.1 200 OK\nContent-Length: 10000\n", VERDICT_WHOLE, 0, SIZE, SIZE, false},
	{"If-Range, other tag", RANGED | IF_RANGE | TAG,
	 "HTTP/1.1 200 OK\nContent-Length: 10000\nETag: \"b\"\n", VERDICT_CHANGED, 0, 0, 0, false},
	{"other tag", TAG, "HTTP/1.1 200 OK\nContent-Length: 10000\nETag: \"b\"\n", VERDICT_CHANGED,
	 0, 0, 0, false},
	{"other size", RANGED | TAG, "HTTP/1.1 200 OK\nContent-Length: 10001\nETag: \"a\"\n",
	 VERDICT_CHANGED, 0, 0, 0, false},
	{"other size, pinned", RANGED | PINNED_SIZE, "HTTP/1.1 200 OK\nContent-Length: 10001\n",
	 VERDICT_SIZE, 0, 0, 0, false},
	{"an error page of another size", RANGED | PINNED_SIZE,
	 "HTTP/1.1 200 OK\nContent-Length: 312\nContent-Type: text/html\n", VERDICT_SIZE, 0, 0, 0,
	 false},
	{"compressed", RANGED, "HTTP/1.1 200 OK\nContent-Length: 4000\nContent-Encoding: gzip\n",
	 VERDICT_ENCODED, 0, 0, 0, false},
	{"compressed, chunked", RANGED,
	 "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\nContent-Encoding: gzip\n", VERDICT_ENCODED,
	 0, 0, 0, false},
	{"compressed, size unknown", FRESH | FIRST,
	 "HTTP/1.1 200 OK\nContent-Length: 4000\nContent-Encoding: gzip\n", VERDICT_ENCODED, 0, 0,
	 0, false},
	{"stored compressed", RANGED,
	 "HTTP/1.1 200 OK\nContent-Length: 10000\nContent-Encoding: gzip\n", VERDICT_WHOLE, 0, SIZE,
	 SIZE, false},
	{"transfer coding of its own", RANGED,
	 "HTTP/1.1 200 OK\nTransfer-Encoding: gzip, chunked\n", VERDICT_ENCODED, 0, 0, 0, false},
	{"framing is not believed", 0,
	 "HTTP/1.1 200 OK\nContent-Length: 10000\nContent-Length: 5\n", VERDICT_HEADERS, 0, 0, 0,
	 false},

	/* empty objects */
	{"200 without a byte", FRESH | FIRST, "HTTP/1.1 200 OK\nContent-Length: 0\n", VERDICT_EMPTY,
	 0, 0, 0, false},
	{"200 without a byte, size known", RANGED | TAG, "HTTP/1.1 200 OK\nContent-Length: 0\n",
	 VERDICT_CHANGED, 0, 0, 0, false},
	{"200 without a byte, size pinned", RANGED | PINNED_SIZE,
	 "HTTP/1.1 200 OK\nContent-Length: 0\n", VERDICT_SIZE, 0, 0, 0, false},
	{"416 of nothing", RANGED | FRESH | FIRST, "HTTP/1.1 416 No\nContent-Range: bytes */0\n",
	 VERDICT_EMPTY, 0, 0, 0, false},
	{"416 of nothing, other tag", RANGED | FRESH | TAG,
	 "HTTP/1.1 416 No\nContent-Range: bytes */0\nETag: \"b\"\n", VERDICT_CHANGED, 0, 0, 0,
	 false},
	{"416 of nothing, size known", RANGED, "HTTP/1.1 416 No\nContent-Range: bytes */0\n",
	 VERDICT_CHANGED, 0, 0, 0, false},

	/* 416 */
	{"416 without a total", RANGED, "HTTP/1.1 416 No\n", VERDICT_UNSATISFIABLE, 0, 0, 0, false},
	{"416, size unknown", RANGED | FRESH | FIRST,
	 "HTTP/1.1 416 No\nContent-Range: bytes */500\n", VERDICT_UNSATISFIABLE, 0, 0, 0, false},
	{"416, size unknown, but it has what was asked for", RANGED | FRESH | FIRST,
	 "HTTP/1.1 416 No\nContent-Range: bytes */1001\n", VERDICT_DENIES_RANGE, 0, 0, 0, false},
	{"416, our size, which has what was asked for", RANGED,
	 "HTTP/1.1 416 No\nContent-Range: bytes */10000\n", VERDICT_DENIES_RANGE, 0, 0, 0, false},
	{"416 of all bytes, which are our size", 0,
	 "HTTP/1.1 416 No\nContent-Range: bytes */10000\n", VERDICT_DENIES_RANGE, 0, 0, 0, false},
	{"416, other size", RANGED, "HTTP/1.1 416 No\nContent-Range: bytes */500\n",
	 VERDICT_CHANGED, 0, 0, 0, false},
	{"416, other size, pinned", RANGED | PINNED_SIZE,
	 "HTTP/1.1 416 No\nContent-Range: bytes */500\n", VERDICT_SIZE, 0, 0, 0, false},
	{"416, other tag", RANGED | TAG,
	 "HTTP/1.1 416 No\nContent-Range: bytes */10000\nETag: \"b\"\n", VERDICT_CHANGED, 0, 0, 0,
	 false},
	{"416 with a range", RANGED, "HTTP/1.1 416 No\nContent-Range: bytes 0-9/500\n",
	 VERDICT_UNSATISFIABLE, 0, 0, 0, false},

	/* redirects */
	{"redirect", 0, "HTTP/1.1 302 Found\nLocation: /x\n", VERDICT_REDIRECT, 0, 0, 0, false},
	{"permanent redirect", 0, "HTTP/1.1 308 Moved\nLocation: /x\n", VERDICT_REDIRECT, 0, 0, 0,
	 false},
	{"without a target", 0, "HTTP/1.1 302 Found\n", VERDICT_REFUSED, 0, 0, 0, false},
	{"two targets", 0, "HTTP/1.1 302 Found\nLocation: /x\nLocation: /y\n", VERDICT_HEADERS, 0,
	 0, 0, false},
	{"not modified", TAG, "HTTP/1.1 304 Not Modified\nLocation: /x\nETag: \"a\"\n",
	 VERDICT_REFUSED, 0, 0, 0, false},

	/* refusals */
	{"no content", RANGED, "HTTP/1.1 204 No Content\n", VERDICT_REFUSED, 0, 0, 0, false},
	{"reset content", RANGED, "HTTP/1.1 205 Reset\n", VERDICT_REFUSED, 0, 0, 0, false},
	{"accepted", 0, "HTTP/1.1 202 Accepted\nContent-Length: 10000\n", VERDICT_REFUSED, 0, 0, 0,
	 false},
	{"transformed by a proxy", 0, "HTTP/1.1 203 Non-Authoritative\nContent-Length: 10000\n",
	 VERDICT_REFUSED, 0, 0, 0, false},
	{"informational", 0, "HTTP/1.1 101 Switching\n", VERDICT_REFUSED, 0, 0, 0, false},
	{"bad request", 0, "HTTP/1.1 400 Bad\n", VERDICT_REFUSED, 0, 0, 0, false},
	{"unauthorised", 0, "HTTP/1.1 401 No\n", VERDICT_DENIED, 0, 0, 0, false},
	{"forbidden", 0, "HTTP/1.1 403 No\n", VERDICT_DENIED, 0, 0, 0, false},
	{"proxy", 0, "HTTP/1.1 407 No\n", VERDICT_DENIED, 0, 0, 0, false},
	{"not found", 0, "HTTP/1.1 404 No\n", VERDICT_GONE, 0, 0, 0, false},
	{"gone", 0, "HTTP/1.1 410 No\n", VERDICT_GONE, 0, 0, 0, false},
	{"not found, framing aside", 0, "HTTP/1.1 404 No\nContent-Length: x\n", VERDICT_GONE, 0, 0,
	 0, false},
	{"timeout", 0, "HTTP/1.1 408 No\n", VERDICT_SERVER, 0, 0, 0, false},
	{"too early", 0, "HTTP/1.1 425 No\n", VERDICT_SERVER, 0, 0, 0, false},
	{"too many", 0, "HTTP/1.1 429 No\n", VERDICT_BUSY, 0, 0, 0, false},
	{"internal", 0, "HTTP/1.1 500 No\n", VERDICT_SERVER, 0, 0, 0, false},
	{"unavailable", 0, "HTTP/1.1 503 No\n", VERDICT_BUSY, 0, 0, 0, false},
	{"gateway", 0, "HTTP/1.1 504 No\n", VERDICT_SERVER, 0, 0, 0, false},
	{"no status line", 0, "Content-Length: 10000\n", VERDICT_PROTOCOL, 0, 0, 0, false},
	{"nothing", 0, "", VERDICT_PROTOCOL, 0, 0, 0, false},
	{"broken status line", 0, "HTTP/1.1 OK\n", VERDICT_HEADERS, 0, 0, 0, false},
};

static struct range asked(unsigned int want)
{
	if (want & ALL)
		return range_make(0, SIZE);
	if (want & AT_0)
		return range_make(0, 1000);
	return range_make(1000, want & OPEN ? SIZE_UNKNOWN : 2000);
}

START_TEST(judge_table)
{
	unsigned int w = cases[_i].want;
	struct validator have = VALIDATOR_INIT;
	struct http_want want = {
		.range = asked(w),
		.ranged = w & RANGED,
		.if_range = w & IF_RANGE,
		.size = w & FRESH ? SIZE_UNKNOWN : SIZE,
		.size_pinned = w & PINNED_SIZE,
		.content_pinned = w & PINNED_CONTENT,
		.ignore_etag = w & IGNORE_ETAG,
		.have = w & FIRST ? NULL : &have,
	};
	struct http_use use = {.total = 77};
	struct http_resp resp;
	enum verdict v;

	have.size = want.size;
	if (w & TAG)
		snprintf(have.etag, sizeof(have.etag), "\"a\"");
	if (w & DATED)
		have.last_modified = T;
	response_read(&resp, cases[_i].text);
	v = http_judge(&want, &resp, &use);
	ck_assert_msg(v == cases[_i].verdict, "%s: %s", cases[_i].what, verdict_name(v));
	if (v != VERDICT_PART && v != VERDICT_WHOLE) {
		ck_assert_uint_eq(use.total, 77); /* written for those two only */
		return;
	}
	ck_assert_msg(use.body_off == cases[_i].off && use.body_end == cases[_i].end &&
			      use.total == cases[_i].total,
		      "%s", cases[_i].what);
	ck_assert_msg(use.if_range_refused == cases[_i].if_range_refused, "%s: If-Range",
		      cases[_i].what);
}
END_TEST

static void fill(TCase *tc)
{
	tcase_add_loop_test(tc, judge_table, 0, ARRAY_SIZE(cases));
}

int main(void)
{
	return suite_run("http_judge", fill);
}
