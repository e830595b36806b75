/*
 * test_manifest.c - what manifests are taken, as what, and how the others are refused
 *
 * Driven by tests/data/manifest: good-NAME has the JSON that it means in NAME.expect and its
 * warnings in NAME.warn (none: no warnings); should-fail-NAME has the exact message. A name with
 * "url-layout" in it is loaded so. What no small file can hold is made here.
 */
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <check.h>

#include "base/log.h"
#include "base/strbuf.h"
#include "manifest/draft.h"
#include "manifest/manifest.h"

#define TEXT_MAX (64u << 20)

static const char *data_dir(void)
{
	static char dir[4096];
	const char *top = getenv("srcdir");

	snprintf(dir, sizeof(dir), "%s/tests/data/manifest", top ? top : ".");
	return dir;
}

/* The bytes of a file, free() them; NULL when it is not there. */
static char *slurp(const char *path, size_t *ret_len)
{
	FILE *f = fopen(path, "re");
	struct strbuf text;
	char buf[4096];
	size_t n;

	if (!f)
		return NULL;
	strbuf_init(&text, TEXT_MAX);
	while ((n = fread(buf, 1, sizeof(buf), f)) > 0)
		strbuf_add(&text, buf, n);
	fclose(f);
	*ret_len = text.len;
	return strbuf_detach(&text);
}

static char *slurp_beside(const char *path, const char *suffix)
{
	char name[4096 + 320];
	size_t len;

	snprintf(name, sizeof(name), "%s.%s", path, suffix);
	return slurp(name, &len);
}

static const struct manifest_options plain = {.layout = LAYOUT_FLAT, .default_mtime = 77};

/* m as JSON; free() it. */
static char *to_json(const struct manifest *m)
{
	struct entry e;
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	ck_assert_ptr_nonnull(f);
	entry_init(&e);
	ck_assert_int_eq(manifest_write_json_begin(f), 0);
	for (uint32_t i = 0; i < manifest_count(m); i++) {
		ck_assert_int_eq(manifest_entry(m, i, &e), 0);
		ck_assert_int_eq(manifest_write_json_entry(f, &e, i == 0), 0);
	}
	ck_assert_int_eq(manifest_write_json_end(f), 0);
	entry_done(&e);
	fclose(f);
	return text;
}

/* Log lines go to a file that has no name any more, so that nothing is left of it whatever happens.
 */
static int log_fd = -1;

static void log_capture(void)
{
	char path[] = "/tmp/test_manifest.XXXXXX";

	log_fd = mkstemp(path);
	ck_assert_int_ge(log_fd, 0);
	ck_assert_int_eq(log_open(LOG_TO_FILE, path), 0);
	unlink(path);
}

/* What was logged since; free() it. */
static char *log_captured(void)
{
	struct strbuf text;
	char buf[4096];
	ssize_t n;

	log_open(LOG_TO_STDERR, NULL);
	strbuf_init(&text, TEXT_MAX);
	while ((n = read(log_fd, buf, sizeof(buf))) > 0)
		strbuf_add(&text, buf, (size_t)n);
	close(log_fd);
	return strbuf_detach(&text);
}

static void check_good(const char *path, const char *name)
{
	struct manifest_options opt = plain;
	char error[MANIFEST_ERROR_MAX];
	char *expect = slurp_beside(path, "expect");
	char *warn = slurp_beside(path, "warn");
	struct manifest *m = NULL;
	char *json, *again, *log;
	size_t len;
	char *data = slurp(path, &len);

	ck_assert_msg(data && expect, "%s has no .expect", path);
	if (strstr(name, "url-layout"))
		opt.layout = LAYOUT_URL;
	log_capture();
	ck_assert_msg(manifest_parse(data, len, name, &opt, &m, error) == 0, "%s", error);
	log = log_captured();
	if (warn)
		ck_assert_msg(strstr(log, warn), "%s: logged \"%s\"", name, log);
	else
		ck_assert_msg(!*log, "%s: logged \"%s\"", name, log);
	json = to_json(m);
	ck_assert_msg(strcmp(json, expect) == 0, "%s is now:\n%s", name, json);
	manifest_put(m);

	/* What we write we read, and it says the same. */
	ck_assert_msg(manifest_parse(json, strlen(json), "again", &plain, &m, error) == 0, "%s: %s",
		      name, error);
	again = to_json(m);
	ck_assert_str_eq(json, again);
	manifest_put(m);
	free(json);
	free(again);
	free(log);
	free(data);
	free(expect);
	free(warn);
}

