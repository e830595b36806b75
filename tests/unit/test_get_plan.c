/*
 * test_get_plan.c - which URL goes to which file, and which are refused
 */
#include "cli/get_plan.h"

#include <sys/stat.h>

#include "suite.h"

#define URLS_MAX 16

static char error[GET_PLAN_ERROR_MAX];
static struct get_plan plan;

/* urls: with spaces between. */
static int make(const struct get_plan_options *o, const char *urls)
{
	char *copy = strdup(urls), *rest = copy, *list[URLS_MAX];
	size_t count = 0;
	int r;

	while (rest) {
		ck_assert_uint_lt(count, URLS_MAX);
		list[count++] = strsep(&rest, " ");
	}
	error[0] = '\0';
	r = get_plan_urls(&plan, o, list, count, error);
	free(copy);
	return r;
}

/* Paths in order, with spaces between; each file's entry has the URL that is at its place. */
static void becomes(const struct get_plan_options *o, const char *urls, const char *paths)
{
	struct strbuf got;

	ck_assert_msg(make(o, urls) == 0, "%s: %s", urls, error);
	strbuf_init(&got, 65536);
	for (size_t i = 0; i < plan.count; i++)
		strbuf_addf(&got, "%s%s", i ? " " : "", plan.files[i].path);
	ck_assert_str_eq(got.s, paths);
	strbuf_done(&got);
}

static void refused(const struct get_plan_options *o, const char *urls, const char *line)
{
	ck_assert_int_eq(make(o, urls), -EINVAL);
	ck_assert_str_eq(error, line);
	ck_assert_ptr_null(plan.m);
	ck_assert_ptr_null(plan.files);
}

static const struct get_plan_options plain;

static const char *url_of(size_t nth, char buf[256])
{
	struct entry e;

	entry_init(&e);
	ck_assert_int_eq(manifest_entry(plan.m, plan.files[nth].index, &e), 0);
	snprintf(buf, 256, "%s", e.url[0]);
	entry_done(&e);
	return buf;
}

START_TEST(names_come_from_urls)
{
	const struct get_plan_options below = {.dir = "d//"}, root = {.dir = "/"};
	const struct get_plan_options by_url = {.layout = LAYOUT_URL};

	becomes(&plain, "http://h/a/b.iso", "b.iso");
	get_plan_done(&plan);
	becomes(&plain, "http://u:p@h/a%20b?x=y/z#f", "a b");
	get_plan_done(&plan);
	becomes(&plain, "http://h/100%25", "100%");
	get_plan_done(&plan);
	becomes(&below, "http://h/x", "d/x");
	ck_assert_uint_eq(plan.files[0].own, 1);
	get_plan_done(&plan);
	becomes(&root, "http://h/x", "/x");
	get_plan_done(&plan);
	becomes(&by_url, "http://h/a/x http://g:81/a/x", "h/a/x g:81/a/x");
	get_plan_done(&plan);
}
END_TEST

START_TEST(order_is_that_of_the_line)
{
	char url[256];

	becomes(&plain, "http://h/z http://h/a http://h/m http://h/z http://h/b", "z a m b");
	ck_assert_str_eq(url_of(0, url), "http://h/z");
	ck_assert_str_eq(url_of(1, url), "http://h/a");
	ck_assert_str_eq(url_of(3, url), "http://h/b");
	get_plan_done(&plan);
}
END_TEST

START_TEST(mirrors_are_one_file)
{
	const struct get_plan_options o = {.output = "x/out name"}, below = {"d", "y", NULL, 0};
	const struct get_plan_options full = {.dir = "d", .output = "/t/y"};
	const struct get_plan_options sum = {.output = "y",
					     .checksum = "md5=d41d8cd98f00b204e9800998ecf8427e"};
	struct entry e;

	becomes(&o, "http://h/ http://g/b", "x/out name");
	ck_assert_uint_eq(plan.files[0].own, strlen("x/out name"));
	entry_init(&e);
	ck_assert_int_eq(manifest_entry(plan.m, 0, &e), 0);
	ck_assert_uint_eq(e.url_count, 2);
	ck_assert_str_eq(e.url[1], "http://g/b");
	get_plan_done(&plan);
	becomes(&below, "http://h/a", "d/y");
	get_plan_done(&plan);
	becomes(&full, "http://h/a", "/t/y");
	get_plan_done(&plan);
	becomes(&sum, "http://h/a", "y");
	ck_assert_int_eq(manifest_entry(plan.m, 0, &e), 0);
	ck_assert_int_eq(e.checksum.algo, CHECKSUM_MD5);
	entry_done(&e);
	get_plan_done(&plan);
}
END_TEST

