/*
 * test_sched.c - one rule of the scheduler at a time, with the transfers played by hand
 */
#include <check.h>

#include "core/rangeset.h"
#include "core/sched_internal.h"

#define KIB UINT64_C(1024)
#define MIB (UINT64_C(1) << 20)
#define MS  UINT64_C(1000)
#define SEC UINT64_C(1000000)
#define MAX 128

static struct sched_config cfg;
static struct sched *s;
static struct sched_origin *origin[2];
static struct sched_task *task;
static struct rangeset have;
static uint64_t now;

/* What the ops were called with. */
static struct lease *started[MAX];
static struct sched_task *asked_for; /* the last; the lease may be no more */
static unsigned int starts, cancels, holds, shrinks, satisfied, failed, probes_failed;
static struct lease *last_cancelled, *last_held;
static bool last_hold, last_at_once;
static enum verdict last_why;

static int op_next_gap(void *ctx, void *task_user, struct range within, struct range *ret)
{
	(void)ctx;
	(void)task_user;
	return rangeset_next_gap(&have, within, ret);
}

static void op_start(void *ctx, struct lease *l)
{
	(void)ctx;
	ck_assert_uint_lt(starts, MAX);
	asked_for = l->task;
	started[starts++] = l;
}

static void op_shrunk(void *ctx, struct lease *l)
{
	(void)ctx;
	(void)l;
	shrinks++;
}

static void op_cancel(void *ctx, struct lease *l, bool at_once)
{
	(void)ctx;
	last_cancelled = l;
	last_at_once = at_once;
	cancels++;
}

static void op_hold(void *ctx, struct lease *l, bool hold)
{
	(void)ctx;
	last_held = l;
	last_hold = hold;
	holds++;
}

static void op_satisfied(void *ctx, void *want_user)
{
	(void)ctx;
	(void)want_user;
	satisfied++;
}

static void op_failed(void *ctx, void *want_user, enum verdict why)
{
	(void)ctx;
	(void)want_user;
	last_why = why;
	failed++;
}

static void op_probe_failed(void *ctx, void *task_user, enum verdict why)
{
	(void)ctx;
	(void)task_user;
	last_why = why;
	probes_failed++;
}

static const struct sched_ops ops = {
	.next_gap = op_next_gap,
	.start = op_start,
	.shrunk = op_shrunk,
	.cancel = op_cancel,
	.hold = op_hold,
	.satisfied = op_satisfied,
	.failed = op_failed,
	.probe_failed = op_probe_failed,
};

static void defaults(void)
{
	cfg = (struct sched_config){
		.max_connections = 8,
		.max_per_origin = 4,
		.connect_timeout_us = 10 * SEC,
		.stall_timeout_us = 20 * SEC,
		.retry_time_us = 60 * SEC,
		.seed = 1,
	};
	starts = cancels = holds = shrinks = satisfied = failed = probes_failed = 0;
	now = 1000 * SEC;
	rangeset_init(&have);
}

static void begin(uint64_t size, unsigned int sources)
{
	s = sched_new(&cfg, &ops, NULL);
	origin[0] = sched_origin_get(s, "http://a:80");
	origin[1] = sched_origin_get(s, "http://b:80");
	ck_assert_ptr_eq(sched_origin_get(s, "http://a:80"), origin[0]);
	ck_assert_int_eq(sched_task_new(s, size, origin, sources, NULL, &task), 0);
}

static uint64_t tick(uint64_t after_us)
{
	uint64_t due;

	now += after_us;
	due = sched_tick(s, now);
	sched_check(s);
	return due;
}

static struct sched_want *want(uint64_t off, uint64_t end, enum prio p)
{
	struct sched_want *w;
	enum verdict why;

	ck_assert_int_eq(sched_want_add(s, task, range_make(off, end), p, NULL, now, &w, &why), 0);
	return w;
}

/* The n-th lease is answered after ttfb_us on a connection that took connect_us. */
static struct lease *answer(unsigned int n, uint64_t connect_us, uint64_t ttfb_us)
{
	struct lease *l = started[n];

	now += connect_us;
	sched_lease_connected(s, l, connect_us, now);
	now += ttfb_us;
	sched_lease_answered(s, l, now);
	return l;
}

/* It brings everything up to pos at rate_bps, reported each 10 ms. */
static void bring(struct lease *l, uint64_t from, uint64_t pos, uint64_t rate_bps)
{
	while (from < pos) {
		from = min_u64(pos, from + rate_bps / 100);
		now += 10 * MS;
		rangeset_add(&have, range_make(block_floor(l->off), block_floor(from)));
		sched_lease_progress(s, l, from, now);
		tick(0);
	}
}

static void finish(struct lease *l, enum verdict v, uint64_t pos)
{
	if (pos > l->off)
		rangeset_add(&have, range_make(l->off, pos));
	sched_lease_ended(s, l, v, pos, 0, now);
	sched_lease_written(s, l, now);
	tick(0);
}

static bool cancelled(struct lease *l)
{
	return lease_priv(l)->cancelled;
}

static uint64_t end_of(const struct lease *l)
{
	return atomic_load(&l->end);
}

START_TEST(fill_of_a_known_size_is_one_lease)
{
	defaults();
	begin(10 * MIB + 5, 1);
	want(0, 10 * MIB + 5, PRIO_FILL);
	ck_assert_uint_eq(starts, 0);
	tick(0);
	ck_assert_uint_eq(starts, 1);
	ck_assert_uint_eq(started[0]->off, 0);
	ck_assert_uint_eq(end_of(started[0]), 10 * MIB + 5);
	ck_assert_int_eq(started[0]->prio, PRIO_FILL);
	answer(0, MS, 20 * MS);
	finish(started[0], VERDICT_PART, 10 * MIB + 5);
	ck_assert_uint_eq(satisfied, 1);
	ck_assert_uint_eq(tick(SEC), UINT64_MAX);
	sched_task_close(s, task, now);
	sched_free(s);
	rangeset_done(&have);
}
END_TEST

/* As the engine tells it: the connection only with the answer. */
static void answer_late(unsigned int n, uint64_t connect_us, uint64_t setup_us, uint64_t ttfb_us)
{
	uint64_t asked = now + setup_us;

	now = asked + ttfb_us;
	sched_lease_connected(s, started[n], connect_us, asked);
	sched_lease_answered(s, started[n], now);
}

START_TEST(set_up_and_first_byte_are_told_apart)
{
	struct sched_origin_info info;

	defaults();
	begin(64 * MIB, 1);
	for (unsigned int i = 0; i < 4; i++) {
		struct sched_want *w = want(i * 16 * MIB, i * 16 * MIB + BLOCK_SIZE, PRIO_DEMAND);

		tick(0);
		ck_assert_uint_eq(starts, i + 1);
		/* A new connection with a handshake of TLS, then the same one. */
		if (i == 0)
			answer_late(i, 10 * MS, 30 * MS, 200 * MS);
		else
			answer_late(i, 0, 0, 200 * MS);
		finish(started[i], VERDICT_PART, started[i]->off + BLOCK_SIZE);
		sched_want_remove(s, w, now);
		sched_origin_info(origin[0], &info);
		ck_assert_uint_eq(info.ttfb_us, 200 * MS);
		ck_assert_uint_eq(info.rtt_us, 10 * MS);
		/* Without a connection the next one costs both, however often this one was used. */
		ck_assert_uint_eq(origin_cost_us(origin[0], now), 200 * MS);
		ck_assert_uint_eq(origin_cost_us(origin[0], now + 60 * SEC), 230 * MS);
	}
	sched_task_close(s, task, now);
	sched_free(s);
	rangeset_done(&have);
}
END_TEST

START_TEST(what_is_there_is_satisfied_by_the_next_tick)
{
	struct sched_want *w;

	defaults();
	begin(MIB, 1);
	rangeset_add(&have, range_make(0, MIB));
	want(0, MIB, PRIO_BACKFILL);
	w = want(0, 4096, PRIO_DEMAND);
	tick(0);
	ck_assert_uint_eq(satisfied, 1);
	ck_assert_uint_eq(starts, 0);
	sched_want_remove(s, w, now);
	sched_task_close(s, task, now);
	sched_free(s);
	rangeset_done(&have);
}
END_TEST

