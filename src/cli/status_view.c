/*
 * status_view.c - a mount's status for people: the answer of its daemon as lines
 * Callers: cmd_status.c.
 */
#include "cli/status_view.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/size.h"
#include "cli/order.h"
#include "core/range.h"

#define TEXT_BYTES 4096
#define BAR_WIDTH  22

static enum colour state_colour(const char *state)
{
	static const struct {
		const char *state;
		enum colour colour;
	} colours[] = {
		{"complete", COLOUR_GREEN}, {"failed", COLOUR_RED},   {"stale", COLOUR_YELLOW},
		{"filling", COLOUR_BLUE},   {"probing", COLOUR_BLUE},
	};

	for (size_t i = 0; i < ARRAY_SIZE(colours); i++) {
		if (strcmp(colours[i].state, state) == 0)
			return colours[i].colour;
	}
	return COLOUR_NONE;
}

/* "A, B": those of the numbers that are not 0. */
static void add_if(struct strbuf *b, const json_t *totals, const char *key, const char *one,
		   const char *many)
{
	uint64_t n = json_get_number(totals, key);

	if (n)
		strbuf_addf(b, "%s%" PRIu64 " %s", b->len ? ", " : "", n, plural(n, one, many));
}

static void view_head(struct screen *s, const json_t *status)
{
	const json_t *t = json_object_get(status, "totals");
	uint64_t bytes = json_get_number(t, "bytes"), cached = json_get_number(t, "bytes_cached");
	uint64_t unknown = json_get_number(t, "files_without_size");
	char point[TEXT_BYTES], manifest[TEXT_BYTES], a[SIZE_TEXT_MAX], b[SIZE_TEXT_MAX];
	char time[SIZE_TEXT_MAX], without[64] = "";

	screen_line(s, "%s%s%s: %s, pid %" PRIu64 ", up %s", screen_colour(s, COLOUR_BOLD),
		    text_clean(point, sizeof(point), json_get_text(status, "mountpoint")),
		    screen_colour(s, COLOUR_NONE),
		    text_clean(manifest, sizeof(manifest), json_get_text(status, "manifest")),
		    json_get_number(status, "pid"),
		    format_duration(time, max_u64(json_get_number(status, "uptime_s"), 1) *
						  USEC_PER_SEC));
	screen_line(s, "  cache    %s",
		    text_clean(point, sizeof(point), json_get_text(status, "cache_dir")));
	if (unknown)
		snprintf(without, sizeof(without), " and %" PRIu64 " of unknown size", unknown);
	screen_line(s, "  files    %" PRIu64 " (%s%s)", json_get_number(t, "files"),
		    format_size(a, bytes), without);
	screen_line(s, "  cached   %s (%u%%), durable %s", format_size(a, cached),
		    bytes ? percent(cached, bytes) : 0,
		    format_size(b, json_get_number(t, "bytes_durable")));
}

static void view_traffic(struct screen *s, const json_t *status)
{
	const json_t *t = json_object_get(status, "totals");
	uint64_t reads = json_get_number(t, "reads"), hits = json_get_number(t, "read_hits");
	uint64_t requests = json_get_number(t, "requests");
	uint64_t connections = json_get_number(t, "connections");
	uint64_t waiting = json_get_number(t, "reads_waiting");
	char a[SIZE_TEXT_MAX], b[SIZE_TEXT_MAX];
	struct strbuf more;

	strbuf_init(&more, TEXT_BYTES);
	add_if(&more, t, "retries", "retry", "retries");
	add_if(&more, t, "hedges", "hedge", "hedges");
	screen_line(s, "  fetched  %s by %" PRIu64 " %s%s%s%s%s%s",
		    format_size(a, json_get_number(t, "bytes_fetched")), requests,
		    plural(requests, "request", "requests"), more.len ? " (" : "", more.s,
		    more.len ? ")" : "",
		    json_get_number(t, "bytes_discarded") ? ", discarded " : "",
		    json_get_number(t, "bytes_discarded")
			    ? format_size(b, json_get_number(t, "bytes_discarded"))
			    : "");
	screen_line(s, "  now      %s/s over %" PRIu64 " %s, %" PRIu64 " %s waiting",
		    format_size(a, json_get_number(t, "rate_bps")), connections,
		    plural(connections, "connection", "connections"), waiting,
		    plural(waiting, "read", "reads"));
	if (reads)
		screen_line(s, "  reads    %" PRIu64 ", %u%% of them from the cache", reads,
			    percent(hits, reads));
	strbuf_done(&more);
}

