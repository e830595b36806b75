/*
 * test_validator.c - which answers prove one version; the table of verdicts
 */
#include "core/validator.h"
#include "core/verdict.h"
#include "suite.h"

#define NO_TIME VALIDATOR_NO_TIME
#define NO_SIZE SIZE_UNKNOWN

static struct validator make(const char *etag, int64_t time, uint64_t size)
{
	struct validator v = {.last_modified = time, .size = size};

	snprintf(v.etag, sizeof(v.etag), "%s", etag);
	return v;
}

START_TEST(strength)
{
	struct validator v = VALIDATOR_INIT;

	ck_assert_int_eq(validator_strength(&v), VALIDATOR_NONE);
	v = make("", 5, NO_SIZE);
	ck_assert_int_eq(validator_strength(&v),
			 VALIDATOR_NONE); /* a date proves nothing without a size */
	v = make("", NO_TIME, 5);
	ck_assert_int_eq(validator_strength(&v), VALIDATOR_SIZE);
	v = make("W/\"a\"", 5, 5);
	ck_assert_int_eq(validator_strength(&v), VALIDATOR_TIME);
	v = make("\"a\"", NO_TIME, NO_SIZE);
	ck_assert_int_eq(validator_strength(&v), VALIDATOR_STRONG);
	ck_assert(!validator_etag_strong("\""));
	ck_assert(!validator_etag_strong("abc"));
	ck_assert(validator_etag_strong("\"\""));
}
END_TEST

static const struct {
	const char *what;
	struct validator have, got;
	enum validator_match match, pinned;
} pairs[] = {
	{"nothing known", {"", NO_TIME, NO_SIZE}, {"\"a\"", 1, 10}, VALIDATOR_SAME, VALIDATOR_SAME},
	{"equal tags",
	 {"\"a\"", NO_TIME, 10},
	 {"\"a\"", NO_TIME, 10},
	 VALIDATOR_SAME,
	 VALIDATOR_SAME},
	{"equal tags, other dates",
	 {"\"a\"", 1, 10},
	 {"\"a\"", 2, 10},
	 VALIDATOR_SAME,
	 VALIDATOR_SAME},
	{"equal tags, other sizes",
	 {"\"a\"", 1, 10},
	 {"\"a\"", 1, 11},
	 VALIDATOR_DIFFERENT,
	 VALIDATOR_DIFFERENT},
	{"other tags",
	 {"\"a\"", NO_TIME, 10},
	 {"\"b\"", NO_TIME, 10},
	 VALIDATOR_DIFFERENT,
	 VALIDATOR_SAME},
	{"other tags, one date",
	 {"\"a\"", 1, 10},
	 {"\"b\"", NO_TIME, 10},
	 VALIDATOR_DIFFERENT,
	 VALIDATOR_SAME},
	{"other tags, other dates",
	 {"\"a\"", 1, 10},
	 {"\"b\"", 2, 10},
	 VALIDATOR_DIFFERENT,
	 VALIDATOR_SAME},
	{"other tags, equal rest",
	 {"\"a\"", 1, 10},
	 {"\"b\"", 1, 10},
	 VALIDATOR_FLIPPED,
	 VALIDATOR_SAME},
	{"other tags, equal dates, no size",
	 {"\"a\"", 1, 10},
	 {"\"b\"", 1, NO_SIZE},
	 VALIDATOR_DIFFERENT,
	 VALIDATOR_SAME},
	{"weak form of it",
	 {"\"a\"", NO_TIME, 10},
	 {"W/\"a\"", NO_TIME, 10},
	 VALIDATOR_SAME,
	 VALIDATOR_SAME},
	{"weak form of it, other date",
	 {"\"a\"", 1, 10},
	 {"W/\"a\"", 2, 10},
	 VALIDATOR_DIFFERENT,
	 VALIDATOR_SAME},
	{"equal weak tags, other dates",
	 {"W/\"a\"", 1, 10},
	 {"W/\"a\"", 2, 10},
	 VALIDATOR_DIFFERENT,
	 VALIDATOR_SAME},
	{"no tag in the answer", {"\"a\"", 1, 10}, {"", 1, 10}, VALIDATOR_SAME, VALIDATOR_SAME},
	{"dates differ", {"", 1, 10}, {"", 2, 10}, VALIDATOR_DIFFERENT, VALIDATOR_SAME},
	{"sizes differ",
	 {"", NO_TIME, 10},
	 {"", NO_TIME, 11},
	 VALIDATOR_DIFFERENT,
	 VALIDATOR_DIFFERENT},
	{"sizes agree", {"", NO_TIME, 10}, {"", NO_TIME, 10}, VALIDATOR_SAME, VALIDATOR_SAME},
};

START_TEST(compare_table)
{
	ck_assert_msg(validator_compare(&pairs[_i].have, &pairs[_i].got, false) == pairs[_i].match,
		      "%s", pairs[_i].what);
	ck_assert_msg(validator_compare(&pairs[_i].got, &pairs[_i].have, false) == pairs[_i].match,
		      "%s, the other way", pairs[_i].what);
	ck_assert_msg(validator_compare(&pairs[_i].have, &pairs[_i].got, true) == pairs[_i].pinned,
		      "%s, pinned", pairs[_i].what);
}
END_TEST

START_TEST(learning_never_overwrites)
{
	struct validator have = make("", NO_TIME, 10);
	struct validator got = make("\"a\"", 7, 11);

	validator_learn(&have, &got);
	ck_assert_str_eq(have.etag, "\"a\"");
	ck_assert_int_eq(have.last_modified, 7);
	ck_assert_uint_eq(have.size, 10);
	got = make("\"b\"", 8, 12);
	validator_learn(&have, &got);
	ck_assert_str_eq(have.etag, "\"a\"");
	ck_assert_int_eq(have.last_modified, 7);
}
END_TEST

