/*
 * cmd_verify.c - rgetfs verify: check cached bytes, drop what is wrong
 */
#include <inttypes.h>

#include "base/size.h"
#include "cli/commands.h"
#include "cli/order.h"

static const struct cli_option verify_options[] = {
	{"quiet", 'q', NULL, "Options", set_flag, offsetof(struct order, quiet), 0, NULL},
	{"json", 0, NULL, "Options", set_flag, offsetof(struct order, json), 0, NULL},
};

static void tell(const json_t *sums, uint64_t elapsed_us)
{
	uint64_t blocks = json_get_number(sums, "blocks");
	uint64_t files = json_get_number(sums, "checksums");
	char bytes[SIZE_TEXT_MAX], time[SIZE_TEXT_MAX];

	printf("%" PRIu64 " %s (%s) checked in %s, %" PRIu64 " dropped; %" PRIu64
	       " %s checked against the manifest, %" PRIu64 " dropped\n",
	       blocks, plural(blocks, "block", "blocks"),
	       format_size(bytes, json_get_number(sums, "bytes")),
	       format_duration(time, elapsed_us), json_get_number(sums, "blocks_bad"), files,
	       plural(files, "file", "files"), json_get_number(sums, "checksums_bad"));
}

int cmd_verify(const struct command *cmd, int argc, char **argv)
{
	struct order o = {.command = "verify", .tell = tell};
	const struct option_set set = {verify_options, ARRAY_SIZE(verify_options), &o, false};
	int n = options_parse(cmd, &set, 1, argc, argv);

	return n < 0 ? options_status(n) : order_run(cmd, &o, n, argv);
}
