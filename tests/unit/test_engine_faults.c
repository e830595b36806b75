/*
 * test_engine_faults.c - what servers do to us, and the right bytes all the same
 */
#include <check.h>
#include <pthread.h>
#include <sys/wait.h>

#include "engine_lab.h"

#define SIZE 3000000

/* A whole file by small steps, its second half first; 0 or the first error. */
static int read_all(struct lab *l, const char *manifest, const char *content)
{
	struct object_info info;
	struct handle *h;
	struct object *o;
	int r;

	lab_start(l, manifest);
	o = lab_object(l, 0);
	h = lab_open(o);
	r = lab_compare(h, content, 0, SIZE / 2, SIZE, 131072);
	if (!r)
		r = lab_compare(h, content, 0, 0, SIZE, 100000);
	if (r) {
		object_info(o, &info);
		fprintf(stderr, "generation %u: %s\n", (unsigned int)info.generation, info.error);
	}
	handle_close(h);
	object_put(o);
	lab_stop(l);
	return r;
}

static int read_under(const char *fault)
{
	char rule[256];
	struct lab l;
	int r;

	snprintf(rule, sizeof(rule), "/a size=3000000 etag=strong %s", fault);
	lab_init(&l, (const char *[]){rule, NULL});
	l.cfg.sched.retry_time_us = 5000000;
	r = read_all(&l, "@/a\n size=3000000\n", "/a");
	lab_done(&l);
	return r;
}

/* The same beside a mirror that behaves. */
static int read_with_mirror(const char *fault)
{
	char rule[256];
	struct lab l;
	int r;

	snprintf(rule, sizeof(rule), "/a size=3000000 %s", fault);
	lab_init(&l, (const char *[]){rule, "/b size=3000000 content=/a etag=other", NULL});
	r = read_all(&l, "@/a\t@/b\n size=3000000\n", "/a");
	lab_done(&l);
	return r;
}

static const char *const lies[] = {
	"fault=range-shift:1",	   "fault=range-zero",	"fault=no-content-range",
	"fault=bad-content-range", "fault=wrong-total", "fault=multipart",
	"fault=encoding:gzip",	   "fault=garbage",	"fault=status:401",
};

START_TEST(a_source_that_lies_is_refused)
{
	ck_assert_msg(read_with_mirror(lies[_i]) == 0, "%s", lies[_i]);
}
END_TEST

static const char *const hopeless[] = {"fault=no-content-range", "fault=wrong-total"};

START_TEST(alone_it_is_an_error)
{
	ck_assert_msg(read_under(hopeless[_i]) == -EIO, "%s", hopeless[_i]);
}
END_TEST

static const char *const passing[] = {
	"fault=status:503@1-3",
	"fault=status:429:1@1",
	"fault=status:500@2-3",
	"fault=drop@every=3",
	"fault=star-total",
	"fault=range-shift:-65536@tail",
	"fault=interim:2",
	"fault=no-keep-alive",
	"if-range=200",
	"if-range=ignore",
	"etag=none",
	"etag=none if-range=200",
	"etag=none if-range=200 fault=close:30%@every=2",
	"fault=stall:100000:3s@2",
	"last-modified=5 fault=etag:other@every=2",
	"fault=ignore-range@3",
	"fault=close:50%@every=2",
	"last-modified=5 fault=unsized@2-",
};

START_TEST(what_passes)
{
	int r = read_under(passing[_i]);

	ck_assert_msg(r == 0, "%s: %d", passing[_i], r);
}
END_TEST

START_TEST(mirrors_name_equal_bytes_differently)
{
	struct lab l;

	lab_init(&l, (const char *[]){
			     "/a size=3000000 etag=one last-modified=5 fault=close:30%@every=2",
			     "/b size=3000000 content=/a etag=two last-modified=9", NULL});
	ck_assert_int_eq(read_all(&l, "@/a\t@/b\n size=3000000\n", "/a"), 0);
	/* Nor does the next mount throw anything away. */
	uint64_t n = lab_requests(&l, "/a") + lab_requests(&l, "/b");
	ck_assert_int_eq(read_all(&l, "@/a\t@/b\n size=3000000\n", "/a"), 0);
	ck_assert_uint_eq(lab_requests(&l, "/a") + lab_requests(&l, "/b"), n);
	lab_done(&l);
}
END_TEST

START_TEST(redirects_are_remembered_until_they_fail)
{
	struct lab l;

	lab_init(&l, (const char *[]){"/a redirect=/real", "/real size=3000000 content=/a", NULL});
	ck_assert_int_eq(read_all(&l, "@/a\n size=3000000\n", "/a"), 0);
	ck_assert_uint_le(lab_requests(&l, "/a"), 3);
	lab_done(&l);

	lab_init(&l, (const char *[]){"/a redirect=/real sign=300ms",
				      "/real size=3000000 content=/a signed=403 rate=2M", NULL});
	ck_assert_int_eq(read_all(&l, "@/a\n size=3000000\n", "/a"), 0);
	lab_done(&l);
}
END_TEST

