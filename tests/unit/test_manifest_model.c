/*
 * test_manifest_model.c - random lists against a naive oracle, and what a million entries cost
 *
 * RGETFS_TEST_SEED repeats a run; each failure names its seed.
 */
#include <inttypes.h>
#include <malloc.h>
#include <sys/resource.h>

#include <check.h>

#include "base/clock.h"
#include "base/log.h"
#include "manifest/manifest.h"
#include "manifest/strings.h"

#define PATH_SIZE 64
#define LIST_MAX  400

/* splitmix64 */
static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static unsigned int below(uint64_t *state, unsigned int n)
{
	return (unsigned int)(next_random(state) % n);
}

/* ---- the oracle: a list of paths, searched from end to end ---- */

struct oracle {
	struct {
		char path[PATH_SIZE];
		unsigned int url;
		unsigned int line;
		bool directory;
	} item[LIST_MAX];
	unsigned int count;
};

/* Is a above b in the tree? */
static bool is_above(const char *a, const char *b)
{
	size_t len = strlen(a);

	return strncmp(a, b, len) == 0 && b[len] == '/';
}

/* The first item that path can't be beside, as the path of a file or a directory. NULL: it can be
 * added. */
static bool oracle_clash(const struct oracle *o, const char *path, bool directory, unsigned int url)
{
	for (unsigned int i = 0; i < o->count; i++) {
		bool same = strcmp(o->item[i].path, path) == 0;

		if (same && (o->item[i].directory != directory || o->item[i].url != url))
			return true;
		if (!o->item[i].directory && is_above(o->item[i].path, path))
			return true;
		if (!directory && is_above(path, o->item[i].path))
			return true;
	}
	return false;
}

/* Slash before every other byte. */
static int path_order(const char *a, const char *b)
{
	for (; *a && *a == *b; a++, b++)
		;
	if (!*a || !*b)
		return (*a != 0) - (*b != 0);
	if (*a == '/' || *b == '/')
		return *a == '/' ? -1 : 1;
	return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
}

static int item_order(const void *a, const void *b)
{
	return path_order(a, b); /* path is the first member */
}

/* Is there something in directory path ("" the root) called name? 0 nothing, 1 a file, 2 a
 * directory. */
static int oracle_lookup(const struct oracle *o, const char *path, const char *name)
{
	char full[2 * PATH_SIZE];

	snprintf(full, sizeof(full), "%s%s%s", path, *path ? "/" : "", name);
	for (unsigned int i = 0; i < o->count; i++) {
		if (strcmp(o->item[i].path, full) == 0)
			return o->item[i].directory ? 2 : 1;
		if (is_above(full, o->item[i].path))
			return 2;
	}
	return 0;
}

/* Every path once, empty directories only. */
static void oracle_finish(struct oracle *o)
{
	unsigned int kept = 0;

	qsort(o->item, o->count, sizeof(o->item[0]), item_order);
	for (unsigned int i = 0; i < o->count; i++) {
		bool drop = kept > 0 && strcmp(o->item[kept - 1].path, o->item[i].path) == 0;

		for (unsigned int k = 0; k < o->count && o->item[i].directory && !drop; k++)
			drop = is_above(o->item[i].path, o->item[k].path);
		if (!drop)
			o->item[kept++] = o->item[i];
	}
	o->count = kept;
}

/* ---- one random list ---- */

static const char *const names[] = {"a",
				    "b",
				    "ab",
				    "a-",
				    "a.b",
				    "A",
				    "long-name-with-a-common-start-1",
				    "long-name-with-a-common-start-2",
				    "long-name-with-a-common-start-10",
				    "long",
				    "0",
				    " ",
				    "\xc3\xa9",
				    "~"};

static void random_path(uint64_t *state, char path[PATH_SIZE])
{
	unsigned int depth = 1 + below(state, 4);
	size_t len = 0;

	for (unsigned int i = 0; i < depth; i++) {
		const char *name = names[below(state, ARRAY_SIZE(names))];

		if (len + 1 + strlen(name) >= PATH_SIZE)
			break;
		len += (size_t)snprintf(path + len, PATH_SIZE - len, "%s%s", i ? "/" : "", name);
	}
}

/*
 * Add n random items, as JSON lines, to text. What the oracle says clashes is mostly left out, once
 * in a while put in as the end of the list. True: the list is to be refused for its last line.
 */