static void check_fail(const char *path, const char *name)
{
	struct manifest_options opt = plain;
	char error[MANIFEST_ERROR_MAX + 1];
	char *expect = slurp_beside(path, "expect");
	struct manifest *m = NULL;
	size_t len;
	char *data = slurp(path, &len);

	ck_assert_msg(data && expect, "%s has no .expect", path);
	if (strstr(name, "url-layout"))
		opt.layout = LAYOUT_URL;
	ck_assert_msg(manifest_parse(data, len, name, &opt, &m, error) == -EINVAL, "%s was taken",
		      name);
	ck_assert_ptr_null(m);
	snprintf(error + strlen(error), sizeof(error) - strlen(error), "\n");
	ck_assert_msg(strcmp(error, expect) == 0, "%s: now %s", name, error);
	free(data);
	free(expect);
}

/* fn for each file of the data whose name begins with prefix. Returns how many. */
static unsigned int each_file(const char *prefix, void (*fn)(const char *path, const char *name))
{
	struct dirent **list;
	unsigned int count = 0;
	int n = scandir(data_dir(), &list, NULL, alphasort);

	ck_assert_msg(n > 0, "no data in %s", data_dir());
	for (int i = 0; i < n; i++) {
		const char *name = list[i]->d_name;
		const char *dot = strrchr(name, '.');
		char path[4096 + 300];

		if (strncmp(name, prefix, strlen(prefix)) == 0 && dot &&
		    strcmp(dot, ".expect") != 0 && strcmp(dot, ".warn") != 0) {
			snprintf(path, sizeof(path), "%s/%s", data_dir(), name);
			fn(path, name);
			count++;
		}
		free(list[i]);
	}
	free(list);
	return count;
}

START_TEST(good_files)
{
	ck_assert_uint_gt(each_file("good-", check_good), 15);
}
END_TEST

START_TEST(refused_files)
{
	ck_assert_uint_gt(each_file("should-fail-", check_fail), 50);
}
END_TEST

static void refused(const struct strbuf *text, const char *message)
{
	char error[MANIFEST_ERROR_MAX];
	struct manifest *m = NULL;

	ck_assert_int_eq(strbuf_error(text), 0);
	ck_assert_int_eq(manifest_parse(text->s, text->len, "list", &plain, &m, error), -EINVAL);
	ck_assert_str_eq(error, message);
}

static struct manifest *taken(const struct strbuf *text)
{
	char error[MANIFEST_ERROR_MAX];
	struct manifest *m = NULL;

	ck_assert_int_eq(strbuf_error(text), 0);
	ck_assert_msg(manifest_parse(text->s, text->len, "list", &plain, &m, error) == 0, "%s",
		      error);
	return m;
}

static void repeat(struct strbuf *b, const char *s, unsigned int n)
{
	while (n--)
		strbuf_adds(b, s);
}

START_TEST(counts)
{
	struct strbuf t;

	strbuf_init(&t, TEXT_MAX);

	for (unsigned int n = MANIFEST_URLS_MAX; n <= MANIFEST_URLS_MAX + 1; n++) {
		strbuf_reset(&t);
		for (unsigned int i = 0; i < n; i++)
			strbuf_addf(&t, "http://h%u/f\t", i);
		if (n == MANIFEST_URLS_MAX)
			manifest_put(taken(&t));
		else
			refused(&t, "list:1: more than 64 URLs for one entry (leave some out)");
	}

	for (unsigned int n = MANIFEST_HEADERS_MAX; n <= MANIFEST_HEADERS_MAX + 1; n++) {
		strbuf_reset(&t);
		strbuf_adds(&t, "http://h/f\n");
		for (unsigned int i = 0; i < n; i++)
			strbuf_addf(&t, " header=X-%u: v\n", i);
		if (n == MANIFEST_HEADERS_MAX)
			manifest_put(taken(&t));
		else
			refused(&t, "list:34: more than 32 headers for one entry (leave some out)");
	}

	strbuf_done(&t);
}
END_TEST

