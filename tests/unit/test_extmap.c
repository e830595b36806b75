/*
 * test_extmap.c - extents: edges, joins, and memory that runs out (operations at random:
 * tests/model)
 */
#include "core/extmap.h"
#include "failalloc.h"
#include "suite.h"

#define B   BLOCK_SIZE
#define MAX ((uint64_t)EXTENT_BLOCKS_MAX)

static struct extmap *map;
static uint64_t sums[4 * EXTENT_BLOCKS_MAX];

static void setup(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(sums); i++)
		sums[i] = i;
	map = extmap_new(SIZE_UNKNOWN);
	ck_assert_ptr_nonnull(map);
}

static void teardown(void)
{
	extmap_free(map);
}

/* Blocks [first, end) whose sums are their own numbers. */
static int try_add(uint64_t first, uint64_t end, uint16_t source)
{
	return extmap_add(map, range_make(first * B, end * B), source, sums + first, true, 1);
}

static void add(uint64_t first, uint64_t end, uint16_t source)
{
	ck_assert_int_eq(try_add(first, end, source), 0);
	extmap_check(map);
}

/* The extent that holds or follows block first is [off, end) blocks and has the sums of its places.
 */
static void expect_extent(uint64_t from, uint64_t off, uint64_t end)
{
	struct extent e;

	ck_assert_int_eq(extmap_next(map, from * B, &e), 0);
	ck_assert_uint_eq(e.range.off, off * B);
	ck_assert_uint_eq(e.range.end, end * B);
	for (uint64_t i = off; i < end; i++)
		ck_assert_uint_eq(e.sums[i - off], i);
}

START_TEST(touching_extents_join)
{
	add(0, 2, 0);
	add(4, 6, 0);
	add(2, 4, 0);
	ck_assert_uint_eq(extmap_count(map), 1);
	expect_extent(0, 0, 6);
	ck_assert_uint_eq(extmap_bytes(map), 6 * B);
}
END_TEST

START_TEST(sources_stay_apart)
{
	struct extent e;

	add(0, 2, 0);
	add(2, 4, 1);
	ck_assert_uint_eq(extmap_count(map), 2);
	ck_assert(extmap_has(map, range_make(0, 4 * B)));
	ck_assert_int_eq(extmap_next(map, 2 * B, &e), 0);
	ck_assert_uint_eq(e.source, 1);
}
END_TEST

START_TEST(what_is_there_keeps_its_sum_and_source)
{
	uint64_t other[8] = {100, 101, 102, 103, 104, 105, 106, 107};
	struct extent e;

	add(2, 4, 0);
	ck_assert_int_eq(extmap_add(map, range_make(0, 8 * B), 1, other, true, 9), 0);
	extmap_check(map);
	ck_assert_uint_eq(extmap_count(map), 3);
	expect_extent(2, 2, 4);
	ck_assert_int_eq(extmap_next(map, 4 * B, &e), 0);
	ck_assert_uint_eq(e.source, 1);
	ck_assert_uint_eq(e.sums[0], 104);
	ck_assert_uint_eq(e.atime_s, 9);
}
END_TEST

START_TEST(no_extent_is_longer_than_the_maximum)
{
	add(0, MAX - 1, 0);
	add(MAX - 1, MAX + 1, 0);
	ck_assert_uint_eq(extmap_count(map), 2);
	add(MAX + 1, 3 * MAX, 0);
	expect_extent(0, 0, MAX - 1);
	ck_assert(extmap_has(map, range_make(0, 3 * MAX * B)));
	/* A rest that has become short enough joins its neighbour. */
	ck_assert_int_eq(extmap_remove(map, range_make(0, (MAX - 2) * B)), 0);
	extmap_check(map);
	expect_extent(0, MAX - 2, MAX + 1);
}
END_TEST

START_TEST(one_long_add_is_cut)
{
	add(0, 3 * MAX + 5, 0);
	ck_assert_uint_eq(extmap_count(map), 4);
	expect_extent(MAX, MAX, 2 * MAX);
	expect_extent(3 * MAX, 3 * MAX, 3 * MAX + 5);
}
END_TEST

START_TEST(a_joined_extent_was_read_when_its_last_part_was)
{
	struct extent e;

	ck_assert_int_eq(extmap_add(map, range_make(0, B), 0, sums, true, 50), 0);
	ck_assert_int_eq(extmap_add(map, range_make(B, 2 * B), 0, sums, true, 20), 0);
	ck_assert_int_eq(extmap_next(map, 0, &e), 0);
	ck_assert_uint_eq(e.atime_s, 50);
	extmap_touch(map, range_make(B, B + 1), 60);
	extmap_touch(map, range_make(B, B + 1), 40);
	ck_assert_int_eq(extmap_next(map, 0, &e), 0);
	ck_assert_uint_eq(e.atime_s, 60);
}
END_TEST

