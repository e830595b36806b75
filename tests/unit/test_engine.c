/*
 * test_engine.c - what a reader gets, against a server that behaves and one that does not
 */
#include <check.h>
#include <pthread.h>

#include "base/clock.h"
#include "engine_lab.h"
#include "store/digest.h"
#include "tests/origin/content.h"

#define MIB (UINT64_C(1) << 20)

static const char *const plain_rules[] = {"/* size=5000001", NULL};

/* ---- a server that behaves ---- */

START_TEST(a_whole_file_in_steps)
{
	struct lab l;
	struct object *o;
	struct handle *h;

	lab_init(&l, plain_rules);
	lab_start(&l, "@/a\n size=5000001\n");
	o = lab_object(&l, 0);
	h = lab_open(o);
	ck_assert_uint_eq(handle_size(h), 5000001);
	ck_assert_int_eq(lab_compare(h, "/a", 0, 0, 5000001, 131072), 0);
	ck_assert(lab_wait_state(o, OBJECT_COMPLETE));
	ck_assert_uint_le(lab_sent(&l, "/a"), 5000001 + 65536);
	/* Again, without a request. */
	uint64_t n = lab_requests(&l, "/a");
	ck_assert_int_eq(lab_compare(h, "/a", 0, 0, 5000001, 50000), 0);
	ck_assert_uint_eq(lab_requests(&l, "/a"), n);
	handle_close(h);
	object_put(o);
	lab_done(&l);
}
END_TEST

struct many {
	struct handle *h;
	unsigned int seed;
};

static void *read_at_random(void *arg)
{
	struct many *m = arg;
	uint64_t at = m->seed;

	for (int i = 0; i < 60; i++) {
		at = at * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		uint64_t off = (at >> 20) % (5000001 - 1);
		uint64_t len = min_u64(1 + (at >> 40) % 100000, 5000001 - off);

		ck_assert_int_eq(lab_compare(m->h, "/a", 0, off, off + len, (size_t)len), 0);
	}
	return NULL;
}

