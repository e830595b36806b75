/*
 * get_view.c - what is told of downloads: bars on a terminal, lines elsewhere, events as JSON
 * Callers: get. One thread, beside the one that runs them.
 *
 * A terminal shows what is under way and in the end one line; of many files it would be filled by
 * the names of those that are done. A file or a pipe gets a line for each. What failed is always
 * told, at once.
 */
#include "cli/get_view.h"

#include <inttypes.h>
#include <limits.h>

#include "base/clock.h"
#include "base/size.h"
#include "daemon/select.h"

#define TELL_US USEC_PER_SEC

void get_view_init(struct get_view *v, bool quiet, bool json, size_t count)
{
	*v = (struct get_view){.quiet = quiet, .json = json, .count = count};
	progress_init(&v->progress, quiet || json);
}

static uint64_t mean_rate(uint64_t bytes, uint64_t us)
{
	return us ? (uint64_t)((double)bytes * (double)USEC_PER_SEC / (double)us) : bytes;
}

/* "0.25 s" where whole seconds would say too little. */
static const char *format_took(char buf[SIZE_TEXT_MAX], uint64_t us)
{
	if (us < USEC_PER_SEC || us >= 10 * USEC_PER_SEC)
		return format_duration(buf, us);
	snprintf(buf, SIZE_TEXT_MAX, "%.1f s", (double)us / (double)USEC_PER_SEC);
	return buf;
}

/* What this run has brought of it. */
static uint64_t brought(const struct get_info *i)
{
	return i->bytes > i->resumed ? i->bytes - i->resumed : 0;
}

/* ---- events ---- */

static json_t *size_or_null(uint64_t size)
{
	return size == SIZE_UNKNOWN ? json_null() : json_number(size);
}

static void put_event(json_t *j)
{
	json_dumpf(j, stdout, JSON_COMPACT);
	putchar('\n');
	fflush(stdout);
	json_decref(j);
}

static void tell_event(const char *event, const struct get_info *i, uint64_t rate_bps)
{
	put_event(json_pack("{s:s,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "event", event, "path",
			    json_text(i->path), "size", size_or_null(i->size), "bytes",
			    json_number(i->bytes), "resumed", json_number(i->resumed), "durable",
			    json_number(i->durable), "requests", json_number(i->requests),
			    "rate_bps", json_number(rate_bps), "took_ms",
			    json_number(i->took_us / USEC_PER_MS), "error",
			    (i->state == GET_FAILED || i->state == GET_RUNNING) && i->error[0]
				    ? json_text(i->error)
				    : json_null()));
}

static void tell_end_event(const struct get_view *v, const struct get_totals *t, bool stopped)
{
	uint64_t took_us = progress_elapsed_us(&v->progress);

	put_event(json_pack("{s:s,s:b,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "event", "end",
			    "stopped", stopped, "files", json_number(t->files), "done",
			    json_number(t->done), "there", json_number(t->there), "failed",
			    json_number(t->failed), "bytes", json_number(t->bytes), "fetched",
			    json_number(t->fetched), "discarded", json_number(t->discarded),
			    "requests", json_number(t->requests), "retries",
			    json_number(t->retries), "rate_bps",
			    json_number(mean_rate(t->fetched, took_us)), "took_ms",
			    json_number(took_us / USEC_PER_MS)));
}

/* ---- words ---- */

static void tell_failed(struct get_view *v, const struct get_info *i)
{
	char path[PATH_MAX], error[sizeof(i->error)];

	progress_clear(&v->progress);
	fflush(stdout);
	fprintf(stderr, "rgetfs: %s: %s\n", text_clean(path, sizeof(path), i->path),
		text_clean(error, sizeof(error), i->error));
}

