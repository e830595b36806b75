/*
 * test_get.c - downloads into ordinary files, against the fault server
 */
#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "get/get.h"
#include "get/saved.h"
#include "tests/origin/content.h"
#include "tests/unit/engine_lab.h"

#define MIB (1 << 20)

static struct lab lab;
static struct manifest *m;
static char out[128], state[128];
static char path[16][160];

static void begin(const char *const *rules, const char *lines)
{
	lab_init(&lab, rules);
	m = lab_manifest(&lab, lines, false);
	snprintf(out, sizeof(out), "%s/out", lab.dir);
	snprintf(state, sizeof(state), "%s/state", lab.dir);
	mkdir(out, 0700);
}

static void finish(void)
{
	manifest_put(m);
	lab_done(&lab);
}

/* Of all entries, by their own names below out. */
static struct get *download(unsigned int max_files)
{
	struct get_config cfg = {.engine = lab.cfg, .state_dir = state, .max_files = max_files};
	struct get_file file[16];
	struct entry entry;
	struct get *g;
	size_t count = manifest_count(m);

	entry_init(&entry);
	for (uint32_t i = 0; i < count; i++) {
		ck_assert_int_eq(manifest_entry(m, i, &entry), 0);
		snprintf(path[i], sizeof(path[i]), "%s/%s", out, entry.path);
		file[i] = (struct get_file){.index = i, .path = path[i]};
	}
	entry_done(&entry);
	ck_assert_int_eq(get_new(&cfg, m, file, count, &g), 0);
	return g;
}

static bool is_content(const char *file, const char *url_path, uint64_t size)
{
	struct content c = content_make(1, url_path, 0);
	unsigned char *have = malloc(size + 1), *want = malloc(size + 1);
	int fd = open(file, O_RDONLY);
	bool same;

	ck_assert_ptr_nonnull(have);
	ck_assert_ptr_nonnull(want);
	same = fd >= 0 && read(fd, have, size + 1) == (ssize_t)size;
	content_fill(c, 0, want, size);
	same = same && memcmp(have, want, size) == 0;
	if (fd >= 0)
		close(fd);
	free(have);
	free(want);
	return same;
}

/* Names in a directory, "." and ".." not counted. */
static unsigned int entries(const char *dir)
{
	DIR *d = opendir(dir);
	unsigned int n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return d ? n - 2 : 0;
}

static unsigned int downloads_kept(void)
{
	char dir[160];

	snprintf(dir, sizeof(dir), "%s/get", state);
	return entries(dir);
}

/* The last that is told of the file with this index. */
static struct get_info last_of(struct get *g, uint32_t index)
{
	struct get_info info, last = {.state = GET_WAITING};
	bool began;

	while (get_next(g, &info, &began)) {
		if (info.index == index)
			last = info;
	}
	return last;
}

START_TEST(sizes)
{
	static const char *const rules[] = {"/a size=0",
					    "/b size=1",
					    "/c size=65535",
					    "/d size=65536",
					    "/e size=65537",
					    "/f size=5000000",
					    "/g size=70000 ranges=no fault=chunked",
					    "/h size=300000 ranges=no",
					    NULL};
	static const uint64_t size[] = {0, 1, 65535, 65536, 65537, 5000000, 70000, 300000};
	struct get_totals t;
	struct get *g;
	char name[4] = "/a";

	begin(rules, "@/a\n@/b\n@/c\n@/d\n@/e\n@/f\n@/g\n@/h\n");
	g = download(3);
	ck_assert_int_eq(get_run(g), 0);
	get_totals(g, &t);
	ck_assert_uint_eq(t.done, 8);
	ck_assert_uint_eq(t.failed, 0);
	for (unsigned int i = 0; i < 8; i++) {
		name[1] = (char)('a' + i);
		ck_assert_msg(is_content(path[i], name, size[i]), "%s", name);
		ck_assert_uint_eq(lab_requests(&lab, name), 1);
	}
	ck_assert_uint_eq(entries(out), 8);
	ck_assert_uint_eq(downloads_kept(), 0);
	get_free(g);
	finish();
}
END_TEST

START_TEST(what_is_there_is_left)
{
	static const char *const rules[] = {"/same size=5000", "/other size=5000",
					    "/part size=5000", NULL};
	struct get_info info;
	struct get_totals t;
	struct get *g;
	char part[176];
	int fd;

	begin(rules, "@/other\n@/part\n@/same\n");
	g = download(1);
	ck_assert_int_eq(get_run(g), 0);
	get_free(g);
	ck_assert_int_eq(truncate(path[0], 4999), 0);
	ck_assert_int_eq(unlink(path[1]), 0);
	snprintf(part, sizeof(part), "%s.part", path[1]);
	fd = open(part, O_CREAT | O_WRONLY, 0600);
	ck_assert_int_ge(fd, 0);
	close(fd);
	lab_ctl(&lab, "reset");
	g = download(1);
	ck_assert_int_eq(get_run(g), 0);
	get_totals(g, &t);
	ck_assert_uint_eq(t.there, 1);
	ck_assert_uint_eq(t.failed, 2);
	info = last_of(g, 0);
	ck_assert_int_eq(info.state, GET_FAILED);
	ck_assert_ptr_nonnull(strstr(info.error, "exists already"));
	ck_assert_int_eq(access(part, F_OK), 0);
	ck_assert_uint_eq(entries(out), 3);
	get_free(g);
	finish();
}
END_TEST