START_TEST(random_reads_of_several_threads)
{
	pthread_t thread[4];
	struct many m[4];
	struct lab l;
	struct object *o;
	struct handle *h;

	lab_init(&l, plain_rules);
	lab_start(&l, "@/a\n size=5000001\n");
	o = lab_object(&l, 0);
	h = lab_open(o);
	for (unsigned int i = 0; i < 4; i++) {
		m[i] = (struct many){h, i + 1};
		ck_assert_int_eq(pthread_create(&thread[i], NULL, read_at_random, &m[i]), 0);
	}
	for (unsigned int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	ck_assert_uint_le(lab_sent(&l, "/a"), UINT64_C(2) * 5000001);
	handle_close(h);
	object_put(o);
	lab_done(&l);
}
END_TEST

START_TEST(a_small_read_is_cheap)
{
	struct lab l;
	struct object *o;
	struct handle *h;

	lab_init(&l, (const char *[]){"/* size=100M", NULL});
	lab_start(&l, "@/a\n size=104857600\n");
	o = lab_object(&l, 0);
	h = lab_open(o);
	ck_assert_int_eq(lab_compare(h, "/a", 0, 50 * MIB, 50 * MIB + 1, 1), 0);
	handle_close(h);
	object_put(o);
	lab_stop(&l);
	ck_assert_uint_le(lab_sent(&l, "/a"), 2 * MIB);
	lab_done(&l);
}
END_TEST

static void note_ttfb(void *ctx, const struct engine_origin *o)
{
	*(uint64_t *)ctx = o->ttfb_us;
}

static uint64_t ttfb_us(struct lab *l)
{
	uint64_t us = 0;

	ck_assert_int_eq(engine_each_origin(l->engine, note_ttfb, &us), 0);
	return us;
}

/*
 * From the request to the answer, and to be had as soon as a reader goes on: the next copy for
 * other threads would be 90 ms away.
 */
START_TEST(the_time_to_the_first_byte_is_measured)
{
	unsigned int prompt = 0;

	for (unsigned int round = 0; round < 5 && !prompt; round++) {
		uint64_t us = 0, read_us;
		unsigned char byte;
		struct handle *h;
		struct object *o;
		struct lab l;

		lab_init(&l, (const char *[]){"/* size=100M delay=110ms", NULL});
		lab_start(&l, "@/a\n size=104857600\n");
		o = lab_object(&l, 0);
		h = lab_open(o);
		ck_assert_int_eq(lab_read(h, 50 * MIB, &byte, 1), 0);
		read_us = clock_now_us();
		while (!us && clock_now_us() - read_us < 10 * USEC_PER_SEC)
			us = ttfb_us(&l);
		prompt += clock_now_us() - read_us < 40 * USEC_PER_MS;
		ck_assert_uint_ge(us, 110 * USEC_PER_MS);
		/* On a connection that is there. */
		ck_assert_int_eq(lab_read(h, 20 * MIB, &byte, 1), 0);
		ck_assert_uint_ge(ttfb_us(&l), 110 * USEC_PER_MS);
		handle_close(h);
		object_put(o);
		lab_done(&l);
	}
	ck_assert_uint_gt(prompt, 0);
}
END_TEST

START_TEST(an_unknown_size_is_asked)
{
	struct object_info info;
	struct handle *h;
	struct object *o;
	struct lab l;

	lab_init(&l, (const char *[]){"/* size=300000 last-modified=12345", NULL});
	lab_start(&l, "@/a\n");
	o = lab_object(&l, 0);
	object_info(o, &info);
	ck_assert_uint_eq(info.size, SIZE_UNKNOWN);
	ck_assert_int_eq(object_open(o, info.generation, &h), -EIO);
	ck_assert_int_eq(lab_probe(o), 0);
	object_info(o, &info);
	ck_assert_uint_eq(info.size, 300000);
	ck_assert_int_eq(info.mtime, 12345);
	ck_assert_uint_eq(lab_requests(&l, "/a"), 1);
	h = lab_open(o);
	ck_assert_int_eq(lab_compare(h, "/a", 0, 0, 300000, 300000), 0);
	handle_close(h);
	object_put(o);

	/* The next mount needs no question. */
	lab_stop(&l);
	lab_start(&l, "@/a\n");
	ck_assert_int_eq(engine_peek(l.engine, l.manifest, 0, &info), 0);
	ck_assert_uint_eq(info.size, 300000);
	lab_done(&l);
}
END_TEST

START_TEST(what_is_gone_is_told_from_what_did_not_answer)
{
	struct object *o;
	struct lab l;

	lab_init(&l, (const char *[]){"/gone size=5 fault=status:404",
				      "/busy size=5 fault=status:500", NULL});
	l.cfg.sched.retry_time_us = 1000000;
	lab_start(&l, "@/busy\n@/gone\n");
	o = lab_object(&l, 0);
	int r = lab_probe(o);
	ck_assert_msg(r == -ETIMEDOUT || r == -EIO, "%d", r);
	object_put(o);
	o = lab_object(&l, 1);
	ck_assert_int_eq(lab_probe(o), -ENOENT);
	object_put(o);
	lab_done(&l);
}
END_TEST

/* A reload may bring the manifest from elsewhere, while the object lives on. */
START_TEST(the_address_policy_follows_the_manifest)
{
	static const char lines[] = "@/a\n size=5000001\n@/b\n size=5000001\n";
	struct manifest *own, *foreign;
	struct object *o, *again;
	unsigned char byte[2];
	struct handle *h;
	struct lab l;

	lab_init(&l, plain_rules);
	lab_start(&l, lines);
	own = l.manifest;
	foreign = lab_manifest(&l, lines, true);
	o = lab_object(&l, 0);
	h = lab_open(o);
	ck_assert_int_eq(lab_read(h, 0, byte, 2), 0);
	l.manifest = foreign;
	again = lab_object(&l, 0);
	ck_assert_ptr_eq(again, o);
	ck_assert_int_eq(lab_read(h, 4000000, byte, 2), -EIO);
	handle_close(h);
	object_put(again);
	object_put(o);

	o = lab_object(&l, 1);
	h = lab_open(o);
	ck_assert_int_eq(lab_read(h, 0, byte, 2), -EIO);
	ck_assert_uint_eq(lab_requests(&l, "/b"), 0);
	handle_close(h);
	object_put(o);
	l.manifest = own;
	manifest_put(foreign);
	lab_done(&l);
}
END_TEST

/* ---- a reload, while objects live on ---- */

struct waiting {
	struct handle *h;
	int error;
};

static void *read_and_wait(void *arg)
{
	struct waiting *w = arg;

	w->error = lab_compare(w->h, "/f", 0, 4000000, 4100000, 100000);
	return NULL;
}

START_TEST(a_read_that_waits_goes_on_by_the_new_entry)
{
	static const char *const rules[] = {"/* content=/f size=5000001",
					    "/old content=/f size=5000001 fault=hang", NULL};
	struct manifest *was, *now, *m;
	struct waiting w;
	struct object_info info;
	struct object *o, *again;
	pthread_t thread;
	uint32_t index;
	struct lab l;

	lab_init(&l, rules);
	lab_start(&l, "@/old\n id=x\n size=5000001\n");
	was = l.manifest;
	o = lab_object(&l, 0);
	w = (struct waiting){.h = lab_open(o)};
	ck_assert_int_eq(pthread_create(&thread, NULL, read_and_wait, &w), 0);
	for (int i = 0; i < 500 && lab_requests(&l, "/old") == 0; i++)
		nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);

	now = lab_manifest(&l, "@/a\n size=1\n@/new\n id=x\n size=5000001\n", false);
	engine_adopt(l.engine, now);
	pthread_join(thread, NULL);
	ck_assert_int_eq(w.error, 0);
	ck_assert_uint_gt(lab_requests(&l, "/new"), 0);
	/* Who still has the old manifest does not take it back. */
	again = lab_object(&l, 0);
	ck_assert_ptr_eq(again, o);
	m = object_manifest(o, &index);
	ck_assert_ptr_eq(m, now);
	ck_assert_uint_eq(index, 1);
	manifest_put(m);
	object_info(o, &info);
	ck_assert_uint_eq(info.generation, 1);
	ck_assert_int_eq(lab_compare(w.h, "/f", 0, 0, 5000001, 131072), 0);
	handle_close(w.h);
	object_put(again);
	object_put(o);
	l.manifest = was;
	manifest_put(now);
	lab_done(&l);
}
END_TEST

