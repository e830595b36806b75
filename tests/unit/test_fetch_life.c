/*
 * test_fetch_life.c - orders to a running transfer, its timers, and its end in every state
 */
#include "test_fetch_help.h"

#include <arpa/inet.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "net/limiter.h"

/* Long enough for a busy machine to answer in, short enough to wait for. */
#define STALL_US UINT64_C(1500000)
#define LATE_MS	 200
#define MIB	 (UINT64_C(1) << 20)
#define TOTAL	 (MIB << 20) /* more than comes while a test looks on */

static bool serve(struct conn *c, const char *request, void *user)
{
	struct range r = request_range(request);
	uint64_t end = min_u64(r.end, TOTAL);

	(void)user;
	switch (request[strlen("GET /")]) {
	case 's': /* silence */
		conn_idle(c, 20000);
		return false;
	case 'b': /* a block and a half, then silence */
		conn_part(c, r.off, end, TOTAL, "");
		conn_content(c, r.off, r.off + BLOCK_SIZE * 3 / 2);
		conn_idle(c, 20000);
		return false;
	case 'h': /* headers without an end, a byte at a time */
		conn_say(c, "HTTP/1.1 206 Partial Content\r\nX-Slow: ");
		while (conn_say(c, "x"))
			sleep_ms(20);
		return false;
	case 'd': /* a byte at a time */
		conn_part(c, r.off, end, TOTAL, "");
		while (conn_content(c, r.off, r.off + 1)) {
			sleep_ms(20);
			r.off++;
		}
		return false;
	case 'l': /* late, and then all is well */
		sleep_ms(LATE_MS);
		return conn_serve(c, request, TOTAL);
	case 'e': /* an error whose body never ends */
		conn_say(c, "HTTP/1.1 404 Not Found\r\nContent-Length: 1000\r\n\r\nwhere");
		conn_idle(c, 20000);
		return false;
	default:
		return conn_serve(c, request, TOTAL);
	}
}

static struct server *server;

static void setup(void)
{
	struct fetch_config cfg = config_default();

	cfg.stall_timeout_us = STALL_US;
	cfg.connect_timeout_us = STALL_US;
	server = server_new("127.0.0.1", serve, NULL);
	test_begin(&cfg);
}

static void teardown(void)
{
	if (test_fetch)
		test_end();
	server_free(server);
}

/* How long it took, in µs. */
static uint64_t stalls(const char *path, uint64_t pos)
{
	uint64_t begun = clock_now_us();
	struct caller c;

	caller_init(&c, server_url(server, path), 0, MIB);
	caller_run(&c, test_fetch);
	assert_right(&c);
	assert_verdict(&c, VERDICT_STALL);
	ck_assert_uint_eq(c.result.pos, pos);
	return clock_now_us() - begun;
}

START_TEST(stall)
{
	ck_assert_uint_ge(stalls("/silence", 0), STALL_US);
	ck_assert_uint_ge(stalls("/block-and-half", BLOCK_SIZE), STALL_US);
	ck_assert_uint_ge(stalls("/headers", 0), STALL_US);
	ck_assert_uint_ge(stalls("/drip", 0), STALL_US);
}
END_TEST

/* A listener with a full backlog: the kernel answers no further SYN. */
START_TEST(connect_timeout)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM, 0), full[4];
	struct caller c;
	char url[64];

	ck_assert_int_eq(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	ck_assert_int_eq(listen(fd, 0), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&a, &len), 0);
	for (unsigned int i = 0; i < 4; i++) {
		full[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		(void)connect(full[i], (struct sockaddr *)&a, sizeof(a));
	}
	sleep_ms(50);
	snprintf(url, sizeof(url), "http://127.0.0.1:%d/", ntohs(a.sin_port));
	caller_init(&c, url, 0, BLOCK_SIZE);
	caller_run(&c, test_fetch);
	assert_verdict(&c, VERDICT_CONNECT);
	for (unsigned int i = 0; i < 4; i++)
		close(full[i]);
	close(fd);
}
END_TEST

/* The body of a refusal is not waited for, however slow. */
START_TEST(refusal_does_not_wait)
{
	uint64_t begun = clock_now_us();
	struct caller c;

	caller_init(&c, server_url(server, "/error"), 0, MIB);
	caller_run(&c, test_fetch);
	assert_verdict(&c, VERDICT_GONE);
	ck_assert_uint_lt(clock_now_us() - begun, 10 * USEC_PER_SEC);
	ck_assert_uint_eq(c.result.bytes_discarded, 5);
}
END_TEST