START_TEST(what_is_no_url)
{
	const struct get_plan_options o = {.output = "x"};

	refused(&plain, "list.txt", "list.txt: not a URL (write https:// or http:// before it)");
	refused(&plain, "/dev/null",
		"/dev/null: a file, not a URL (a list of URLs is given with -i)");
	refused(&plain, "#http://h/a", "get: not a URL (write https:// or http:// before it)");
	refused(&plain, "{\"a\":\"://\"}", "get: not a URL (write https:// or http:// before it)");
	refused(&plain, "http://h/a\n\tout=b",
		"get: the URL has a control byte (percent-encode it)");
	refused(&plain, "http://u:secret@h:0x/a",
		"get: the URL has no host, or its host or port can't be understood (write "
		"SCHEME://HOST[:PORT]/PATH)");
	refused(&o, "http://h/a gopher://g/a",
		"get: \"gopher\" is no scheme that rgetfs speaks (http, https, ftp, ftps or sftp)");
}
END_TEST

START_TEST(names_that_are_none)
{
	refused(&plain, "http://u:p@h/a/?q=secret",
		"http://h/a/?q=…: the URL's path ends in a slash and gives no name (give one with -O "
		"FILE)");
	refused(&plain, "http://h/a http://h/b%2fc",
		"http://h/b%2fc: the name in the URL has a slash in it, as %2F (give a name with -O "
		"FILE)");
	refused(&plain, "http://h/a http://g/x/a",
		"http://g/x/a: its name a is another URL's already (name mirrors of one file with -O "
		"FILE, or use --layout=url)");
	ck_assert_int_eq(make(&plain, "http://h/%2e%2e"), -EINVAL);
	ck_assert_int_eq(make(&plain, "http://h/%00"), -EINVAL);
}
END_TEST

START_TEST(outputs_that_are_none)
{
	const struct get_plan_options out = {.output = "-"}, slash = {.output = "d/"};
	const struct get_plan_options dir = {.output = "/tmp"}, feed = {.output = "a\n dir=b"};
	const struct get_plan_options dots = {.output = "nowhere/.."};

	refused(&out, "http://h/a",
		"-O -: a download is a file that can be gone on with (give a name; to read as it "
		"comes, rgetfs mount)");
	refused(&slash, "http://h/a",
		"d/: a directory (-d DIR puts files into it, -O FILE names one)");
	refused(&dir, "http://h/a",
		"/tmp: a directory (-d DIR puts files into it, -O FILE names one)");
	refused(&feed, "http://h/a", "a? dir=b: the name has a control byte (give another)");
	ck_assert_int_eq(make(&dots, "http://h/a"), -EINVAL);
}
END_TEST

START_TEST(a_manifest_goes_below_a_directory)
{
	static const char text[] = "{\"path\":\"e/\"}\n{\"path\":\"d/a\",\"url\":\"http://h/a\"}\n"
				   "{\"path\":\"b\",\"url\":\"http://h/b\"}\n";
	const struct manifest_options opt = {.default_mtime = MANIFEST_NO_TIME};
	struct manifest *m = NULL;
	char url[256];

	ck_assert_msg(manifest_parse(text, strlen(text), "t", &opt, &m, error) == 0, "%s", error);
	ck_assert_int_eq(get_plan_manifest(&plan, "t", m), 0);
	manifest_put(m);
	ck_assert_uint_eq(plan.count, 2);
	ck_assert_uint_eq(plan.dir_count, 1);
	ck_assert_str_eq(plan.dirs[0].path, "t/e");
	ck_assert_str_eq(plan.files[0].path, "t/b");
	ck_assert_str_eq(plan.files[1].path, "t/d/a");
	ck_assert_uint_eq(plan.files[1].own, 1);
	ck_assert_str_eq(url_of(1, url), "http://h/a");
	get_plan_done(&plan);
}
END_TEST

static void fill(TCase *tc)
{
	tcase_add_test(tc, names_come_from_urls);
	tcase_add_test(tc, order_is_that_of_the_line);
	tcase_add_test(tc, mirrors_are_one_file);
	tcase_add_test(tc, what_is_no_url);
	tcase_add_test(tc, names_that_are_none);
	tcase_add_test(tc, outputs_that_are_none);
	tcase_add_test(tc, a_manifest_goes_below_a_directory);
}

int main(void)
{
	return suite_run("get_plan", fill);
}
