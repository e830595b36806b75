/*
 * test_failmem.c - what failed a moment ago
 */
#include "core/failmem.h"
#include "suite.h"

static struct failmem mem;

static void setup(void)
{
	failmem_init(&mem);
}

START_TEST(a_failure_answers_until_its_time)
{
	failmem_add(&mem, range_make(0, 100), -EIO, 1000);
	ck_assert_int_eq(failmem_find(&mem, range_make(50, 51), 0), -EIO);
	ck_assert_int_eq(failmem_find(&mem, range_make(90, 200), 999), -EIO);
	ck_assert_int_eq(failmem_find(&mem, range_make(50, 51), 1000), 0);
	ck_assert_int_eq(failmem_find(&mem, range_make(100, 200), 0), 0);
}
END_TEST

START_TEST(neighbours_with_one_error_join)
{
	failmem_add(&mem, range_make(0, 100), -EIO, 1000);
	failmem_add(&mem, range_make(200, 300), -EIO, 3000);
	failmem_add(&mem, range_make(100, 200), -EIO, 2000);
	ck_assert_uint_eq(mem.count, 1);
	ck_assert_int_eq(failmem_find(&mem, range_make(0, 1), 2999), -EIO);
	failmem_add(&mem, range_make(300, 400), -ENOSPC, 2000);
	ck_assert_uint_eq(mem.count, 2);
	ck_assert_int_eq(failmem_find(&mem, range_make(300, 301), 0), -ENOSPC);
}
END_TEST

START_TEST(it_is_bounded)
{
	for (uint64_t i = 0; i < 10 * FAILMEM_MAX; i++)
		failmem_add(&mem, range_make(i * 100, i * 100 + 10), -EIO, 5000 - i);
	ck_assert_uint_eq(mem.count, FAILMEM_MAX);
	ck_assert_int_eq(failmem_find(&mem, range_make(0, 10), 0), -EIO); /* lasts longest */
}
END_TEST

START_TEST(nothing_is_not_remembered)
{
	failmem_add(&mem, range_make(5, 5), -EIO, 1000);
	failmem_add(&mem, range_make(5, 6), 0, 1000);
	ck_assert_uint_eq(mem.count, 0);
}
END_TEST

static void fill(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, a_failure_answers_until_its_time);
	tcase_add_test(tc, neighbours_with_one_error_join);
	tcase_add_test(tc, it_is_bounded);
	tcase_add_test(tc, nothing_is_not_remembered);
}

int main(void)
{
	return suite_run("failmem", fill);
}