static bool random_list(uint64_t *state, unsigned int n, struct oracle *o, struct strbuf *text)
{
	unsigned int line = 0;

	for (unsigned int i = 0; i < n; i++) {
		char path[PATH_SIZE];
		bool directory = below(state, 5) == 0;
		unsigned int url = directory ? 0 : 1 + below(state, 2);
		bool clash;

		random_path(state, path);
		clash = oracle_clash(o, path, directory, url);
		if (clash && below(state, 50))
			continue;
		line++;
		if (directory)
			strbuf_addf(text, "{\"path\":\"%s/\"}\n", path);
		else
			strbuf_addf(text, "{\"path\":\"%s\",\"url\":\"http://h%u/x\"}\n", path,
				    url);
		if (clash)
			return true;
		snprintf(o->item[o->count].path, PATH_SIZE, "%s", path);
		o->item[o->count].directory = directory;
		o->item[o->count].url = url;
		o->item[o->count++].line = line;
	}
	return false;
}

static void check_entries(const struct manifest *m, const struct oracle *o, uint64_t seed)
{
	struct entry e;
	char url[16];

	entry_init(&e);
	ck_assert_msg(manifest_count(m) == o->count, "seed %" PRIu64, seed);
	for (unsigned int i = 0; i < o->count; i++) {
		ck_assert_int_eq(manifest_entry(m, i, &e), 0);
		ck_assert_msg(strcmp(e.path, o->item[i].path) == 0, "seed %" PRIu64 ": %s, not %s",
			      seed, e.path, o->item[i].path);
		ck_assert(e.directory == o->item[i].directory);
		snprintf(url, sizeof(url), "http://h%u/x", o->item[i].url);
		if (!e.directory)
			ck_assert_str_eq(e.url[0], url);
	}
	entry_done(&e);
}

/* The whole tree beneath dir, whose path is path; counts directories and files seen. */
static void check_dir(const struct manifest *m, const struct oracle *o, uint32_t dir,
		      const char *path, unsigned int *dirs, unsigned int *files)
{
	unsigned int expected = 0;

	(*dirs)++;
	for (unsigned int i = 0; i < ARRAY_SIZE(names); i++) {
		struct manifest_child child;
		int is = oracle_lookup(o, path, names[i]);
		int r = manifest_lookup(m, dir, names[i], strlen(names[i]), &child);

		ck_assert_int_eq(r, is ? 0 : -ENOENT);
		if (!is)
			continue;
		expected++;
		ck_assert_int_eq(child.directory, is == 2);
		ck_assert(child.name_len == strlen(names[i]) &&
			  memcmp(child.name, names[i], child.name_len) == 0);
	}
	ck_assert_uint_eq(manifest_dir_children(m, dir), expected);
	for (uint32_t i = 0; i < expected; i++) {
		struct manifest_child child, last;
		char below_path[2 * PATH_SIZE];

		manifest_child(m, dir, i, &child);
		if (i > 0) {
			manifest_child(m, dir, i - 1, &last);
			ck_assert(memcmp(last.name, child.name,
					 min_u64(last.name_len, child.name_len)) < 0 ||
				  last.name_len < child.name_len);
		}
		snprintf(below_path, sizeof(below_path), "%s%s%.*s", path, *path ? "/" : "",
			 (int)child.name_len, child.name);
		if (child.directory) {
			check_dir(m, o, child.index, below_path, dirs, files);
		} else {
			(*files)++;
			ck_assert_str_eq(o->item[child.index].path, below_path);
		}
	}
}

static void one_seed(uint64_t seed)
{
	static const struct manifest_options opt = {.default_mtime = 1};
	char error[MANIFEST_ERROR_MAX];
	struct oracle *o = calloc(1, sizeof(*o));
	unsigned int dirs = 0, files = 0, expected_files = 0;
	struct manifest *m = NULL;
	uint64_t state = seed;
	struct strbuf text;
	bool clash;
	int r;

	ck_assert_ptr_nonnull(o);
	strbuf_init(&text, 1u << 20);
	clash = random_list(&state, 1 + below(&state, LIST_MAX), o, &text);
	r = manifest_parse(text.s, text.len, "model", &opt, &m, error);
	if (clash) {
		char where[32];

		snprintf(where, sizeof(where), "model:%u: ", o->count + 1);
		ck_assert_msg(r == -EINVAL && strncmp(error, where, strlen(where)) == 0,
			      "seed %" PRIu64 ": %d %s", seed, r, error);
	} else if (o->count > 0) {
		ck_assert_msg(r == 0, "seed %" PRIu64 ": %s", seed, error);
		oracle_finish(o);
		check_entries(m, o, seed);
		check_dir(m, o, 0, "", &dirs, &files);
		ck_assert_uint_eq(dirs, manifest_dir_count(m));
		for (unsigned int i = 0; i < o->count; i++)
			expected_files += !o->item[i].directory;
		ck_assert_uint_eq(files, expected_files);
	}
	manifest_put(m);
	strbuf_done(&text);
	free(o);
}

