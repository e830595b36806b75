/*
 * test_readahead.c - how much is fetched beyond what programs read
 */
#include <check.h>

#include "core/rangeset.h"
#include "core/readahead.h"

#define KIB (UINT64_C(1) << 10)
#define MIB (UINT64_C(1) << 20)

struct program {
	struct readahead ra;
	struct rangeset touched, fetched;
	uint64_t size;
	struct readahead_limit limit;
};

static void begin(struct program *p, uint64_t size)
{
	*p = (struct program){.size = size, .limit = {.window_max = 128 * MIB}};
	readahead_init(&p->ra);
	rangeset_init(&p->touched);
	rangeset_init(&p->fetched);
}

/* One READ; returns how much more than itself was wanted. */
static uint64_t reads(struct program *p, uint64_t off, uint64_t len)
{
	struct range r = range_of_length(off, len), blocks, w;
	bool hit;

	r = range_intersect(r, range_make(0, p->size));
	blocks = range_to_blocks(r, p->size);
	hit = rangeset_contains(&p->fetched, blocks);
	readahead_read(&p->ra, r, p->size, hit, &p->limit, &w);
	ck_assert_int_eq(rangeset_add(&p->touched, blocks), 0);
	ck_assert_int_eq(rangeset_add(&p->fetched, blocks), 0);
	if (range_empty(w))
		return 0;
	ck_assert_uint_ge(w.off, r.end);
	ck_assert_uint_le(w.end, p->size);
	ck_assert_uint_eq(w.off % BLOCK_SIZE, 0);
	ck_assert(w.end % BLOCK_SIZE == 0 || w.end == p->size);
	ck_assert_int_eq(rangeset_add(&p->fetched, w), 0);
	return range_len(w);
}

static double end(struct program *p)
{
	double ratio = (double)p->fetched.bytes / (double)p->touched.bytes;

	rangeset_done(&p->touched);
	rangeset_done(&p->fetched);
	return ratio;
}

START_TEST(random_reads_fetch_their_blocks)
{
	struct program p;
	uint64_t x = 12345;

	begin(&p, 1024 * MIB);
	for (int i = 0; i < 200; i++) {
		x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		ck_assert_uint_eq(reads(&p, (x >> 33) % (1024 * MIB - 4 * KIB), 4 * KIB), 0);
	}
	ck_assert(end(&p) < 1.001);
}
END_TEST

START_TEST(one_byte_at_either_end)
{
	struct program p;

	begin(&p, 100 * MIB);
	reads(&p, 0, 16 * KIB);
	reads(&p, 100 * MIB - 4 * KIB, 4 * KIB);
	ck_assert(end(&p) <= 1.0);
}
END_TEST

/* tens to hundreds of KiB in several places, in steps of the kernel's growing read-ahead */
START_TEST(programs_that_read_little)
{
	struct program p;

	begin(&p, 81 * MIB); /* a Parquet footer and row group */
	reads(&p, 81 * MIB - 4 * KIB, 4 * KIB);
	reads(&p, 81 * MIB - 16 * KIB, 16 * KIB);
	for (uint64_t off = 0; off < 900 * KIB; off += 128 * KIB)
		reads(&p, 40 * MIB + off, 128 * KIB);
	ck_assert(end(&p) <= 2.0);

	begin(&p, 58 * MIB); /* SQLite by index */
	for (uint64_t i = 0; i < 19; i++)
		reads(&p, (i * 37 % 58) * MIB + 12 * KIB, 4 * KIB);
	ck_assert(end(&p) <= 1.0);

	begin(&p, 60 * MIB); /* unzip -p */
	reads(&p, 60 * MIB - 4 * KIB, 4 * KIB);
	reads(&p, 60 * MIB - 124 * KIB, 120 * KIB);
	reads(&p, 20 * MIB, 24 * KIB);
	ck_assert(end(&p) <= 2.0);

	begin(&p, 31 * MIB); /* a reader of small records that stops after 300 KiB */
	for (uint64_t off = 0, len = 16 * KIB; off < 300 * KIB; off += len)
		reads(&p, 5 * MIB + off, len);
	ck_assert(end(&p) <= 2.0);
}
END_TEST

START_TEST(strided_page_faults)
{
	struct program p;

	begin(&p, 1024 * MIB);
	for (uint64_t i = 0; i < 64; i++)
		reads(&p, i * 4 * MIB + 512 * KIB, 128 * KIB);
	ck_assert(end(&p) <= 1.1);
	begin(&p, 1024 * MIB);
	for (uint64_t i = 0; i < 64; i++)
		reads(&p, i * 256 * KIB, 128 * KIB);
	ck_assert(end(&p) <= 1.5);
}
END_TEST