START_TEST(demands_are_widened_and_merged_with_what_follows)
{
	defaults();
	begin(64 * MIB, 1);
	want(100, 200, PRIO_DEMAND);
	want(BLOCK_SIZE, 3 * BLOCK_SIZE - 7, PRIO_DEMAND);
	want(3 * BLOCK_SIZE, 16 * BLOCK_SIZE, PRIO_WINDOW);
	want(0, 64 * MIB, PRIO_BACKFILL);
	tick(0);
	ck_assert_uint_eq(starts, 1);
	ck_assert_uint_eq(started[0]->off, 0);
	ck_assert_uint_eq(end_of(started[0]), 16 * BLOCK_SIZE);
	ck_assert_int_eq(started[0]->prio, PRIO_DEMAND);
	finish(started[0], VERDICT_PART, 16 * BLOCK_SIZE);
	/* The rest goes to backfill. */
	ck_assert_uint_eq(starts, 2);
	ck_assert_uint_eq(started[1]->off, 16 * BLOCK_SIZE);
	sched_task_close(s, task, now);
	finish(started[1], VERDICT_CANCELLED, 0);
	sched_free(s);
	rangeset_done(&have);
}
END_TEST

START_TEST(a_demand_near_ahead_waits_for_the_lease)
{
	struct lease *l;

	defaults();
	cfg.connections = 1;
	begin(1024 * MIB, 1);
	want(0, 1024 * MIB, PRIO_BACKFILL);
	tick(0);
	l = answer(0, MS, 20 * MS);
	bring(l, 0, 10 * MIB, 50 * MIB);
	/* 20 ms to the first byte of another request; 512 KiB take 10 ms */
	want(10 * MIB + 512 * KIB, 10 * MIB + 512 * KIB + 4096, PRIO_DEMAND);
	tick(0);
	ck_assert_uint_eq(starts, 1);
	ck_assert_uint_eq(shrinks, 0);
	ck_assert_int_eq(l->prio, PRIO_DEMAND);
	sched_task_close(s, task, now);
	finish(l, VERDICT_CANCELLED, 10 * MIB);
	sched_free(s);
	rangeset_done(&have);
}
END_TEST

START_TEST(a_demand_far_ahead_cuts_the_lease_and_holds_it)
{
	struct lease *l;
	struct sched_want *w;

	defaults();
	cfg.connections = 1;
	begin(1024 * MIB, 1);
	want(0, 1024 * MIB, PRIO_BACKFILL);
	tick(0);
	l = answer(0, MS, 20 * MS);
	bring(l, 0, 10 * MIB, 50 * MIB);
	w = want(500 * MIB, 500 * MIB + 4096, PRIO_DEMAND);
	tick(0);
	ck_assert_uint_eq(end_of(l), 500 * MIB);
	ck_assert_uint_eq(shrinks, 1);
	ck_assert_uint_eq(starts, 2);
	ck_assert_uint_eq(started[1]->off, 500 * MIB);
	ck_assert_uint_eq(end_of(started[1]), 500 * MIB + BLOCK_SIZE);
	ck_assert_uint_eq(holds, 1);
	ck_assert(last_held == l && last_hold);
	/* Bytes there, reader answered: others go on at once. */
	answer(1, 0, 20 * MS);
	rangeset_add(&have, range_make(500 * MIB, 500 * MIB + BLOCK_SIZE));
	sched_want_remove(s, w, now);
	tick(0);
	ck_assert(last_held == l && !last_hold);
	sched_task_close(s, task, now);
	finish(started[1], VERDICT_PART, 500 * MIB + BLOCK_SIZE);
	finish(l, VERDICT_CANCELLED, 10 * MIB);
	sched_free(s);
	rangeset_done(&have);
}
END_TEST

START_TEST(a_hold_leaves_five_percent)
{
	struct lease *l;
	uint64_t held = 0, begun, due;

	defaults();
	cfg.connections = 1;
	cfg.retry_time_us = 0;
	begin(1024 * MIB, 1);
	want(0, 512 * MIB, PRIO_BACKFILL);
	tick(0);
	l = answer(0, MS, 20 * MS);
	bring(l, 0, 10 * MIB, 50 * MIB);
	want(900 * MIB, 900 * MIB + 4096, PRIO_DEMAND);
	due = tick(0);
	begun = now;
	while (now < begun + 10 * SEC) {
		bool on = last_held == l && last_hold;
		uint64_t step = min_u64(due - now, 10 * MS);

		/* The demand's answer never comes; its transfer trickles so that nobody calls it
		 * stuck. */
		if (on)
			held += step;
		due = tick(step);
	}
	ck_assert_uint_ge(held, 9 * SEC);
	ck_assert_uint_le(held, 97 * SEC / 10);
	sched_task_close(s, task, now);
	for (unsigned int i = 1; i < starts; i++)
		finish(started[i], VERDICT_CANCELLED, 0);
	finish(l, VERDICT_CANCELLED, 10 * MIB);
	sched_free(s);
	rangeset_done(&have);
}
END_TEST

START_TEST(a_demand_takes_the_slot_of_the_lowest)
{
	defaults();
	cfg.max_per_origin = 1;
	begin(1024 * MIB, 1);
	want(0, 512 * MIB, PRIO_BACKFILL);
	tick(0);
	ck_assert_uint_eq(starts, 1);
	want(900 * MIB, 900 * MIB + 1, PRIO_DEMAND);
	tick(0);
	ck_assert_uint_eq(cancels, 1);
	ck_assert_ptr_eq(last_cancelled, started[0]);
	ck_assert(last_at_once);
	/* Not before the server is rid of the other: it counts them as well. */
	tick(MS);
	ck_assert_uint_eq(cancels, 1);
	ck_assert_uint_eq(starts, 1);
	finish(started[0], VERDICT_CANCELLED, 0);
	ck_assert_uint_eq(starts, 2);
	ck_assert_int_eq(started[1]->prio, PRIO_DEMAND);
	/* Two demands: nobody to take a slot from. */
	want(700 * MIB, 700 * MIB + 1, PRIO_DEMAND);
	tick(0);
	ck_assert_uint_eq(starts, 2);
	ck_assert_uint_eq(cancels, 1);
	finish(started[1], VERDICT_PART, 900 * MIB + BLOCK_SIZE);
	ck_assert_uint_eq(starts, 3);
	ck_assert_uint_eq(started[2]->off, 700 * MIB);
	sched_task_close(s, task, now);
	finish(started[2], VERDICT_CANCELLED, 0);
	sched_free(s);
	rangeset_done(&have);
}
END_TEST

/* Those who wait displace one each, and no more. */
START_TEST(as_many_are_displaced_as_demands_wait)
{
	struct sched_task *other[2];
	struct sched_want *w;
	bool ended[MAX] = {false};
	enum verdict why;

	defaults();
	cfg.connections = 4;
	begin(1024 * MIB, 1);
	want(0, 1024 * MIB, PRIO_BACKFILL);
	tick(0);
	ck_assert_uint_eq(starts, 4);
	for (unsigned int i = 0; i < 2; i++) {
		ck_assert_int_eq(sched_task_new(s, MIB, origin, 1, NULL, &other[i]), 0);
		ck_assert_int_eq(sched_want_add(s, other[i], range_make(0, 1), PRIO_DEMAND, NULL,
						now, &w, &why),
				 0);
	}
	tick(0);
	ck_assert_uint_eq(cancels, 2);
	ck_assert_uint_eq(starts, 4);
	for (unsigned int i = 0; i < 4; i++) {
		ended[i] = cancelled(started[i]);
		if (ended[i])
			finish(started[i], VERDICT_CANCELLED, 0);
	}
	ck_assert_uint_eq(starts, 6);
	ck_assert_int_eq(started[4]->prio, PRIO_DEMAND);
	ck_assert_int_eq(started[5]->prio, PRIO_DEMAND);
	ck_assert_uint_eq(cancels, 2);
	for (unsigned int i = 0; i < 2; i++)
		sched_task_close(s, other[i], now);
	sched_task_close(s, task, now);
	for (unsigned int i = 0; i < starts; i++) {
		if (!ended[i])
			finish(started[i], VERDICT_CANCELLED, 0);
	}
	sched_free(s);
	rangeset_done(&have);
}
END_TEST

