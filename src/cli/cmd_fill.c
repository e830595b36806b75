/*
 * cmd_fill.c - rgetfs fill: fetch whole files now
 */
#include <inttypes.h>

#include "base/clock.h"
#include "base/size.h"
#include "cli/commands.h"
#include "cli/order.h"

static const struct cli_option fill_options[] = {
	{"no-wait", 0, NULL, "Options", set_flag, offsetof(struct order, no_wait), 0, NULL},
	{"quiet", 'q', NULL, "Options", set_flag, offsetof(struct order, quiet), 0, NULL},
	{"json", 0, NULL, "Options", set_flag, offsetof(struct order, json), 0, NULL},
};

static void tell_filled(const json_t *sums, uint64_t elapsed_us)
{
	uint64_t files = json_get_number(sums, "files");
	char bytes[SIZE_TEXT_MAX], time[SIZE_TEXT_MAX];

	printf("%" PRIu64 " of %" PRIu64 " %s complete and durable, %s in %s\n",
	       json_get_number(sums, "files_done"), files, plural(files, "file", "files"),
	       format_size(bytes, json_get_number(sums, "bytes_done")),
	       format_duration(time, elapsed_us));
}

static void tell_begun(const json_t *sums, uint64_t elapsed_us)
{
	uint64_t files = json_get_number(sums, "files");

	(void)elapsed_us;
	printf("%" PRIu64 " %s being fetched (rgetfs status shows how far)\n", files,
	       plural(files, "file is", "files are"));
}

int cmd_fill(const struct command *cmd, int argc, char **argv)
{
	struct order o = {.command = "fill"};
	const struct option_set set = {fill_options, ARRAY_SIZE(fill_options), &o, false};
	int n = options_parse(cmd, &set, 1, argc, argv);

	if (n < 0)
		return options_status(n);
	if (!o.no_wait)
		o.interrupted = "\nrgetfs: fill: given up; what has come stays (--no-wait lets the "
				"mount go on by itself)\n";
	o.tell = o.no_wait ? tell_begun : tell_filled;
	return order_run(cmd, &o, n, argv);
}
