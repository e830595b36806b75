/*
 * test_digest.c - known answers
 */
#include <check.h>

#include "store/digest.h"
#include "store_util.h"

static const struct {
	const char *algorithm, *hex;
} abc[] = {
	{"md5", "900150983cd24fb0d6963f7d28e17f72"},
	{"sha-1", "a9993e364706816aba3e25717850c26c9cd0d89d"},
	{"sha-224", "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7"},
	{"sha-256", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
	{"sha-384",
	 "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358"
	 "baeca134c825a7"},
	{"sha-512",
	 "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836"
	 "ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"},
};

static void check_hex(const unsigned char *value, size_t len, const char *hex)
{
	char text[2 * DIGEST_MAX + 1] = "";

	for (size_t i = 0; i < len; i++)
		snprintf(text + 2 * i, sizeof(text) - 2 * i, "%02x", value[i]);
	ck_assert_str_eq(text, hex);
}

START_TEST(known_answers)
{
	struct digest *d = NULL;
	uint8_t value[DIGEST_MAX];

	ck_assert_int_eq(digest_new(abc[_i].algorithm, &d), 0);
	ck_assert_int_eq(digest_update(d, "a", 1), 0);
	ck_assert_int_eq(digest_update(d, "", 0), 0);
	ck_assert_int_eq(digest_update(d, "bc", 2), 0);
	ck_assert_int_eq(digest_final(d, value), 0);
	check_hex(value, strlen(abc[_i].hex) / 2, abc[_i].hex);
	digest_free(d);
}
END_TEST

START_TEST(in_one_piece)
{
	uint8_t value[32];

	ck_assert_int_eq(digest_sha256("abc", 3, value), 0);
	check_hex(value, sizeof(value), abc[3].hex);
}
END_TEST

START_TEST(no_algorithm)
{
	struct digest *d = NULL;

	ck_assert_int_eq(digest_new(NULL, &d), -EINVAL);
	ck_assert_int_eq(digest_new("sha-3", &d), -EINVAL);
	ck_assert_ptr_null(d);
	digest_free(NULL);
}
END_TEST

static Suite *suite(void)
{
	Suite *st = suite_create("digest");
	TCase *tc = tcase_create("digest");

	tcase_add_loop_test(tc, known_answers, 0, ARRAY_SIZE(abc));
	tcase_add_test(tc, in_one_piece);
	tcase_add_test(tc, no_algorithm);
	suite_add_tcase(st, tc);
	return st;
}

int main(void)
{
	return test_main(suite());
}