/* What ends in its own time has a slot until then; who waits for that makes it hurry. */
START_TEST(one_that_is_ending_is_told_to_hurry)
{
	struct sched_task *other;
	struct sched_want *w;
	enum verdict why;

	defaults();
	cfg.max_per_origin = 1;
	begin(MIB, 1);
	ck_assert_int_eq(sched_task_new(s, MIB, origin, 1, NULL, &other), 0);
	ck_assert_int_eq(sched_want_add(s, other, range_make(0, 1), PRIO_DEMAND, NULL, now, &w,
					&why),
			 0);
	tick(0);
	ck_assert_uint_eq(starts, 1);
	sched_task_close(s, other, now);
	ck_assert_uint_eq(cancels, 1);
	ck_assert(!last_at_once);
	want(0, MIB, PRIO_FILL);
	tick(0);
	ck_assert_uint_eq(cancels, 1);
	ck_assert_uint_eq(starts, 1);
	want(0, 1, PRIO_DEMAND);
	tick(0);
	ck_assert_uint_eq(cancels, 2);
	ck_assert(last_at_once);
	ck_assert_uint_eq(starts, 1);
	tick(0);
	ck_assert_uint_eq(cancels, 2);
	finish(started[0], VERDICT_CANCELLED, 0);
	ck_assert_uint_eq(starts, 2);
	ck_assert_int_eq(started[1]->prio, PRIO_DEMAND);
	sched_task_close(s, task, now);
	finish(started[1], VERDICT_CANCELLED, 0);
	sched_free(s);
	rangeset_done(&have);
}
END_TEST

START_TEST(a_covered_window_raises_its_lease)
{
	struct lease *l;

	defaults();
	cfg.connections = 1;
	cfg.max_per_origin = 1;
	begin(1024 * MIB, 1);
	want(0, 1024 * MIB, PRIO_BACKFILL);
	tick(0);
	l = answer(0, MS, 20 * MS);
	bring(l, 0, 10 * MIB, 50 * MIB);
	want(500 * MIB, 510 * MIB, PRIO_WINDOW);
	tick(0);
	/* Covered by the backfill: it is not cut for read-ahead. */
	ck_assert_uint_eq(shrinks, 0);
	ck_assert_int_eq(l->prio, PRIO_WINDOW);
	sched_task_close(s, task, now);
	finish(l, VERDICT_CANCELLED, 10 * MIB);
	sched_free(s);
	rangeset_done(&have);
}
END_TEST

START_TEST(window_asks_backfill_to_end_soon)
{
	struct lease *l;

	defaults();
	cfg.max_per_origin = 1;
	begin(1024 * MIB, 1);
	want(0, 512 * MIB, PRIO_BACKFILL);
	tick(0);
	l = answer(0, MS, 20 * MS);
	bring(l, 0, 10 * MIB, 50 * MIB);
	want(600 * MIB, 610 * MIB, PRIO_WINDOW);
	tick(0);
	ck_assert_uint_eq(starts, 1);
	ck_assert_uint_eq(shrinks, 1);
	ck_assert_uint_le(end_of(l), 11 * MIB);
	tick(0);
	ck_assert_uint_eq(shrinks, 1);
	finish(l, VERDICT_PART, end_of(l));
	ck_assert_uint_eq(starts, 2);
	ck_assert_uint_eq(started[1]->off, 600 * MIB);
	sched_task_close(s, task, now);
	finish(started[1], VERDICT_CANCELLED, 0);
	sched_free(s);
	rangeset_done(&have);
}
END_TEST

START_TEST(mirrors_in_order_and_the_end_of_all)
{
	struct sched_want *w;
	enum verdict why = VERDICT_PART;

	defaults();
	begin(MIB, 2);
	want(0, MIB, PRIO_FILL);
	tick(0);
	ck_assert_uint_eq(started[0]->source, 0);
	finish(started[0], VERDICT_WRONG_RANGE, 0);
	ck_assert_uint_eq(starts, 2);
	ck_assert_uint_eq(started[1]->source, 1);
	/* 404 of a resolved address: asked once more, then believed. */
	finish(started[1], VERDICT_GONE, 0);
	ck_assert_uint_eq(starts, 3);
	ck_assert_uint_eq(started[2]->source, 1);
	ck_assert_uint_eq(failed, 0);
	finish(started[2], VERDICT_GONE, 0);
	ck_assert_uint_eq(failed, 1);
	ck_assert_int_eq(last_why, VERDICT_WRONG_RANGE);
	ck_assert_int_eq(sched_want_add(s, task, range_make(0, 1), PRIO_DEMAND, NULL, now, &w,
					&why),
			 -EIO);
	ck_assert_int_eq(why, VERDICT_WRONG_RANGE);
	sched_task_forgive(s, task, now);
	want(0, 1, PRIO_DEMAND);
	tick(0);
	ck_assert_uint_eq(starts, 4);
	sched_task_close(s, task, now);
	finish(started[3], VERDICT_CANCELLED, 0);
	sched_free(s);
	rangeset_done(&have);
}
END_TEST

START_TEST(a_broken_transfer_goes_on_where_it_was)
{
	struct lease *l;

	defaults();
	begin(64 * MIB, 1);
	want(0, 64 * MIB, PRIO_FILL);
	tick(0);
	l = answer(0, MS, MS);
	rangeset_add(&have, range_make(0, 10 * MIB));
	sched_lease_ended(s, l, VERDICT_RESET, 10 * MIB + 100, 0, now);
	/* It brought something: again at once, from the last whole block, also before it is
	 * written. */
	tick(0);
	ck_assert_uint_eq(starts, 2);
	ck_assert_uint_eq(started[1]->off, 10 * MIB);
	sched_lease_written(s, l, now);
	/* It brings nothing: with a pause, twice as long each time. */
	sched_lease_ended(s, started[1], VERDICT_RESET, 10 * MIB, 0, now);
	sched_lease_written(s, started[1], now);
	tick(0);
	ck_assert_uint_eq(starts, 2);
	ck_assert_uint_le(tick(0), now + 100 * MS);
	tick(100 * MS);
	ck_assert_uint_eq(starts, 3);
	sched_task_close(s, task, now);
	finish(started[2], VERDICT_CANCELLED, 0);
	sched_free(s);
	rangeset_done(&have);
}
END_TEST

static uint64_t banned_until(void)
{
	struct sched_origin_info info;

	sched_origin_info(origin[0], &info);
	return info.banned_until_us;
}

/* One file of a server is answered with 503, always; the others well. */
START_TEST(a_busy_url_is_not_a_busy_origin)
{
	struct sched_task *other;
	struct sched_want *w;
	enum verdict why;

	defaults();
	begin(MIB, 1);
	ck_assert_int_eq(sched_task_new(s, MIB, origin, 1, NULL, &other), 0);
	want(0, MIB, PRIO_FILL);
	tick(0);
	finish(started[0], VERDICT_BUSY, 0);
	ck_assert_uint_gt(banned_until(), now);
	sched_want_add(s, other, range_make(0, MIB), PRIO_FILL, NULL, now, &w, &why);
	/* It is the test as well, which fails; until it is the other's turn. */
	for (unsigned int i = 0; i < 3 && asked_for != other; i++) {
		tick(banned_until() - now);
		if (asked_for != other)
			finish(started[starts - 1], VERDICT_BUSY, 0);
	}
	ck_assert_ptr_eq(asked_for, other);
	answer(starts - 1, MS, MS);
	tick(0);
	ck_assert_ptr_eq(asked_for, task);
	/* Of what it says now the others need not hear. */
	finish(started[starts - 1], VERDICT_BUSY, 0);
	ck_assert_uint_eq(banned_until(), 0);
	ck_assert_uint_ge(sched_tick(s, now), now + RETRY_SOURCE_FIRST_US / 2);
	sched_task_close(s, task, now);
	sched_task_close(s, other, now);
	finish(started[starts - 2], VERDICT_CANCELLED, 0);
	sched_free(s);
	rangeset_done(&have);
}
END_TEST