START_TEST(a_cache_smaller_than_the_file)
{
	struct lab l;

	lab_init(&l, (const char *[]){"/a size=3000000", NULL});
	l.cfg.store.cache_size = 1 << 20;
	ck_assert_int_eq(read_all(&l, "@/a\n size=3000000\n", "/a"), 0);
	lab_done(&l);
}
END_TEST

/* ---- many at once ---- */

struct flock {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	unsigned int answered, failed;
};

struct member {
	struct waiter w;
	struct flock *flock;
};

static void member_done(struct waiter *w, int error, const void *data)
{
	struct flock *f = container_of(w, struct member, w)->flock;

	(void)data;
	pthread_mutex_lock(&f->mutex);
	f->answered++;
	f->failed += error != 0;
	pthread_cond_signal(&f->cond);
	pthread_mutex_unlock(&f->mutex);
}

static void flock_wait(struct flock *f, unsigned int count)
{
	pthread_mutex_lock(&f->mutex);
	while (f->answered < count)
		pthread_cond_wait(&f->cond, &f->mutex);
	pthread_mutex_unlock(&f->mutex);
}

#define FLOCK 1000
#define FLOCK_INIT                                                        \
	{                                                                 \
		PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0 \
	}

static void flock_read(struct flock *f, struct member *m, struct handle *h, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++) {
		m[i].flock = f;
		m[i].w.range = range_of_length((uint64_t)i * 100000, 4096);
		m[i].w.done = member_done;
		ck_assert_int_eq(handle_read(h, &m[i].w, 0), 0);
	}
}

START_TEST(a_thousand_parked_reads)
{
	struct member *m = calloc(FLOCK, sizeof(*m));
	struct flock f = FLOCK_INIT;
	struct handle *h, *other;
	struct object *o, *b;
	struct lab l;

	lab_init(&l, (const char *[]){"/a size=100M fault=hang", "/b size=100000", NULL});
	l.cfg.sched.retry_time_us = 0;
	lab_start(&l, "@/a\n size=104857600\n@/b\n size=100000\n");
	o = lab_object(&l, 0);
	h = lab_open(o);
	flock_read(&f, m, h, FLOCK);
	/* Another file of the same server answers meanwhile. */
	b = lab_object(&l, 1);
	other = lab_open(b);
	ck_assert_int_eq(lab_compare(other, "/b", 0, 0, 100000, 100000), 0);
	handle_close(other);
	object_put(b);
	ck_assert_uint_eq(f.answered, 0);
	/* Closing the file answers them all. */
	handle_close(h);
	flock_wait(&f, FLOCK);
	ck_assert_uint_eq(f.failed, FLOCK);
	object_put(o);
	lab_done(&l);
	free(m);
}
END_TEST

START_TEST(no_more_than_the_limit_are_parked)
{
	struct engine_stats stats;
	struct member m[20] = {0};
	struct flock f = FLOCK_INIT;
	struct handle *h;
	struct object *o;
	struct lab l;

	lab_init(&l, (const char *[]){"/a size=100M fault=hang", NULL});
	l.cfg.parked_per_origin = 8;
	l.cfg.sched.retry_time_us = 0;
	lab_start(&l, "@/a\n size=104857600\n");
	o = lab_object(&l, 0);
	h = lab_open(o);
	flock_read(&f, m, h, 20);
	flock_wait(&f, 12);
	engine_stats(l.engine, &stats);
	ck_assert_uint_eq(stats.parked, 8);
	ck_assert_uint_eq(f.failed, 12);
	handle_close(h);
	flock_wait(&f, 20);
	object_put(o);
	lab_done(&l);
}
END_TEST

START_TEST(many_small_files)
{
	char text[16384] = "";
	struct lab l;

	lab_init(&l, (const char *[]){"/* size=70000", NULL});
	for (int i = 0; i < 500; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "@/f%d\n out=f%03d\n", i,
			 i);
	lab_start(&l, text);
	engine_ask_sizes(l.engine, l.manifest);
	for (uint32_t i = 0; i < 500; i++) {
		struct object *o = lab_object(&l, i);
		struct handle *h;
		char path[16];

		snprintf(path, sizeof(path), "/f%u", i);
		ck_assert_int_eq(lab_probe(o), 0);
		h = lab_open(o);
		ck_assert_int_eq(lab_compare(h, path, 0, 0, 70000, 70000), 0);
		handle_close(h);
		object_put(o);
	}
	lab_done(&l);
}
END_TEST

/* ---- orders and readers that end early ---- */

static void flock_told(void *ctx, int error)
{
	struct flock *f = ctx;

	pthread_mutex_lock(&f->mutex);
	f->answered++;
	f->failed = (unsigned int)-error;
	pthread_cond_signal(&f->cond);
	pthread_mutex_unlock(&f->mutex);
}

