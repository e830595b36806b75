/*
 * test_foreign.c - control files of aria2: what has come, and what is none
 */
#include "get/foreign.h"

#include "tests/unit/suite.h"

#define SIZE UINT64_C(2500000) /* three pieces of a MiB, the last is short */

/* Version 1, no extension, no info hash, pieces of 1 MiB, and one in flight. */
static const unsigned char control[] = {
	0,    1,    0, 0, 0,	0,    0,    0,	  0, 0, /* version, extensions, length of the hash */
	0,    0x10, 0, 0,				/* piece */
	0,    0,    0, 0, 0,	0x26, 0x25, 0xa0,	/* total */
	0,    0,    0, 0, 0,	0,    0,    0,		/* uploaded */
	0,    0,    0, 1, 0xa0,				/* pieces 0 and 2 */
	0,    0,    0, 1,				/* in flight: */
	0,    0,    0, 1, 0,	0x10, 0,    0,	  0, 0, 0, 8, /* piece 1, its length, 64 bits */
	0xc0, 0,    0, 0, 0,	0,    0,    1, /* the first two and the last 16 KiB */
};

static char why[FOREIGN_WHY_MAX];

static int parse(const unsigned char *data, size_t len, uint64_t size, struct rangeset *ret)
{
	why[0] = '\0';
	rangeset_init(ret);
	return foreign_parse_aria2(data, len, size, ret, why);
}

START_TEST(pieces_and_what_is_in_flight)
{
	struct rangeset have;

	ck_assert_int_eq(parse(control, sizeof(control), SIZE, &have), 0);
	ck_assert(rangeset_contains(&have, range_make(0, (1 << 20) + (32 << 10))));
	ck_assert(rangeset_contains(&have, range_make((2 << 20) - (16 << 10), SIZE)));
	ck_assert_uint_eq(have.bytes, (1 << 20) + (48 << 10) + SIZE - (2 << 20));
	rangeset_done(&have);
}
END_TEST

START_TEST(cut_anywhere_it_is_none)
{
	struct rangeset have;

	for (size_t len = 0; len < sizeof(control); len++) {
		ck_assert_msg(parse(control, len, SIZE, &have) == -EINVAL, "cut at %zu", len);
		ck_assert(why[0]);
		rangeset_done(&have);
	}
}
END_TEST

START_TEST(of_another_file_it_is_none)
{
	unsigned char other[sizeof(control)];
	struct rangeset have;

	ck_assert_int_eq(parse(control, sizeof(control), SIZE + 1, &have), -EINVAL);
	ck_assert(strstr(why, "2500000"));
	rangeset_done(&have);
	memcpy(other, control, sizeof(other));
	other[1] = 0;
	ck_assert_int_eq(parse(other, sizeof(other), SIZE, &have), -EINVAL);
	rangeset_done(&have);
	memcpy(other, control, sizeof(other));
	other[11] = 0; /* a piece of no bytes */
	ck_assert_int_eq(parse(other, sizeof(other), SIZE, &have), -EINVAL);
	rangeset_done(&have);
}
END_TEST

/* Lengths and numbers that would reach beyond the data or the file. */
START_TEST(any_byte_may_be_wrong)
{
	unsigned char other[sizeof(control)];
	struct rangeset have;

	for (size_t at = 0; at < sizeof(control); at++) {
		memcpy(other, control, sizeof(other));
		other[at] = 0xff;
		if (parse(other, sizeof(other), SIZE, &have) == 0)
			ck_assert_uint_le(have.bytes, SIZE);
		rangeset_done(&have);
	}
}
END_TEST

static void fill(TCase *tc)
{
	tcase_add_test(tc, pieces_and_what_is_in_flight);
	tcase_add_test(tc, cut_anywhere_it_is_none);
	tcase_add_test(tc, of_another_file_it_is_none);
	tcase_add_test(tc, any_byte_may_be_wrong);
}

int main(void)
{
	return suite_run("foreign", fill);
}