START_TEST(a_wrong_checksum_makes_no_file)
{
	static const char *const rules[] = {"/a size=500000", NULL};
	struct get_info info;
	struct get *g;

	begin(rules,
	      "@/a\n checksum=sha-256=0000000000000000000000000000000000000000000000000000000000000000\n");
	g = download(1);
	ck_assert_int_eq(get_run(g), 0);
	info = last_of(g, 0);
	ck_assert_int_eq(info.state, GET_FAILED);
	ck_assert_ptr_nonnull(strstr(info.error, "checksum"));
	ck_assert_int_ne(access(path[0], F_OK), 0);
	ck_assert_uint_eq(entries(out), 0);
	ck_assert_uint_eq(downloads_kept(), 0);
	get_free(g);
	finish();
}
END_TEST

START_TEST(missing_ones_fail_alone)
{
	static const char *const rules[] = {"/a size=100", "/c size=100", NULL};
	struct get_totals t;
	struct get_info info;
	struct get *g;

	begin(rules, "@/a\n@/b\n@/c\n");
	g = download(2);
	ck_assert_int_eq(get_run(g), 0);
	get_totals(g, &t);
	ck_assert_uint_eq(t.done, 2);
	ck_assert_uint_eq(t.failed, 1);
	info = last_of(g, 1);
	ck_assert_int_eq(info.state, GET_FAILED);
	ck_assert_uint_eq(entries(out), 2);
	get_free(g);
	finish();
}
END_TEST

static void *stop_later(void *arg)
{
	struct get *g = arg;
	struct get_info info;

	for (int i = 0; i < 1000; i++) {
		if (get_running(g, &info, 1) == 1 && info.durable > 0)
			break;
		nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
	}
	get_stop(g);
	return NULL;
}

static int saved_seen(void *ctx, const struct saved *s)
{
	struct saved *last = ctx;

	*last = *s;
	last->path = strdup(s->path);
	return 0;
}

START_TEST(a_second_run_goes_on)
{
	static const char *const rules[] = {"/a size=8000000 rate=4M", NULL};
	struct saved saved = {.size = 0};
	struct get_info info;
	pthread_t thread;
	struct get *g;
	char owner[512];

	begin(rules, "@/a\n");
	lab.cfg.store.checkpoint_us = 100000;
	g = download(1);
	ck_assert_int_eq(pthread_create(&thread, NULL, stop_later, g), 0);
	ck_assert_int_eq(get_run(g), -EINTR);
	pthread_join(thread, NULL);
	info = last_of(g, 0);
	ck_assert_int_eq(info.state, GET_STOPPED);
	get_free(g);
	ck_assert_int_ne(access(path[0], F_OK), 0);
	ck_assert_uint_eq(downloads_kept(), 1);

	ck_assert_int_eq(saved_each(state, saved_seen, &saved), 0);
	ck_assert_str_eq(saved.path, path[0]);
	ck_assert_uint_eq(saved.size, 8000000);
	ck_assert_uint_gt(saved.durable, 0);
	free((void *)(uintptr_t)saved.path);

	lab_ctl(&lab, "/a size=8000000");
	g = download(1);
	ck_assert_int_eq(get_run(g), 0);
	info = last_of(g, 0);
	ck_assert_int_eq(info.state, GET_DONE);
	ck_assert_uint_ge(info.resumed, saved.durable);
	ck_assert_uint_le(info.fetched, 8000000 - saved.durable);
	ck_assert(is_content(path[0], "/a", 8000000));
	ck_assert_uint_eq(downloads_kept(), 0);
	ck_assert_int_eq(saved_forget(state, path[0], owner, sizeof(owner)), -ENOENT);
	get_free(g);
	finish();
}
END_TEST

START_TEST(a_part_of_somebody_else_stays)
{
	static const char *const rules[] = {"/a size=8000000 rate=4M", NULL};
	struct get_info info;
	char part[176], old[160], text[8] = "";
	pthread_t thread;
	struct get *g;
	int fd;

	begin(rules, "@/a\n");
	lab.cfg.store.checkpoint_us = 100000;
	g = download(1);
	ck_assert_int_eq(pthread_create(&thread, NULL, stop_later, g), 0);
	ck_assert_int_eq(get_run(g), -EINTR);
	pthread_join(thread, NULL);
	get_free(g);
	snprintf(part, sizeof(part), "%s.part", path[0]);
	/* The old one lives on, so that its inode is not given to the new one. */
	snprintf(old, sizeof(old), "%s/old", out);
	ck_assert_int_eq(rename(part, old), 0);
	fd = open(part, O_CREAT | O_RDWR | O_EXCL, 0600);
	ck_assert_int_eq(write(fd, "mine", 4), 4);

	lab_ctl(&lab, "/a size=8000000");
	g = download(1);
	ck_assert_int_eq(get_run(g), 0);
	info = last_of(g, 0);
	ck_assert_int_eq(info.state, GET_FAILED);
	ck_assert_msg(strstr(info.error, "in the way") != NULL, "%s", info.error);
	get_free(g);
	ck_assert_int_eq(pread(fd, text, sizeof(text), 0), 4);
	ck_assert_str_eq(text, "mine");
	close(fd);
	ck_assert_int_eq(unlink(part), 0);
	g = download(1);
	ck_assert_int_eq(get_run(g), 0);
	info = last_of(g, 0);
	ck_assert_int_eq(info.state, GET_DONE);
	ck_assert_uint_eq(info.resumed, 0);
	ck_assert(is_content(path[0], "/a", 8000000));
	ck_assert_uint_eq(downloads_kept(), 0);
	get_free(g);
	finish();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("get");
	TCase *tc = tcase_create("get");
	SRunner *runner;
	int failed;

	labs_begin();
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, sizes);
	tcase_add_test(tc, what_is_there_is_left);
	tcase_add_test(tc, a_wrong_checksum_makes_no_file);
	tcase_add_test(tc, missing_ones_fail_alone);
	tcase_add_test(tc, a_second_run_goes_on);
	tcase_add_test(tc, a_part_of_somebody_else_stays);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	labs_end();
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
