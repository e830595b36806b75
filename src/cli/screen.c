/*
 * screen.c - lines for people: redrawn in place on a terminal, plain anywhere else
 * Callers: status, and progress.c. One thread.
 */
#include "cli/screen.h"

#include <stdarg.h>
#include <sys/ioctl.h>
#include <wchar.h>

#define FRAME_MAX (64u << 20)

void screen_init(struct screen *s, FILE *f)
{
	const char *term = getenv("TERM");
	const char *no_color = getenv("NO_COLOR");

	*s = (struct screen){.f = f, .rows = 24, .cols = 80};
	s->live = isatty(fileno(f)) && term && strcmp(term, "dumb") != 0;
	s->colour = s->live && !(no_color && *no_color);
	strbuf_init(&s->frame, FRAME_MAX);
}

void screen_done(struct screen *s)
{
	strbuf_done(&s->frame);
}

void screen_begin(struct screen *s)
{
	struct winsize ws;

	strbuf_reset(&s->frame);
	s->lines = s->dropped = 0;
	if (s->live && ioctl(fileno(s->f), TIOCGWINSZ, &ws) == 0 && ws.ws_row > 0 &&
	    ws.ws_col > 0) {
		s->rows = ws.ws_row;
		s->cols = ws.ws_col;
	}
}

/* Length of the escape sequence of ours that s begins with, 0 none. */
static size_t escape_length(const char *s)
{
	size_t n;

	if (s[0] != '\033' || s[1] != '[')
		return 0;
	n = 2 + strspn(s + 2, "0123456789;");
	return s[n] ? n + 1 : n;
}

/* As much of line as fits into cols columns, and the colours behind that. */
static void add_cut(struct strbuf *out, const char *line, unsigned int cols)
{
	mbstate_t state = {0};
	unsigned int column = 0;
	size_t left = strlen(line);

	while (*line) {
		size_t n = escape_length(line);
		wchar_t wc;
		int width = 0;

		if (n == 0) {
			n = mbrtowc(&wc, line, left, &state);
			if (n == 0 || n > left) { /* not a character here */
				state = (mbstate_t){0};
				n = 1;
				width = 1;
			} else {
				width = wcwidth(wc) < 0 ? 1 : wcwidth(wc);
			}
		}
		if (column + (unsigned int)width <= cols) {
			strbuf_add(out, line, n);
			column += (unsigned int)width;
		} else {
			cols = column; /* nothing more but colours */
		}
		line += n;
		left -= n;
	}
}

void screen_line(struct screen *s, const char *fmt, ...)
{
	char *line = NULL;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&line, fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	/* One row for what did not fit, one for the cursor. */
	if (s->live && s->lines + 3 > s->rows) {
		s->dropped++;
	} else {
		/* One column stays free: some terminals wrap when the last one is written. */
		if (s->live)
			add_cut(&s->frame, line, s->cols - 1);
		else
			strbuf_adds(&s->frame, line);
		strbuf_adds(&s->frame, s->live ? "\033[K\n" : "\n");
		s->lines++;
	}
	free(line);
}

void screen_show(struct screen *s)
{
	if (s->dropped) {
		strbuf_addf(&s->frame, "  and %u lines more\033[K\n", s->dropped);
		s->lines++;
	}
	if (s->live && s->drawn)
		fprintf(s->f, "\033[%uA\r", s->drawn);
	fwrite(s->frame.s, 1, s->frame.len, s->f);
	if (s->live && s->drawn > s->lines)
		fputs("\033[J", s->f);
	fflush(s->f);
	s->drawn = s->live ? s->lines : 0;
}

void screen_clear(struct screen *s)
{
	if (!s->drawn)
		return;
	fprintf(s->f, "\033[%uA\r\033[J", s->drawn);
	fflush(s->f);
	s->drawn = 0;
}

void screen_keep(struct screen *s)
{
	s->drawn = 0;
}

const char *screen_colour(const struct screen *s, enum colour c)
{
	static const char *const codes[] = {
		[COLOUR_NONE] = "\033[m",     [COLOUR_BOLD] = "\033[1m",
		[COLOUR_RED] = "\033[31m",    [COLOUR_GREEN] = "\033[32m",
		[COLOUR_YELLOW] = "\033[33m", [COLOUR_BLUE] = "\033[34m",
	};

	return s->colour ? codes[c] : "";
}

const char *plural(uint64_t n, const char *one, const char *many)
{
	return n == 1 ? one : many;
}

const char *text_clean(char *buf, size_t size, const char *s)
{
	size_t n = 0;

	for (; *s && n + 1 < size; s++)
		buf[n++] = (unsigned char)*s < 0x20 || *s == 0x7f ? '?' : *s;
	/* No half character at the end. */
	if (*s) {
		while (n > 0 && ((unsigned char)buf[n - 1] & 0xc0) == 0x80)
			n--;
		if (n > 0 && (unsigned char)buf[n - 1] >= 0xc0)
			n--;
	}
	buf[n] = '\0';
	return buf;
}

const char *bar_format(char *buf, size_t size, unsigned int width, uint64_t part, uint64_t whole)
{
	unsigned int inside = width - 2;
	unsigned int full = whole ? (unsigned int)((double)(part < whole ? part : whole) /
						   (double)whole * inside)
				  : 0;
	size_t n = 0;

	if (width < 3 || width >= size) {
		buf[0] = '\0';
		return buf;
	}
	buf[n++] = '[';
	for (unsigned int i = 0; i < inside; i++)
		buf[n++] = i < full ? '=' : (i == full ? '>' : ' ');
	buf[n++] = ']';
	buf[n] = '\0';
	return buf;
}

unsigned int percent(uint64_t part, uint64_t whole)
{
	if (part >= whole)
		return 100;
	return (unsigned int)((double)part / (double)whole * 100) > 99
		       ? 99
		       : (unsigned int)((double)part / (double)whole * 100);
}
