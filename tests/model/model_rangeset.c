/*
 * model_rangeset.c - random operations on a rangeset against one flag per position
 */
#include "core/rangeset.h"
#include "seed.h"

#define UNIVERSE 300
#define STEPS	 20000

static void fail(const char *what, struct range r)
{
	printf("FAILED: %s at [%" PRIu64 ", %" PRIu64 ")\n", what, r.off, r.end);
	abort();
}

static struct range random_range(uint64_t *rng)
{
	uint64_t a = seed_below(rng, UNIVERSE + 1);
	/* Mostly short, so that many ranges live beside each other. */
	uint64_t most = seed_below(rng, 20) == 0 ? UNIVERSE : 12;

	return range_make(a, min_u64(UNIVERSE, a + seed_below(rng, most)));
}

static bool all_are(const bool *model, struct range r, bool value)
{
	for (uint64_t i = r.off; i < r.end; i++) {
		if (model[i] != value)
			return false;
	}
	return true;
}

static void set_all(bool *model, struct range r, bool value)
{
	for (uint64_t i = r.off; i < r.end; i++)
		model[i] = value;
}

/* First run of value in within, by looking at each. */
static bool model_next(const bool *model, struct range within, bool value, struct range *ret)
{
	uint64_t i = within.off;

	while (i < within.end && model[i] != value)
		i++;
	if (i >= within.end)
		return false;
	ret->off = i;
	while (i < within.end && model[i] == value)
		i++;
	ret->end = i;
	return true;
}

static void compare_whole(const struct rangeset *s, const bool *model)
{
	struct range all = {0, UNIVERSE};
	struct range got;
	struct range expected;
	uint64_t pos = 0;
	uint64_t bytes = 0;
	size_t count = 0;

	while (model_next(model, range_make(pos, UNIVERSE), true, &expected)) {
		if (rangeset_next(s, pos, &got) < 0 || got.off != expected.off ||
		    got.end != expected.end)
			fail("next", expected);
		bytes += range_len(got);
		count++;
		pos = got.end;
	}
	if (rangeset_next(s, pos, &got) != -ENOENT)
		fail("next finds what is not there", got);
	if (bytes != s->bytes || count != s->count)
		fail("bytes or count", all);
}

static void compare_queries(const struct rangeset *s, const bool *model, struct range r)
{
	struct range got = {0, 0};
	struct range expected = {0, 0};
	bool found = model_next(model, r, false, &expected);

	if (rangeset_contains(s, r) != all_are(model, r, true))
		fail("contains", r);
	if ((rangeset_next_gap(s, r, &got) == 0) != found)
		fail("next_gap: is there one", r);
	if (found && (got.off != expected.off || got.end != expected.end))
		fail("next_gap", r);
}

static void run(uint64_t seed)
{
	bool model[UNIVERSE + 1] = {false};
	struct rangeset s;
	struct rangeset other;
	uint64_t rng = seed;

	rangeset_init(&s);
	rangeset_init(&other);
	for (int step = 0; step < STEPS; step++) {
		struct range r = random_range(&rng);
		uint64_t what = seed_below(&rng, 1000);

		if (what < 500) {
			if (rangeset_add(&s, r) < 0)
				fail("add", r);
			set_all(model, r, true);
		} else if (what < 998) {
			if (rangeset_remove(&s, r) < 0)
				fail("remove", r);
			set_all(model, r, false);
		} else { /* a snapshot: the set is empty, the other has it all */
			rangeset_swap(&s, &other);
			compare_whole(&other, model);
			set_all(model, range_make(0, UNIVERSE), false);
			rangeset_done(&other);
		}
		compare_whole(&s, model);
		compare_queries(&s, model, random_range(&rng));
	}
	rangeset_done(&s);
}

int main(int argc, char **argv)
{
	return seed_main(argc, argv, 10, run);
}
