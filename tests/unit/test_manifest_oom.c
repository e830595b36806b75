/*
 * test_manifest_oom.c - each allocation of a load fails once, and none of them is a crash, a leak
 * (with a sanitizer) or a manifest that lacks something
 *
 * Linked with --wrap for the allocator; jansson's is set by its own hook.
 */
#include <check.h>
#include <jansson.h>

#include "base/log.h"
#include "manifest/manifest.h"

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);

/* How many more succeed before one fails; negative: all. */
static long countdown = -1;

static bool fails(void)
{
	return countdown >= 0 && countdown-- == 0;
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
	return fails() ? NULL : __real_realloc(old, size);
}

static const struct manifest_options opt = {.default_mtime = 1};

/* Load text with the n-th allocation failing, for each n until none does. Returns how many there
 * were. */
static long load_until_good(const char *text, uint32_t entries)
{
	char error[MANIFEST_ERROR_MAX];

	for (long n = 0;; n++) {
		struct manifest *m = NULL;
		long left;
		int r;

		countdown = n;
		r = manifest_parse(text, strlen(text), "list", &opt, &m, error);
		left = countdown;
		countdown = -1;
		if (r == 0) {
			ck_assert_uint_eq(manifest_count(m), entries);
			manifest_put(m);
			if (left >= 0)
				return n;
			continue; /* giving memory back failed: nothing is lost by that */
		}
		ck_assert_ptr_null(m);
		/* jansson takes the failed copy of a string for a bad token. */
		if (r == -EINVAL && strstr(error, "(correct the JSON text)"))
			continue;
		ck_assert_msg(r == -ENOMEM, "allocation %ld: %d %s", n, r, error);
		ck_assert_str_eq(error, "list: not enough memory for this manifest (split it)");
	}
}

START_TEST(text)
{
	struct strbuf list;

	strbuf_init(&list, 1u << 20);
	for (int i = 0; i < 200; i++)
		strbuf_addf(
			&list,
			"http://h%d/a/b%d/f%d\thttp://m/f%d\n dir=d%d/e\n header=X-%d: y\n id=%d\n split=1\n"
			"http://h/%d\n",
			i, i, i, i, i, i, i, 199 - i);
	ck_assert_int_gt(load_until_good(list.s, 400), 20);
	strbuf_done(&list);
}
END_TEST

START_TEST(json)
{
	ck_assert_int_gt(
		load_until_good(
			"{\"version\":1,\"x-a\":{\"b\":[1]},\"entries\":[{\"path\":\"a/b\",\"urls\":"
			"[\"http://h/1\",\"http://h/2\"],\"headers\":[\"A: b\"]},{\"path\":\"c/\"},"
			"{\"path_encoded\":\"%FF\",\"url\":\"http://h/3\"}]}",
			3),
		20);
	ck_assert_int_gt(
		load_until_good(
			"{\"path\":\"a/b\",\"url\":\"http://h/1\"}\n{\"path\":\"a/c\",\"url\":"
			"\"http://h/2\"}\n",
			2),
		10);
}
END_TEST

START_TEST(entry)
{
	char error[MANIFEST_ERROR_MAX];
	struct manifest *m = NULL;
	struct entry e;
	int r = -ENOMEM;

	ck_assert_int_eq(manifest_parse("http://h/abc\n etag=\"x\"\n", 23, "list", &opt, &m, error),
			 0);
	for (long n = 0; r < 0; n++) {
		entry_init(&e);
		countdown = n;
		r = manifest_entry(m, 0, &e);
		countdown = -1;
		ck_assert(r == 0 || r == -ENOMEM);
		if (r == 0)
			ck_assert_str_eq(e.etag, "\"x\"");
		entry_done(&e);
	}
	manifest_put(m);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("manifest_oom");
	TCase *t = tcase_create("manifest_oom");
	SRunner *runner;
	int failed;

	json_set_alloc_funcs(__wrap_malloc, free);
	log_set_level(LOG_LEVEL_ERROR);
	tcase_add_test(t, text);
	tcase_add_test(t, json);
	tcase_add_test(t, entry);
	tcase_set_timeout(t, 60);
	suite_add_tcase(s, t);
	runner = srunner_create(s);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