START_TEST(cancel_in_each_state)
{
	static const char *const paths[] = {"/silence", "/block-and-half", "/headers", "/drip",
					    "/good"};

	for (unsigned int i = 0; i < ARRAY_SIZE(paths); i++) {
		for (unsigned int wait_ms = 0; wait_ms < 60; wait_ms += 25) {
			struct caller c;

			caller_init(&c, server_url(server, paths[i]), 0, TOTAL);
			caller_start(&c, test_fetch);
			sleep_ms(wait_ms);
			fetch_cancel(test_fetch, c.transfer, false);
			fetch_cancel(test_fetch, c.transfer, false);
			caller_wait(&c);
			assert_right(&c);
			assert_verdict(&c, VERDICT_CANCELLED);
			/* crossing the end */
			fetch_cancel(test_fetch, c.transfer, false);
			fetch_hold(test_fetch, c.transfer, true);
			fetch_shrunk(test_fetch, c.transfer);
		}
	}
}
END_TEST

/* No name server answers on a port that nobody listens on; whatever it is, cancelling does not
 * wait. */
/* A short rest is read for its connection's sake, for a moment; not by who is told to hurry. */
START_TEST(cancel_at_once)
{
	uint64_t least_us[2] = {UINT64_MAX, UINT64_MAX};

	for (unsigned int i = 0; i < 10; i++) {
		struct caller c;
		uint64_t begun;

		caller_init(&c, server_url(server, "/drip"), 0, BLOCK_SIZE);
		caller_start(&c, test_fetch);
		sleep_ms(60);
		begun = clock_now_us();
		fetch_cancel(test_fetch, c.transfer, false);
		if (i % 2)
			fetch_cancel(test_fetch, c.transfer, true);
		caller_wait(&c);
		assert_verdict(&c, VERDICT_CANCELLED);
		least_us[i % 2] = min_u64(least_us[i % 2], clock_now_us() - begun);
	}
	ck_assert_uint_ge(least_us[0], 50 * USEC_PER_MS);
	ck_assert_uint_lt(least_us[1], 50 * USEC_PER_MS);
}
END_TEST

START_TEST(cancel_while_resolving)
{
	struct caller c[8];
	uint64_t begun = clock_now_us();

	for (unsigned int i = 0; i < 8; i++) {
		char url[64];

		snprintf(url, sizeof(url), "http://host-%u.invalid/", i);
		caller_init(&c[i], url, 0, MIB);
		caller_start(&c[i], test_fetch);
		fetch_cancel(test_fetch, c[i].transfer, false);
	}
	for (unsigned int i = 0; i < 8; i++)
		caller_wait(&c[i]);
	ck_assert_uint_lt(clock_now_us() - begun, 5 * USEC_PER_SEC);
}
END_TEST

START_TEST(free_ends_everything)
{
	static const char *const paths[] = {"/silence", "/block-and-half", "/headers", "/drip",
					    "/good"};
	struct caller c[ARRAY_SIZE(paths)];
	struct fetch *f = test_fetch;

	for (unsigned int i = 0; i < ARRAY_SIZE(paths); i++) {
		caller_init(&c[i], server_url(server, paths[i]), 0, TOTAL);
		caller_start(&c[i], f);
		if (i == 1)
			fetch_hold(f, c[i].transfer, true);
	}
	sleep_ms(30);
	test_end();
	for (unsigned int i = 0; i < ARRAY_SIZE(paths); i++) {
		ck_assert_uint_eq(c[i].ends, 1);
		assert_right(&c[i]);
	}
}
END_TEST

/* What has come once nothing comes any more; fails when something always does. */
static uint64_t wait_until_quiet(struct caller *c)
{
	uint64_t before, now = caller_bytes(c);
	unsigned int tries = 0;

	do {
		before = now;
		sleep_ms(300);
		now = caller_bytes(c);
	} while (now != before && ++tries < 50);
	ck_assert_uint_eq(now, before);
	return now;
}