/* A second where each is compared with few, minutes where each is with all. */
START_TEST(many_slices_of_one_id)
{
	struct strbuf t;

	strbuf_init(&t, TEXT_MAX);
	for (unsigned int i = 0; i < 50000; i++)
		strbuf_addf(&t, "http://h/f\n out=f%u\n id=x\n range=%u-%u\n", i, i, i + 1);
	manifest_put(taken(&t));
	strbuf_done(&t);
}
END_TEST

START_TEST(lengths)
{
	struct strbuf t;

	strbuf_init(&t, TEXT_MAX);
	strbuf_adds(&t, "http://h/");
	repeat(&t, "x", 8192 - 9);
	strbuf_adds(&t, "\n out=f\n");
	manifest_put(taken(&t));
	strbuf_reset(&t);
	strbuf_adds(&t, "http://h/");
	repeat(&t, "x", 8192 - 8);
	strbuf_adds(&t, "\n out=f\n");
	refused(&t, "list:1: the URL has 8193 bytes, at most 8192 are possible (shorten it)");

	strbuf_reset(&t);
	strbuf_adds(&t, "http://h/f\n header=X: ");
	repeat(&t, "y", 8192 - 2);
	refused(&t, "list:2: the header has 8193 bytes, at most 8192 are possible (shorten it)");

	strbuf_reset(&t);
	repeat(&t, "z", (2 << 20) + 1);
	refused(&t,
		"list:1: the line has 2097153 bytes, at most 2097152 are possible (shorten it)");
	strbuf_reset(&t);
	strbuf_adds(&t, "{\"path\":\"");
	repeat(&t, "z", 2 << 20);
	strbuf_adds(&t, "\",\"url\":\"http://h/\"}\n{}");
	refused(&t,
		"list:1: the line has 2097181 bytes, at most 2097152 are possible (shorten it)");
	strbuf_reset(&t);
	strbuf_adds(&t, "{\"version\":1,\n\"entries\":[{\"path\":\"");
	repeat(&t, "z", 2 << 20);
	strbuf_adds(&t, "\",\"url\":\"http://h/\"}]}");
	refused(&t, "list:2: the value has more than 2097152 bytes (shorten it)");

	strbuf_done(&t);
}
END_TEST

/* The longest entry there is, each byte of it escaped, can be read back. */
START_TEST(longest_entry)
{
	struct manifest *m;
	struct strbuf t;
	char *json;

	strbuf_init(&t, TEXT_MAX);
	for (unsigned int i = 0; i < MANIFEST_URLS_MAX; i++) {
		strbuf_addf(&t, "http://h/%02u", i);
		repeat(&t, "\\", 8192 - 11);
		strbuf_addc(&t, '\t');
	}
	strbuf_adds(&t, "\n out=f\n");
	for (unsigned int i = 0; i < MANIFEST_HEADERS_MAX; i++) {
		strbuf_addf(&t, " header=X-%02u: ", i);
		repeat(&t, "\"", 8192 - 6);
		strbuf_addc(&t, '\n');
	}
	m = taken(&t);
	json = to_json(m);
	manifest_put(m);
	strbuf_reset(&t);
	strbuf_adds(&t, json);
	m = taken(&t);
	manifest_put(m);
	free(json);
	strbuf_done(&t);
}
END_TEST

START_TEST(depth)
{
	struct manifest *m;
	struct strbuf t;

	strbuf_init(&t, TEXT_MAX);
	/* 64 names deep, 4095 bytes long: the longest path there is. */
	strbuf_adds(&t, "http://h/f\n out=");
	for (int i = 0; i < 63; i++) {
		repeat(&t, "d", 63);
		strbuf_addc(&t, '/');
	}
	repeat(&t, "f", 63);
	m = taken(&t);
	ck_assert_uint_eq(manifest_dir_count(m), 64);
	manifest_put(m);
	strbuf_reset(&t);
	strbuf_adds(&t, "http://h/f\n out=");
	repeat(&t, "d/", 64);
	strbuf_addc(&t, 'f');
	refused(&t,
		"list:2: \"d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/…/d/d/d/d/f\" is "
		"deeper than 64 directories (shorten it)");
	strbuf_done(&t);
}
END_TEST