START_TEST(what_is_complete_does_not_wait_for_a_ban)
{
	struct sched_task *other;
	struct sched_want *w;
	enum verdict why;
	struct lease *l;

	defaults();
	begin(MIB, 1);
	ck_assert_int_eq(sched_task_new(s, MIB, origin, 1, NULL, &other), 0);
	want(0, MIB, PRIO_FILL);
	tick(0);
	l = answer(0, MS, MS);
	sched_want_add(s, other, range_make(MIB / 2, MIB), PRIO_FILL, NULL, now, &w, &why);
	tick(0);
	ck_assert_uint_eq(starts, 2);
	finish(started[1], VERDICT_BUSY, 0);
	ck_assert_uint_gt(banned_until(), now);
	finish(l, VERDICT_PART, MIB);
	ck_assert_uint_ge(satisfied, 1);
	sched_task_close(s, task, now);
	sched_task_close(s, other, now);
	sched_free(s);
	rangeset_done(&have);
}
END_TEST

START_TEST(a_ban_ends_with_one_test_request)
{
	struct sched_origin_info info;
	struct sched_task *other;
	struct sched_want *w;
	enum verdict why;
	uint64_t due;

	defaults();
	begin(MIB, 1);
	ck_assert_int_eq(sched_task_new(s, MIB, origin, 1, NULL, &other), 0);
	want(0, MIB, PRIO_FILL);
	sched_want_add(s, other, range_make(0, MIB), PRIO_FILL, NULL, now, &w, &why);
	tick(0);
	ck_assert_uint_eq(starts, 2);
	sched_lease_ended(s, started[0], VERDICT_BUSY, 0, 5 * SEC, now);
	sched_lease_ended(s, started[1], VERDICT_BUSY, 0, 3 * SEC, now);
	sched_lease_written(s, started[0], now);
	sched_lease_written(s, started[1], now);
	due = tick(0);
	ck_assert_uint_eq(starts, 2);
	sched_origin_info(origin[0], &info);
	ck_assert_uint_ge(info.banned_until_us, now + 5 * SEC);
	ck_assert_uint_le(info.banned_until_us, now + 6 * SEC);
	/* halved once for one burst */
	ck_assert_uint_eq(info.budget, 2);
	ck_assert_uint_eq(due, info.banned_until_us);
	tick(due - now - 1);
	ck_assert_uint_eq(starts, 2);
	tick(1);
	ck_assert_uint_eq(starts, 3);
	answer(2, MS, MS);
	tick(0);
	/* it is answered: the others too */
	ck_assert_uint_eq(starts, 4);
	sched_task_close(s, task, now);
	sched_task_close(s, other, now);
	finish(started[2], VERDICT_CANCELLED, 0);
	finish(started[3], VERDICT_CANCELLED, 0);
	sched_free(s);
	rangeset_done(&have);
}
END_TEST

/* Asked at a, answered by b: the ban is b's, and what leads there waits for it. */
START_TEST(a_ban_may_be_tested_before_its_end)
{
	defaults();
	begin(MIB, 1);
	sched_origin_test(s, origin[0], now);
	want(0, BLOCK_SIZE, PRIO_FILL);
	want(2 * BLOCK_SIZE, 3 * BLOCK_SIZE, PRIO_FILL);
	tick(0);
	for (int i = 0; i < 8; i++) {
		finish(started[starts - 1], VERDICT_CONNECT, 0);
		tick(tick(0) - now);
	}
	finish(started[starts - 1], VERDICT_CONNECT, 0);
	ck_assert_uint_gt(tick(0), now + 20 * SEC);
	starts = 0;
	sched_origin_test(s, origin[0], now);
	tick(0);
	ck_assert_uint_eq(starts, 1); /* one alone */
	tick(SEC);
	ck_assert_uint_eq(starts, 1);
	finish(started[0], VERDICT_CONNECT, 0); /* and the next ban is no shorter for it */
	ck_assert_uint_eq(starts, 1);
	ck_assert_uint_gt(tick(0), now + 20 * SEC);
	sched_task_close(s, task, now);
	sched_free(s);
	rangeset_done(&have);
}
END_TEST

START_TEST(a_redirect_is_judged_where_it_leads)
{
	struct sched_task *other, *direct;
	struct sched_origin_info a, b;
	struct sched_want *w;
	enum verdict why;

	defaults();
	begin(64 * MIB, 1);
	ck_assert_int_eq(sched_task_new(s, MIB, origin, 1, NULL, &other), 0);
	ck_assert_int_eq(sched_task_new(s, 64 * MIB, origin + 1, 1, NULL, &direct), 0);
	want(10 * MIB, 10 * MIB + 1, PRIO_DEMAND);
	tick(0);
	ck_assert_uint_eq(starts, 1);
	sched_source_set_origin(s, task, 0, origin[1]);
	sched_lease_set_origin(s, started[0], origin[1], now);
	sched_check(s);
	sched_origin_info(origin[0], &a);
	sched_origin_info(origin[1], &b);
	ck_assert_uint_eq(a.running, 0);
	ck_assert_uint_eq(b.running, 1);
	sched_lease_ended(s, started[0], VERDICT_BUSY, 10 * MIB, 20 * SEC, now);
	sched_lease_written(s, started[0], now);
	tick(0);
	sched_origin_info(origin[0], &a);
	sched_origin_info(origin[1], &b);
	ck_assert_uint_eq(a.banned_until_us, 0);
	ck_assert_uint_ge(b.banned_until_us, now + 20 * SEC);
	ck_assert_uint_eq(b.running, 0);

	ck_assert_int_eq(sched_want_add(s, other, range_make(0, 1), PRIO_DEMAND, NULL, now, &w,
					&why),
			 0);
	ck_assert_int_eq(sched_want_add(s, direct, range_make(20 * MIB, 20 * MIB + 1), PRIO_DEMAND,
					NULL, now, &w, &why),
			 0);
	tick(SEC);
	ck_assert_uint_eq(starts, 2);
	ck_assert_ptr_eq(started[1]->task, other);
	finish(started[1], VERDICT_PART, MIB);
	/* One test request at the end of the ban. */
	tick(b.banned_until_us - now);
	ck_assert_uint_eq(starts, 3);
	finish(started[2], VERDICT_PART, end_of(started[2]));
	ck_assert_uint_eq(starts, 4);
	sched_task_close(s, task, now);
	sched_task_close(s, other, now);
	sched_task_close(s, direct, now);
	finish(started[3], VERDICT_CANCELLED, 0);
	sched_free(s);
	rangeset_done(&have);
}
END_TEST

/* Back where it was asked, and on to a third: each move keeps the counts. */
START_TEST(a_lease_moves_as_often_as_it_likes)
{
	struct sched_origin_info a, b, c;
	struct sched_origin *third;

	defaults();
	begin(64 * MIB, 1);
	third = sched_origin_get(s, "http://c:80");
	want(0, 1, PRIO_DEMAND);
	tick(0);
	sched_lease_set_origin(s, started[0], origin[1], now);
	sched_check(s);
	sched_lease_set_origin(s, started[0], third, now);
	sched_check(s);
	sched_lease_set_origin(s, started[0], origin[0], now);
	sched_check(s);
	sched_origin_info(origin[0], &a);
	sched_origin_info(origin[1], &b);
	sched_origin_info(third, &c);
	ck_assert_uint_eq(a.running, 1);
	ck_assert_uint_eq(b.running + c.running, 0);
	sched_lease_set_origin(s, started[0], third, now);
	sched_task_close(s, task, now);
	sched_check(s);
	sched_lease_set_origin(s, started[0], origin[1], now);
	finish(started[0], VERDICT_CANCELLED, 0);
	sched_free(s);
	rangeset_done(&have);
}
END_TEST