START_TEST(another_size_in_the_manifest_is_another_version)
{
	static const char *const rules[] = {"/old content=/f size=5000001",
					    "/new content=/f version=1 size=4000000", NULL};
	struct manifest *was, *now;
	struct object_info info;
	struct object *o, *again;
	struct handle *h, *late;
	struct lab l;

	lab_init(&l, rules);
	lab_start(&l, "@/old\n id=x\n size=5000001\n");
	was = l.manifest;
	o = lab_object(&l, 0);
	h = lab_open(o);
	ck_assert_int_eq(lab_compare(h, "/f", 0, 0, 5000001, 131072), 0);
	ck_assert(lab_wait_state(o, OBJECT_COMPLETE));

	now = l.manifest = lab_manifest(&l, "@/new\n id=x\n size=4000000\n", false);
	again = lab_object(&l, 0);
	ck_assert_ptr_eq(again, o);
	object_info(o, &info);
	ck_assert_uint_eq(info.size, 4000000);
	ck_assert_uint_eq(info.generation, 2);
	ck_assert_int_eq(info.state, OBJECT_IDLE);
	ck_assert_int_eq(object_open(o, 1, &late), -ESTALE);
	ck_assert_int_eq(lab_compare(h, "/f", 0, 0, 5000001, 131072), 0);
	handle_close(h);
	h = lab_open(o);
	ck_assert_int_eq(lab_compare(h, "/f", 1, 0, 4000000, 131072), 0);
	handle_close(h);
	object_put(again);
	object_put(o);
	l.manifest = was;
	manifest_put(now);
	lab_done(&l);
}
END_TEST

START_TEST(entries_of_one_id_know_what_either_says)
{
	struct object_info info;
	struct object *o, *again;
	struct manifest *m;
	uint32_t index;
	struct lab l;

	lab_init(&l, plain_rules);
	lab_start(&l, "@/a\n id=x\n@/b\n id=x\n size=5000001\n@/c\n id=x\n"
		      " checksum=md5=00000000000000000000000000000000\n");
	o = lab_object(&l, 0);
	object_info(o, &info);
	ck_assert_uint_eq(info.size, SIZE_UNKNOWN);
	for (uint32_t i = 2; i < 8; i++) {
		again = lab_object(&l, i % 3);
		ck_assert_ptr_eq(again, o);
		object_put(again);
	}
	object_info(o, &info);
	ck_assert_uint_eq(info.size, 5000001);
	ck_assert_uint_eq(info.generation, 1);
	m = object_manifest(o, &index);
	ck_assert_uint_eq(index, 0);
	manifest_put(m);
	ck_assert_int_eq(lab_fill(o), -EILSEQ); /* by the checksum of the third */
	object_put(o);
	ck_assert_uint_gt(lab_requests(&l, "/a"), 0);
	ck_assert_uint_eq(lab_requests(&l, "/b") + lab_requests(&l, "/c"), 0);
	lab_done(&l);
}
END_TEST

START_TEST(an_empty_file_needs_no_request)
{
	struct object_info info;
	struct object *o;
	struct lab l;

	lab_init(&l, (const char *[]){"/* size=0", NULL});
	lab_start(&l, "@/a\n size=0\n@/b\n");
	o = lab_object(&l, 0);
	object_info(o, &info);
	ck_assert_int_eq(info.state, OBJECT_COMPLETE);
	ck_assert_int_eq(lab_fill(o), 0);
	object_put(o);
	ck_assert_uint_eq(lab_requests(&l, "/a"), 0);
	o = lab_object(&l, 1);
	ck_assert_int_eq(lab_probe(o), 0);
	object_info(o, &info);
	ck_assert_uint_eq(info.size, 0);
	object_put(o);
	lab_done(&l);
}
END_TEST

