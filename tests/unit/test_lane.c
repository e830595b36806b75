/*
 * test_lane.c - what an emulated link does to packets, without a clock
 */
#include <check.h>

#include "suite.h"
#include "tests/net/lane.h"

#define MS  UINT64_C(1000000)
#define SEC (1000 * MS)

static struct lane lane;

static bool enter(size_t len, uint64_t now)
{
	struct packet *p = malloc(sizeof(*p));

	ck_assert_ptr_nonnull(p);
	p->len = len;
	if (lane_enter(&lane, p, now))
		return true;
	free(p);
	return false;
}

/* A packet comes out now, of that length, and was due then. */
static void leaves(size_t len, uint64_t due, uint64_t now, uint64_t early)
{
	struct packet *p = lane_leave(&lane, now, early);

	ck_assert_ptr_nonnull(p);
	ck_assert_uint_eq(p->len, len);
	ck_assert_uint_eq(p->due_ns, due);
	free(p);
}

static void begin(struct lane_shape shape, uint64_t seed)
{
	lane_init(&lane, &shape, seed);
}

START_TEST(delay_alone)
{
	begin((struct lane_shape){.delay_ns = 10 * MS}, 1);
	ck_assert_uint_eq(lane_next_ns(&lane), UINT64_MAX);
	ck_assert(enter(1500, 5 * MS));
	ck_assert(enter(40, 6 * MS));
	ck_assert_uint_eq(lane_next_ns(&lane), 15 * MS);
	ck_assert_ptr_null(lane_leave(&lane, 15 * MS - 1, 0));
	leaves(1500, 15 * MS, 15 * MS, 0);
	ck_assert_ptr_null(lane_leave(&lane, 15 * MS, MS - 1));
	leaves(40, 16 * MS, 15 * MS, MS);
	ck_assert_ptr_null(lane_leave(&lane, SEC, SEC));
	ck_assert_uint_eq(lane.delivered.packets, 2);
	ck_assert_uint_eq(lane.delivered.bytes, 1540);
	ck_assert_uint_eq(lane.late_max_us, 0);
}
END_TEST

/* 1 MB/s: 1000 bytes take 1 ms, one after the other, and idle time is not saved up. */
START_TEST(serialiser)
{
	begin((struct lane_shape){.delay_ns = 7 * MS, .rate = 1000000, .queue_bytes = 10000}, 1);
	ck_assert(enter(1000, 0));
	ck_assert(enter(500, 0));
	leaves(1000, 8 * MS, 8 * MS, 0);
	leaves(500, 17 * MS / 2, 9 * MS, 0);
	ck_assert(enter(1000, 100 * MS));
	ck_assert(enter(1000, 100 * MS));
	leaves(1000, 108 * MS, 109 * MS, 0);
	leaves(1000, 109 * MS, 109 * MS, 0);
}
END_TEST

/* What waits and what is being sent count; beyond that is dropped; it drains with the rate. */
START_TEST(drop_tail)
{
	begin((struct lane_shape){.rate = 1000000, .queue_bytes = 3000}, 1);
	for (int i = 0; i < 3; i++)
		ck_assert(enter(1000, 0));
	ck_assert(!enter(1000, 0));
	ck_assert(!enter(1000, MS - 1));
	ck_assert(enter(1000, MS));
	ck_assert(!enter(1, MS));
	ck_assert_uint_eq(lane.queue_peak, 3000);
	ck_assert_uint_eq(lane.entered.packets, 7);
	ck_assert_uint_eq(lane.dropped.packets, 3);
	ck_assert_uint_eq(lane.dropped.bytes, 2001);
	lane_done(&lane);
	/* One that is smaller than a packet lets one at a time through. */
	begin((struct lane_shape){.rate = 1000000, .queue_bytes = 10}, 1);
	ck_assert(enter(1000, 0));
	ck_assert(!enter(1000, 0));
	ck_assert(enter(1000, MS));
	lane_done(&lane);
}
END_TEST

static void fates(char *out, size_t n, double loss, uint64_t seed)
{
	begin((struct lane_shape){.loss = loss}, seed);
	for (size_t i = 0; i < n; i++)
		out[i] = enter(100, 0) ? '.' : 'x';
	ck_assert_uint_eq(lane.entered.packets, n);
	lane_done(&lane);
}

/* Six standard deviations, and the seed is fixed: it holds always or never. */
START_TEST(random_loss)
{
	static char a[100000], b[sizeof(a)];

	fates(a, sizeof(a), 0.01, 1);
	ck_assert_uint_ge(lane.lost.packets, 1000 - 190);
	ck_assert_uint_le(lane.lost.packets, 1000 + 190);
	ck_assert_uint_eq(lane.lost.bytes, 100 * lane.lost.packets);
	ck_assert_uint_eq(lane.dropped.packets, 0);
	fates(b, sizeof(b), 0.01, 1);
	ck_assert_mem_eq(a, b, sizeof(a));
	fates(b, sizeof(b), 0.01, 2);
	ck_assert_mem_ne(a, b, sizeof(a));
	fates(b, sizeof(b), 0, 1);
	ck_assert_uint_eq(lane.lost.packets, 0);
	fates(b, sizeof(b), 1, 1);
	ck_assert_uint_eq(lane.lost.packets, sizeof(b));
}
END_TEST

START_TEST(lateness)
{
	begin((struct lane_shape){0}, 1);
	ck_assert_uint_eq(lane_late_us(&lane, 500), 0);
	for (uint64_t i = 0; i < 100; i++) {
		ck_assert(enter(1, i * SEC));
		leaves(1, i * SEC, i * SEC + i * MS / 10, 0);
	}
	ck_assert_uint_eq(lane_late_us(&lane, 500), 4900);
	ck_assert_uint_eq(lane_late_us(&lane, 990), 9800);
	ck_assert_uint_eq(lane.late_max_us, 9900);
	/* Beyond the last bucket the largest is all that is known. */
	for (uint64_t i = 0; i < 2; i++) {
		ck_assert(enter(1, 0));
		leaves(1, 0, (i + 1) * SEC, 0);
	}
	ck_assert_uint_eq(lane_late_us(&lane, 990), 2000000);
}
END_TEST

/* A sender that never stops does not take all memory where no rate bounds it. */
START_TEST(bounded)
{
	uint64_t n = 0;

	begin((struct lane_shape){.delay_ns = SEC}, 1);
	while (n < 1000000 && enter(PACKET_MAX, 0))
		n++;
	ck_assert_uint_eq(n, (UINT64_C(512) << 20) / PACKET_MAX);
	ck_assert_uint_eq(lane.dropped.packets, 1);
	lane_done(&lane);
}
END_TEST

static void fill(TCase *tc)
{
	tcase_add_test(tc, delay_alone);
	tcase_add_test(tc, serialiser);
	tcase_add_test(tc, drop_tail);
	tcase_add_test(tc, random_loss);
	tcase_add_test(tc, lateness);
	tcase_add_test(tc, bounded);
}

int main(void)
{
	return suite_run("lane", fill);
}