START_TEST(a_whole_body_serves_everything)
{
	struct lease *l;

	defaults();
	begin(64 * MIB, 1);
	want(10 * MIB, 10 * MIB + 1, PRIO_DEMAND);
	tick(0);
	l = started[0];
	ck_assert(sched_lease_whole(s, l, now));
	ck_assert_uint_eq(l->off, 0);
	ck_assert_uint_eq(end_of(l), 64 * MIB);
	sched_lease_answered(s, l, now);
	want(60 * MIB, 60 * MIB + 1, PRIO_DEMAND);
	want(0, 64 * MIB, PRIO_BACKFILL);
	tick(0);
	ck_assert_uint_eq(starts, 1);
	ck_assert_uint_eq(shrinks, 0);
	/* It breaks: from 0 again. */
	bring(l, 0, 20 * MIB, 100 * MIB);
	finish(l, VERDICT_RESET, 20 * MIB);
	ck_assert_uint_eq(starts, 2);
	ck_assert_uint_eq(started[1]->off, 0);
	ck_assert_uint_eq(end_of(started[1]), 64 * MIB);
	sched_task_close(s, task, now);
	finish(started[1], VERDICT_CANCELLED, 0);
	sched_free(s);
	rangeset_done(&have);
}
END_TEST

/* Far from the start one whole body is no proof; two in a row are. */
START_TEST(one_whole_body_may_be_a_bad_moment)
{
	defaults();
	begin(1024 * MIB, 1);
	want(512 * MIB, 512 * MIB + 1, PRIO_DEMAND);
	tick(0);
	ck_assert(!sched_lease_whole(s, started[0], now));
	finish(started[0], VERDICT_CANCELLED, 0);
	ck_assert_uint_eq(starts, 2);
	ck_assert_uint_eq(started[1]->off, 512 * MIB);
	ck_assert(!started[1]->unranged);
	ck_assert(sched_lease_whole(s, started[1], now));
	ck_assert_uint_eq(started[1]->off, 0);
	/* It breaks: everything is asked for, and after a while a range again. */
	sched_lease_answered(s, started[1], now);
	finish(started[1], VERDICT_RESET, BLOCK_SIZE);
	ck_assert_uint_eq(starts, 3);
	ck_assert(started[2]->unranged);
	ck_assert_uint_eq(started[2]->off, 0);
	tick(30000 * MS);
	finish(started[2], VERDICT_RESET, 2 * BLOCK_SIZE);
	tick(MS);
	ck_assert_uint_eq(starts, 4);
	ck_assert(!started[3]->unranged);
	ck_assert_uint_eq(started[3]->off, 512 * MIB);
	sched_task_close(s, task, now);
	finish(started[3], VERDICT_CANCELLED, 0);
	sched_free(s);
	rangeset_done(&have);
}
END_TEST

/* A demand far behind a body from 0 has its source asked whether that must be. */
START_TEST(a_far_demand_doubts_a_whole_body)
{
	struct lease *l;

	defaults();
	begin(1024 * MIB, 1);
	want(0, 1024 * MIB, PRIO_FILL);
	tick(0);
	l = started[0];
	ck_assert(sched_lease_whole(s, l, now));
	sched_lease_answered(s, l, now);
	bring(l, 0, 10 * MIB, 50 * MIB);
	want(900 * MIB, 900 * MIB + 1, PRIO_DEMAND);
	tick(0);
	ck_assert_uint_eq(starts, 2);
	ck_assert(started[1]->probe);
	ck_assert_uint_eq(started[1]->off, 900 * MIB);
	/* No ranges: not asked again soon. */
	ck_assert(!sched_lease_whole(s, started[1], now));
	finish(started[1], VERDICT_PART, 900 * MIB);
	bring(l, 10 * MIB, 20 * MIB, 50 * MIB);
	tick(100 * MS);
	ck_assert_uint_eq(starts, 2);
	/* Later it is, and has: the demand gets a request of its own, the body from 0 goes on. */
	bring(l, 20 * MIB, 45 * MIB, MIB);
	tick(0);
	ck_assert_uint_ge(starts, 3);
	ck_assert(started[2]->probe);
	sched_lease_answered(s, started[2], now);
	finish(started[2], VERDICT_PART, 900 * MIB);
	tick(0);
	ck_assert_uint_eq(starts, 4);
	ck_assert_uint_eq(started[3]->off, 900 * MIB);
	ck_assert_uint_eq(end_of(l), 900 * MIB);
	sched_task_close(s, task, now);
	finish(l, VERDICT_CANCELLED, 0);
	finish(started[3], VERDICT_CANCELLED, 0);
	sched_free(s);
	rangeset_done(&have);
}
END_TEST

START_TEST(a_whole_body_is_refused_when_a_mirror_has_ranges)
{
	defaults();
	begin(64 * MIB, 2);
	want(10 * MIB, 10 * MIB + 1, PRIO_DEMAND);
	tick(0);
	ck_assert(!sched_lease_whole(s, started[0], now));
	finish(started[0], VERDICT_CANCELLED, 0);
	ck_assert_uint_eq(starts, 2);
	ck_assert_uint_eq(started[1]->source, 1);
	ck_assert_uint_eq(started[1]->off, 10 * MIB);
	sched_task_close(s, task, now);
	finish(started[1], VERDICT_CANCELLED, 0);
	sched_free(s);
	rangeset_done(&have);
}
END_TEST

START_TEST(an_unknown_size_is_one_open_lease)
{
	struct lease *l;

	defaults();
	begin(SIZE_UNKNOWN, 1);
	want(0, SIZE_UNKNOWN, PRIO_FILL);
	tick(0);
	ck_assert_uint_eq(starts, 1);
	l = answer(0, MS, MS);
	ck_assert_uint_eq(end_of(l), SIZE_UNKNOWN);
	sched_task_set_size(s, task, 3 * MIB + 1, now);
	ck_assert_uint_eq(end_of(l), 3 * MIB + 1);
	tick(0);
	ck_assert_uint_eq(starts, 1);
	finish(l, VERDICT_PART, 3 * MIB + 1);
	ck_assert_uint_eq(satisfied, 1);
	sched_task_close(s, task, now);
	sched_free(s);
	rangeset_done(&have);
}
END_TEST

START_TEST(a_body_without_a_length_tells_the_size_at_its_end)
{
	struct lease *l;

	defaults();
	begin(SIZE_UNKNOWN, 1);
	want(0, SIZE_UNKNOWN, PRIO_FILL);
	tick(0);
	l = started[0];
	ck_assert(sched_lease_whole(s, l, now));
	sched_lease_answered(s, l, now);
	finish(l, VERDICT_WHOLE, 12345);
	ck_assert_uint_eq(starts, 1);
	ck_assert_uint_eq(satisfied, 1);
	sched_task_close(s, task, now);
	sched_free(s);
	rangeset_done(&have);
}
END_TEST

START_TEST(nobody_wants_it_any_more)
{
	struct lease *l;
	struct sched_want *w;

	defaults();
	cfg.connections = 1;
	begin(1024 * MIB, 1);
	w = want(0, 1024 * MIB, PRIO_FILL);
	want(0, 4 * MIB, PRIO_BACKFILL);
	tick(0);
	l = answer(0, MS, 20 * MS);
	bring(l, 0, 2 * MIB, 50 * MIB);
	sched_want_remove(s, w, now);
	tick(0);
	/* What backfill wants, and no more. */
	ck_assert_uint_eq(end_of(l), 4 * MIB);
	ck_assert_int_eq(l->prio, PRIO_BACKFILL);
	sched_task_close(s, task, now);
	finish(l, VERDICT_CANCELLED, 2 * MIB);
	sched_free(s);
	rangeset_done(&have);
}
END_TEST

