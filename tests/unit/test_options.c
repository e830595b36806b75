/*
 * test_options.c - command lines: what is taken, and that the rest is refused
 */
#include "cli/options.h"

#include "suite.h"

struct values {
	bool flag, on;
	const char *text, *path;
	uint64_t size, time;
	unsigned int number, mode;
};

static struct values got;

#define AT(field) offsetof(struct values, field)
static const struct cli_option table[] = {
	{"flag", 'f', NULL, "G", set_flag, AT(flag), 0, NULL},
	{"switch-on", 0, NULL, "G", set_flag, AT(on), 0, NULL},
	{"text", 't', "T", "G", set_text, AT(text), 0, NULL},
	{"path", 0, "P", "G", set_path, AT(path), 0, NULL},
	{"cache-size", 0, "S", "G", set_size, AT(size), 0, NULL},
	{"time", 0, "S", "G", set_duration, AT(time), 0, NULL},
	{"number", 0, "N", "G", set_number, AT(number), 100, NULL},
	{"mode", 0, "M", "G", set_mode, AT(mode), 0, NULL},
};
static const struct command command = {"test", "A B", "It tests.", NULL};

#define WORDS_MAX 16
static char words[WORDS_MAX][128];
static char *argv_of[WORDS_MAX];

/* A command line of words with spaces between; how many operands, or what options_parse() said. */
static int parse(const char *line)
{
	const struct option_set set = {table, ARRAY_SIZE(table), &got, true};
	int argc = 0;

	got = (struct values){0};
	while (*line) {
		size_t len = strcspn(line, " ");

		ck_assert_int_lt(argc, WORDS_MAX);
		ck_assert_uint_lt(len, sizeof(words[0]));
		memcpy(words[argc], line, len);
		words[argc][len] = '\0';
		argv_of[argc] = words[argc];
		argc++;
		line += len;
		line += strspn(line, " ");
	}
	return options_parse(&command, &set, 1, argc, argv_of);
}

START_TEST(both_ways_of_a_value)
{
	ck_assert_int_eq(parse("--text=a --cache-size 10K x --number=7 y"), 2);
	ck_assert_str_eq(got.text, "a");
	ck_assert_uint_eq(got.size, 10240);
	ck_assert_uint_eq(got.number, 7);
	ck_assert_str_eq(argv_of[0], "x");
	ck_assert_str_eq(argv_of[1], "y");
	ck_assert_int_eq(parse("--text=a=b -f"), 0);
	ck_assert_str_eq(got.text, "a=b");
	ck_assert(got.flag);
}
END_TEST

START_TEST(short_ones)
{
	ck_assert_int_eq(parse("-ft word"), 0);
	ck_assert(got.flag);
	ck_assert_str_eq(got.text, "word");
	ck_assert_int_eq(parse("-tword -"), 1);
	ck_assert_str_eq(got.text, "word");
	ck_assert_str_eq(argv_of[0], "-");
}
END_TEST

START_TEST(the_end_of_options)
{
	ck_assert_int_eq(parse("-- --flag -f"), 2);
	ck_assert(!got.flag);
	ck_assert_str_eq(argv_of[0], "--flag");
}
END_TEST

START_TEST(values)
{
	ck_assert_int_eq(parse("--mode=0755 --time=500ms --path=rel"), 0);
	ck_assert_uint_eq(got.mode, 0755);
	ck_assert_uint_eq(got.time, 500000);
	ck_assert_int_eq(got.path[0], '/');
}
END_TEST

START_TEST(refused)
{
	static const char *const lines[] = {
		"--nothing",	  "--flag=yes",	 "--text",	 "-t",		 "-x",
		"--cache-size=x", "--mode=0888", "--mode=01777", "--number=101", "--number=-1",
		"--time=1w",	  "--text=",	 "--flagg",	 "--fla",
	};

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		ck_assert_msg(parse(lines[i]) == OPTIONS_BAD, "%s", lines[i]);
}
END_TEST

START_TEST(as_mount_options)
{
	ck_assert_int_eq(parse("a -o ro,cache_size=2K,switch_on,mode=400 b"), 2);
	ck_assert_uint_eq(got.size, 2048);
	ck_assert(got.on);
	ck_assert_uint_eq(got.mode, 0400);
	ck_assert_int_eq(parse("-ocache-size=1K,text=a\\,b\\\\c"), 0);
	ck_assert_str_eq(got.text, "a,b\\c");
	ck_assert_int_eq(
		parse("-o _netdev,nofail,noauto,x-systemd.automount,x-a=b,X-c,user=me,defaults,,rw,dev"),
		0);
	ck_assert_int_eq(parse("-o text=a -o number=3"), 0);
	ck_assert_str_eq(got.text, "a");
	ck_assert_uint_eq(got.number, 3);
}
END_TEST

START_TEST(refused_as_mount_options)
{
	static const char *const lines[] = {
		"-o", "-o nothing", "-o text", "-o flag=1", "-o cache_size=x", "-o ro,nothing",
	};

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		ck_assert_msg(parse(lines[i]) == OPTIONS_BAD, "%s", lines[i]);
}
END_TEST

START_TEST(help)
{
	ck_assert_int_eq(parse("--text=a --help --nothing"), OPTIONS_HELP);
	ck_assert_int_eq(options_status(OPTIONS_HELP), 0);
	ck_assert_int_eq(options_status(OPTIONS_BAD), 2);
}
END_TEST

static void fill(TCase *tc)
{
	tcase_add_checked_fixture(tc, NULL, options_done);
	tcase_add_test(tc, both_ways_of_a_value);
	tcase_add_test(tc, short_ones);
	tcase_add_test(tc, the_end_of_options);
	tcase_add_test(tc, values);
	tcase_add_test(tc, refused);
	tcase_add_test(tc, as_mount_options);
	tcase_add_test(tc, refused_as_mount_options);
	tcase_add_test(tc, help);
}

int main(void)
{
	return suite_run("options", fill);
}
