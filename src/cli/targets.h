/*
 * targets.h - the files that a command names, by the mount that they lie in
 *
 * The mount is found by name alone; the files in it are not looked up, which could wait for the
 * network.
 */
#ifndef CLI_TARGETS_H
#define CLI_TARGETS_H

#include <jansson.h>

#include "base/base.h"

struct target {
	char *point;   /* the mountpoint */
	json_t *paths; /* as requests to the daemon have them (daemon/select.h) */
	size_t bytes;
};

struct targets {
	struct target *list; /* a mount with many paths may come more than once */
	size_t count;
	unsigned int failed; /* arguments that lie in no mount: each was said */
};

/* 0 or -ENOMEM. */
int targets_init(struct targets *t, int argc, char **argv);
void targets_done(struct targets *t);

#endif