START_TEST(a_fill_can_be_cancelled)
{
	struct flock f = FLOCK_INIT;
	struct object *o;
	struct fill *fill;
	struct lab l;

	lab_init(&l, (const char *[]){"/a size=3000000 fault=stall:100000", NULL});
	lab_start(&l, "@/a\n size=3000000\n");
	o = lab_object(&l, 0);
	ck_assert_int_eq(object_fill(o, flock_told, &f, &fill), 0);
	fill_cancel(fill);
	flock_wait(&f, 1);
	ck_assert_uint_eq(f.failed, ECANCELED);
	object_put(o);
	/* One that nobody cancels ends with the engine. */
	o = lab_object(&l, 0);
	ck_assert_int_eq(object_fill(o, flock_told, &f, &fill), 0);
	object_put(o);
	lab_stop(&l);
	flock_wait(&f, 2);
	ck_assert_uint_eq(f.failed, ECANCELED);
	lab_done(&l);
}
END_TEST

START_TEST(who_was_killed_waits_no_longer)
{
	struct flock f = FLOCK_INIT;
	struct member m = {.flock = &f};
	struct handle *h;
	struct object *o;
	struct lab l;
	pid_t child;

	lab_init(&l, (const char *[]){"/a size=3000000 fault=hang", NULL});
	l.cfg.sched.retry_time_us = 0;
	lab_start(&l, "@/a\n size=3000000\n");
	o = lab_object(&l, 0);
	h = lab_open(o);
	child = fork();
	ck_assert_int_ge(child, 0);
	if (child == 0)
		_exit(0);
	ck_assert_int_eq(waitpid(child, NULL, 0), child);
	m.w.range = range_make(0, 4096);
	m.w.done = member_done;
	ck_assert_int_eq(handle_read(h, &m.w, (int)child), 0);
	flock_wait(&f, 1);
	ck_assert_uint_eq(f.failed, 1);
	handle_close(h);
	object_put(o);
	lab_done(&l);
}
END_TEST

START_TEST(what_cannot_be_asked_is_stale)
{
	struct handle *h;
	struct object *o;
	struct lab l;

	lab_init(&l, (const char *[]){"/a size=100000 etag=strong", NULL});
	l.cfg.revalidate_us = 0;
	l.cfg.sched.retry_time_us = 1000000;
	lab_start(&l, "@/a\n size=100000\n");
	o = lab_object(&l, 0);
	ck_assert_int_eq(lab_fill(o), 0);
	lab_ctl(&l, "/a size=100000 fault=status:404");
	h = lab_open(o);
	ck_assert(lab_wait_state(o, OBJECT_STALE));
	ck_assert_int_eq(lab_compare(h, "/a", 0, 0, 100000, 100000), 0);
	handle_close(h);
	object_put(o);
	lab_done(&l);
}
END_TEST

START_TEST(dropped_bytes_are_fetched_again)
{
	struct object_info info;
	uint64_t blocks, bad;
	struct handle *h;
	struct object *o;
	struct lab l;

	lab_init(&l, (const char *[]){"/a size=3000000", NULL});
	lab_start(&l, "@/a\n size=3000000\n");
	o = lab_object(&l, 0);
	ck_assert_int_eq(lab_fill(o), 0);
	ck_assert_int_eq(object_verify(o, &blocks, &bad), 0);
	ck_assert_uint_eq(blocks, range_blocks(range_make(0, SIZE)));
	ck_assert_uint_eq(bad, 0);
	h = lab_open(o);
	ck_assert_int_eq(lab_drop(o), 0);
	object_info(o, &info);
	ck_assert_uint_eq(info.bytes_cached, 0);
	ck_assert_int_ne(info.state, OBJECT_COMPLETE);
	ck_assert_int_eq(lab_compare(h, "/a", 0, 0, SIZE, 131072), 0);
	ck_assert(lab_wait_state(o, OBJECT_COMPLETE));
	handle_close(h);
	object_put(o);
	lab_done(&l);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("engine faults");
	TCase *t = tcase_create("servers"), *many = tcase_create("many");
	SRunner *r;
	int failed;

	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, a_source_that_lies_is_refused, 0, ARRAY_SIZE(lies));
	tcase_add_loop_test(t, alone_it_is_an_error, 0, ARRAY_SIZE(hopeless));
	tcase_add_loop_test(t, what_passes, 0, ARRAY_SIZE(passing));
	tcase_add_test(t, mirrors_name_equal_bytes_differently);
	tcase_add_test(t, redirects_are_remembered_until_they_fail);
	tcase_add_test(t, a_cache_smaller_than_the_file);
	suite_add_tcase(s, t);
	tcase_set_timeout(many, 60);
	tcase_add_test(many, a_thousand_parked_reads);
	tcase_add_test(many, no_more_than_the_limit_are_parked);
	tcase_add_test(many, many_small_files);
	tcase_add_test(many, a_fill_can_be_cancelled);
	tcase_add_test(many, who_was_killed_waits_no_longer);
	tcase_add_test(many, what_cannot_be_asked_is_stale);
	tcase_add_test(many, dropped_bytes_are_fetched_again);
	suite_add_tcase(s, many);
	r = srunner_create(s);
	labs_begin();
	srunner_run_all(r, CK_ENV);
	labs_end();
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