static void tell_ended(struct get_view *v, const struct get_info *i)
{
	char path[PATH_MAX], size[SIZE_TEXT_MAX], took[SIZE_TEXT_MAX], rate[SIZE_TEXT_MAX];
	char before[64] = "", resumed[SIZE_TEXT_MAX];

	if (v->quiet || (v->progress.screen.live && v->count > 1))
		return;
	progress_clear(&v->progress);
	text_clean(path, sizeof(path), i->path);
	format_size(size, i->bytes);
	if (i->state == GET_THERE) {
		printf("%s: %s, there already\n", path, size);
		return;
	}
	if (i->resumed)
		snprintf(before, sizeof(before), ", %s of them from before",
			 format_size(resumed, i->resumed));
	printf("%s: %s in %s, %s/s%s\n", path, size, format_took(took, i->took_us),
	       format_size(rate, mean_rate(brought(i), i->took_us)), before);
}

static void tell_total(const struct get_view *v, const struct get_totals *t)
{
	uint64_t took_us = progress_elapsed_us(&v->progress);
	char size[SIZE_TEXT_MAX], took[SIZE_TEXT_MAX], rate[SIZE_TEXT_MAX], there[48] = "";

	if (t->there)
		snprintf(there, sizeof(there), ", %" PRIu64 " of them there already", t->there);
	printf("%" PRIu64 " of %" PRIu64 " %s complete%s, %s in %s, %s/s\n", t->done + t->there,
	       t->files, plural(t->files, "file", "files"), there, format_size(size, t->bytes),
	       format_took(took, took_us), format_size(rate, mean_rate(t->fetched, took_us)));
}

/* ---- both ---- */

static void tell(struct get_view *v, const struct get_info *i, bool began)
{
	if (v->json && began)
		tell_event("begin", i, 0);
	else if (v->json)
		tell_event(get_state_name(i->state), i, mean_rate(brought(i), i->took_us));
	if (began)
		return;
	if (i->state == GET_FAILED)
		tell_failed(v, i);
	else if (i->state != GET_STOPPED && !v->json)
		tell_ended(v, i);
}

static void tell_news(struct get_view *v, struct get *g)
{
	struct get_info info;
	bool began;

	while (get_next(g, &info, &began))
		tell(v, &info, began);
}

static void draw(struct get_view *v, struct get *g, size_t running)
{
	struct progress_file files[GET_RUNNING_MAX];
	struct progress_total total;
	struct get_totals t;

	get_totals(g, &t);
	total = (struct progress_total){
		.files = t.files,
		.files_done = t.done + t.there,
		.files_failed = t.failed,
		.bytes = t.bytes_known,
		.bytes_done = t.bytes,
		.sizes_unknown = t.unknown > 0,
	};
	for (size_t i = 0; i < running; i++) {
		const struct get_info *in = &v->running[i];

		files[i] = (struct progress_file){
			.name = in->path,
			.size = in->size,
			.done = in->bytes,
			.rate_bps = in->rate_bps,
			.connections = in->connections,
		};
		if (!total.waiting && in->error[0] && in->rate_bps == 0)
			total.waiting = in->error;
	}
	progress_update(&v->progress, &total, files, running);
}

void get_view_update(struct get_view *v, struct get *g)
{
	uint64_t now_us = clock_now_us();
	size_t running;

	tell_news(v, g);
	if (v->quiet)
		return;
	running = get_running(g, v->running, GET_RUNNING_MAX);
	if (!v->json) {
		draw(v, g, running);
	} else if (now_us - (v->told_us ? v->told_us : v->progress.started_us) >= TELL_US) {
		v->told_us = now_us;
		for (size_t i = 0; i < running; i++)
			tell_event("progress", &v->running[i], v->running[i].rate_bps);
	}
}

void get_view_end(struct get_view *v, struct get *g, bool stopped)
{
	struct get_totals t;

	tell_news(v, g);
	get_totals(g, &t);
	progress_done(&v->progress);
	if (v->json)
		tell_end_event(v, &t, stopped);
	else if (!v->quiet && !stopped && v->count != 1)
		tell_total(v, &t);
	fflush(stdout);
	if (stopped)
		fprintf(stderr,
			"rgetfs: get: interrupted, what has come is kept (run the same "
			"command again to go on; rgetfs get --list shows what was begun)\n");
}
