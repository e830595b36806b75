/*
 * test_range.c - ranges and the grid, at the edges of 64 bits
 */
#include "core/range.h"
#include "suite.h"

#define LAST_BOUNDARY (UINT64_MAX - (BLOCK_SIZE - 1))

START_TEST(length_saturates)
{
	struct range r = range_of_length(10, UINT64_MAX);

	ck_assert_uint_eq(r.end, UINT64_MAX);
	ck_assert_uint_eq(range_len(range_of_length(10, 5)), 5);
	ck_assert(range_empty(range_of_length(10, 0)));
}
END_TEST

START_TEST(overlap_is_not_touch)
{
	ck_assert(!range_overlaps(range_make(0, 10), range_make(10, 20)));
	ck_assert(range_overlaps(range_make(0, 11), range_make(10, 20)));
	ck_assert(range_contains(range_make(0, 10), range_make(0, 10)));
	ck_assert(!range_contains(range_make(0, 10), range_make(0, 11)));
}
END_TEST

START_TEST(intersection_of_strangers_is_empty)
{
	struct range r = range_intersect(range_make(0, 10), range_make(20, 30));

	ck_assert(range_empty(r));
	ck_assert_uint_eq(range_len(r), 0);
	r = range_intersect(range_make(5, 25), range_make(20, 30));
	ck_assert_uint_eq(r.off, 20);
	ck_assert_uint_eq(r.end, 25);
}
END_TEST

START_TEST(blocks_at_the_end_of_64_bits)
{
	ck_assert_uint_eq(block_floor(BLOCK_SIZE - 1), 0);
	ck_assert_uint_eq(block_ceil(1), BLOCK_SIZE);
	ck_assert_uint_eq(block_ceil(BLOCK_SIZE), BLOCK_SIZE);
	ck_assert_uint_eq(block_ceil(LAST_BOUNDARY), LAST_BOUNDARY);
	ck_assert_uint_eq(block_ceil(UINT64_MAX), LAST_BOUNDARY);
}
END_TEST

START_TEST(growing_to_blocks_stops_at_the_size)
{
	struct range r =
		range_to_blocks(range_make(BLOCK_SIZE + 1, BLOCK_SIZE + 2), BLOCK_SIZE + 10);

	ck_assert_uint_eq(r.off, BLOCK_SIZE);
	ck_assert_uint_eq(r.end, BLOCK_SIZE + 10);
	r = range_to_blocks(range_make(1, 2), SIZE_UNKNOWN);
	ck_assert_uint_eq(r.end, BLOCK_SIZE);
}
END_TEST

START_TEST(blocks_are_counted_by_touch)
{
	ck_assert_uint_eq(range_blocks(range_make(7, 7)), 0);
	ck_assert_uint_eq(range_blocks(range_make(7, 8)), 1);
	ck_assert_uint_eq(range_blocks(range_make(BLOCK_SIZE - 1, BLOCK_SIZE + 1)), 2);
	ck_assert_uint_eq(range_blocks(range_make(0, BLOCK_SIZE)), 1);
}
END_TEST

static void fill(TCase *tc)
{
	tcase_add_test(tc, length_saturates);
	tcase_add_test(tc, overlap_is_not_touch);
	tcase_add_test(tc, intersection_of_strangers_is_empty);
	tcase_add_test(tc, blocks_at_the_end_of_64_bits);
	tcase_add_test(tc, growing_to_blocks_stops_at_the_size);
	tcase_add_test(tc, blocks_are_counted_by_touch);
}

int main(void)
{
	return suite_run("range", fill);
}