START_TEST(a_fill_is_durable_and_survives)
{
	struct object_info info;
	struct handle *h;
	struct object *o;
	struct lab l;

	lab_init(&l, plain_rules);
	lab_start(&l, "@/a\n");
	o = lab_object(&l, 0);
	ck_assert_int_eq(lab_fill(o), 0);
	object_info(o, &info);
	ck_assert_int_eq(info.state, OBJECT_COMPLETE);
	ck_assert_uint_eq(info.bytes_durable, 5000001);
	object_put(o);
	lab_stop(&l);

	lab_kill_origin(&l);
	lab_start(&l, "@/a\n");
	o = lab_object(&l, 0);
	object_info(o, &info);
	ck_assert_int_eq(info.state, OBJECT_COMPLETE);
	h = lab_open(o);
	ck_assert_int_eq(lab_compare(h, "/a", 0, 0, 5000001, MIB), 0);
	handle_close(h);
	object_put(o);
	lab_done(&l);
}
END_TEST

START_TEST(offline_serves_what_is_there)
{
	unsigned char byte[2];
	struct handle *h;
	struct object *o;
	struct lab l;

	lab_init(&l, plain_rules);
	lab_start(&l, "@/a\n size=5000001\n");
	o = lab_object(&l, 0);
	h = lab_open(o);
	ck_assert_int_eq(lab_compare(h, "/a", 0, 0, 100, 100), 0);
	handle_close(h);
	object_put(o);
	lab_stop(&l);
	uint64_t n = lab_requests(&l, "/a");

	l.cfg.offline = true;
	lab_start(&l, "@/a\n size=5000001\n");
	o = lab_object(&l, 0);
	h = lab_open(o);
	ck_assert_int_eq(lab_compare(h, "/a", 0, 0, 100, 100), 0);
	ck_assert_int_eq(lab_read(h, 4000000, byte, 2), -EIO);
	handle_close(h);
	object_put(o);
	ck_assert_uint_eq(lab_requests(&l, "/a"), n);
	lab_done(&l);
}
END_TEST

START_TEST(a_slice_is_a_file_of_its_own)
{
	struct content c = content_make(1, "/a", 0);
	unsigned char got[200000], want[200000];
	struct handle *h;
	struct object *o;
	struct lab l;

	lab_init(&l, (const char *[]){"/* size=1000000", NULL});
	lab_start(&l, "@/a\n range=12345-212344\n");
	o = lab_object(&l, 0);
	h = lab_open(o);
	ck_assert_uint_eq(handle_size(h), 200000);
	ck_assert_int_eq(lab_read(h, 0, got, sizeof(got)), 0);
	content_fill(c, 12345, want, sizeof(want));
	ck_assert_int_eq(memcmp(got, want, sizeof(want)), 0);
	handle_close(h);
	object_put(o);
	/* Also where the server sends everything. */
	lab_ctl(&l, "/a size=1000000 ranges=no");
	o = lab_object(&l, 0);
	lab_drop(o);
	h = lab_open(o);
	ck_assert_int_eq(lab_read(h, 1000, got, 100000), 0);
	content_fill(c, 13345, want, 100000);
	ck_assert_int_eq(memcmp(got, want, 100000), 0);
	handle_close(h);
	object_put(o);
	lab_done(&l);
}
END_TEST

START_TEST(backfill_begins_when_a_file_is_really_read)
{
	struct object_info info;
	struct handle *h;
	struct object *o;
	struct lab l;

	lab_init(&l, (const char *[]){"/* size=20M", NULL});
	l.cfg.fill = FILL_OPENED;
	l.cfg.fill_after = 2 * MIB;
	lab_start(&l, "@/a\n size=20971520\n");
	o = lab_object(&l, 0);
	h = lab_open(o);
	ck_assert_int_eq(lab_compare(h, "/a", 0, 0, MIB, 131072), 0);
	object_info(o, &info);
	ck_assert_int_ne(info.state, OBJECT_COMPLETE);
	ck_assert_int_eq(lab_compare(h, "/a", 0, MIB, 2 * MIB, 131072), 0);
	ck_assert(lab_wait_state(o, OBJECT_COMPLETE));
	handle_close(h);
	object_put(o);
	lab_done(&l);
}
END_TEST