START_TEST(hold_and_go_on)
{
	struct caller c;
	uint64_t before, end;

	caller_init(&c, server_url(server, "/good"), 0, TOTAL);
	c.awaited = (struct range){0, SIZE_UNKNOWN};
	caller_start(&c, test_fetch);
	caller_wait_bytes(&c, MIB);
	fetch_hold(test_fetch, c.transfer, true);
	before = wait_until_quiet(&c);
	/* Longer than the stall timeout: its clock stands still. */
	sleep_ms(STALL_US / 1000 + 300);
	ck_assert_uint_eq(caller_bytes(&c), before);
	ck_assert_uint_eq(c.ends, 0);
	fetch_hold(test_fetch, c.transfer, false);
	end = block_ceil(before + 64 * MIB);
	caller_set_end(&c, end);
	caller_wait(&c);
	assert_right(&c);
	assert_verdict(&c, VERDICT_PART);
	ck_assert_uint_eq(c.next, end);
}
END_TEST

/* Held before the answer comes: the answer is judged, the body waits. */
START_TEST(hold_from_the_start)
{
	struct caller c;

	for (unsigned int round = 0; round < 2; round++) { /* a new connection, then a warm one */
		caller_init(&c, server_url(server, "/good"), 0, 64 * MIB);
		caller_start(&c, test_fetch);
		fetch_hold(test_fetch, c.transfer, true);
		sleep_ms(STALL_US / 1000 + 300);
		ck_assert_uint_lt(caller_bytes(&c), 64 * MIB);
		ck_assert_uint_eq(c.ends, 0);
		fetch_hold(test_fetch, c.transfer, false);
		caller_wait(&c);
		assert_right(&c);
		assert_verdict(&c, VERDICT_PART);
		ck_assert_uint_eq(c.next, 64 * MIB);
	}
}
END_TEST

START_TEST(cancel_while_held)
{
	struct caller c;

	caller_init(&c, server_url(server, "/good"), 0, TOTAL);
	c.awaited = (struct range){0, SIZE_UNKNOWN};
	caller_start(&c, test_fetch);
	fetch_hold(test_fetch, c.transfer, true);
	sleep_ms(50);
	caller_set_end(&c, MIB);
	fetch_cancel(test_fetch, c.transfer, false);
	caller_wait(&c);
	assert_right(&c);
	assert_verdict(&c, VERDICT_CANCELLED);
}
END_TEST

/* The time held does not count, the time before does. */
START_TEST(stall_of_what_went_on_after_a_hold)
{
	struct caller c;
	uint64_t begun;

	caller_init(&c, server_url(server, "/block-and-half"), 0, MIB);
	c.awaited = (struct range){0, SIZE_UNKNOWN};
	caller_start(&c, test_fetch);
	caller_wait_bytes(&c, BLOCK_SIZE);
	fetch_hold(test_fetch, c.transfer, true);
	sleep_ms(STALL_US / 1000 + 300);
	ck_assert_uint_eq(c.ends, 0);
	begun = clock_now_us();
	fetch_hold(test_fetch, c.transfer, false);
	caller_wait(&c);
	assert_verdict(&c, VERDICT_STALL);
	ck_assert_uint_ge(clock_now_us() - begun, 200 * USEC_PER_MS);
}
END_TEST

/* When a request went out is told as it was, on any connection, and whatever order came then. */
START_TEST(when_it_was_asked)
{
	struct caller c;

	for (unsigned int round = 0; round < 3; round++) {
		uint64_t begun = clock_now_us();

		caller_init(&c, server_url(server, "/late"), 0, MIB);
		caller_start(&c, test_fetch);
		if (round == 2) {
			fetch_hold(test_fetch, c.transfer, true);
			sleep_ms(LATE_MS / 2);
			fetch_hold(test_fetch, c.transfer, false);
		}
		caller_wait(&c);
		assert_right(&c);
		assert_verdict(&c, VERDICT_PART);
		ck_assert_int_eq(c.connect_us > 0, round == 0);
		ck_assert_uint_ge(c.asked_us, begun);
		ck_assert_uint_ge(c.answered_us - c.asked_us, LATE_MS * USEC_PER_MS);
	}
}
END_TEST

/* The lower bound alone: a slow machine only takes longer. */
static uint64_t limited(const struct fetch_config *cfg, bool fill, bool urgent)
{
	struct caller c;
	uint64_t begun;

	test_end();
	test_begin(cfg);
	caller_init(&c, server_url(server, "/good"), 0, 2 * MIB);
	c.rq.fill = fill;
	c.rq.urgent = urgent;
	begun = clock_now_us();
	caller_run(&c, test_fetch);
	assert_right(&c);
	assert_verdict(&c, VERDICT_PART);
	ck_assert_uint_eq(c.next, 2 * MIB);
	return clock_now_us() - begun;
}

