/*
 * test_identity.c - by what name the cache knows an object
 */
#include <check.h>

#include "engine/internal.h"

static struct object_key key_of(const char *manifest)
{
	struct manifest_options opt = {0};
	char error[MANIFEST_ERROR_MAX];
	struct object_key key;
	struct manifest *m;
	struct entry entry;

	ck_assert_msg(manifest_parse(manifest, strlen(manifest), "test", &opt, &m, error) == 0,
		      "%s", error);
	entry_init(&entry);
	ck_assert_int_eq(manifest_entry(m, 0, &entry), 0);
	ck_assert_int_eq(identity_key(&entry, &key), 0);
	entry_done(&entry);
	manifest_put(m);
	return key;
}

static bool same(const char *a, const char *b)
{
	struct object_key ka = key_of(a), kb = key_of(b);

	return memcmp(&ka, &kb, sizeof(ka)) == 0;
}

START_TEST(what_keeps_the_cache)
{
	/* Another name, another size or date, other mirrors, user info and credentials. */
	ck_assert(same("http://h/a\n", "http://h/a\n out=b\n"));
	ck_assert(same("http://h/a\n", "http://h/a\n size=5\n mtime=7\n"));
	ck_assert(same("http://h/a\n", "http://h/a\thttp://g/a\n"));
	ck_assert(same("http://h/a\n", "http://me:secret@h/a\n"));
	ck_assert(same("http://h/a\n", "http://h/a\n header=Authorization: Bearer x\n"));
	ck_assert(same("http://h/a\n", "http://h/a\n header=Cookie: a=b\n"));
	/* A name of the content outlives the URL, a checksum too. */
	ck_assert(same("http://h/a?sig=1\n id=x\n", "http://g/b?sig=2\n id=x\n"));
	ck_assert(same("http://h/a\n checksum=md5=00112233445566778899aabbccddeeff\n",
		       "http://g/b\n checksum=md5=00112233445566778899aabbccddeeff\n"));
}
END_TEST

START_TEST(what_is_another_object)
{
	ck_assert(!same("http://h/a\n", "http://h/b\n"));
	ck_assert(!same("http://h/a\n", "https://h/a\n"));
	ck_assert(!same("http://h/a\n", "http://h/a?x=1\n"));
	ck_assert(!same("http://h/a\n", "http://h/a\n range=0-9\n"));
	ck_assert(!same("http://h/a\n range=0-9\n", "http://h/a\n range=10-19\n"));
	ck_assert(!same("http://h/a\n", "http://h/a\n header=Accept: image/png\n"));
	ck_assert(!same("http://h/a\n id=x\n", "http://h/a\n id=y\n"));
	ck_assert(!same("http://h/a\n id=x\n range=0-9\n", "http://h/a\n id=x\n range=10-19\n"));
	ck_assert(!same("http://h/a\n id=http://h/a\n", "http://h/a\n"));
	ck_assert(!same("http://h/a\n checksum=md5=00112233445566778899aabbccddeeff\n",
			"http://h/a\n checksum=md5=00112233445566778899aabbccddeefe\n"));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("identity");
	TCase *t = tcase_create("identity");
	SRunner *r;
	int failed;

	tcase_add_test(t, what_keeps_the_cache);
	tcase_add_test(t, what_is_another_object);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
