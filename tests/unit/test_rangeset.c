/*
 * test_rangeset.c - sets of ranges: edges, and memory that runs out (operations at random:
 * tests/model)
 */
#include "core/rangeset.h"
#include "failalloc.h"
#include "suite.h"

static struct rangeset set;

static void setup(void)
{
	rangeset_init(&set);
}

static void teardown(void)
{
	rangeset_done(&set);
}

static void add(uint64_t off, uint64_t end)
{
	ck_assert_int_eq(rangeset_add(&set, range_make(off, end)), 0);
}

static void expect_next(uint64_t from, uint64_t off, uint64_t end)
{
	struct range r;

	ck_assert_int_eq(rangeset_next(&set, from, &r), 0);
	ck_assert_uint_eq(r.off, off);
	ck_assert_uint_eq(r.end, end);
}

START_TEST(touching_ranges_become_one)
{
	add(0, 10);
	add(20, 30);
	add(10, 20);
	ck_assert_uint_eq(set.count, 1);
	ck_assert_uint_eq(set.bytes, 30);
	expect_next(29, 0, 30);
}
END_TEST

START_TEST(a_long_one_swallows_many)
{
	for (uint64_t i = 0; i < 100; i++)
		add(i * 10, i * 10 + 5);
	ck_assert_uint_eq(set.count, 100);
	add(3, 990);
	ck_assert_uint_eq(set.count, 1);
	expect_next(0, 0, 995);
}
END_TEST

START_TEST(removing_splits)
{
	struct range gap;

	add(0, 100);
	ck_assert_int_eq(rangeset_remove(&set, range_make(40, 60)), 0);
	expect_next(0, 0, 40);
	expect_next(40, 60, 100);
	ck_assert_int_eq(rangeset_next_gap(&set, range_make(10, 90), &gap), 0);
	ck_assert_uint_eq(gap.off, 40);
	ck_assert_uint_eq(gap.end, 60);
	ck_assert(!rangeset_contains(&set, range_make(30, 50)));
	ck_assert(rangeset_contains(&set, range_make(60, 100)));
}
END_TEST

START_TEST(empty_ranges_do_nothing)
{
	struct range r;

	add(5, 5);
	ck_assert_uint_eq(set.count, 0);
	ck_assert(rangeset_contains(&set, range_make(7, 7)));
	ck_assert_int_eq(rangeset_next(&set, 0, &r), -ENOENT);
	ck_assert_int_eq(rangeset_next_gap(&set, range_make(7, 7), &r), -ENOENT);
	ck_assert_int_eq(rangeset_remove(&set, range_make(7, 7)), 0);
}
END_TEST

START_TEST(the_end_of_64_bits)
{
	struct range r;

	add(UINT64_MAX - 1, UINT64_MAX);
	ck_assert(rangeset_contains(&set, range_make(UINT64_MAX - 1, UINT64_MAX)));
	ck_assert_int_eq(rangeset_next(&set, UINT64_MAX, &r), -ENOENT);
	ck_assert_int_eq(rangeset_next_gap(&set, range_make(0, UINT64_MAX), &r), 0);
	ck_assert_uint_eq(r.end, UINT64_MAX - 1);
}
END_TEST

START_TEST(without_memory_nothing_changes)
{
	int added;
	int removed;

	add(0, 100);
	failalloc_at = 1;
	ck_assert_int_eq(rangeset_remove(&set, range_make(40, 60)), -ENOMEM);
	failalloc_at = 1;
	ck_assert_int_eq(rangeset_add(&set, range_make(200, 300)), -ENOMEM);
	ck_assert_uint_eq(set.count, 1);
	ck_assert_uint_eq(set.bytes, 100);
	/* What needs no memory works without. */
	failalloc_at = 1;
	added = rangeset_add(&set, range_make(50, 120));
	removed = rangeset_remove(&set, range_make(100, 120));
	ck_assert(!failalloc_hit());
	ck_assert_int_eq(added, 0);
	ck_assert_int_eq(removed, 0);
	expect_next(0, 0, 100);
}
END_TEST

START_TEST(a_snapshot_is_a_swap)
{
	struct rangeset snapshot;

	rangeset_init(&snapshot);
	add(0, 10);
	rangeset_swap(&set, &snapshot);
	ck_assert_uint_eq(set.bytes, 0);
	ck_assert_uint_eq(snapshot.bytes, 10);
	add(0, 5);
	ck_assert_uint_eq(snapshot.bytes, 10);
	rangeset_done(&snapshot);
}
END_TEST

static void fill(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, touching_ranges_become_one);
	tcase_add_test(tc, a_long_one_swallows_many);
	tcase_add_test(tc, removing_splits);
	tcase_add_test(tc, empty_ranges_do_nothing);
	tcase_add_test(tc, the_end_of_64_bits);
	tcase_add_test(tc, without_memory_nothing_changes);
	tcase_add_test(tc, a_snapshot_is_a_swap);
}

int main(void)
{
	return suite_run("rangeset", fill);
}