START_TEST(rates_are_limited)
{
	struct fetch_config cfg = config_default();

	cfg.limit_rate_bps = 4 * MIB;
	ck_assert_uint_ge(limited(&cfg, false, false), 400 * USEC_PER_MS);
	cfg.limit_rate_bps = 0;
	cfg.fill_rate_bps = 4 * MIB;
	ck_assert_uint_ge(limited(&cfg, true, false), 400 * USEC_PER_MS);
	/* At this rate it would be half an hour: what it is not for does not wait. */
	cfg.fill_rate_bps = 1024;
	limited(&cfg, false, false);
	/* The limit is for everybody; urgent ones may owe a little at their end. */
	cfg.fill_rate_bps = 0;
	cfg.limit_rate_bps = 4 * MIB;
	ck_assert_uint_ge(limited(&cfg, false, true), 350 * USEC_PER_MS);
}
END_TEST

/* What is urgent takes of the limit first, others what it leaves; beyond a small debt all wait. */
START_TEST(urgent_ones_take_first)
{
	struct limiter l;
	uint64_t first, last;

	limiter_init(&l, MIB, 0);
	limiter_take(&l, (uint64_t)l.burst, 0);
	ck_assert_uint_eq(limiter_wait_until(&l, false, 0), 0);
	limiter_take(&l, (uint64_t)l.burst / 2, 0);
	ck_assert_uint_gt(limiter_wait_until(&l, false, 0), 0);
	ck_assert_uint_eq(limiter_wait_until(&l, true, 0), 0);
	limiter_take(&l, MIB, 0);
	first = limiter_wait_until(&l, true, 0);
	last = limiter_wait_until(&l, false, 0);
	ck_assert_uint_ge(first, 900 * USEC_PER_MS);
	ck_assert_uint_gt(last, first);
	ck_assert_uint_eq(limiter_wait_until(&l, true, first + USEC_PER_MS), 0);
	ck_assert_uint_gt(limiter_wait_until(&l, false, first + USEC_PER_MS), 0);
	ck_assert_uint_eq(limiter_wait_until(&l, false, last + USEC_PER_MS), 0);
	limiter_done(&l);
}
END_TEST

/* The limit is of all instances and transfers together; what is slow by order does not stall. */
START_TEST(limit_is_shared)
{
	struct fetch_config cfg = config_default();
	struct caller c[4];
	struct fetch *other;
	uint64_t begun;

	test_end();
	cfg.limit_rate_bps = 2 * MIB;
	cfg.stall_timeout_us = STALL_US;
	test_begin(&cfg);
	ck_assert_int_eq(fetch_new(test_shared, "other", &other), 0);
	begun = clock_now_us();
	for (unsigned int i = 0; i < 4; i++) {
		caller_init(&c[i], server_url(server, "/good"), 0, MIB / 2);
		caller_start(&c[i], i % 2 ? other : test_fetch);
	}
	for (unsigned int i = 0; i < 4; i++) {
		caller_wait(&c[i]);
		assert_right(&c[i]);
		assert_verdict(&c[i], VERDICT_PART);
	}
	ck_assert_uint_ge(clock_now_us() - begun, 800 * USEC_PER_MS);
	fetch_free(other);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("fetch: life");
	TCase *t = tcase_create("life");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 120);
	tcase_add_test(t, stall);
	tcase_add_test(t, connect_timeout);
	tcase_add_test(t, refusal_does_not_wait);
	tcase_add_test(t, cancel_in_each_state);
	tcase_add_test(t, cancel_at_once);
	tcase_add_test(t, cancel_while_resolving);
	tcase_add_test(t, free_ends_everything);
	tcase_add_test(t, hold_and_go_on);
	tcase_add_test(t, hold_from_the_start);
	tcase_add_test(t, cancel_while_held);
	tcase_add_test(t, stall_of_what_went_on_after_a_hold);
	tcase_add_test(t, when_it_was_asked);
	tcase_add_test(t, rates_are_limited);
	tcase_add_test(t, urgent_ones_take_first);
	tcase_add_test(t, limit_is_shared);
	suite_add_tcase(s, t);
	return test_main(s);
}