START_TEST(too_long_path)
{
	struct strbuf t;

	strbuf_init(&t, TEXT_MAX);
	strbuf_adds(&t, "http://h/f\n dir=");
	for (int i = 0; i < 20; i++) {
		repeat(&t, "d", 200);
		strbuf_addc(&t, '/');
	}
	strbuf_adds(&t, "\n out=");
	repeat(&t, "f", 100);
	refused(&t,
		"list:1: \"dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd…ffffffffff\": a path "
		"of 4120 bytes, at most 4095 are possible (shorten it)");
	strbuf_done(&t);
}
END_TEST

/* A name that two lists share must not depend on what else they have. */
START_TEST(tree_by_hand)
{
	static const char text[] =
		"http://h/x/b\nhttp://h/c\n out=a/b/c\n mode=755\nhttp://h/d\n out=a-b\n"
		" mtime=5\n size=9\n";
	char error[MANIFEST_ERROR_MAX];
	struct manifest_child child;
	struct manifest *m;
	struct entry e;

	ck_assert_int_eq(manifest_parse(text, strlen(text), "list", &plain, &m, error), 0);
	entry_init(&e);
	ck_assert_uint_eq(manifest_count(m), 3);
	ck_assert_int_eq(manifest_entry(m, 0, &e), 0);
	ck_assert_str_eq(e.path, "a/b/c");
	ck_assert_uint_eq(e.mode, 0555);
	ck_assert_uint_eq(manifest_mode(m, 0), 0555);
	ck_assert_int_eq(e.mtime, MANIFEST_NO_TIME);
	ck_assert_int_eq(manifest_mtime(m, 0), 77);
	ck_assert_uint_eq(manifest_size(m, 0), SIZE_UNKNOWN);
	ck_assert_int_eq(manifest_entry(m, 1, &e), 0);
	ck_assert_str_eq(e.path, "a-b");
	ck_assert_int_eq(manifest_mtime(m, 1), 5);
	ck_assert_uint_eq(manifest_size(m, 1), 9);
	ck_assert_int_eq(manifest_entry(m, 2, &e), 0);
	ck_assert_str_eq(e.path, "b");
	ck_assert_str_eq(e.url[0], "http://h/x/b");

	ck_assert_uint_eq(manifest_dir_count(m), 3);
	ck_assert_uint_eq(manifest_dir_children(m, 0), 3);
	ck_assert_int_eq(manifest_lookup(m, 0, "a", 1, &child), 0);
	ck_assert(child.directory);
	ck_assert_int_eq(manifest_lookup(m, child.index, "b", 1, &child), 0);
	ck_assert_int_eq(manifest_lookup(m, child.index, "c", 1, &child), 0);
	ck_assert(!child.directory);
	ck_assert_uint_eq(child.index, 0);
	ck_assert_int_eq(manifest_lookup(m, 0, "a-", 2, &child), -ENOENT);
	ck_assert_int_eq(manifest_lookup(m, 0, "", 0, &child), -ENOENT);
	ck_assert_int_eq(manifest_lookup(m, 0, "zz", 2, &child), -ENOENT);

	manifest_put(manifest_get(m));
	entry_done(&e);
	manifest_put(m);
}
END_TEST

