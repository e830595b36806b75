/*
 * order.h - fill, drop and verify: the same order to every mount concerned, its progress, one
 * result
 */
#ifndef CLI_ORDER_H
#define CLI_ORDER_H

#include <jansson.h>

#include "cli/options.h"
#include "cli/progress.h"

struct order {
	const char *command; /* of the control socket */
	bool no_wait;
	const char *interrupted; /* what becomes of it then, for a person; NULL: nothing is said */
	bool json, quiet;
	/* Say in a line what became of it; sums: the numbers of all results added up. */
	void (*tell)(const json_t *sums, uint64_t elapsed_us);
};

/* argv are paths. Returns the exit status; each failure was said. */
int order_run(const struct command *cmd, const struct order *o, int argc, char **argv);

/* A number in an object, 0 if there is none. */
uint64_t json_get_number(const json_t *object, const char *key);
/* Text in an object, "" if there is none. */
const char *json_get_text(const json_t *object, const char *key);

#endif