/* One flow fills the link, and what is tried beside it gets nothing. */
START_TEST(a_trial_without_a_share_gives_its_range_back)
{
	uint64_t at = 0, slow, last;
	struct lease *l;

	defaults();
	begin(256 * MIB, 1);
	want(0, 256 * MIB, PRIO_FILL);
	tick(0);
	ck_assert_uint_eq(starts, 1);
	l = answer(0, 20 * MS, 20 * MS);
	for (; starts == 1 && at < 64 * MIB; at += MIB / 2)
		bring(l, at, at + MIB / 2, 8 * MIB);
	ck_assert_uint_eq(starts, 2);
	slow = started[1]->off;
	ck_assert_uint_eq(end_of(l), slow);
	answer(1, 20 * MS, 20 * MS);
	for (uint64_t n = 0; cancels == 0 && n < 64; n++, at += MIB / 2) {
		bring(started[1], slow + n * 4096, slow + (n + 1) * 4096, 8 * MIB);
		bring(l, at, at + MIB / 2, 8 * MIB);
	}
	ck_assert(cancelled(started[1]));
	ck_assert(!lease_priv(started[1])->stalled);
	finish(started[1], VERDICT_CANCELLED, slow + 2 * BLOCK_SIZE);
	ck_assert_uint_eq(end_of(l), 256 * MIB);
	ck_assert_uint_eq(starts, 2);

	/* The next trial has the end of the work, and is let be when it is refused as well. */
	for (; starts == 2 && at < 128 * MIB; at += MIB / 2)
		bring(l, at, at + MIB / 2, 8 * MIB);
	ck_assert_uint_eq(starts, 3);
	last = started[2]->off;
	ck_assert_uint_eq(end_of(l), last);
	ck_assert_uint_eq(end_of(started[2]), 256 * MIB);
	ck_assert_uint_ge(last, 250 * MIB);
	answer(2, 20 * MS, 20 * MS);
	for (uint64_t n = 0; n < 32; n++, at += MIB / 2) {
		bring(started[2], last + n * 4096, last + (n + 1) * 4096, 8 * MIB);
		bring(l, at, at + MIB / 2, 8 * MIB);
	}
	ck_assert_uint_eq(cancels, 1);
	finish(started[2], VERDICT_PART, 256 * MIB);
	ck_assert_uint_eq(starts, 3);
	finish(l, VERDICT_PART, last);
	ck_assert_uint_eq(satisfied, 1);
	sched_task_close(s, task, now);
	sched_free(s);
	rangeset_done(&have);
}
END_TEST

/* At its end flows of one link differ by little: a cut there costs more than it brings. */
START_TEST(no_steal_for_a_gain_that_does_not_count)
{
	struct sched_stats st;

	defaults();
	cfg.connections = 2;
	begin(64 * MIB, 1);
	want(0, 64 * MIB, PRIO_FILL);
	tick(0);
	ck_assert_uint_eq(starts, 2);
	answer(0, MS, MS);
	answer(1, MS, MS);
	/* Twelve seconds; the other one's last MiB takes a fifth, half of it is a 128th. */
	for (uint64_t at = 0; at < 31; at++) {
		bring(started[0], at * MIB, (at + 1) * MIB, 5 * MIB);
		bring(started[1], (32 + at) * MIB, (33 + at) * MIB, 5 * MIB);
	}
	bring(started[0], 31 * MIB, 32 * MIB - BLOCK_SIZE, 5 * MIB);
	finish(started[0], VERDICT_PART, 32 * MIB);
	sched_stats(s, &st);
	ck_assert_uint_eq(st.steals, 0);
	ck_assert_uint_eq(starts, 2);
	finish(started[1], VERDICT_PART, 64 * MIB);
	sched_task_close(s, task, now);
	sched_free(s);
	rangeset_done(&have);
}
END_TEST

START_TEST(the_users_number_of_connections_is_taken_at_once)
{
	struct sched_stats st;

	defaults();
	cfg.connections = 4;
	begin(64 * MIB, 1);
	want(0, 64 * MIB, PRIO_FILL);
	tick(0);
	ck_assert_uint_eq(starts, 4);
	for (unsigned int i = 0; i < 4; i++) {
		ck_assert_uint_eq(started[i]->off, 16 * MIB * i);
		ck_assert_uint_eq(end_of(started[i]), 16 * MIB * (i + 1));
		answer(i, MS, MS);
	}
	/* One is through: it takes half of another's rest. */
	bring(started[1], 16 * MIB, 17 * MIB, 10 * MIB);
	bring(started[2], 32 * MIB, 33 * MIB, 10 * MIB);
	bring(started[3], 48 * MIB, 49 * MIB, 10 * MIB);
	finish(started[0], VERDICT_PART, 16 * MIB);
	ck_assert_uint_eq(starts, 5);
	sched_stats(s, &st);
	ck_assert_uint_eq(st.steals, 1);
	ck_assert_uint_eq(started[4]->off % BLOCK_SIZE, 0);
	sched_task_close(s, task, now);
	for (unsigned int i = 1; i < 5; i++)
		finish(started[i], VERDICT_CANCELLED, 0);
	sched_free(s);
	rangeset_done(&have);
}
END_TEST

START_TEST(probes)
{
	struct sched_task *other;

	defaults();
	cfg.max_per_origin = 1;
	begin(SIZE_UNKNOWN, 1);
	ck_assert_int_eq(sched_task_new(s, SIZE_UNKNOWN, origin, 1, NULL, &other), 0);
	sched_task_probe(s, other, PRIO_BACKFILL, now);
	tick(0);
	ck_assert_uint_eq(starts, 1);
	ck_assert(started[0]->probe);
	ck_assert_uint_eq(end_of(started[0]), 1);
	/* Somebody waits for this one: it does not queue behind a background question. */
	sched_task_probe(s, task, PRIO_BACKFILL, now);
	tick(0);
	ck_assert_uint_eq(starts, 1);
	sched_task_probe(s, task, PRIO_DEMAND, now);
	tick(0);
	ck_assert_uint_eq(starts, 1);
	ck_assert_ptr_eq(last_cancelled, started[0]);
	finish(started[0], VERDICT_CANCELLED, 0);
	ck_assert_uint_eq(starts, 2);
	finish(started[1], VERDICT_DENIED, 0);
	ck_assert_uint_eq(starts, 3);
	finish(started[2], VERDICT_DENIED, 0);
	ck_assert_uint_eq(probes_failed, 1);
	ck_assert_int_eq(last_why, VERDICT_DENIED);
	/* The cancelled one is asked again. */
	ck_assert_uint_eq(starts, 4);
	ck_assert_ptr_eq(started[3]->task, other);
	finish(started[3], VERDICT_PART, 1);
	ck_assert_uint_eq(probes_failed, 1);
	sched_task_close(s, task, now);
	sched_task_close(s, other, now);
	sched_free(s);
	rangeset_done(&have);
}
END_TEST

START_TEST(a_stalled_transfer_loses_its_lease)
{
	defaults();
	begin(MIB, 2);
	want(0, MIB, PRIO_DEMAND);
	tick(0);
	/* no byte, no answer: the timeouts of connecting and stalling */
	tick(29 * SEC);
	ck_assert_uint_eq(cancels, 0);
	tick(2 * SEC);
	ck_assert_uint_eq(cancels, 1);
	finish(started[0], VERDICT_CANCELLED, 0);
	ck_assert_uint_eq(starts, 2);
	ck_assert_uint_eq(started[1]->source, 1);
	/* it is answered and then stops: a reader waits, so not for long */
	answer(1, MS, 10 * MS);
	rangeset_add(&have, range_make(0, BLOCK_SIZE));
	sched_lease_progress(s, started[1], BLOCK_SIZE, now);
	for (int i = 0; i < 10 && cancels < 2; i++)
		tick(200 * MS);
	ck_assert_uint_eq(cancels, 2);
	finish(started[1], VERDICT_CANCELLED, BLOCK_SIZE);
	ck_assert_uint_eq(starts, 3);
	ck_assert_uint_eq(started[2]->off, BLOCK_SIZE);
	sched_task_close(s, task, now);
	finish(started[2], VERDICT_CANCELLED, 0);
	sched_free(s);
	rangeset_done(&have);
}
END_TEST