START_TEST(backfill_does_not_bring_back_what_was_dropped)
{
	struct timespec second = {.tv_sec = 1};
	struct object_info info;
	struct handle *h;
	struct object *o;
	struct lab l;

	lab_init(&l, (const char *[]){"/* size=40M rate=10M", NULL});
	l.cfg.fill = FILL_OPENED;
	l.cfg.fill_after = MIB;
	l.cfg.sched.connections = 1;
	lab_start(&l, "@/a\n size=41943040\n");
	o = lab_object(&l, 0);
	h = lab_open(o);
	ck_assert_int_eq(lab_compare(h, "/a", 0, 0, 2 * MIB, 131072), 0);
	handle_close(h);
	ck_assert_int_eq(lab_drop(o), 0);
	nanosleep(&second, NULL);
	object_info(o, &info);
	/* What was on its way may still have come. */
	ck_assert_uint_le(info.bytes_cached, 2 * MIB);
	/* Until it is really read again. */
	h = lab_open(o);
	ck_assert_int_eq(lab_compare(h, "/a", 0, 0, 2 * MIB, 131072), 0);
	ck_assert(lab_wait_state(o, OBJECT_COMPLETE));
	handle_close(h);
	object_put(o);
	lab_done(&l);
}
END_TEST

START_TEST(a_manifest_is_filled)
{
	struct lab l;
	char text[4096] = "";

	lab_init(&l, (const char *[]){"/* size=100000", NULL});
	for (int i = 0; i < 100; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "@/f%d\n", i);
	l.cfg.fill = FILL_ALL;
	lab_start(&l, text);
	engine_ask_sizes(l.engine, l.manifest);
	engine_fill_manifest(l.engine, l.manifest);
	for (uint32_t i = 0; i < 100; i++) {
		struct object *o = lab_object(&l, i);

		ck_assert(lab_wait_state(o, OBJECT_COMPLETE));
		object_put(o);
	}
	lab_done(&l);
}
END_TEST

static unsigned int connections(struct lab *l)
{
	struct engine_stats st;

	engine_stats(l->engine, &st);
	return st.connections;
}

START_TEST(a_reload_ends_the_filling_of_what_is_gone)
{
	static const char *const rules[] = {"/f* size=65536 delay=100ms",
					    "/big size=100000000 rate=1M", "/new size=65536", NULL};
	char text[16384] = "@/big\n size=100000000\n";
	struct manifest *was, *now;
	struct object *o;
	struct lab l;

	lab_init(&l, rules);
	for (int i = 0; i < 400; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "@/f%03d\n size=65536\n",
			 i);
	l.cfg.fill = FILL_ALL;
	lab_start(&l, text);
	engine_fill_manifest(l.engine, l.manifest);
	while (lab_requests(&l, "/big") == 0 || lab_requests(&l, "/f000") == 0)
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);

	was = l.manifest;
	now = l.manifest = lab_manifest(&l, "@/new\n size=65536\n", false);
	engine_adopt(l.engine, now);
	engine_fill_manifest(l.engine, now);
	o = lab_object(&l, 0);
	ck_assert(lab_wait_state(o, OBJECT_COMPLETE));
	object_put(o);
	for (int i = 0; i < 50 && connections(&l) > 0; i++)
		nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
	ck_assert_uint_eq(connections(&l), 0);
	ck_assert_uint_eq(lab_requests(&l, "/f399"), 0);
	l.manifest = was;
	manifest_put(now);
	lab_done(&l);
}
END_TEST

/* Nobody has it open any more, and it is still in memory. */
START_TEST(what_was_evicted_is_not_complete)
{
	struct object_info info;
	struct object *o, *other[300];
	char text[8192] = "";
	struct lab l;

	lab_init(&l, (const char *[]){"/* size=65536", NULL});
	for (int i = 0; i < 300; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "@/f%03d\n", i);
	l.cfg.store.cache_size = UINT64_C(16) << 20;
	lab_start(&l, text);
	o = lab_object(&l, 0);
	ck_assert_int_eq(lab_fill(o), 0);
	object_info(o, &info);
	ck_assert_int_eq(info.state, OBJECT_COMPLETE);
	for (uint32_t i = 1; i < 300; i++) {
		other[i] = lab_object(&l, i);
		ck_assert_int_eq(lab_fill(other[i]), 0);
	}
	object_info(o, &info);
	ck_assert_uint_eq(info.bytes_cached, 0);
	ck_assert_int_eq(info.state, OBJECT_IDLE);
	ck_assert_int_eq(lab_fill(o), 0);
	object_info(o, &info);
	ck_assert_uint_eq(info.bytes_durable, 65536);
	ck_assert_int_eq(info.state, OBJECT_COMPLETE);
	for (uint32_t i = 1; i < 300; i++)
		object_put(other[i]);
	object_put(o);
	lab_done(&l);
}
END_TEST

/* ---- one that does not ---- */