START_TEST(grid_and_size_are_kept)
{
	ck_assert_int_eq(extmap_add(map, range_make(1, B), 0, sums, true, 0), -EINVAL);
	ck_assert_int_eq(extmap_add(map, range_make(0, B + 1), 0, sums, true, 0), -EINVAL);
	add(0, 2, 0);
	ck_assert_int_eq(extmap_set_size(map, B), -EINVAL);
	ck_assert_int_eq(extmap_set_size(map, 2 * B + 7), 0);
	ck_assert_int_eq(extmap_set_size(map, 2 * B + 7), 0);
	ck_assert_int_eq(extmap_set_size(map, 2 * B + 8), -EINVAL);
	ck_assert_int_eq(extmap_add(map, range_make(2 * B, 3 * B), 0, sums, true, 0), -EINVAL);
	ck_assert(!extmap_complete(map));
	ck_assert_int_eq(extmap_add(map, range_make(2 * B, 2 * B + 7), 0, sums + 2, true, 0), 0);
	extmap_check(map);
	ck_assert(extmap_complete(map));
	ck_assert_uint_eq(extmap_count(map), 1);
}
END_TEST

START_TEST(an_object_without_bytes_is_complete)
{
	ck_assert(!extmap_complete(map)); /* size unknown */
	ck_assert_int_eq(extmap_set_size(map, 0), 0);
	ck_assert(extmap_complete(map));
}
END_TEST

START_TEST(removing_takes_whole_blocks_only)
{
	ck_assert_int_eq(extmap_set_size(map, 4 * B + 10), 0);
	ck_assert_int_eq(extmap_add(map, range_make(0, 4 * B + 10), 0, sums, true, 0), 0);
	ck_assert_int_eq(extmap_remove(map, range_make(1, 2 * B - 1)), 0);
	ck_assert(extmap_complete(map));
	ck_assert_int_eq(extmap_remove(map, range_make(B - 1, 2 * B + 1)), 0);
	extmap_check(map);
	expect_extent(0, 0, 1);
	ck_assert_uint_eq(extmap_bytes(map), 3 * B + 10);
	ck_assert(extmap_has(map, range_make(2 * B, 4 * B + 10)));
	ck_assert(!extmap_has(map, range_make(2 * B - 1, 2 * B)));
}
END_TEST

START_TEST(the_short_last_block_is_whole)
{
	struct extent e;

	ck_assert_int_eq(extmap_set_size(map, 2 * B + 10), 0);
	ck_assert_int_eq(extmap_add(map, range_make(0, 2 * B + 10), 0, sums, true, 0), 0);
	ck_assert_int_eq(extmap_set_evicting(map, range_make(2 * B, 2 * B + 10), true), 0);
	extmap_check(map);
	ck_assert(!extmap_has(map, range_make(2 * B + 9, 2 * B + 10)));
	ck_assert_int_eq(extmap_remove(map, range_make(2 * B, 2 * B + 10)), 0);
	ck_assert_int_eq(extmap_next(map, 2 * B, &e), -ENOENT);
	ck_assert_uint_eq(extmap_bytes(map), 2 * B);
}
END_TEST

START_TEST(evicting_is_neither_present_nor_a_gap)
{
	struct range gap;

	add(0, 10, 0);
	ck_assert_int_eq(extmap_set_evicting(map, range_make(3 * B, 5 * B), true), 0);
	extmap_check(map);
	ck_assert_uint_eq(extmap_count(map), 3);
	ck_assert_uint_eq(extmap_bytes(map), 8 * B);
	ck_assert(!extmap_has(map, range_make(2 * B, 4 * B)));
	ck_assert_int_eq(extmap_next_gap(map, range_make(0, 10 * B), &gap), -ENOENT);
	add(2, 6, 1); /* left alone */
	ck_assert_uint_eq(extmap_count(map), 3);
	ck_assert_int_eq(extmap_set_evicting(map, range_make(0, 10 * B), false), 0);
	extmap_check(map);
	ck_assert_uint_eq(extmap_count(map), 1);
	expect_extent(0, 0, 10);
}
END_TEST

START_TEST(a_gap_is_found_behind_a_long_run)
{
	struct range gap;

	/* 64 GiB in extents of full length, with the state of one changed. */
	for (uint64_t i = 0; i < 1024; i++)
		ck_assert_int_eq(extmap_add(map, range_make(i * MAX * B, (i + 1) * MAX * B), 0,
					    sums, true, 0),
				 0);
	ck_assert_uint_eq(extmap_count(map), 1024);
	ck_assert_int_eq(extmap_set_evicting(map, range_make(512 * MAX * B, 513 * MAX * B), true),
			 0);
	ck_assert_int_eq(extmap_next_gap(map, range_make(5, SIZE_UNKNOWN), &gap), 0);
	ck_assert_uint_eq(gap.off, 1024 * MAX * B);
	ck_assert_uint_eq(gap.end, SIZE_UNKNOWN);
	ck_assert_int_eq(extmap_next_gap(map, range_make(5, 1024 * MAX * B), &gap), -ENOENT);
}
END_TEST