START_TEST(four_threads_on_one_descriptor)
{
	struct program p;

	begin(&p, 1024 * MIB);
	for (uint64_t i = 0; i < 64; i++) {
		for (uint64_t t = 0; t < 4; t++)
			reads(&p, t * 200 * MIB + 100 * MIB + i * 128 * KIB, 128 * KIB);
	}
	/* Each is sequential and has read 8 MiB: at most as much again is ahead of it. */
	ck_assert(end(&p) <= 2.0);
	begin(&p, 8 * MIB);
	for (uint64_t i = 0; i < 64; i++)
		reads(&p, (i % 4 * 16 + i / 4) * 128 * KIB, 128 * KIB);
	ck_assert(end(&p) <= 1.0);
}
END_TEST

START_TEST(whole_file_reader_opens_wide)
{
	struct program p;

	begin(&p, 1024 * MIB);
	p.limit.ttfb_us = 200000;
	ck_assert_uint_eq(reads(&p, 0, 128 * KIB), 0);
	ck_assert_uint_ge(reads(&p, 128 * KIB, 128 * KIB), 31 * MIB);
	end(&p);

	begin(&p, 1024 * MIB);
	p.limit.ttfb_us = 20000;
	p.limit.rate_bps = 50 * MIB;
	reads(&p, 0, 128 * KIB);
	ck_assert_uint_ge(reads(&p, 128 * KIB, 128 * KIB), 1 * MIB);
	for (uint64_t off = 256 * KIB; off < 64 * MIB; off += 128 * KIB)
		reads(&p, off, 128 * KIB);
	/* half a second of the link, or 32 times to the first byte */
	ck_assert_uint_le(p.ra.cursor[0].window, 33 * MIB);
	ck_assert_uint_ge(p.ra.cursor[0].window, 16 * MIB);
	end(&p);
}
END_TEST

START_TEST(skips_and_seeks)
{
	struct program p;
	uint64_t off;

	begin(&p, 4096 * MIB);
	p.limit.rate_bps = 50 * MIB;
	p.limit.ttfb_us = 20000;
	for (off = 0; off < 128 * MIB; off += 128 * KIB)
		reads(&p, off, 128 * KIB);
	/* A skip of 16 MiB keeps the window: it is asked for behind the skip at once or is there
	 * already. */
	off += 16 * MIB;
	reads(&p, off, 128 * KIB);
	ck_assert_uint_ge(p.ra.cursor[0].ahead, off + 4 * MIB);
	/* A seek starts a run of its own. */
	ck_assert_uint_eq(reads(&p, 3000 * MIB, 128 * KIB), 0);
	end(&p);
}
END_TEST

START_TEST(reordered_reads_are_one_run)
{
	struct program p;

	begin(&p, 1024 * MIB);
	for (uint64_t i = 0; i < 32; i += 2) {
		reads(&p, (i + 1) * 128 * KIB, 128 * KIB);
		reads(&p, i * 128 * KIB, 128 * KIB);
	}
	ck_assert_uint_ge(p.ra.cursor[0].run, 3 * MIB);
	ck_assert_uint_gt(p.ra.cursor[0].window, 0);
	end(&p);
}
END_TEST

START_TEST(tails_of_large_files_alone)
{
	struct program p;

	begin(&p, 512 * MIB);
	ck_assert_uint_eq(reads(&p, 511 * MIB, 128 * KIB), MIB - 128 * KIB);
	end(&p);
	/* A page fault in a mapping of a small one. */
	begin(&p, 3 * MIB);
	ck_assert_uint_eq(reads(&p, 2 * MIB + 256 * KIB, 128 * KIB), 0);
	end(&p);
}
END_TEST

START_TEST(what_is_cached_starts_no_window)
{
	struct program p;

	begin(&p, 100 * MIB);
	for (uint64_t off = 0; off < 8 * MIB; off += 128 * KIB)
		reads(&p, off, 128 * KIB);
	readahead_init(&p.ra); /* opened again */
	for (uint64_t off = 0; off < 8 * MIB; off += 128 * KIB)
		ck_assert_uint_eq(reads(&p, off, 128 * KIB), 0);
	/* Going on from there to where nothing is yet starts one. */
	for (uint64_t off = 8 * MIB; off < 90 * MIB; off += 128 * KIB)
		reads(&p, off, 128 * KIB);
	ck_assert_uint_gt(p.ra.cursor[0].window, 0);
	end(&p);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("readahead");
	TCase *tc = tcase_create("readahead");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_test(tc, random_reads_fetch_their_blocks);
	tcase_add_test(tc, one_byte_at_either_end);
	tcase_add_test(tc, programs_that_read_little);
	tcase_add_test(tc, strided_page_faults);
	tcase_add_test(tc, four_threads_on_one_descriptor);
	tcase_add_test(tc, whole_file_reader_opens_wide);
	tcase_add_test(tc, skips_and_seeks);
	tcase_add_test(tc, reordered_reads_are_one_run);
	tcase_add_test(tc, tails_of_large_files_alone);
	tcase_add_test(tc, what_is_cached_starts_no_window);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