static void compare_under(const char *rule, uint64_t size)
{
	char manifest[64];
	struct handle *h;
	struct object *o;
	struct lab l;

	lab_init(&l, (const char *[]){rule, NULL});
	snprintf(manifest, sizeof(manifest), "@/a\n size=%llu\n", (unsigned long long)size);
	lab_start(&l, manifest);
	o = lab_object(&l, 0);
	h = lab_open(o);
	ck_assert_int_eq(lab_compare(h, "/a", 0, size / 2, size, 131072), 0);
	ck_assert_int_eq(lab_compare(h, "/a", 0, 0, size, 131072), 0);
	handle_close(h);
	object_put(o);
	lab_done(&l);
}

START_TEST(a_server_that_ignores_ranges)
{
	compare_under("/a size=3000000 ranges=no", 3000000);
	compare_under("/a size=3000000 fault=ignore-range@tail", 3000000);
}
END_TEST

START_TEST(connections_that_break)
{
	compare_under("/a size=3000000 fault=close:100000@every=3", 3000000);
	compare_under("/a size=3000000 fault=reset:70000@every=2", 3000000);
	compare_under("/a size=3000000 fault=short:65536@every=2", 3000000);
}
END_TEST

START_TEST(a_stream_without_a_length)
{
	struct object_info info;
	struct handle *h, *again;
	struct object *o;
	struct lab l;

	lab_init(&l, (const char *[]){"/* size=700001 ranges=no fault=chunked", NULL});
	lab_start(&l, "@/a\n");
	o = lab_object(&l, 0);
	ck_assert_int_eq(lab_probe(o), 0);
	object_info(o, &info);
	ck_assert(info.length_unknown);
	ck_assert_uint_eq(info.size, 1);
	h = lab_open(o);
	ck_assert_uint_eq(handle_size(h), SIZE_UNKNOWN);
	ck_assert_int_eq(lab_compare(h, "/a", 0, 0, 700000, 100000), 0);
	/* Across the end: an error, and then the size is known. */
	unsigned char two[2];
	ck_assert_int_ne(lab_read(h, 700000, two, 2), 0);
	ck_assert_uint_eq(handle_size(h), 700001);
	ck_assert_int_eq(lab_compare(h, "/a", 0, 700000, 700001, 1), 0);
	ck_assert(lab_wait_state(o, OBJECT_COMPLETE));
	object_info(o, &info);
	ck_assert(!info.length_unknown);
	ck_assert_uint_eq(info.size, 700001);
	ck_assert_uint_eq(info.generation, 2);
	again = lab_open(o);
	ck_assert_int_eq(lab_compare(again, "/a", 0, 0, 700001, 131072), 0);
	handle_close(again);
	handle_close(h);
	object_put(o);
	lab_done(&l);
}
END_TEST

START_TEST(another_version_is_never_mixed_in)
{
	struct handle *old, *new;
	struct object_info info;
	unsigned char byte;
	struct object *o;
	struct lab l;

	lab_init(&l, (const char *[]){"/a size=5000001 etag=strong", NULL});
	lab_start(&l, "@/a\n size=5000001\n");
	o = lab_object(&l, 0);
	old = lab_open(o);
	ck_assert_int_eq(lab_compare(old, "/a", 0, 0, 1000, 1000), 0);
	/* Answered from memory: wait until it is in the cache as well. */
	do
		object_info(o, &info);
	while (info.bytes_cached < 65536);
	lab_ctl(&l, "/a size=5000001 etag=strong version=1");
	ck_assert_int_eq(lab_read(old, 4900000, &byte, 1), -EIO);
	object_info(o, &info);
	ck_assert_uint_eq(info.generation, 2);
	ck_assert_uint_ge(atomic_load(&l.changed), 1);
	/* What the old handle has it keeps; the rest it never gets. */
	ck_assert_int_eq(lab_compare(old, "/a", 0, 0, 1000, 1000), 0);
	ck_assert_int_eq(lab_read(old, 4000000, &byte, 1), -EIO);
	ck_assert_int_eq(object_open(o, 1, &new), -ESTALE);
	new = lab_open(o);
	ck_assert_int_eq(lab_compare(new, "/a", 1, 0, 5000001, MIB), 0);
	handle_close(new);
	handle_close(old);
	object_put(o);
	lab_done(&l);
}
END_TEST

