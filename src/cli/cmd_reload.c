/*
 * cmd_reload.c - rgetfs reload: take an edited manifest over
 */
#include <inttypes.h>

#include "cli/commands.h"
#include "cli/order.h"
#include "daemon/control.h"
#include "daemon/mounts.h"

int cmd_reload(const struct command *cmd, int argc, char **argv)
{
	char error[CONTROL_ERROR_MAX];
	struct control_client c;
	json_t *result = NULL;
	char *point = NULL;
	int n = options_parse(cmd, NULL, 0, argc, argv);
	int r;

	if (n < 0)
		return options_status(n);
	if (n != 1)
		return options_usage(cmd, "one mountpoint is needed");
	r = mounts_resolve(argv[0], &point);
	if (r < 0) {
		fprintf(stderr, "rgetfs: %s: %s\n", argv[0], strerror(-r));
		return 1;
	}
	r = control_connect(point, &c, error);
	if (r == 0) {
		r = control_call(&c, json_pack("{s:s}", "command", "reload"), NULL, NULL, &result,
				 error);
		control_disconnect(&c);
	}
	if (r == 0 && *json_get_text(result, "kept_why"))
		fprintf(stderr,
			"rgetfs: %s: the manifest can't be fetched: %s; the copy of its last good state "
			"is used\n",
			point, json_get_text(result, "kept_why"));
	if (r < 0)
		fprintf(stderr, "rgetfs: %s\n", error);
	else
		printf("%s: %" PRIu64 " %s\n", point, json_get_number(result, "entries"),
		       plural(json_get_number(result, "entries"), "entry", "entries"));
	json_decref(result);
	free(point);
	return r < 0;
}
