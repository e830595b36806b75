/*
 * test_screen.c - lines for people: cut to the terminal, nothing that steers it, bars and shares
 */
#include "cli/screen.h"

#include <locale.h>

#include "suite.h"

static char text[4096];

/* What a live screen of cols by rows draws for these lines. */
static const char *draw(struct screen *s, FILE **f, unsigned int rows, unsigned int cols)
{
	*f = fmemopen(text, sizeof(text), "w");
	ck_assert_ptr_nonnull(*f);
	screen_init(s, *f);
	ck_assert(!s->live); /* a file is no terminal */
	s->live = true;
	s->rows = rows;
	s->cols = cols;
	return text;
}

START_TEST(lines_are_cut_to_the_width)
{
	struct screen s;
	FILE *f;

	draw(&s, &f, 24, 11);
	screen_begin(&s);
	screen_line(&s, "%s", "0123456789abc");
	screen_line(&s, "%s", "short");
	screen_show(&s);
	ck_assert_str_eq(text, "0123456789\033[K\nshort\033[K\n");
	screen_done(&s);
	fclose(f);
}
END_TEST

START_TEST(characters_count_by_their_columns)
{
	struct screen s;
	FILE *f;

	draw(&s, &f, 24, 6);
	screen_begin(&s);
	screen_line(&s, "%s", "\xc3\xa4\xc3\xb6\xc3\xbc\xc3\x9fxyz"); /* one column each */
	screen_line(&s, "%s",
		    "\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2"); /* two each: the third would not fit */
	screen_line(&s, "%s",
		    "a\xff\xfe"
		    "bcdef"); /* no characters at all */
	screen_show(&s);
	ck_assert_str_eq(text, "\xc3\xa4\xc3\xb6\xc3\xbc\xc3\x9fx\033[K\n"
			       "\xe6\xbc\xa2\xe5\xad\x97\033[K\n"
			       "a\xff\xfe"
			       "bc\033[K\n");
	screen_done(&s);
	fclose(f);
}
END_TEST

START_TEST(colours_take_no_room_and_end)
{
	struct screen s;
	FILE *f;

	draw(&s, &f, 24, 6);
	s.colour = true;
	screen_begin(&s);
	screen_line(&s, "%sred and more%s", screen_colour(&s, COLOUR_RED),
		    screen_colour(&s, COLOUR_NONE));
	screen_show(&s);
	ck_assert_str_eq(text, "\033[31mred a\033[m\033[K\n");
	s.colour = false;
	ck_assert_str_eq(screen_colour(&s, COLOUR_RED), "");
	screen_done(&s);
	fclose(f);
}
END_TEST

START_TEST(a_frame_is_drawn_over_the_last)
{
	struct screen s;
	FILE *f;

	draw(&s, &f, 24, 80);
	screen_begin(&s);
	screen_line(&s, "a");
	screen_line(&s, "b");
	screen_show(&s);
	screen_begin(&s);
	screen_line(&s, "c");
	screen_show(&s);
	ck_assert_str_eq(text, "a\033[K\nb\033[K\n\033[2A\rc\033[K\n\033[J");
	screen_clear(&s);
	ck_assert_str_eq(text, "a\033[K\nb\033[K\n\033[2A\rc\033[K\n\033[J\033[1A\r\033[J");
	screen_clear(&s); /* nothing is there any more */
	ck_assert_uint_eq(strlen(text),
			  strlen("a\033[K\nb\033[K\n\033[2A\rc\033[K\n\033[J\033[1A\r\033[J"));
	screen_done(&s);
	fclose(f);
}
END_TEST

START_TEST(what_does_not_fit_is_counted)
{
	struct screen s;
	FILE *f;

	draw(&s, &f, 5, 80);
	screen_begin(&s);
	for (int i = 0; i < 10; i++)
		screen_line(&s, "%d", i);
	screen_show(&s);
	ck_assert_str_eq(text, "0\033[K\n1\033[K\n2\033[K\n  and 7 lines more\033[K\n");
	ck_assert_uint_lt(s.drawn, 5);
	screen_done(&s);
	fclose(f);
}
END_TEST

START_TEST(elsewhere_everything_is_written)
{
	struct screen s;
	FILE *f;

	draw(&s, &f, 3, 4);
	s.live = false;
	screen_begin(&s);
	for (int i = 0; i < 5; i++)
		screen_line(&s, "line %d", i);
	screen_show(&s);
	screen_begin(&s);
	screen_line(&s, "again");
	screen_show(&s);
	screen_clear(&s);
	ck_assert_str_eq(text, "line 0\nline 1\nline 2\nline 3\nline 4\nagain\n");
	screen_done(&s);
	fclose(f);
}
END_TEST

START_TEST(nothing_steers_the_terminal)
{
	char buf[16];

	ck_assert_str_eq(text_clean(buf, sizeof(buf), "a\033[2Jb\n\x7f"), "a?[2Jb??");
	ck_assert_str_eq(text_clean(buf, 4, "abcdef"), "abc");
	/* No half character. */
	ck_assert_str_eq(text_clean(buf, 3, "a\xc3\xa4"), "a");
	ck_assert_str_eq(text_clean(buf, 4, "a\xc3\xa4"), "a\xc3\xa4");
	ck_assert_str_eq(text_clean(buf, 1, "abc"), "");
	ck_assert_str_eq(text_clean(buf, sizeof(buf), ""), "");
}
END_TEST

START_TEST(bars)
{
	char buf[32];

	ck_assert_str_eq(bar_format(buf, sizeof(buf), 12, 0, 100), "[>         ]");
	ck_assert_str_eq(bar_format(buf, sizeof(buf), 12, 50, 100), "[=====>    ]");
	ck_assert_str_eq(bar_format(buf, sizeof(buf), 12, 100, 100), "[==========]");
	ck_assert_str_eq(bar_format(buf, sizeof(buf), 12, 200, 100), "[==========]");
	ck_assert_str_eq(bar_format(buf, sizeof(buf), 12, 7, 0), "[>         ]");
	ck_assert_str_eq(bar_format(buf, sizeof(buf), 12, UINT64_MAX, UINT64_MAX), "[==========]");
	ck_assert_str_eq(bar_format(buf, sizeof(buf), 2, 1, 2), "");
	ck_assert_str_eq(bar_format(buf, 12, 12, 1, 2), "");
}
END_TEST

START_TEST(shares)
{
	ck_assert_uint_eq(percent(0, 100), 0);
	ck_assert_uint_eq(percent(999, 1000), 99);
	ck_assert_uint_eq(percent(UINT64_MAX - 1, UINT64_MAX), 99);
	ck_assert_uint_eq(percent(1000, 1000), 100);
	ck_assert_uint_eq(percent(0, 0), 100);
}
END_TEST

static void fill(TCase *tc)
{
	tcase_add_test(tc, lines_are_cut_to_the_width);
	tcase_add_test(tc, characters_count_by_their_columns);
	tcase_add_test(tc, colours_take_no_room_and_end);
	tcase_add_test(tc, a_frame_is_drawn_over_the_last);
	tcase_add_test(tc, what_does_not_fit_is_counted);
	tcase_add_test(tc, elsewhere_everything_is_written);
	tcase_add_test(tc, nothing_steers_the_terminal);
	tcase_add_test(tc, bars);
	tcase_add_test(tc, shares);
}

int main(void)
{
	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		return 77; /* nothing can tell how wide a character is */
	return suite_run("screen", fill);
}