/* A node of the version before must be looked up again, also while the new size is unknown. */
START_TEST(another_version_without_a_size_is_stale)
{
	struct handle *old, *late;
	struct object_info info;
	unsigned char byte;
	struct object *o;
	struct lab l;

	lab_init(&l, (const char *[]){"/a size=5000001 etag=strong", NULL});
	lab_start(&l, "@/a\n");
	o = lab_object(&l, 0);
	ck_assert_int_eq(lab_probe(o), 0);
	old = lab_open(o);
	ck_assert_int_eq(lab_compare(old, "/a", 0, 0, 1000, 1000), 0);
	lab_ctl(&l, "/a size=5000001 etag=strong version=1 ranges=no fault=chunked");
	ck_assert_int_eq(lab_read(old, 4900000, &byte, 1), -EIO);
	object_info(o, &info);
	ck_assert_uint_eq(info.generation, 2);
	ck_assert_uint_eq(info.size, SIZE_UNKNOWN);
	ck_assert_int_eq(object_open(o, 1, &late), -ESTALE);
	ck_assert_int_eq(object_open(o, 2, &late), -EIO);
	handle_close(old);
	object_put(o);
	lab_done(&l);
}
END_TEST

START_TEST(a_mirror_takes_over)
{
	struct handle *h;
	struct object *o;
	struct lab l;

	lab_init(&l, (const char *[]){"/a size=3000000 fault=status:404",
				      "/b size=3000000 content=/a", NULL});
	lab_start(&l, "@/a\t@/b\n size=3000000\n");
	o = lab_object(&l, 0);
	h = lab_open(o);
	ck_assert_int_eq(lab_compare(h, "/a", 0, 0, 3000000, 131072), 0);
	handle_close(h);
	object_put(o);
	lab_done(&l);
}
END_TEST

START_TEST(a_wrong_size_is_a_verdict)
{
	struct object_info info;
	unsigned char byte;
	struct handle *h;
	struct object *o;
	struct lab l;

	lab_init(&l, (const char *[]){"/a size=1000", NULL});
	lab_start(&l, "@/a\n size=2000\n");
	o = lab_object(&l, 0);
	h = lab_open(o);
	ck_assert_int_eq(lab_read(h, 0, &byte, 1), -EIO);
	ck_assert(lab_wait_state(o, OBJECT_FAILED));
	object_info(o, &info);
	ck_assert_ptr_nonnull(strstr(info.error, "1000"));
	ck_assert_ptr_nonnull(strstr(info.error, "2000"));
	ck_assert_uint_eq(info.size, 2000);
	/* The kernel asks again at once: no second round. */
	uint64_t n = lab_requests(&l, "/a");
	ck_assert_int_eq(lab_read(h, 0, &byte, 1), -EIO);
	ck_assert_uint_eq(lab_requests(&l, "/a"), n);
	handle_close(h);
	object_put(o);
	lab_done(&l);
}
END_TEST

START_TEST(a_checksum_decides)
{
	struct content c = content_make(1, "/good", 0);
	unsigned char *data = malloc(300000);
	char manifest[512];
	struct object_info info;
	uint8_t sum[32];
	struct object *o;
	struct lab l;
	int n;

	lab_init(&l,
		 (const char *[]){"/good size=300000",
				  "/bad size=300000 content=/good fault=corrupt:1000:10", NULL});
	content_fill(c, 0, data, 300000);
	ck_assert_int_eq(digest_sha256(data, 300000, sum), 0);
	n = snprintf(manifest, sizeof(manifest), "@/bad\t@/good\n out=one\n checksum=sha-256=");
	for (int i = 0; i < 32; i++)
		n += snprintf(manifest + n, sizeof(manifest) - (size_t)n, "%02x", sum[i]);
	lab_start(&l, manifest);
	o = lab_object(&l, 0);
	ck_assert_int_eq(lab_fill(o), 0);
	object_info(o, &info);
	ck_assert_int_eq(info.state, OBJECT_COMPLETE);
	struct handle *h = lab_open(o);
	ck_assert_int_eq(lab_compare(h, "/good", 0, 0, 300000, 100000), 0);
	handle_close(h);
	object_put(o);
	lab_stop(&l);

	/* Without a good mirror it is an error, never good. */
	manifest[0] = '\0';
	n = snprintf(manifest, sizeof(manifest), "@/bad\n out=two\n id=two\n checksum=sha-256=");
	for (int i = 0; i < 32; i++)
		n += snprintf(manifest + n, sizeof(manifest) - (size_t)n, "%02x", sum[i]);
	lab_start(&l, manifest);
	o = lab_object(&l, 0);
	ck_assert_int_eq(lab_fill(o), -EILSEQ);
	object_info(o, &info);
	ck_assert_int_eq(info.state, OBJECT_FAILED);
	object_put(o);
	free(data);
	lab_done(&l);
}
END_TEST