START_TEST(gaps_end_at_the_size)
{
	struct range gap;

	ck_assert_int_eq(extmap_set_size(map, 3 * B + 1), 0);
	add(0, 2, 0);
	ck_assert_int_eq(extmap_next_gap(map, range_make(0, 100 * B), &gap), 0);
	ck_assert_uint_eq(gap.off, 2 * B);
	ck_assert_uint_eq(gap.end, 3 * B + 1);
	ck_assert_int_eq(extmap_next_gap(map, range_make(50 * B, 100 * B), &gap), -ENOENT);
	ck_assert(!extmap_has(map, range_make(0, 100 * B)));
	ck_assert(extmap_has(map, range_make(7, 7)));
}
END_TEST

START_TEST(blocks_from_the_database_are_verified_once)
{
	uint64_t off;
	uint64_t sum;

	ck_assert_int_eq(extmap_add(map, range_make(0, 200 * B), 0, sums, false, 0), 0);
	add(200, 300, 0); /* received just now: joined, and not to be checked */
	ck_assert_uint_eq(extmap_count(map), 1);
	for (uint64_t i = 0; i < 200; i++) {
		if (i != 130)
			extmap_set_verified(map, i * B);
	}
	ck_assert_int_eq(extmap_next_unverified(map, range_make(3, 300 * B), &off, &sum), 0);
	ck_assert_uint_eq(off, 130 * B);
	ck_assert_uint_eq(sum, 130);
	ck_assert_int_eq(extmap_next_unverified(map, range_make(131 * B, 300 * B), &off, &sum),
			 -ENOENT);
	ck_assert_int_eq(extmap_next_unverified(map, range_make(130 * B + 5, 130 * B + 6), &off,
						&sum),
			 0);
	extmap_set_verified(map, 130 * B);
	extmap_set_verified(map, 999 * B); /* nothing is there */
	ck_assert_int_eq(extmap_next_unverified(map, range_make(0, 300 * B), &off, &sum), -ENOENT);
	extmap_check(map);
	extmap_set_unverified(map);
	for (uint64_t i = 0; i < 300; i++) {
		ck_assert_int_eq(extmap_next_unverified(map, range_make(0, 300 * B), &off, &sum),
				 0);
		ck_assert_uint_eq(off, i * B);
		extmap_set_verified(map, off);
	}
	extmap_check(map);
}
END_TEST

/* A map where each operation below has to cut and to join. */
static void prepare(void)
{
	extmap_free(map);
	map = extmap_new(SIZE_UNKNOWN);
	add(0, 10, 0);
	add(12, 20, 0);
	add(20, 30, 1);
	ck_assert_int_eq(extmap_set_evicting(map, range_make(4 * B, 6 * B), true), 0);
	extmap_check(map);
}

static int op_add(void)
{
	return extmap_add(map, range_make(8 * B, 40 * B), 0, sums + 8, false, 5);
}

static int op_append(void)
{
	return try_add(30, 200, 1);
}

static int op_remove(void)
{
	return extmap_remove(map, range_make(2 * B, 25 * B));
}

static int op_evict(void)
{
	return extmap_set_evicting(map, range_make(14 * B, 22 * B), true);
}

static int op_keep(void)
{
	return extmap_set_evicting(map, range_make(0, 30 * B), false);
}

START_TEST(without_memory_nothing_changes)
{
	static int (*const ops[])(void) = {op_add, op_append, op_remove, op_evict, op_keep};

	for (size_t i = 0; i < ARRAY_SIZE(ops); i++) {
		unsigned int n = 1;
		int r;

		for (;; n++) {
			prepare();
			failalloc_at = n;
			r = ops[i]();
			if (!failalloc_hit())
				break;
			ck_assert_int_eq(r, -ENOMEM);
			extmap_check(map);
			ck_assert_uint_eq(extmap_count(map), 5);
			ck_assert_uint_eq(extmap_bytes(map), 26 * B);
			expect_extent(12, 12, 20);
		}
		ck_assert_int_eq(r, 0);
		ck_assert_uint_gt(n, 1);
		extmap_check(map);
	}
	failalloc_at = 1;
	ck_assert_ptr_null(extmap_new(0));
}
END_TEST

static void fill(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, touching_extents_join);
	tcase_add_test(tc, sources_stay_apart);
	tcase_add_test(tc, what_is_there_keeps_its_sum_and_source);
	tcase_add_test(tc, no_extent_is_longer_than_the_maximum);
	tcase_add_test(tc, one_long_add_is_cut);
	tcase_add_test(tc, a_joined_extent_was_read_when_its_last_part_was);
	tcase_add_test(tc, grid_and_size_are_kept);
	tcase_add_test(tc, an_object_without_bytes_is_complete);
	tcase_add_test(tc, removing_takes_whole_blocks_only);
	tcase_add_test(tc, the_short_last_block_is_whole);
	tcase_add_test(tc, evicting_is_neither_present_nor_a_gap);
	tcase_add_test(tc, a_gap_is_found_behind_a_long_run);
	tcase_add_test(tc, gaps_end_at_the_size);
	tcase_add_test(tc, blocks_from_the_database_are_verified_once);
	tcase_add_test(tc, without_memory_nothing_changes);
}

int main(void)
{
	return suite_run("extmap", fill);
}
