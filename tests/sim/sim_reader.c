/*
 * sim_reader.c - programs that read a simulated file, and the lines of a table
 */
#include "sim_internal.h"

#include <stdarg.h>

struct sim_reader *sim_reader(struct sim *m, struct sim_file *f, struct range within, uint64_t len,
			      unsigned int count, bool sequential, bool ahead, uint64_t window_max)
{
	struct sim_reader *r = calloc(1, sizeof(*r));

	r->file = f;
	r->within = within;
	r->len = len;
	r->count = count;
	r->sequential = sequential;
	r->ahead = ahead;
	r->window_max = window_max;
	r->latency = calloc(count, sizeof(r->latency[0]));
	readahead_init(&r->ra);
	r->now = range_make(within.off, within.off);
	TAILQ_INSERT_TAIL(&m->readers, r, entry);
	m->changed = true;
	return r;
}

static void reader_window(struct sim *m, struct sim_reader *r, bool hit)
{
	struct readahead_limit limit = {.window_max = r->window_max};
	struct sched_origin_info info;
	struct range w;

	sched_origin_info(r->file->server[0]->origin, &info);
	limit.rate_bps = info.rate_bps;
	limit.ttfb_us = info.ttfb_us;
	readahead_read(&r->ra, r->now, r->file->size, hit, &limit, &w);
	if (!range_empty(w))
		fill_new(m, NULL, r, w, PRIO_WINDOW);
}

static void reader_next(struct sim *m, struct sim_reader *r)
{
	uint64_t blocks = range_len(r->within) / r->len, off;
	bool hit;

	if (r->sequential)
		off = r->within.off + r->done * r->len;
	else
		off = r->within.off + sim_random(m) % blocks * r->len;
	r->now = range_intersect(range_of_length(off, r->len), r->within);
	r->start_us = m->now_us;
	hit = sim_file_has(r->file, r->now);
	if (r->ahead)
		reader_window(m, r, hit);
	if (!hit) {
		r->fill = fill_new(m, NULL, r, r->now, PRIO_DEMAND);
		r->want = r->fill->want;
	}
	m->changed = true;
}

void reader_step(struct sim *m, struct sim_reader *r)
{
	/* A reader takes what is there at some 4 GiB/s. */
	for (int reads = 0; reads < 8 && r->done < r->count; reads++) {
		if (range_empty(r->now))
			reader_next(m, r);
		if (r->fill) {
			bool failed = !r->fill->want;

			if (!failed && !sim_file_has(r->file, r->now))
				return;
			if (!failed)
				sched_want_remove(m->sched, r->fill->want, m->now_us);
			fill_done(m, r->fill);
			r->fill = NULL;
			m->changed = true;
		}
		r->latency[r->done++] = m->now_us - r->start_us;
		r->now.off = r->now.end;
		m->reading = true;
		if (r->done == r->count)
			r->done_us = m->now_us;
	}
}

bool sim_reader_done(const struct sim_reader *r)
{
	return r->done == r->count;
}

unsigned int sim_reader_failed(const struct sim_reader *r)
{
	return r->failed;
}

uint64_t sim_reader_done_us(const struct sim_reader *r)
{
	return r->done_us;
}

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

uint64_t sim_reader_latency_us(const struct sim_reader *r, unsigned int percent)
{
	uint64_t *sorted = calloc(r->done ? r->done : 1, sizeof(sorted[0])), v;

	memcpy(sorted, r->latency, r->done * sizeof(sorted[0]));
	qsort(sorted, r->done, sizeof(sorted[0]), compare_u64);
	v = r->done ? sorted[(r->done - 1) * percent / 100] : 0;
	free(sorted);
	return v;
}

/* ---- tables ---- */

static unsigned int rows, failures;

void sim_row(bool ok, const char *fmt, ...)
{
	char text[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	failures += !ok;
	printf("%s %u - %s\n", ok ? "ok" : "not ok", ++rows, text);
}

int sim_end(void)
{
	printf("1..%u\n", rows);
	return failures ? 1 : 0;
}