/* Only what is not as it should be. */
static void view_troubles(struct screen *s, const json_t *status)
{
	const json_t *t = json_object_get(status, "totals"), *origin;
	uint64_t bad = json_get_number(t, "blocks_bad");
	const char *degraded = json_get_text(t, "degraded");
	const char *red = screen_colour(s, COLOUR_RED), *off = screen_colour(s, COLOUR_NONE);
	char name[TEXT_BYTES], size[SIZE_TEXT_MAX], time[SIZE_TEXT_MAX];
	size_t i;

	if (*degraded)
		screen_line(s, "  %scache    %s: bytes are read without being kept%s", red,
			    text_clean(name, sizeof(name), degraded), off);
	if (bad)
		screen_line(s, "  %sblocks   %" PRIu64 " %s wrong in the cache and %s dropped%s",
			    red, bad, plural(bad, "was", "were"), plural(bad, "was", "were"), off);
	if (json_get_number(t, "bytes_evicted"))
		screen_line(s, "  evicted  %s",
			    format_size(size, json_get_number(t, "bytes_evicted")));
	json_array_foreach(json_object_get(status, "origins"), i, origin)
	{
		text_clean(name, sizeof(name), json_get_text(origin, "origin"));
		if (json_get_number(origin, "banned_ms"))
			screen_line(s, "  %sorigin   %s: in trouble, not asked for %s%s", red, name,
				    format_duration(time, json_get_number(origin, "banned_ms") *
								  USEC_PER_MS),
				    off);
		else if (strcmp(json_get_text(origin, "state"), "ok") != 0)
			screen_line(s, "  %sorigin   %s: in trouble%s", red, name, off);
		if (json_is_false(json_object_get(origin, "ranges")))
			screen_line(s,
				    "  origin   %s: no ranges, files come whole from their start",
				    name);
	}
}

static bool is_active(const json_t *file)
{
	const char *state = json_get_text(file, "state");

	return json_get_number(file, "connections") || strcmp(state, "filling") == 0 ||
	       strcmp(state, "probing") == 0;
}

static void format_file_size(char buf[SIZE_TEXT_MAX], const json_t *file)
{
	if (json_is_integer(json_object_get(file, "size")))
		format_size(buf, json_get_number(file, "size"));
	else
		snprintf(buf, SIZE_TEXT_MAX, "?");
}

static void view_file(struct screen *s, const json_t *file, bool bars)
{
	const char *state = json_get_text(file, "state");
	uint64_t size = json_get_number(file, "size");
	uint64_t cached = json_get_number(file, "bytes_cached");
	char path[TEXT_BYTES], error[512], a[SIZE_TEXT_MAX], b[SIZE_TEXT_MAX], rate[SIZE_TEXT_MAX];
	char bar[BAR_WIDTH + 1] = "", speed[48] = "";

	format_file_size(b, file);
	if (bars && is_active(file))
		bar_format(bar, sizeof(bar), BAR_WIDTH, cached, size);
	if (json_get_number(file, "connections"))
		snprintf(speed, sizeof(speed), "%s/s x%" PRIu64,
			 format_size(rate, json_get_number(file, "rate_bps")),
			 json_get_number(file, "connections"));
	screen_line(s, "  %s%-8s%s %9s %9s %3u%% %-14s %s%s%s",
		    screen_colour(s, state_colour(state)), state, screen_colour(s, COLOUR_NONE),
		    format_size(a, cached), b,
		    size ? percent(cached, size) : (strcmp(state, "complete") == 0 ? 100 : 0),
		    speed, bar, *bar ? " " : "",
		    text_clean(path, sizeof(path), json_get_text(file, "path")));
	if (*json_get_text(file, "error"))
		screen_line(s, "           %s%s%s", screen_colour(s, COLOUR_RED),
			    text_clean(error, sizeof(error), json_get_text(file, "error")),
			    screen_colour(s, COLOUR_NONE));
}

void status_view(struct screen *s, const json_t *status, bool bars)
{
	const json_t *files = json_object_get(status, "files"), *file;
	size_t i;

	view_head(s, status);
	view_traffic(s, status);
	view_troubles(s, status);
	if (json_array_size(files) == 0)
		return;
	screen_line(s, "  %-8s %9s %9s %4s %-14s %s", "STATE", "CACHED", "SIZE", "", "RATE",
		    "FILE");
	/* Those at work first: a screen may have no room for the others. */
	for (int active = 1; active >= 0; active--) {
		json_array_foreach(files, i, file)
		{
			if (!bars || is_active(file) == active)
				view_file(s, file, bars);
		}
		if (!bars)
			break;
	}
}

void status_view_plain(struct screen *s, const json_t *status)
{
	const json_t *t = json_object_get(status, "totals"), *file;
	char name[TEXT_BYTES], a[SIZE_TEXT_MAX], b[SIZE_TEXT_MAX], c[SIZE_TEXT_MAX];
	size_t i;

	screen_line(s, "%s: %s of %s cached, %s/s over %" PRIu64 " %s",
		    text_clean(name, sizeof(name), json_get_text(status, "mountpoint")),
		    format_size(a, json_get_number(t, "bytes_cached")),
		    format_size(b, json_get_number(t, "bytes")),
		    format_size(c, json_get_number(t, "rate_bps")),
		    json_get_number(t, "connections"),
		    plural(json_get_number(t, "connections"), "connection", "connections"));
	json_array_foreach(json_object_get(status, "files"), i, file)
	{
		if (is_active(file))
			view_file(s, file, false);
	}
}
