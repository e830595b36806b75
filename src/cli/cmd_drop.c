/*
 * cmd_drop.c - rgetfs drop: forget cached bytes
 */
#include <inttypes.h>

#include "base/size.h"
#include "cli/commands.h"
#include "cli/order.h"

static const struct cli_option drop_options[] = {
	{"quiet", 'q', NULL, "Options", set_flag, offsetof(struct order, quiet), 0, NULL},
	{"json", 0, NULL, "Options", set_flag, offsetof(struct order, json), 0, NULL},
};

static void tell(const json_t *sums, uint64_t elapsed_us)
{
	uint64_t files = json_get_number(sums, "files_dropped");
	char bytes[SIZE_TEXT_MAX];

	(void)elapsed_us;
	printf("%s of %" PRIu64 " %s forgotten\n",
	       format_size(bytes, json_get_number(sums, "bytes")), files,
	       plural(files, "file", "files"));
}

int cmd_drop(const struct command *cmd, int argc, char **argv)
{
	struct order o = {.command = "drop", .tell = tell};
	const struct option_set set = {drop_options, ARRAY_SIZE(drop_options), &o, false};
	int n = options_parse(cmd, &set, 1, argc, argv);

	return n < 0 ? options_status(n) : order_run(cmd, &o, n, argv);
}
