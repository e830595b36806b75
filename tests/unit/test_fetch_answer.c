/*
 * test_fetch_answer.c - what becomes of each kind of answer: which verdict, which bytes
 */
#include "test_fetch_help.h"

#include <sys/socket.h>

#define TOTAL	   UINT64_C(1000000)
#define TOTAL_TEXT "1000000"

/* What to say is the path of the request: one function for all. */
static bool serve(struct conn *c, const char *request, void *user)
{
	const char *path = strchr(request, '/');
	struct range r = request_range(request);

	(void)user;
#define IS(p) (strncmp(path, "/" p " ", strlen(p) + 2) == 0)
	if (IS("good"))
		return conn_serve(c, request, TOTAL);
	if (IS("ignored")) { /* the range */
		conn_say(c, "HTTP/1.1 200 OK\r\nContent-Length: " TOTAL_TEXT "\r\n\r\n");
		return conn_content(c, 0, TOTAL);
	}
	if (IS("chunked")) {
		conn_say(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
		for (uint64_t off = 0; off < TOTAL; off += 100000) {
			conn_say(c, "%x\r\n", 100000);
			conn_content(c, off, off + 100000);
			conn_say(c, "\r\n");
		}
		return conn_say(c, "0\r\nETag: \"too-late\"\r\nContent-Range: bytes 1-2/3\r\n\r\n");
	}
	if (IS("close-delimited")) {
		conn_say(c, "HTTP/1.0 200 OK\r\n\r\n");
		conn_content(c, 0, TOTAL);
		return false;
	}
	if (IS("earlier")) {
		uint64_t off = r.off > 70000 ? r.off - 70000 : 0;

		conn_part(c, off, r.end, TOTAL, "");
		return conn_content(c, off, r.end);
	}
	if (IS("later")) {
		conn_part(c, r.off + 1, r.end, TOTAL, "");
		return conn_content(c, r.off + 1, r.end);
	}
	if (IS("no-content-range"))
		return conn_say(c,
				"HTTP/1.1 206 Partial Content\r\nContent-Length: 5\r\n\r\nwrong");
	if (IS("gzip"))
		return conn_part(c, r.off, r.end, TOTAL, "Content-Encoding: gzip\r\n") &&
		       conn_content(c, r.off, r.end);
	if (IS("503-seconds"))
		return conn_say(
			c,
			"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 7\r\nContent-Length: 4\r\n\r\nlate");
	if (IS("429-date"))
		return conn_say(
			c,
			"HTTP/1.1 429 Too Many Requests\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
			"Retry-After: Sun, 06 Nov 1994 08:50:37 GMT\r\nContent-Length: 0\r\n\r\n");
	if (IS("404"))
		return conn_say(
			c, "HTTP/1.1 404 \x01\x1b[31mNot Found\r\nContent-Length: 4\r\n\r\ngone");
	if (IS("403"))
		return conn_say(c, "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n");
	if (IS("500-endless")) {
		conn_say(c, "HTTP/1.1 500 Oops\r\n\r\n");
		return conn_content(c, 0, UINT64_C(1) << 40);
	}
	if (IS("416"))
		return conn_say(
			c, "HTTP/1.1 416 Range Not Satisfiable\r\nContent-Range: bytes */77\r\n"
			   "Content-Length: 0\r\n\r\n");
	if (IS("empty"))
		return conn_say(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	if (IS("interim"))
		return conn_say(
			       c,
			       "HTTP/1.1 103 Early Hints\r\nETag: \"early\"\r\nContent-Length: 3\r\n\r\n") &&
		       conn_say(c, "HTTP/1.1 100 Continue\r\n\r\n") &&
		       conn_serve(c, request, TOTAL);
	if (IS("short")) {
		conn_part(c, r.off, r.end, TOTAL, "");
		conn_content(c, r.off, r.off + 100000);
		return false;
	}
	if (IS("reset")) {
		conn_part(c, r.off, r.end, TOTAL, "");
		conn_content(c, r.off, r.off + 100000);
		sleep_ms(100); /* or the reset overtakes the bytes */
		conn_reset(c);
		return false;
	}
	if (IS("less")) { /* a server that caps what it gives at once */
		conn_part(c, r.off, r.off + 2 * BLOCK_SIZE, TOTAL, "");
		return conn_content(c, r.off, r.off + 2 * BLOCK_SIZE);
	}
	if (IS("beyond")) { /* a part without a length that does not end where it says */
		conn_say(c, "HTTP/1.1 206 Partial Content\r\nConnection: close\r\n");
		conn_say(c, "Content-Range: bytes %d-%d/" TOTAL_TEXT "\r\n\r\n", (int)r.off,
			 (int)r.off + 70000 - 1);
		conn_content(c, r.off, r.off + 70000);
		conn_content(c, 0, 300000);
		return false;
	}
	if (IS("more")) { /* to the end whatever was asked */
		conn_part(c, r.off, TOTAL, TOTAL, "");
		return conn_content(c, r.off, TOTAL);
	}
	if (IS("garbage")) {
		conn_say(c, "SSH-2.0-OpenSSH_9.2p1\r\nnothing for you\r\n");
		return false;
	}
	if (IS("nothing"))
		return false;
	if (IS("big-headers")) {
		conn_say(c, "HTTP/1.1 200 OK\r\n");
		for (int i = 0; i < 100000 && conn_say(c, "X-%d: %0900d\r\n", i, i); i++)
			;
		return false;
	}
	if (IS("many-headers")) {
		conn_say(c, "HTTP/1.1 200 OK\r\n");
		for (int i = 0; i < 100000 && conn_say(c, "X: %d\r\n", i); i++)
			;
		return false;
	}
	if (IS("many-interims")) {
		while (conn_say(c, "HTTP/1.1 100 Continue\r\n\r\n"))
			;
		return false;
	}
	if (IS("big-location"))
		return conn_say(
			c, "HTTP/1.1 302 Found\r\nLocation: /%09000d\r\nContent-Length: 0\r\n\r\n",
			1);
	if (IS("two-lengths"))
		return conn_say(
			c,
			"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello");
	if (IS("changed"))
		return conn_part(c, r.off, r.end, TOTAL, "ETag: \"new\"\r\n") &&
		       conn_content(c, r.off, r.end);
	if (IS("other-size"))
		return conn_part(c, r.off, r.end, TOTAL + 1, "") && conn_content(c, r.off, r.end);
#undef IS
	return conn_say(c, "HTTP/1.1 599 no such scene\r\nContent-Length: 0\r\n\r\n");
}

static struct server *server;

static void setup(void)
{
	server = server_new("127.0.0.1", serve, NULL);
	test_begin(NULL);
}

static void teardown(void)
{
	test_end();
	server_free(server);
}

static void ask(struct caller *c, const char *path, uint64_t off, uint64_t end)
{
	caller_init(c, server_url(server, path), off, end);
	caller_run(c, test_fetch);
	assert_right(c);
}

/* path asked as [off, end) ends with v, and exactly [off, pos) was handed over. */
static void check_ask(const char *path, uint64_t off, uint64_t end, enum verdict v, uint64_t pos)
{
	struct caller c;

	ask(&c, path, off, end);
	assert_verdict(&c, v);
	ck_assert_uint_eq(c.result.pos, pos);
	if (pos > off)
		ck_assert_uint_eq(c.next, pos);
	ck_assert_uint_ge(c.result.bytes_received, pos - off);
	ck_assert_uint_eq(c.result.bytes_received - c.result.bytes_discarded, pos - off);
}

START_TEST(good_range)
{
	struct caller c;
	const char *request;

	ask(&c, "/good", 65536, 655360);
	assert_verdict(&c, VERDICT_PART);
	ck_assert_uint_eq(c.next, 655360);
	ck_assert_uint_eq(c.result.pos, 655360);
	ck_assert_uint_eq(c.result.bytes_received, 655360 - 65536);
	ck_assert_uint_eq(c.result.bytes_discarded, 0);
	ck_assert_uint_eq(c.connected, 1);
	ck_assert_uint_gt(c.connect_us, 0);
	ck_assert_uint_eq(c.use.total, TOTAL);
	ck_assert_str_eq(c.resolved, "");
	ck_assert_int_eq(c.result.http_status, 206);
	ck_assert_str_eq(c.result.detail, "HTTP 206 Partial Content from 127.0.0.1");
	request = server_request(server, 0);
	ck_assert(strncmp(request, "GET /good HTTP/1.1\r\n", 20) == 0);
	ck_assert(request_has(request, "Range: bytes=65536-655359\r\n"));
	ck_assert(request_has(request, "Accept-Encoding: identity\r\n"));
	ck_assert(request_has(request, "User-Agent: test\r\n"));
	ck_assert(!request_has(request, "If-Range"));
	ck_assert(!request_has(request, "Referer"));
}
END_TEST

START_TEST(connection_is_kept)
{
	struct caller c;
	struct fetch_stats st;

	ask(&c, "/good", 0, 655360);
	ask(&c, "/404", 0, 655360); /* a refusal with a body costs no connection */
	ask(&c, "/good", 655360, TOTAL);
	assert_verdict(&c, VERDICT_PART);
	ck_assert_uint_eq(c.next, TOTAL);
	ck_assert_uint_eq(c.connected, 1);
	ck_assert_uint_eq(c.connect_us, 0);
	ck_assert_uint_eq(server_connections(server), 1);
	fetch_stats(test_shared, &st);
	ck_assert_uint_eq(st.connections_made, 1);
	ck_assert_uint_eq(st.connections_now, 1);
	ck_assert_uint_eq(st.requests, 3);
	ck_assert_uint_eq(st.bytes_received, TOTAL + 4);
	ck_assert_uint_eq(st.bytes_discarded, 4);
}
END_TEST

START_TEST(plain_get)
{
	struct caller c;

	caller_init(&c, server_url(server, "/good"), 0, SIZE_UNKNOWN);
	c.rq.ranged = c.rq.want.ranged = false;
	caller_run(&c, test_fetch);
	assert_right(&c);
	assert_verdict(&c, VERDICT_WHOLE);
	ck_assert_uint_eq(c.next, TOTAL);
	ck_assert(!request_has(server_request(server, 0), "Range"));
}
END_TEST

START_TEST(whole_instead_of_part)
{
	struct caller c;

	/* kept: it begins at 0 whatever was asked */
	caller_init(&c, server_url(server, "/ignored"), 655360, TOTAL);
	c.rq.want.size = TOTAL;
	caller_run(&c, test_fetch);
	assert_right(&c);
	assert_verdict(&c, VERDICT_WHOLE);
	ck_assert_uint_eq(c.head_verdict, VERDICT_WHOLE);
	ck_assert_uint_eq(c.first, 0);
	ck_assert_uint_eq(c.next, TOTAL);

	/* refused */
	caller_init(&c, server_url(server, "/ignored"), 655360, TOTAL);
	c.answer = TRANSFER_DROP;
	caller_run(&c, test_fetch);
	assert_verdict(&c, VERDICT_CANCELLED);
	ck_assert_uint_eq(c.bodies, 0);
	ck_assert_uint_eq(c.result.pos, 655360);
}
END_TEST

START_TEST(unknown_length)
{
	struct caller c;

	ask(&c, "/chunked", 0, SIZE_UNKNOWN);
	assert_verdict(&c, VERDICT_WHOLE);
	ck_assert_uint_eq(c.next, TOTAL);
	ck_assert_uint_eq(c.use.total, SIZE_UNKNOWN);
	ask(&c, "/chunked", 0, 131072); /* more than asked, no length: cut off there */
	assert_verdict(&c, VERDICT_WHOLE);
	ck_assert_uint_eq(c.next, 131072);
	ask(&c, "/close-delimited", 0, SIZE_UNKNOWN);
	assert_verdict(&c, VERDICT_WHOLE);
	ck_assert_uint_eq(c.next, TOTAL);
}
END_TEST

/* All of path, of which the size was known; its end shows which bodies without a length are it. */
static void check_length(const char *path, uint64_t size, bool pinned, enum verdict v,
			 uint64_t least_bytes)
{
	struct caller c;

	caller_init(&c, server_url(server, path), 0, size);
	c.rq.want.size = size;
	c.rq.want.size_pinned = pinned;
	caller_run(&c, test_fetch);
	assert_right(&c);
	assert_verdict(&c, v);
	ck_assert_uint_ge(c.result.body_bytes, least_bytes);
	if (v == VERDICT_WHOLE)
		ck_assert_uint_eq(c.next, size);
	else
		ck_assert_uint_lt(c.next, size); /* nobody may take it for complete */
}

START_TEST(length_known_but_not_told)
{
	check_length("/chunked", TOTAL, true, VERDICT_WHOLE, 0);
	check_length("/close-delimited", TOTAL, true, VERDICT_WHOLE, 0);
	check_length("/chunked", 655360, true, VERDICT_SIZE, 655361);
	check_length("/chunked", 655360, false, VERDICT_CHANGED, 655361);
	check_length("/chunked", 700001, true, VERDICT_SIZE, 700002);
	check_length("/close-delimited", 655360, true, VERDICT_SIZE, 655361);
	check_length("/chunked", TOTAL + 1, true, VERDICT_SIZE, TOTAL);
	check_length("/chunked", TOTAL + 1, false, VERDICT_SHORT, 0);
	check_length("/close-delimited", TOTAL + 1, true, VERDICT_SHORT, 0);
}
END_TEST

START_TEST(other_ranges)
{
	check_ask("/earlier", 131072, 655360, VERDICT_PART, 655360);
	check_ask("/later", 131072, 655360, VERDICT_WRONG_RANGE, 131072);
	check_ask("/no-content-range", 131072, 655360, VERDICT_NO_CONTENT_RANGE, 131072);
	check_ask("/more", 131072, 262144, VERDICT_PART, 262144);
	check_ask("/less", 131072, 655360, VERDICT_SHORT, 131072 + 2 * BLOCK_SIZE);
	check_ask("/beyond", 131072, 655360, VERDICT_WRONG_RANGE, 131072 + BLOCK_SIZE);
	check_ask("/beyond", 131072, 131072 + BLOCK_SIZE, VERDICT_PART, 131072 + BLOCK_SIZE);
}
END_TEST

START_TEST(refusals)
{
	struct caller c;

	check_ask("/gzip", 0, 65536, VERDICT_ENCODED, 0);
	ask(&c, "/503-seconds", 0, 65536);
	assert_verdict(&c, VERDICT_BUSY);
	ck_assert_uint_eq(c.result.retry_after_us, 7000000);
	ck_assert_int_eq(c.status, 503);
	ck_assert_str_eq(c.result.detail, "HTTP 503 Service Unavailable from 127.0.0.1");
	ask(&c, "/429-date", 0, 65536);
	assert_verdict(&c, VERDICT_BUSY);
	ck_assert_uint_eq(c.result.retry_after_us, 60000000);
	ask(&c, "/404", 0, 65536);
	assert_verdict(&c, VERDICT_GONE);
	ck_assert_str_eq(c.result.detail, "HTTP 404 ??[31mNot Found from 127.0.0.1");
	check_ask("/403", 0, 65536, VERDICT_DENIED, 0);
	check_ask("/500-endless", 0, 65536, VERDICT_SERVER, 0);
	check_ask("/416", 65536, 131072, VERDICT_UNSATISFIABLE, 65536);
	check_ask("/two-lengths", 0, 65536, VERDICT_HEADERS, 0);
}
END_TEST

START_TEST(broken_off)
{
	/* one block of the 100,000 bytes is whole */
	check_ask("/short", 131072, 655360, VERDICT_SHORT, 131072 + 65536);
	check_ask("/reset", 131072, 655360, VERDICT_RESET, 131072 + 65536);
	check_ask("/nothing", 0, 65536, VERDICT_RESET, 0);
	check_ask("/garbage", 0, 65536, VERDICT_PROTOCOL, 0);
}
END_TEST

START_TEST(ceilings)
{
	check_ask("/big-headers", 0, 65536, VERDICT_HEADERS, 0);
	check_ask("/many-headers", 0, 65536, VERDICT_HEADERS, 0);
	check_ask("/many-interims", 0, 65536, VERDICT_HEADERS, 0);
	check_ask("/big-location", 0, 65536, VERDICT_HEADERS, 0);
}
END_TEST

START_TEST(interim_answers)
{
	struct caller c;

	ask(&c, "/interim", 0, 65536);
	assert_verdict(&c, VERDICT_PART);
	ck_assert_uint_eq(c.next, 65536);
	ck_assert_uint_eq(c.use.total, TOTAL);
}
END_TEST

START_TEST(another_version)
{
	struct caller c;

	caller_init(&c, server_url(server, "/changed"), 0, 65536);
	snprintf(c.rq.validator.etag, sizeof(c.rq.validator.etag), "\"old\"");
	c.rq.validator.size = c.rq.want.size = TOTAL;
	c.rq.want.have = &c.rq.validator;
	caller_run(&c, test_fetch);
	assert_verdict(&c, VERDICT_CHANGED);
	ck_assert_uint_eq(c.heads + c.bodies, 0);

	caller_init(&c, server_url(server, "/other-size"), 0, 65536);
	c.rq.want.size = TOTAL;
	c.rq.want.size_pinned = true;
	caller_run(&c, test_fetch);
	assert_verdict(&c, VERDICT_SIZE);
	ck_assert_uint_eq(c.heads + c.bodies, 0);
}
END_TEST

static void probe(struct caller *c, const char *path)
{
	caller_init(c, server_url(server, path), 0, 1);
	c->rq.probe = true;
	caller_run(c, test_fetch);
	ck_assert_uint_eq(c->bodies, 0);
	ck_assert_uint_eq(c->result.pos, 0);
}

START_TEST(probes)
{
	struct caller c;

	probe(&c, "/good");
	assert_verdict(&c, VERDICT_PART);
	ck_assert_uint_eq(c.heads, 1);
	ck_assert_uint_eq(c.use.total, TOTAL);
	ck_assert_uint_eq(c.result.bytes_discarded, 1);
	probe(&c, "/ignored");
	assert_verdict(&c, VERDICT_WHOLE);
	ck_assert_uint_eq(c.heads, 1);
	ck_assert_uint_eq(c.use.total, TOTAL);
	probe(&c, "/empty");
	assert_verdict(&c, VERDICT_EMPTY);
	ck_assert_uint_eq(c.heads, 0);
	probe(&c, "/416");
	assert_verdict(&c, VERDICT_DENIES_RANGE);
	ck_assert_uint_eq(c.heads, 0);
}
END_TEST

/* What If-Range a request with v has, its validator having come at date. */
static void check_if_range(const struct validator *v, int64_t date, const char *line)
{
	unsigned int n = server_requests(server);
	struct caller c;

	caller_init(&c, server_url(server, "/good"), 0, 65536);
	c.rq.if_range = true;
	c.rq.validator = *v;
	c.rq.validator_date = date;
	caller_run(&c, test_fetch);
	assert_verdict(&c, VERDICT_PART);
	if (line)
		ck_assert_msg(request_has(server_request(server, n), line), "%s",
			      server_request(server, n));
	else
		ck_assert_msg(!request_has(server_request(server, n), "If-Range"), "%s",
			      server_request(server, n));
}

START_TEST(if_range)
{
	struct validator v = VALIDATOR_INIT;

	check_if_range(&v, VALIDATOR_NO_TIME, NULL);
	v.last_modified = 784111777;
	check_if_range(&v, VALIDATOR_NO_TIME, NULL);
	check_if_range(&v, 784111777 + 59, NULL);
	check_if_range(&v, 784111777 + 60, "If-Range: Sun, 06 Nov 1994 08:49:37 GMT\r\n");
	snprintf(v.etag, sizeof(v.etag), "W/\"weak\"");
	check_if_range(&v, 784111777 + 60, NULL);
	snprintf(v.etag, sizeof(v.etag), "\"strong\"");
	check_if_range(&v, VALIDATOR_NO_TIME, "If-Range: \"strong\"\r\n");
}
END_TEST

START_TEST(no_connection)
{
	struct caller c;
	char url[64];
	struct server *s = server_new("127.0.0.1", serve, NULL);

	snprintf(url, sizeof(url), "http://127.0.0.1:%u/", server_port(s));
	server_free(s);
	caller_init(&c, url, 0, 65536);
	caller_run(&c, test_fetch);
	assert_verdict(&c, VERDICT_CONNECT);
	ck_assert_int_eq(c.status, 0);
	ck_assert_uint_eq(c.connected, 0);

	caller_init(&c, "http://name.invalid/x?secret=1", 0, 65536);
	caller_run(&c, test_fetch);
	assert_verdict(&c, VERDICT_NAME);
	ck_assert_ptr_null(strstr(c.result.detail, "secret"));

	snprintf(url, sizeof(url), "https://127.0.0.1:%u/good", server_port(server));
	caller_init(&c, url, 0, 65536);
	caller_run(&c, test_fetch);
	assert_verdict(&c, VERDICT_TLS);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("fetch: answers");
	TCase *t = tcase_create("answers");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 60);
	tcase_add_test(t, good_range);
	tcase_add_test(t, connection_is_kept);
	tcase_add_test(t, plain_get);
	tcase_add_test(t, whole_instead_of_part);
	tcase_add_test(t, unknown_length);
	tcase_add_test(t, length_known_but_not_told);
	tcase_add_test(t, other_ranges);
	tcase_add_test(t, refusals);
	tcase_add_test(t, broken_off);
	tcase_add_test(t, ceilings);
	tcase_add_test(t, interim_answers);
	tcase_add_test(t, another_version);
	tcase_add_test(t, probes);
	tcase_add_test(t, if_range);
	tcase_add_test(t, no_connection);
	suite_add_tcase(s, t);
	return test_main(s);
}
