/*
 * test_origin.c - back-off, bans, budgets and the times of an origin
 */
#include <check.h>

#include "core/sched_internal.h"

static struct sched *s;
static struct sched_origin *o;

static void begin(void)
{
	struct sched_config cfg = {.max_connections = 64, .max_per_origin = 16, .seed = 5};
	static const struct sched_ops ops;

	s = sched_new(&cfg, &ops, NULL);
	o = sched_origin_get(s, "http://a:80");
}

START_TEST(delays_double_with_jitter_up_to_a_maximum)
{
	uint64_t state = 7, sum = 0;

	for (unsigned int i = 0; i < 1000; i++) {
		ck_assert_uint_ge(retry_delay_us(1, 1000, 60000, &state), 500);
		ck_assert_uint_le(retry_delay_us(1, 1000, 60000, &state), 1000);
		ck_assert_uint_ge(retry_delay_us(4, 1000, 60000, &state), 4000);
		ck_assert_uint_le(retry_delay_us(4, 1000, 60000, &state), 8000);
		ck_assert_uint_le(retry_delay_us(7 + i, 1000, 60000, &state), 60000);
		sum += retry_delay_us(1, 1000, 60000, &state);
	}
	ck_assert_uint_ge(sum / 1000, 700);
	ck_assert_uint_le(sum / 1000, 800);
	ck_assert_uint_le(retry_delay_us(UINT32_MAX, 1000, 60000, &state), 60000);
}
END_TEST

START_TEST(times_are_median_and_tail)
{
	begin();
	ck_assert_uint_eq(origin_cost_us(o, 0), COST_UNKNOWN_US);
	for (unsigned int i = 0; i < 100; i++)
		origin_ttfb_sample(o, i % 10 == 3 ? 500000 : 20000 + i);
	ck_assert_uint_ge(o->ttfb_us, 20000);
	ck_assert_uint_le(o->ttfb_us, 20100);
	ck_assert_uint_eq(o->ttfb_p95_us, 500000);
	/* Old ones leave. */
	for (unsigned int i = 0; i < TTFB_SAMPLES; i++)
		origin_ttfb_sample(o, 1000);
	ck_assert_uint_eq(o->ttfb_p95_us, 1000);
	origin_connect_sample(o, 5000, 12000);
	ck_assert_uint_eq(origin_rtt_us(o), 5000);
	/* A connection that is there costs no handshake, for a while. */
	ck_assert_uint_eq(origin_cost_us(o, 0), 13000);
	o->warm = 1;
	o->warm_us = 1000;
	ck_assert_uint_eq(origin_cost_us(o, 2000), 1000);
	ck_assert_uint_eq(origin_cost_us(o, 60 * USEC_PER_SEC), 13000);
	sched_free(s);
}
END_TEST

START_TEST(bans_grow_and_are_clamped)
{
	uint64_t now = 1000 * USEC_PER_SEC;

	begin();
	ck_assert(origin_open(o, now));
	ck_assert(origin_ban(o, VERDICT_CONNECT, now, 0, now));
	ck_assert(!origin_open(o, now));
	ck_assert_uint_le(o->banned_until_us, now + RETRY_ORIGIN_FIRST_US);
	ck_assert_uint_eq(o->budget, 16);
	/* One that was under way is no news. */
	ck_assert(!origin_ban(o, VERDICT_CONNECT, now - 1, 0, now));
	ck_assert_uint_eq(o->bans, 1);
	/* The test request fails each time. */
	for (unsigned int i = 0; i < 20; i++) {
		now = o->banned_until_us;
		ck_assert(origin_open(o, now));
		ck_assert(origin_ban(o, VERDICT_CONNECT, now, 0, now));
	}
	ck_assert_uint_ge(o->banned_until_us, now + RETRY_ORIGIN_MAX_US / 2);
	ck_assert_uint_le(o->banned_until_us, now + RETRY_ORIGIN_MAX_US);
	/* A server that asks for a day gets an hour. */
	now = o->banned_until_us;
	ck_assert(origin_ban(o, VERDICT_BUSY, now, 86400 * USEC_PER_SEC, now));
	ck_assert_uint_ge(o->banned_until_us, now + RETRY_AFTER_MAX_US);
	ck_assert_uint_le(o->banned_until_us, now + RETRY_AFTER_MAX_US + USEC_PER_SEC);
	origin_unban(o);
	ck_assert(origin_open(o, now));
	sched_free(s);
}
END_TEST

START_TEST(a_budget_is_halved_and_recovers_slowly)
{
	uint64_t now = 1000 * USEC_PER_SEC;

	begin();
	for (unsigned int i = 0; i < 6; i++) {
		origin_ban(o, VERDICT_BUSY, now, 0, now);
		origin_unban(o);
	}
	ck_assert_uint_eq(o->budget, 1);
	origin_good(o, now + USEC_PER_SEC);
	ck_assert_uint_eq(o->budget, 1);
	for (unsigned int i = 1; i <= 15; i++) {
		now += 10 * USEC_PER_SEC;
		origin_good(o, now);
		ck_assert_uint_eq(o->budget, 1 + i);
	}
	now += 10 * USEC_PER_SEC;
	origin_good(o, now);
	ck_assert_uint_eq(o->budget, 16);
	ck_assert_uint_eq(o->bans, 0);
	sched_free(s);
}
END_TEST

START_TEST(a_meter_falls_when_nothing_comes)
{
	struct meter m = {0};
	uint64_t now = USEC_PER_SEC;

	meter_restart(&m, now);
	for (unsigned int i = 0; i < 20; i++) {
		now += 10000;
		meter_add(&m, 1000, 50000, now);
	}
	ck_assert_uint_ge(meter_rate(&m, 50000, now), 90000);
	ck_assert_uint_le(meter_rate(&m, 50000, now), 110000);
	ck_assert_uint_le(meter_rate(&m, 50000, now + USEC_PER_SEC), 5000);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("origin");
	TCase *tc = tcase_create("origin");
	SRunner *sr = srunner_create(suite);
	int bad;

	tcase_add_test(tc, delays_double_with_jitter_up_to_a_maximum);
	tcase_add_test(tc, times_are_median_and_tail);
	tcase_add_test(tc, bans_grow_and_are_clamped);
	tcase_add_test(tc, a_budget_is_halved_and_recovers_slowly);
	tcase_add_test(tc, a_meter_falls_when_nothing_comes);
	suite_add_tcase(suite, tc);
	srunner_run_all(sr, CK_ENV);
	bad = srunner_ntests_failed(sr);
	srunner_free(sr);
	return bad ? 1 : 0;
}
