/*
 * screen.h - lines for people: redrawn in place on a terminal, plain anywhere else
 *
 *   begin, any number of lines, show; again and again. clear() takes the last ones away, keep()
 * leaves them.
 *
 * On a terminal each line is cut to its width, so that what was drawn can be counted and drawn
 * over. What came from outside goes through text_clean() first: it may hold bytes that would steer
 * the terminal.
 */
#ifndef CLI_SCREEN_H
#define CLI_SCREEN_H

#include <stdio.h>

#include "base/strbuf.h"

struct screen {
	FILE *f;
	bool live;   /* f is a terminal that can move up */
	bool colour; /* … and the user has nothing against colours */
	unsigned int rows, cols;
	unsigned int lines;   /* of the frame being made */
	unsigned int dropped; /* … that did not fit */
	unsigned int drawn;   /* on the terminal, above the cursor */
	struct strbuf frame;
};

void screen_init(struct screen *s, FILE *f);
void screen_done(struct screen *s);
/* A new frame; asks for the size of the terminal again. */
void screen_begin(struct screen *s);
void screen_line(struct screen *s, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Draw it over the last one; elsewhere: write it. */
void screen_show(struct screen *s);
void screen_clear(struct screen *s);
void screen_keep(struct screen *s);

enum colour { COLOUR_NONE, COLOUR_BOLD, COLOUR_RED, COLOUR_GREEN, COLOUR_YELLOW, COLOUR_BLUE };
/* What switches it on, COLOUR_NONE: off; "" where there are no colours. */
const char *screen_colour(const struct screen *s, enum colour c);

/* The word behind a number. */
const char *plural(uint64_t n, const char *one, const char *many);
/* Control bytes as "?", cut to size. Returns buf. */
const char *text_clean(char *buf, size_t size, const char *s);
/* "[=====>    ]", width columns in all; of 0 or unknown whole: empty. Returns buf (width < size).
 */
const char *bar_format(char *buf, size_t size, unsigned int width, uint64_t part, uint64_t whole);
/* 0 to 100, 100 only when all is there. */
unsigned int percent(uint64_t part, uint64_t whole);

#endif
