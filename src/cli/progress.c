/*
 * progress.c - how far something is that takes its time: a line for each active file and one for
 * all Callers: the commands that wait. One thread.
 */
#include "cli/progress.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/size.h"
#include "core/range.h"

#define DRAW_US	    (100 * USEC_PER_MS)
#define PLAIN_US    (10 * USEC_PER_SEC)
#define RATE_US	    (500 * USEC_PER_MS)
#define RATE_WEIGHT 0.3 /* of the last half second */
#define BAR_WIDTH   20
#define TOTAL_WIDTH 12
#define NAME_WIDTH  24
#define NAME_BYTES  256

void progress_init(struct progress *p, bool quiet)
{
	*p = (struct progress){.quiet = quiet, .started_us = clock_now_us()};
	screen_init(&p->screen, stderr);
	if (!p->screen.live)
		p->screen.f = stdout;
}

static void measure(struct progress *p, uint64_t bytes_done, uint64_t now_us)
{
	double rate;

	if (!p->begun) {
		p->begun = true;
		p->rated_us = now_us;
		p->rated_bytes = p->first_bytes = bytes_done;
		return;
	}
	if (now_us - p->rated_us < RATE_US)
		return;
	rate = bytes_done > p->rated_bytes ? (double)(bytes_done - p->rated_bytes) : 0;
	rate = rate * (double)USEC_PER_SEC / (double)(now_us - p->rated_us);
	p->rate_bps = p->rate_bps == 0 ? rate : p->rate_bps + RATE_WEIGHT * (rate - p->rate_bps);
	p->rated_us = now_us;
	p->rated_bytes = bytes_done;
}

/* The end of a long name says more than its beginning. Columns are counted as bytes but for UTF-8's
 * later ones. */
static const char *short_name(char buf[NAME_BYTES], const char *name)
{
	const char *start = name;
	size_t columns = 0;

	for (const char *c = name; *c; c++)
		columns += ((unsigned char)*c & 0xc0) != 0x80;
	if (columns <= NAME_WIDTH) {
		text_clean(buf, NAME_BYTES, name);
		return buf;
	}
	for (columns -= NAME_WIDTH - 1; columns > 0; columns--) {
		do
			start++;
		while (((unsigned char)*start & 0xc0) == 0x80);
	}
	snprintf(buf, NAME_BYTES, "<");
	text_clean(buf + 1, NAME_BYTES - 1, start);
	return buf;
}

static void draw_file(struct screen *s, const struct progress_file *f)
{
	char name[NAME_BYTES], bar[BAR_WIDTH + 1], done[SIZE_TEXT_MAX], rate[SIZE_TEXT_MAX];
	char speed[64] = "";
	uint64_t whole = f->size == SIZE_UNKNOWN ? 0 : f->size;

	if (f->rate_bps || f->connections)
		snprintf(speed, sizeof(speed), " %9s/s x%u", format_size(rate, f->rate_bps),
			 f->connections);
	screen_line(s, "%-*s %s %3u%% %8s%s", NAME_WIDTH, short_name(name, f->name),
		    bar_format(bar, sizeof(bar), BAR_WIDTH, f->done, whole),
		    whole ? percent(f->done, whole) : 0, format_size(done, f->done), speed);
}

/* "12 s left", or nothing where nobody can know. */
static void format_left(char *buf, size_t size, const struct progress *p,
			const struct progress_total *t)
{
	double left_s = 0;
	char text[SIZE_TEXT_MAX];

	buf[0] = '\0';
	if (t->bytes == 0 && t->files_done > 0 && t->files_done < t->files) {
		left_s = (double)progress_elapsed_us(p) / (double)USEC_PER_SEC *
			 (double)(t->files - t->files_done) / (double)t->files_done;
		snprintf(buf, size, ", %s left",
			 format_duration(text, (uint64_t)((left_s + 1) * (double)USEC_PER_SEC)));
		return;
	}
	if (t->sizes_unknown || p->rate_bps < 1 || t->bytes_done >= t->bytes)
		return;
	left_s = (double)(t->bytes - t->bytes_done) / p->rate_bps;
	if (left_s < 99.0 * 86400)
		snprintf(buf, size, ", %s left",
			 format_duration(text, (uint64_t)((left_s + 1) * (double)USEC_PER_SEC)));
}

static void format_total(char *buf, size_t size, const struct progress *p,
			 const struct progress_total *t)
{
	char done[SIZE_TEXT_MAX], all[SIZE_TEXT_MAX], rate[SIZE_TEXT_MAX], left[64];
	char failed[48] = "", speed[32] = "";

	if (t->files_failed)
		snprintf(failed, sizeof(failed), ", %" PRIu64 " failed", t->files_failed);
	format_left(left, sizeof(left), p, t);
	if (t->bytes == 0 && !t->sizes_unknown) { /* not about bytes */
		snprintf(buf, size, "%" PRIu64 "/%" PRIu64 " %s%s%s", t->files_done, t->files,
			 plural(t->files, "file", "files"), failed, left);
		return;
	}
	if (p->rate_bps >= 1 || progress_elapsed_us(p) > 2 * USEC_PER_SEC)
		snprintf(speed, sizeof(speed), ", %s/s", format_size(rate, (uint64_t)p->rate_bps));
	snprintf(buf, size, "%" PRIu64 "/%" PRIu64 " %s%s, %s of %s%s%s%s", t->files_done, t->files,
		 plural(t->files, "file", "files"), failed, format_size(done, t->bytes_done),
		 format_size(all, t->bytes), t->sizes_unknown ? "+" : "", speed, left);
}

static void draw_total(struct progress *p, const struct progress_total *t)
{
	char why[NAME_BYTES];
	char text[256], bar[TOTAL_WIDTH + 1];
	bool by_files = t->sizes_unknown || t->bytes == 0;
	uint64_t part = by_files ? t->files_done : t->bytes_done;
	uint64_t whole = by_files ? t->files : t->bytes;

	if (t->waiting)
		screen_line(&p->screen, "waiting: %s", text_clean(why, sizeof(why), t->waiting));
	format_total(text, sizeof(text), p, t);
	if (p->screen.live)
		screen_line(&p->screen, "%s %3u%% %s",
			    bar_format(bar, sizeof(bar), TOTAL_WIDTH, part, whole),
			    percent(part, whole), text);
	else
		screen_line(&p->screen, "%s", text);
}

void progress_update(struct progress *p, const struct progress_total *total,
		     const struct progress_file *files, size_t count)
{
	uint64_t now_us = clock_now_us();
	uint64_t interval = p->screen.live ? DRAW_US : PLAIN_US;
	size_t room;

	measure(p, total->bytes_done, now_us);
	if (p->quiet || now_us - (p->drawn_us ? p->drawn_us : p->started_us) < interval)
		return;
	p->drawn_us = now_us;
	screen_begin(&p->screen);
	/* The total is the last line, and always there. */
	room = p->screen.rows > 3 ? p->screen.rows - 3 : 0;
	for (size_t i = 0; p->screen.live && i < count && i < room; i++)
		draw_file(&p->screen, &files[i]);
	draw_total(p, total);
	screen_show(&p->screen);
}

void progress_clear(struct progress *p)
{
	screen_clear(&p->screen);
}

void progress_done(struct progress *p)
{
	screen_clear(&p->screen);
	screen_done(&p->screen);
}

uint64_t progress_elapsed_us(const struct progress *p)
{
	return clock_now_us() - p->started_us;
}