START_TEST(read_from_files)
{
	char path[] = "/tmp/test_manifest_read.XXXXXX";
	char *data;
	size_t len;
	int fd = mkstemp(path), dir = open("/", O_RDONLY | O_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	unlink(path);
	ck_assert_int_eq(write(fd, "http://h/f", 10), 10);
	ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
	ck_assert_int_eq(manifest_read(fd, &data, &len), 0);
	ck_assert_uint_eq(len, 10);
	ck_assert_int_eq(memcmp(data, "http://h/f", 10), 0);
	free(data);

	/* Sparse, so it costs nothing. */
	ck_assert_int_eq(ftruncate(fd, ((off_t)1 << 30) + 1), 0);
	ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
	ck_assert_int_eq(manifest_read(fd, &data, &len), -EFBIG);
	close(fd);
	ck_assert_int_eq(manifest_read(dir, &data, &len), -EISDIR);
	close(dir);
}
END_TEST

/* In pieces, and of a length that fills the buffer. */
START_TEST(read_from_a_pipe)
{
	enum { PIECE = 16384, PIECES = 8 };
	int fds[2], status;
	char *data;
	size_t len;
	pid_t pid;

	ck_assert_int_eq(pipe2(fds, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		char piece[PIECE];

		for (int i = 0; i < PIECES; i++) {
			memset(piece, 'a' + i, sizeof(piece));
			if (write(fds[1], piece, sizeof(piece)) != sizeof(piece))
				_exit(1);
		}
		_exit(0);
	}
	close(fds[1]);
	ck_assert_int_eq(manifest_read(fds[0], &data, &len), 0);
	ck_assert_uint_eq(len, (size_t)PIECE * PIECES);
	for (size_t i = 0; i < len; i++)
		ck_assert_int_eq(data[i], 'a' + (int)(i / PIECE));
	free(data);
	close(fds[0]);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}
END_TEST

START_TEST(times)
{
	static const struct {
		const char *text;
		int64_t s;
	} good[] = {
		{"0", 0},
		{"-1", -1},
		{"1700000000", 1700000000},
		{"1700000000.9990000000", 1700000000},
		{"-1.5", -2},
		{"-2.0", -2},
		{"1970-01-01T00:00:00Z", 0},
		{"2024-02-29 12:30:15.999+01:30", 1709204415},
		{"2000-12-31t23:59:60z", 978307200},
		{"0001-01-01T00:00:00Z", INT64_C(-62135596800)},
		{"Sun, 06 Nov 1994 08:49:37 GMT", 784111777},
	};
	static const char *const bad[] = {
		"",
		"-",
		"1.",
		".5",
		"99999999999999999999",
		"1.5x",
		"2023-02-29T00:00:00Z",
		"2024-13-01T00:00:00Z",
		"2024-01-01T24:00:00Z",
		"2024-01-01T00:00:00",
		"2024-01-01T00:00:00.Z",
		"2024-01-01T00:00:00+24:00",
		"2024-01-01T00:00:00Zx",
		"yesterday",
	};
	int64_t s;

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		ck_assert_msg(draft_parse_time(good[i].text, &s) == 0, "%s", good[i].text);
		ck_assert_int_eq(s, good[i].s);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		ck_assert_msg(draft_parse_time(bad[i], &s) < 0, "%s", bad[i]);
}
END_TEST

START_TEST(checksums)
{
	struct checksum sum;

	ck_assert_int_eq(checksum_parse("md5=d41d8cd98f00b204e9800998ecf8427e", &sum), 0);
	ck_assert_int_eq(sum.algo, CHECKSUM_MD5);
	ck_assert_uint_eq(sum.value[0], 0xd4);
	ck_assert_uint_eq(sum.value[15], 0x7e);
	ck_assert_int_eq(checksum_parse("SHA1:DA39A3EE5E6B4B0D3255BFEF95601890AFD80709", &sum), 0);
	ck_assert_int_eq(sum.algo, CHECKSUM_SHA1);
	ck_assert_str_eq(checksum_name(sum.algo), "sha-1");
	ck_assert_int_eq(checksum_parse("", &sum), -EINVAL);
	ck_assert_int_eq(checksum_parse("md5", &sum), -EINVAL);
	ck_assert_int_eq(checksum_parse("none=", &sum), -EINVAL);
	ck_assert_int_eq(checksum_parse("=d41d8cd98f00b204e9800998ecf8427e", &sum), -EINVAL);
	ck_assert_int_eq(checksum_parse("md5=d41d8cd98f00b204e9800998ecf8427", &sum), -EINVAL);
	ck_assert_int_eq(checksum_parse("md5=d41d8cd98f00b204e9800998ecf8427g", &sum), -EINVAL);
	ck_assert_int_eq(checksum_parse("adler32=00000001", &sum), -EINVAL);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("manifest");
	TCase *t = tcase_create("manifest");
	SRunner *runner;
	int failed;

	tcase_add_test(t, good_files);
	tcase_add_test(t, refused_files);
	tcase_add_test(t, counts);
	tcase_add_test(t, many_slices_of_one_id);
	tcase_add_test(t, lengths);
	tcase_add_test(t, longest_entry);
	tcase_add_test(t, depth);
	tcase_add_test(t, too_long_path);
	tcase_add_test(t, tree_by_hand);
	tcase_add_test(t, read_from_files);
	tcase_add_test(t, read_from_a_pipe);
	tcase_add_test(t, times);
	tcase_add_test(t, checksums);
	tcase_set_timeout(t, 60);
	suite_add_tcase(s, t);
	runner = srunner_create(s);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
