/*
 * test_fetch_body.c - which bytes are handed on, when, and in which memory
 */
#include "test_fetch_help.h"

#include "base/clock.h"
#include "net/chunk.h"

#define MIB   (UINT64_C(1) << 20)
#define TOTAL (64 * MIB + 12345)

/* What a scene says of how the server is to behave: the path's first letter. */
static bool serve(struct conn *c, const char *request, void *user)
{
	struct range r = request_range(request);
	uint64_t end = min_u64(r.end, TOTAL);

	(void)user;
	switch (request[strlen("GET /")]) {
	case 'b': /* a block and a half, then silence until the peer goes */
		conn_part(c, r.off, end, TOTAL, "");
		conn_content(c, r.off, r.off + BLOCK_SIZE * 3 / 2);
		conn_idle(c, 20000);
		return false;
	case 'h': /* half of it, then a wait, then the rest */
		conn_part(c, r.off, end, TOTAL, "");
		conn_content(c, r.off, r.off + (end - r.off) / 2);
		sleep_ms(400);
		return conn_content(c, r.off + (end - r.off) / 2, end);
	case 'd': /* a kibibyte at a time */
		conn_part(c, r.off, end, TOTAL, "");
		for (; r.off < end; r.off += 1024) {
			if (!conn_content(c, r.off, min_u64(r.off + 1024, end)))
				return false;
		}
		return true;
	default:
		return conn_serve(c, request, TOTAL);
	}
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

START_TEST(object_end_is_a_short_block)
{
	struct caller c;

	caller_init(&c, server_url(server, "/good"), 60 * MIB, TOTAL);
	caller_run(&c, test_fetch);
	assert_right(&c);
	assert_verdict(&c, VERDICT_PART);
	ck_assert_uint_eq(c.next, TOTAL);

	/* asked to the end of what nobody knows the size of */
	caller_init(&c, server_url(server, "/good"), 60 * MIB, SIZE_UNKNOWN);
	caller_run(&c, test_fetch);
	assert_right(&c);
	assert_verdict(&c, VERDICT_PART);
	ck_assert_uint_eq(c.next, TOTAL);
	ck_assert(request_has(server_request(server, 1), "Range: bytes=62914560-\r\n"));
}
END_TEST

START_TEST(slice_has_its_own_grid)
{
	struct caller c;

	/* the slice [1000, 1000 + 10 blocks + 77) of the resource; its blocks 2 to the end */
	caller_init(&c, server_url(server, "/drip"), 1000 + 2 * BLOCK_SIZE,
		    1000 + 10 * BLOCK_SIZE + 77);
	c.rq.grid = c.rq.end_add = 1000;
	atomic_store(&c.end, 10 * BLOCK_SIZE + 77);
	c.awaited = (struct range){0, SIZE_UNKNOWN};
	caller_run(&c, test_fetch);
	assert_right(&c);
	assert_verdict(&c, VERDICT_PART);
	ck_assert_uint_eq(c.next, 1000 + 10 * BLOCK_SIZE + 77);
	ck_assert_uint_eq(c.bodies, 9); /* each block at once, because somebody waits */
}
END_TEST

START_TEST(begin_within_a_block_is_skipped)
{
	struct caller c;

	caller_init(&c, server_url(server, "/good"), BLOCK_SIZE + 1, 4 * BLOCK_SIZE);
	c.first = c.next = 2 * BLOCK_SIZE;
	caller_run(&c, test_fetch);
	assert_right(&c);
	assert_verdict(&c, VERDICT_PART);
	ck_assert_uint_eq(c.next, 4 * BLOCK_SIZE);
	ck_assert_uint_eq(c.result.bytes_discarded, BLOCK_SIZE - 1);
}
END_TEST

START_TEST(awaited_block_comes_at_once)
{
	struct caller c;

	caller_init(&c, server_url(server, "/block-and-half"), 0, MIB);
	c.awaited = (struct range){100, 200};
	caller_start(&c, test_fetch);
	caller_wait_bytes(&c, BLOCK_SIZE);
	ck_assert_uint_eq(caller_bytes(&c), BLOCK_SIZE);
	fetch_cancel(test_fetch, c.transfer, false);
	caller_wait(&c);
	assert_right(&c);
	assert_verdict(&c, VERDICT_CANCELLED);
	ck_assert_uint_eq(c.result.pos, BLOCK_SIZE);
	/* of the half block, what had come by then */
	ck_assert_uint_eq(c.result.bytes_discarded, c.result.bytes_received - BLOCK_SIZE);
}
END_TEST

/* Nobody waits: still, a whole block is not kept back for longer than FLUSH_US. */
START_TEST(whole_block_is_not_kept_back)
{
	struct caller c;
	uint64_t begun = clock_now_us();

	caller_init(&c, server_url(server, "/block-and-half"), 0, MIB);
	caller_start(&c, test_fetch);
	caller_wait_bytes(&c, BLOCK_SIZE);
	ck_assert_uint_ge(clock_now_us() - begun, FLUSH_US);
	fetch_cancel(test_fetch, c.transfer, false);
	caller_wait(&c);
	assert_right(&c);
	ck_assert_uint_eq(c.result.pos, BLOCK_SIZE);
}
END_TEST

/* The half block behind the one that was flushed is not lost. */
START_TEST(flush_keeps_the_tail)
{
	struct caller c;

	caller_init(&c, server_url(server, "/half"), 0, 3 * BLOCK_SIZE);
	caller_run(&c, test_fetch);
	assert_right(&c);
	assert_verdict(&c, VERDICT_PART);
	ck_assert_uint_eq(c.next, 3 * BLOCK_SIZE);
	ck_assert_uint_ge(c.bodies, 2);
	ck_assert_uint_eq(c.result.bytes_discarded, 0);
}
END_TEST

START_TEST(chunks_are_full)
{
	struct caller c;

	caller_init(&c, server_url(server, "/good"), 0, 64 * MIB);
	caller_run(&c, test_fetch);
	assert_right(&c);
	ck_assert_uint_eq(c.next, 64 * MIB);
	/* 256 of 256 KiB; more only where the machine stood still for FLUSH_US */
	ck_assert_uint_lt(c.bodies, 512);
}
END_TEST

START_TEST(shrunk_far_away)
{
	struct caller c, d;

	/* Hold it back by its memory, so that the end moves while it runs. */
	caller_init(&c, server_url(server, "/good"), 0, 64 * MIB);
	c.keep_chunks = true;
	caller_start(&c, test_fetch);
	caller_wait_bytes(&c, POOL_BULK * CHUNK_SIZE);
	caller_set_end(&c, 20 * MIB);
	caller_free_chunks(&c);
	caller_wait(&c);
	assert_right(&c);
	assert_verdict(&c, VERDICT_PART);
	ck_assert_uint_eq(c.next, 20 * MIB);
	ck_assert_uint_eq(c.result.pos, 20 * MIB);
	/* 44 MiB more were not worth it */
	ck_assert_uint_lt(c.result.bytes_received, 32 * MIB);

	caller_init(&d, server_url(server, "/good"), 0, BLOCK_SIZE);
	caller_run(&d, test_fetch);
	ck_assert_uint_eq(server_connections(server), 2);
}
END_TEST

START_TEST(shrunk_a_little_keeps_the_connection)
{
	struct caller c, d;

	caller_init(&c, server_url(server, "/half"), 0, 4 * BLOCK_SIZE);
	caller_start(&c, test_fetch);
	caller_wait_bytes(&c, BLOCK_SIZE); /* by FLUSH_US */
	caller_set_end(&c, 3 * BLOCK_SIZE);
	caller_wait(&c);
	assert_right(&c);
	assert_verdict(&c, VERDICT_PART);
	ck_assert_uint_eq(c.next, 3 * BLOCK_SIZE);
	ck_assert_uint_eq(c.result.bytes_discarded, BLOCK_SIZE);

	caller_init(&d, server_url(server, "/good"), 0, BLOCK_SIZE);
	caller_run(&d, test_fetch);
	ck_assert_uint_eq(server_connections(server), 1);
}
END_TEST

/* To before what has come already, while nothing comes. */
START_TEST(shrunk_to_what_is_there)
{
	struct caller c;

	caller_init(&c, server_url(server, "/block-and-half"), 0, 32 * MIB);
	caller_start(&c, test_fetch);
	caller_wait_bytes(&c, BLOCK_SIZE);
	caller_set_end(&c, BLOCK_SIZE);
	caller_wait(&c);
	assert_right(&c);
	assert_verdict(&c, VERDICT_PART);
	ck_assert_uint_eq(c.result.pos, BLOCK_SIZE);
	ck_assert_uint_eq(c.result.bytes_discarded, c.result.bytes_received - BLOCK_SIZE);
}
END_TEST

/* Four bulk transfers that nobody takes the chunks of, and a demand beside them. */
START_TEST(pool_runs_dry)
{
	struct caller bulk[4], urgent;
	uint64_t bytes = 0;

	for (unsigned int i = 0; i < 4; i++) {
		caller_init(&bulk[i], server_url(server, "/good"), 0, 32 * MIB);
		bulk[i].keep_chunks = true;
		caller_start(&bulk[i], test_fetch);
	}
	/* The whole pool but for what is being filled. */
	for (unsigned int tries = 0; tries < 2000 && bytes < (POOL_BULK - 4) * CHUNK_SIZE;
	     tries++) {
		bytes = 0;
		for (unsigned int i = 0; i < 4; i++)
			bytes += caller_bytes(&bulk[i]);
		sleep_ms(10);
	}
	ck_assert_uint_ge(bytes, (POOL_BULK - 4) * CHUNK_SIZE);
	ck_assert_uint_le(bytes, POOL_BULK * CHUNK_SIZE);

	caller_init(&urgent, server_url(server, "/good"), 0, 2 * MIB);
	urgent.rq.urgent = true;
	caller_run(&urgent, test_fetch);
	assert_right(&urgent);
	assert_verdict(&urgent, VERDICT_PART);

	for (unsigned int i = 0; i < 4; i++)
		caller_free_chunks(&bulk[i]);
	for (unsigned int i = 0; i < 4; i++) {
		caller_wait(&bulk[i]);
		assert_right(&bulk[i]);
		assert_verdict(&bulk[i], VERDICT_PART);
		ck_assert_uint_eq(bulk[i].next, 32 * MIB);
		ck_assert_uint_eq(bulk[i].result.bytes_received, 32 * MIB);
		ck_assert_uint_eq(bulk[i].result.bytes_discarded, 0);
	}
}
END_TEST

/* A chunk that comes back wakes whoever of several instances waits. */
START_TEST(pool_is_shared_by_instances)
{
	struct fetch *other;
	struct caller a, b;

	ck_assert_int_eq(fetch_new(test_shared, "other", &other), 0);
	caller_init(&a, server_url(server, "/good"), 0, 64 * MIB);
	a.keep_chunks = true;
	caller_start(&a, test_fetch);
	caller_wait_bytes(&a, POOL_BULK * CHUNK_SIZE);
	caller_init(&b, server_url(server, "/good"), 0, 32 * MIB);
	caller_start(&b, other);
	sleep_ms(50);
	ck_assert_uint_eq(caller_bytes(&b), 0);
	caller_free_chunks(&a);
	caller_wait(&a);
	caller_wait(&b);
	assert_right(&a);
	assert_right(&b);
	ck_assert_uint_eq(a.next + b.next, 96 * MIB);
	fetch_free(other);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("fetch: bodies");
	TCase *t = tcase_create("bodies");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 120);
	tcase_add_test(t, object_end_is_a_short_block);
	tcase_add_test(t, slice_has_its_own_grid);
	tcase_add_test(t, begin_within_a_block_is_skipped);
	tcase_add_test(t, awaited_block_comes_at_once);
	tcase_add_test(t, whole_block_is_not_kept_back);
	tcase_add_test(t, flush_keeps_the_tail);
	tcase_add_test(t, chunks_are_full);
	tcase_add_test(t, shrunk_far_away);
	tcase_add_test(t, shrunk_a_little_keeps_the_connection);
	tcase_add_test(t, shrunk_to_what_is_there);
	tcase_add_test(t, pool_runs_dry);
	tcase_add_test(t, pool_is_shared_by_instances);
	suite_add_tcase(s, t);
	return test_main(s);
}
