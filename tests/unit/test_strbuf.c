/*
 * test_strbuf.c - strings that grow up to a maximum
 */
#include "base/strbuf.h"
#include "suite.h"

START_TEST(it_is_always_a_string)
{
	struct strbuf b;

	strbuf_init(&b, 1000);
	ck_assert_str_eq(b.s, "");
	strbuf_adds(&b, "");
	ck_assert_uint_eq(b.size, 0);
	strbuf_adds(&b, "ab");
	strbuf_addc(&b, 'c');
	strbuf_addf(&b, "%d%s", 12, "x");
	ck_assert_str_eq(b.s, "abc12x");
	ck_assert_uint_eq(b.len, 6);
	strbuf_reset(&b);
	ck_assert_str_eq(b.s, "");
	strbuf_done(&b);
	ck_assert_str_eq(b.s, "");
}
END_TEST

START_TEST(it_grows_over_many_sizes)
{
	struct strbuf b;

	strbuf_init(&b, 100000);
	for (int i = 0; i < 100000; i++)
		strbuf_addc(&b, (char)('a' + i % 26));
	ck_assert_int_eq(strbuf_error(&b), 0);
	ck_assert_uint_eq(b.len, 100000);
	ck_assert_uint_eq(strlen(b.s), 100000);
	ck_assert_int_eq(b.s[99999], 'a' + 99999 % 26);
	strbuf_done(&b);
}
END_TEST

START_TEST(the_maximum_is_exact_and_its_error_stays)
{
	struct strbuf b;

	strbuf_init(&b, 5);
	strbuf_adds(&b, "12345");
	ck_assert_int_eq(strbuf_error(&b), 0);
	strbuf_addc(&b, '6');
	ck_assert_int_eq(strbuf_error(&b), -ENOBUFS);
	ck_assert_str_eq(b.s, "12345");
	strbuf_adds(&b, "");
	ck_assert_ptr_null(strbuf_detach(&b));
	/* Detached, it is empty and may be used again. */
	ck_assert_int_eq(strbuf_error(&b), 0);
	strbuf_addf(&b, "%s", "123456");
	ck_assert_int_eq(strbuf_error(&b), -ENOBUFS);
	strbuf_reset(&b);
	strbuf_addf(&b, "%s", "12345");
	ck_assert_str_eq(b.s, "12345");
	strbuf_done(&b);
}
END_TEST

START_TEST(bytes_may_hold_nul)
{
	struct strbuf b;

	strbuf_init(&b, 10);
	strbuf_add(&b, "a\0b", 3);
	ck_assert_uint_eq(b.len, 3);
	ck_assert_int_eq(memcmp(b.s, "a\0b", 4), 0);
	strbuf_done(&b);
}
END_TEST

START_TEST(detached_is_the_callers)
{
	struct strbuf b;
	char *s;

	strbuf_init(&b, 10);
	s = strbuf_detach(&b);
	ck_assert_str_eq(s, ""); /* also of an empty one */
	free(s);
	strbuf_adds(&b, "x");
	s = strbuf_detach(&b);
	ck_assert_str_eq(s, "x");
	ck_assert_str_eq(b.s, "");
	free(s);
	strbuf_done(&b);
}
END_TEST

static void fill(TCase *tc)
{
	tcase_add_test(tc, it_is_always_a_string);
	tcase_add_test(tc, it_grows_over_many_sizes);
	tcase_add_test(tc, the_maximum_is_exact_and_its_error_stays);
	tcase_add_test(tc, bytes_may_hold_nul);
	tcase_add_test(tc, detached_is_the_callers);
}

int main(void)
{
	return suite_run("strbuf", fill);
}
