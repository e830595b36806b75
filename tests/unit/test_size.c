/*
 * test_size.c - numbers as people write them
 */
#include "base/size.h"
#include "suite.h"

#define GIB (UINT64_C(1) << 30)

START_TEST(plain_numbers)
{
	uint64_t v = 7;

	ck_assert_int_eq(parse_u64("0", UINT64_MAX, &v), 0);
	ck_assert_uint_eq(v, 0);
	ck_assert_int_eq(parse_u64("18446744073709551615", UINT64_MAX, &v), 0);
	ck_assert_uint_eq(v, UINT64_MAX);
	ck_assert_int_eq(parse_u64("18446744073709551616", UINT64_MAX, &v), -ERANGE);
	ck_assert_int_eq(parse_u64("99999999999999999999999", UINT64_MAX, &v), -ERANGE);
	ck_assert_int_eq(parse_u64("11", 10, &v), -ERANGE);
	ck_assert_int_eq(parse_u64("", 10, &v), -EINVAL);
	ck_assert_int_eq(parse_u64("-1", 10, &v), -EINVAL);
	ck_assert_int_eq(parse_u64("+1", 10, &v), -EINVAL);
	ck_assert_int_eq(parse_u64(" 1", 10, &v), -EINVAL);
	ck_assert_int_eq(parse_u64("1 ", 10, &v), -EINVAL);
	ck_assert_int_eq(parse_u64("0x1", 10, &v), -EINVAL);
	ck_assert_uint_eq(v, UINT64_MAX); /* written only on success */
}
END_TEST

static const struct {
	const char *text;
	int error;
	uint64_t bytes;
} sizes[] = {
	{"10", 0, 10},
	{"64K", 0, 65536},
	{"64k", 0, 65536},
	{"64KiB", 0, 65536},
	{"64KB", 0, 65536},
	{"1.5G", 0, 3 * GIB / 2},
	{"2T", 0, 2048 * GIB},
	{"10B", 0, 10},
	{"9223372036854775807", 0, FILE_SIZE_MAX},
	{"9223372036854775808", -ERANGE, 0},
	{"9E", -ERANGE, 0},
	{"8388608T", -ERANGE, 0},
	{"", -EINVAL, 0},
	{"K", -EINVAL, 0},
	{"-1K", -EINVAL, 0},
	{"1.K", -EINVAL, 0},
	{".5K", -EINVAL, 0},
	{"1.5.5K", -EINVAL, 0},
	{"1e3", -EINVAL, 0},
	{"1X", -EINVAL, 0},
	{"1Kx", -EINVAL, 0},
	{"1 K", -EINVAL, 0},
	{"0x10", -EINVAL, 0},
	{"nan", -EINVAL, 0},
	{"111111111111111111111111111111111111111111111111K", -EINVAL, 0},
};

START_TEST(size_table)
{
	uint64_t v = 7;

	ck_assert_msg(parse_size(sizes[_i].text, &v) == sizes[_i].error, "%s", sizes[_i].text);
	ck_assert_uint_eq(v, sizes[_i].error ? 7 : sizes[_i].bytes);
}
END_TEST

static const struct {
	const char *text;
	int error;
	uint64_t us;
} durations[] = {
	{"500ms", 0, 500000},
	{"20s", 0, 20000000},
	{"20", 0, 20000000},
	{"0", 0, 0},
	{"5m", 0, UINT64_C(300000000)},
	{"1h", 0, UINT64_C(3600000000)},
	{"1d", 0, UINT64_C(86400000000)},
	{"0.5s", 0, 500000},
	{"7us", 0, 7},
	{"1w", -EINVAL, 0},
	{"ms", -EINVAL, 0},
	{"", -EINVAL, 0},
	{"5M", -EINVAL, 0},
	{"-5s", -EINVAL, 0},
	{"999999999999999d", -ERANGE, 0},
};

START_TEST(duration_table)
{
	uint64_t v = 7;

	ck_assert_msg(parse_duration(durations[_i].text, &v) == durations[_i].error, "%s",
		      durations[_i].text);
	ck_assert_uint_eq(v, durations[_i].error ? 7 : durations[_i].us);
}
END_TEST

START_TEST(sizes_for_people)
{
	char buf[SIZE_TEXT_MAX];

	ck_assert_str_eq(format_size(buf, 0), "0 B");
	ck_assert_str_eq(format_size(buf, 1023), "1023 B");
	ck_assert_str_eq(format_size(buf, 1536), "1.5 KiB");
	ck_assert_str_eq(format_size(buf, 12 << 20), "12 MiB");
	ck_assert_str_eq(format_size(buf, GIB - 1), "1.0 GiB");
	ck_assert_str_eq(format_size(buf, UINT64_MAX), "16 EiB");
}
END_TEST

START_TEST(durations_for_people)
{
	char buf[SIZE_TEXT_MAX];

	ck_assert_str_eq(format_duration(buf, 5000), "5 ms");
	ck_assert_str_eq(format_duration(buf, UINT64_C(45000000)), "45 s");
	ck_assert_str_eq(format_duration(buf, UINT64_C(200000000)), "3 min 20 s");
	ck_assert_str_eq(format_duration(buf, UINT64_C(7500000000)), "2 h 5 min");
	ck_assert_str_eq(format_duration(buf, UINT64_MAX), "99 d 0 h");
}
END_TEST

static void fill(TCase *tc)
{
	tcase_add_test(tc, plain_numbers);
	tcase_add_loop_test(tc, size_table, 0, ARRAY_SIZE(sizes));
	tcase_add_loop_test(tc, duration_table, 0, ARRAY_SIZE(durations));
	tcase_add_test(tc, sizes_for_people);
	tcase_add_test(tc, durations_for_people);
}

int main(void)
{
	return suite_run("size", fill);
}