START_TEST(a_complete_file_is_asked_about)
{
	struct object *o;
	struct handle *h;
	struct lab l;

	lab_init(&l, (const char *[]){"/a size=100000 etag=strong", NULL});
	l.cfg.revalidate_us = 0;
	lab_start(&l, "@/a\n size=100000\n");
	o = lab_object(&l, 0);
	ck_assert_int_eq(lab_fill(o), 0);
	lab_ctl(&l, "/a size=100000 etag=strong version=1");
	h = lab_open(o);
	ck_assert(lab_wait_generation(o, 2));
	ck_assert_int_eq(lab_compare(h, "/a", 0, 0, 100000, 100000), 0);
	handle_close(h);
	h = lab_open(o);
	ck_assert_int_eq(lab_compare(h, "/a", 1, 0, 100000, 100000), 0);
	handle_close(h);
	object_put(o);
	lab_done(&l);
}
END_TEST

START_TEST(nobody_hangs)
{
	unsigned char byte;
	struct handle *h;
	struct object *o;
	struct lab l;

	lab_init(&l, (const char *[]){"/a size=1000000 fault=hang", NULL});
	l.cfg.sched.retry_time_us = 1500000;
	l.cfg.sched.stall_timeout_us = l.cfg.fetch.stall_timeout_us = 1000000;
	lab_start(&l, "@/a\n size=1000000\n");
	o = lab_object(&l, 0);
	h = lab_open(o);
	ck_assert_int_eq(lab_read(h, 0, &byte, 1), -EIO);
	handle_close(h);
	object_put(o);
	lab_done(&l);
}
END_TEST

static void *stop_soon(void *arg)
{
	struct lab *l = arg;

	while (lab_requests(l, "/a") == 0)
		;
	engine_stop(l->engine);
	return NULL;
}

START_TEST(stopping_answers_parked_reads)
{
	unsigned char byte;
	pthread_t thread;
	struct handle *h;
	struct object *o;
	struct lab l;

	lab_init(&l, (const char *[]){"/a size=1000000 fault=stall:0", NULL});
	l.cfg.sched.retry_time_us = 0;
	lab_start(&l, "@/a\n size=1000000\n");
	o = lab_object(&l, 0);
	h = lab_open(o);
	ck_assert_int_eq(pthread_create(&thread, NULL, stop_soon, &l), 0);
	ck_assert_int_eq(lab_read(h, 0, &byte, 1), -EIO);
	pthread_join(thread, NULL);
	handle_close(h);
	object_put(o);
	lab_done(&l);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("engine");
	TCase *good = tcase_create("good"), *bad = tcase_create("bad");
	SRunner *r;
	int failed;

	tcase_set_timeout(good, 60);
	tcase_add_test(good, a_whole_file_in_steps);
	tcase_add_test(good, random_reads_of_several_threads);
	tcase_add_test(good, a_small_read_is_cheap);
	tcase_add_test(good, the_time_to_the_first_byte_is_measured);
	tcase_add_test(good, an_unknown_size_is_asked);
	tcase_add_test(good, what_is_gone_is_told_from_what_did_not_answer);
	tcase_add_test(good, the_address_policy_follows_the_manifest);
	tcase_add_test(good, an_empty_file_needs_no_request);
	tcase_add_test(good, a_fill_is_durable_and_survives);
	tcase_add_test(good, offline_serves_what_is_there);
	tcase_add_test(good, a_slice_is_a_file_of_its_own);
	tcase_add_test(good, backfill_begins_when_a_file_is_really_read);
	tcase_add_test(good, backfill_does_not_bring_back_what_was_dropped);
	tcase_add_test(good, a_manifest_is_filled);
	tcase_add_test(good, a_reload_ends_the_filling_of_what_is_gone);
	tcase_add_test(good, what_was_evicted_is_not_complete);
	tcase_add_test(good, a_read_that_waits_goes_on_by_the_new_entry);
	tcase_add_test(good, another_size_in_the_manifest_is_another_version);
	tcase_add_test(good, entries_of_one_id_know_what_either_says);
	suite_add_tcase(s, good);
	tcase_set_timeout(bad, 60);
	tcase_add_test(bad, a_server_that_ignores_ranges);
	tcase_add_test(bad, connections_that_break);
	tcase_add_test(bad, a_stream_without_a_length);
	tcase_add_test(bad, another_version_is_never_mixed_in);
	tcase_add_test(bad, another_version_without_a_size_is_stale);
	tcase_add_test(bad, a_mirror_takes_over);
	tcase_add_test(bad, a_wrong_size_is_a_verdict);
	tcase_add_test(bad, a_checksum_decides);
	tcase_add_test(bad, a_complete_file_is_asked_about);
	tcase_add_test(bad, nobody_hangs);
	tcase_add_test(bad, stopping_answers_parked_reads);
	suite_add_tcase(s, bad);
	r = srunner_create(s);
	labs_begin();
	srunner_run_all(r, CK_ENV);
	labs_end();
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