START_TEST(lost_bytes_are_fetched_again)
{
	defaults();
	begin(MIB, 1);
	want(0, MIB, PRIO_DEMAND);
	tick(0);
	answer(0, MS, MS);
	sched_lease_ended(s, started[0], VERDICT_PART, MIB, 0, now);
	tick(0);
	/* On its way to the disk: covered. */
	ck_assert_uint_eq(starts, 1);
	/* The disk had none of it. */
	sched_lease_written(s, started[0], now);
	tick(0);
	ck_assert_uint_eq(starts, 2);
	rangeset_add(&have, range_make(0, MIB));
	finish(started[1], VERDICT_PART, MIB);
	rangeset_remove(&have, range_make(BLOCK_SIZE, 2 * BLOCK_SIZE));
	sched_task_lost(s, task, now);
	tick(0);
	ck_assert_uint_eq(starts, 3);
	ck_assert_uint_eq(started[2]->off, BLOCK_SIZE);
	ck_assert_uint_eq(end_of(started[2]), 2 * BLOCK_SIZE);
	sched_task_close(s, task, now);
	finish(started[2], VERDICT_CANCELLED, 0);
	sched_free(s);
	rangeset_done(&have);
}
END_TEST

START_TEST(an_origin_that_nobody_uses_may_go)
{
	struct lease *l;

	defaults();
	begin(MIB, 1);
	ck_assert(sched_origin_drop(s, origin[1], now));
	ck_assert_ptr_nonnull(origin[1] = sched_origin_get(s, "http://b:80"));
	ck_assert(!sched_origin_drop(s, origin[0], now)); /* of a task */
	want(0, MIB, PRIO_FILL);
	tick(0);
	l = answer(0, MS, MS);
	sched_lease_set_origin(s, l, origin[1], now);
	tick(0);
	ck_assert(!sched_origin_drop(s, origin[1], now)); /* of a lease */
	rangeset_add(&have, range_make(0, MIB));
	sched_lease_ended(s, l, VERDICT_PART, MIB, 0, now);
	tick(0);
	ck_assert(!sched_origin_drop(s, origin[1], now)); /* of one that is being written */
	sched_lease_written(s, l, now);
	tick(0);
	ck_assert(sched_origin_drop(s, origin[1], now));
	want(0, MIB, PRIO_FILL);
	rangeset_done(&have);
	rangeset_init(&have);
	tick(0);
	finish(started[1], VERDICT_CONNECT, 0);
	sched_task_close(s, task, now);
	tick(0);
	ck_assert(!sched_origin_drop(s, origin[0], now)); /* banned */
	now += 60 * SEC;
	ck_assert(sched_origin_drop(s, origin[0], now));
	sched_free(s);
	rangeset_done(&have);
}
END_TEST

START_TEST(sources_may_be_left_alone_for_a_time)
{
	defaults();
	cfg.retry_time_us = 10 * SEC;
	begin(MIB, 2);
	sched_task_wait(s, task, now, VERDICT_CHANGED, now);
	want(0, BLOCK_SIZE, PRIO_FILL);
	tick(0);
	ck_assert_uint_eq(starts, 1);
	finish(started[0], VERDICT_PART, BLOCK_SIZE);
	sched_task_wait(s, task, now + 4 * SEC, VERDICT_CHANGED, now);
	want(2 * BLOCK_SIZE, 3 * BLOCK_SIZE, PRIO_DEMAND);
	ck_assert_int_eq(sched_task_probe(s, task, PRIO_DEMAND, now), 0);
	tick(4 * SEC - 1);
	ck_assert_uint_eq(starts, 1);
	tick(1);
	ck_assert_uint_eq(starts, 3);
	finish(started[1], VERDICT_PART, 0);
	finish(started[2], VERDICT_PART, 3 * BLOCK_SIZE);
	/* Longer than a reader has patience: it hears why. */
	sched_task_wait(s, task, now + 30 * SEC, VERDICT_CHANGED, now);
	want(5 * BLOCK_SIZE, 6 * BLOCK_SIZE, PRIO_DEMAND);
	tick(10 * SEC);
	ck_assert_uint_eq(failed, 1);
	ck_assert_int_eq(last_why, VERDICT_CHANGED);
	ck_assert_uint_eq(starts, 3);
	sched_task_close(s, task, now);
	sched_free(s);
	rangeset_done(&have);
}
END_TEST

START_TEST(nothing_happens_before_the_time_a_tick_told)
{
	uint64_t due;

	defaults();
	cfg.retry_time_us = 10 * SEC;
	begin(MIB, 1);
	want(0, MIB, PRIO_DEMAND);
	tick(0);
	finish(started[0], VERDICT_CONNECT, 0);
	while (failed == 0) {
		unsigned int before = starts;

		due = tick(0);
		ck_assert_uint_gt(due, now);
		ck_assert_uint_lt(due, now + 60 * SEC);
		tick(due - now - 1);
		ck_assert_uint_eq(starts, before);
		ck_assert_uint_eq(failed, 0);
		tick(1);
		for (unsigned int i = before; i < starts; i++)
			finish(started[i], VERDICT_CONNECT, 0);
	}
	ck_assert_int_eq(last_why, VERDICT_CONNECT);
	sched_task_close(s, task, now);
	sched_free(s);
	rangeset_done(&have);
}
END_TEST

/* ---- origins beside each other ---- */

static struct sched_task *task_at(struct sched_origin *o, uint64_t size)
{
	struct sched_task *t;

	ck_assert_int_eq(sched_task_new(s, size, &o, 1, NULL, &t), 0);
	return t;
}

/* n readers of t wait for places far from each other, beyond those before. */
static void demands(struct sched_task *t, unsigned int first, unsigned int n)
{
	struct sched_want *w;
	enum verdict why;

	for (unsigned int i = first; i < first + n; i++)
		ck_assert_int_eq(sched_want_add(s, t, range_of_length(i * 16 * MIB, BLOCK_SIZE),
						PRIO_DEMAND, NULL, now, &w, &why),
				 0);
}

static unsigned int running(const struct sched_origin *o)
{
	struct sched_origin_info info;

	sched_origin_info(o, &info);
	return info.running;
}

/* Closes the tasks and ends what was started and is not over. */
static void end_all(struct sched_task *const *tasks, unsigned int n, bool *over)
{
	for (unsigned int i = 0; i < n; i++)
		sched_task_close(s, tasks[i], now);
	for (unsigned int i = 0; i < starts; i++) {
		if (!over[i])
			finish(started[i], VERDICT_CANCELLED, 0);
	}
	sched_free(s);
	rangeset_done(&have);
}

START_TEST(demands_of_an_origin_leave_some_slots_to_others)
{
	static const struct {
		unsigned int total, per_origin, most, second, third, given_up;
	} rows[] = {
		{8, 16, 7, 1, 0, 1},	{8, 4, 4, 3, 1, 0},    {2, 16, 1, 1, 0, 0},
		{1, 16, 1, 0, 0, 0},	{32, 32, 28, 2, 1, 0}, {63, 63, 56, 4, 2, 0},
		{32, 16, 16, 12, 2, 0},
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(rows); i++) {
		struct sched_task *tasks[3];
		bool over[MAX] = {false};
		struct sched_origin *third;

		defaults();
		cfg.max_connections = rows[i].total;
		cfg.max_per_origin = rows[i].per_origin;
		begin(4096 * MIB, 1);
		third = sched_origin_get(s, "http://c:80");
		tasks[0] = task;
		tasks[1] = task_at(origin[1], 4096 * MIB);
		tasks[2] = task_at(third, 4096 * MIB);
		demands(tasks[0], 0, 70);
		tick(0);
		ck_assert_uint_eq(running(origin[0]), rows[i].most);
		demands(tasks[1], 0, 70);
		tick(0);
		ck_assert_uint_eq(running(origin[1]), rows[i].second);
		demands(tasks[2], 0, 70);
		tick(0);
		ck_assert_uint_eq(running(third), rows[i].third);
		/* With none left to it, it takes one of many. */
		ck_assert_uint_eq(cancels, rows[i].given_up);
		end_all(tasks, 3, over);
	}
}
END_TEST