static const struct {
	struct validator v;
	const char *text;
} texts[] = {
	{{"", NO_TIME, NO_SIZE}, ""},
	{{"", NO_TIME, 10}, "size=10"},
	{{"", -5, NO_SIZE}, "time=-5"},
	{{"\"a b\"", 784111777, 10}, "size=10 time=784111777 etag=\"a b\""},
	{{"W/\"x\"", NO_TIME, NO_SIZE}, "etag=W/\"x\""},
	{{"\"size=3\"", NO_TIME, 0}, "size=0 etag=\"size=3\""},
};

START_TEST(text_and_back)
{
	char buf[VALIDATOR_TEXT_MAX];
	struct validator v;

	validator_format(&texts[_i].v, buf);
	ck_assert_str_eq(buf, texts[_i].text);
	ck_assert_int_eq(validator_parse(buf, &v), 0);
	ck_assert_str_eq(v.etag, texts[_i].v.etag);
	ck_assert_int_eq(v.last_modified, texts[_i].v.last_modified);
	ck_assert_uint_eq(v.size, texts[_i].v.size);
}
END_TEST

START_TEST(the_longest_text_fits)
{
	struct validator v = {.last_modified = INT64_MIN + 1, .size = INT64_MAX};
	struct validator back;
	char buf[VALIDATOR_TEXT_MAX];

	memset(v.etag, 'x', sizeof(v.etag) - 1);
	validator_format(&v, buf);
	ck_assert_int_eq(validator_parse(buf, &back), 0);
	ck_assert_str_eq(back.etag, v.etag);
	ck_assert_int_eq(back.last_modified, v.last_modified);
}
END_TEST

static const char *const bad_texts[] = {
	"size=",
	"size=x",
	"size=1 size=2",
	"time=",
	"time=--1",
	"time=1 time=1",
	"something",
	"etag=",
	"etag=\t",
	"size=99999999999999999999",
	"size=000000000000000000000000000000000000000000000000001",
	"time=9223372036854775808",
};

START_TEST(damaged_text_is_refused)
{
	struct validator v;

	ck_assert_msg(validator_parse(bad_texts[_i], &v) == -EINVAL, "%s", bad_texts[_i]);
}
END_TEST

START_TEST(tags_are_printable_and_bounded)
{
	struct validator v = VALIDATOR_INIT;
	char longest[ETAG_MAX + 1];

	memset(longest, 'x', sizeof(longest));
	ck_assert_int_eq(validator_set_etag(&v, longest, ETAG_MAX), -EINVAL);
	ck_assert_int_eq(validator_set_etag(&v, longest, ETAG_MAX - 1), 0);
	ck_assert_int_eq(validator_set_etag(&v, "\"\xc3\xa9\"", 4), -EINVAL);
	ck_assert_int_eq(validator_set_etag(&v, "a\0b", 3), -EINVAL);
	ck_assert_int_eq(validator_set_etag(&v, "\"a\"", 3), 0);
	ck_assert_str_eq(v.etag, "\"a\"");
}
END_TEST

START_TEST(every_verdict_has_a_name_of_its_own)
{
	for (int v = 0; v < VERDICT_COUNT; v++) {
		ck_assert_ptr_nonnull(verdict_name((enum verdict)v));
		ck_assert_ptr_nonnull(verdict_text((enum verdict)v));
		for (int w = 0; w < v; w++)
			ck_assert_str_ne(verdict_name((enum verdict)v),
					 verdict_name((enum verdict)w));
	}
}
END_TEST

START_TEST(what_follows_from_a_verdict)
{
	ck_assert_int_eq(verdict_class(VERDICT_PART), VERDICT_CLASS_GOOD);
	ck_assert_int_eq(verdict_class(VERDICT_CHANGED), VERDICT_CLASS_VERSION);
	ck_assert_int_eq(verdict_class(VERDICT_SIZE), VERDICT_CLASS_SOURCE);
	ck_assert_int_eq(verdict_class(VERDICT_DENIED), VERDICT_CLASS_RERESOLVE);
	ck_assert_int_eq(verdict_class(VERDICT_BUSY), VERDICT_CLASS_ORIGIN);
	ck_assert_int_eq(verdict_class(VERDICT_SHORT), VERDICT_CLASS_RETRY);
	ck_assert_int_eq(verdict_class(VERDICT_CANCELLED), VERDICT_CLASS_OURS);
	ck_assert_int_eq(verdict_class(VERDICT_CHECKSUM), VERDICT_CLASS_SOURCE);
}
END_TEST

static void fill(TCase *tc)
{
	tcase_add_test(tc, strength);
	tcase_add_loop_test(tc, compare_table, 0, ARRAY_SIZE(pairs));
	tcase_add_test(tc, learning_never_overwrites);
	tcase_add_loop_test(tc, text_and_back, 0, ARRAY_SIZE(texts));
	tcase_add_test(tc, the_longest_text_fits);
	tcase_add_loop_test(tc, damaged_text_is_refused, 0, ARRAY_SIZE(bad_texts));
	tcase_add_test(tc, tags_are_printable_and_bounded);
	tcase_add_test(tc, every_verdict_has_a_name_of_its_own);
	tcase_add_test(tc, what_follows_from_a_verdict);
}

int main(void)
{
	return suite_run("validator", fill);
}