START_TEST(random_lists)
{
	const char *fixed = getenv("RGETFS_TEST_SEED");

	log_set_level(LOG_LEVEL_ERROR); /* entries that come twice are many here */
	if (fixed)
		one_seed(strtoull(fixed, NULL, 10));
	for (uint64_t seed = 1; seed <= 500 && !fixed; seed++)
		one_seed(seed);
}
END_TEST

/* ---- what many entries cost ---- */

#define MANY 1000000u

static size_t heap_bytes(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

static long peak_kib(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_maxrss;
}

static struct manifest *load(const struct strbuf *text, const char *what)
{
	static const struct manifest_options opt = {.default_mtime = 1};
	char error[MANIFEST_ERROR_MAX];
	uint64_t start = clock_now_us();
	long peak = peak_kib();
	size_t before = heap_bytes();
	struct manifest *m = NULL;

	ck_assert_int_eq(strbuf_error(text), 0);
	ck_assert_msg(manifest_parse(text->s, text->len, what, &opt, &m, error) == 0, "%s", error);
	ck_assert_uint_eq(manifest_count(m), MANY);
	printf("%s: %.2f s, %zu bytes an entry, %ld more at the peak\n", what,
	       (double)(clock_now_us() - start) / 1e6, (heap_bytes() - before) / MANY,
	       (peak_kib() - peak) * 1024 / (long)MANY);
	/* Nothing to see with the allocator of a sanitizer. */
	ck_assert_uint_lt((heap_bytes() - before) / MANY, 200);
	return m;
}

/* In an order that is not that of names: 7919 is coprime to a million. */
static unsigned int shuffled(unsigned int i)
{
	return (unsigned int)((uint64_t)i * 7919 % MANY);
}

static void check_some(const struct manifest *m)
{
	struct entry e;
	char path[64];

	entry_init(&e);
	for (uint32_t i = 0; i < MANY; i += 997) {
		struct manifest_child child;

		ck_assert_int_eq(manifest_entry(m, i, &e), 0);
		snprintf(path, sizeof(path), "part-%07u.parquet", i);
		ck_assert_str_eq(e.path, path);
		ck_assert_uint_eq(manifest_size(m, i), i + 1u);
		ck_assert_int_eq(manifest_lookup(m, 0, path, strlen(path), &child), 0);
		ck_assert_uint_eq(child.index, i);
	}
	entry_done(&e);
}

START_TEST(million_lines)
{
	struct manifest *m;
	struct strbuf text;

	strbuf_init(&text, 1u << 30);
	for (unsigned int i = 0; i < MANY; i++)
		strbuf_addf(&text,
			    "https://data.example.org/archive/%03u/part-%07u.parquet\n size=%u\n"
			    " checksum=sha-256=%064x\n",
			    shuffled(i) % 1000, shuffled(i), shuffled(i) + 1, i);
	m = load(&text, "text");
	check_some(m);
	manifest_put(m);
	strbuf_done(&text);
}
END_TEST

START_TEST(million_in_a_document)
{
	struct manifest *m;
	struct strbuf text;
	long peak;

	strbuf_init(&text, 1u << 30);
	strbuf_adds(&text, "{\"version\":1,\"entries\":[");
	for (unsigned int i = 0; i < MANY; i++)
		strbuf_addf(&text,
			    "%s{\"path\":\"part-%07u.parquet\",\"url\":\"https://example.org/%u\","
			    "\"size\":%u,\"etag\":\"\\\"%u\\\"\"}",
			    i ? "," : "", shuffled(i), i, shuffled(i) + 1, i);
	strbuf_adds(&text, "]}");
	peak = peak_kib();
	m = load(&text, "document");
	check_some(m);
	/* Once more what the manifest takes in the end, for sorting; never a tree of JSON values.
	 */
	if (heap_bytes() > 0)
		ck_assert_int_lt((peak_kib() - peak) * 1024 / (long)MANY, 400);
	manifest_put(m);
	strbuf_done(&text);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("manifest_model");
	TCase *t = tcase_create("manifest_model");
	SRunner *runner;
	int failed;

	tcase_add_test(t, random_lists);
	tcase_add_test(t, million_lines);
	tcase_add_test(t, million_in_a_document);
	tcase_set_timeout(t, 300);
	suite_add_tcase(s, t);
	runner = srunner_create(s);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