/* Who waits for a slot that is left to others gets one once there are more. */
START_TEST(more_is_given_when_somebody_ends)
{
	struct sched_task *tasks[2];
	bool over[MAX] = {false};

	defaults();
	cfg.max_per_origin = 8;
	begin(4096 * MIB, 1);
	tasks[0] = task;
	tasks[1] = task_at(origin[1], 4096 * MIB);
	demands(tasks[0], 0, 9);
	tick(0);
	demands(tasks[1], 0, 2);
	tick(0);
	ck_assert_uint_eq(running(origin[0]), 7);
	ck_assert_uint_eq(running(origin[1]), 1);
	for (unsigned int i = 0; i < 2; i++) {
		over[i] = true;
		finish(started[i], VERDICT_PART, started[i]->off + BLOCK_SIZE);
	}
	ck_assert_uint_eq(running(origin[0]) + running(origin[1]), 7);
	ck_assert_uint_eq(starts, 9);
	/* Nobody is put to any trouble by it. */
	ck_assert_uint_eq(cancels, 0);
	end_all(tasks, 2, over);
}
END_TEST

/* Lower classes may have all there is, they make room for any demand. */
START_TEST(bulk_leaves_nothing_to_others)
{
	struct sched_task *tasks[2];
	bool over[MAX] = {false};

	defaults();
	cfg.connections = cfg.max_per_origin = 8;
	begin(4096 * MIB, 1);
	tasks[0] = task;
	tasks[1] = task_at(origin[1], 4096 * MIB);
	want(0, 4096 * MIB, PRIO_FILL);
	tick(0);
	ck_assert_uint_eq(starts, 8);
	demands(tasks[1], 0, 1);
	tick(0);
	ck_assert_uint_eq(cancels, 1);
	end_all(tasks, 2, over);
}
END_TEST

/* Eight leases of fills, in each of which somebody waits by now. */
static void begin_full(void)
{
	defaults();
	cfg.connections = cfg.max_per_origin = 8;
	begin(128 * MIB, 1);
	want(0, 128 * MIB, PRIO_FILL);
	tick(0);
	ck_assert_uint_eq(starts, 8);
	for (unsigned int i = 0; i < 8; i++)
		want(started[i]->off, started[i]->off + 1, PRIO_DEMAND);
	tick(0);
	for (unsigned int i = 0; i < 8; i++)
		ck_assert_int_eq(started[i]->prio, PRIO_DEMAND);
	ck_assert_uint_eq(starts, 8);
	ck_assert_uint_eq(cancels, 0);
}

START_TEST(an_origin_without_any_takes_one_of_many)
{
	struct sched_task_info info;
	struct sched_stats stats;
	struct sched_task *tasks[10];
	bool over[MAX] = {false};
	unsigned int late = 5;

	begin_full();
	tasks[0] = task;
	/* All others have got something just now. */
	now += 10 * MS;
	for (unsigned int i = 0; i < 8; i++) {
		if (i == late)
			continue;
		answer(i, 0, 0);
		sched_lease_progress(s, started[i], started[i]->off + 1, now);
	}
	now += MS;
	for (unsigned int i = 1; i < 10; i++) {
		char key[32];

		snprintf(key, sizeof(key), "http://other%u:80", i);
		tasks[i] = task_at(sched_origin_get(s, key), 4096 * MIB);
		demands(tasks[i], 0, 3);
		tick(0);
		if (i == 8)
			break;
		/* One for it, and no more while that ends, or later. */
		ck_assert_uint_eq(cancels, i);
		ck_assert_uint_gt(tick(MS), now);
		ck_assert_uint_eq(cancels, i);
		ck_assert(last_at_once);
		if (i == 1)
			ck_assert_ptr_eq(last_cancelled, started[late]);
		for (unsigned int k = 0; k < starts; k++) {
			if (started[k] == last_cancelled && !over[k]) {
				over[k] = true;
				finish(started[k], VERDICT_CANCELLED, 0);
				break;
			}
		}
		ck_assert_uint_eq(starts, 8 + i);
		ck_assert_ptr_eq(started[7 + i]->task, tasks[i]);
		tick(MS);
		ck_assert_uint_eq(cancels, i);
	}
	/* The last one of an origin is left to it. */
	ck_assert_uint_eq(running(origin[0]), 1);
	ck_assert_uint_eq(cancels, 7);
	ck_assert_uint_eq(starts, 15);
	/* And no failure of those that gave way. */
	sched_task_info(tasks[0], now, &info);
	ck_assert_int_eq(info.last, VERDICT_PART);
	sched_stats(s, &stats);
	ck_assert_uint_eq(stats.retries, 0);
	end_all(tasks, 9, over);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sched");
	TCase *tc = tcase_create("sched");
	SRunner *sr = srunner_create(suite);
	int bad;

	tcase_add_test(tc, fill_of_a_known_size_is_one_lease);
	tcase_add_test(tc, set_up_and_first_byte_are_told_apart);
	tcase_add_test(tc, what_is_there_is_satisfied_by_the_next_tick);
	tcase_add_test(tc, demands_are_widened_and_merged_with_what_follows);
	tcase_add_test(tc, a_demand_near_ahead_waits_for_the_lease);
	tcase_add_test(tc, a_demand_far_ahead_cuts_the_lease_and_holds_it);
	tcase_add_test(tc, a_hold_leaves_five_percent);
	tcase_add_test(tc, a_demand_takes_the_slot_of_the_lowest);
	tcase_add_test(tc, as_many_are_displaced_as_demands_wait);
	tcase_add_test(tc, one_that_is_ending_is_told_to_hurry);
	tcase_add_test(tc, a_covered_window_raises_its_lease);
	tcase_add_test(tc, window_asks_backfill_to_end_soon);
	tcase_add_test(tc, mirrors_in_order_and_the_end_of_all);
	tcase_add_test(tc, a_broken_transfer_goes_on_where_it_was);
	tcase_add_test(tc, a_busy_url_is_not_a_busy_origin);
	tcase_add_test(tc, what_is_complete_does_not_wait_for_a_ban);
	tcase_add_test(tc, a_ban_ends_with_one_test_request);
	tcase_add_test(tc, a_ban_may_be_tested_before_its_end);
	tcase_add_test(tc, a_redirect_is_judged_where_it_leads);
	tcase_add_test(tc, a_lease_moves_as_often_as_it_likes);
	tcase_add_test(tc, a_whole_body_serves_everything);
	tcase_add_test(tc, one_whole_body_may_be_a_bad_moment);
	tcase_add_test(tc, a_far_demand_doubts_a_whole_body);
	tcase_add_test(tc, a_whole_body_is_refused_when_a_mirror_has_ranges);
	tcase_add_test(tc, an_unknown_size_is_one_open_lease);
	tcase_add_test(tc, a_body_without_a_length_tells_the_size_at_its_end);
	tcase_add_test(tc, nobody_wants_it_any_more);
	tcase_add_test(tc, a_trial_without_a_share_gives_its_range_back);
	tcase_add_test(tc, no_steal_for_a_gain_that_does_not_count);
	tcase_add_test(tc, the_users_number_of_connections_is_taken_at_once);
	tcase_add_test(tc, probes);
	tcase_add_test(tc, a_stalled_transfer_loses_its_lease);
	tcase_add_test(tc, lost_bytes_are_fetched_again);
	tcase_add_test(tc, an_origin_that_nobody_uses_may_go);
	tcase_add_test(tc, sources_may_be_left_alone_for_a_time);
	tcase_add_test(tc, nothing_happens_before_the_time_a_tick_told);
	tcase_add_test(tc, demands_of_an_origin_leave_some_slots_to_others);
	tcase_add_test(tc, more_is_given_when_somebody_ends);
	tcase_add_test(tc, bulk_leaves_nothing_to_others);
	tcase_add_test(tc, an_origin_without_any_takes_one_of_many);
	suite_add_tcase(suite, tc);
	srunner_run_all(sr, CK_ENV);
	bad = srunner_ntests_failed(sr);
	srunner_free(sr);
	return bad ? 1 : 0;
}
