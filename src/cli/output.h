/*
 * output.h - a file that appears whole or not at all
 */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include <stdio.h>
#include <sys/types.h>

#include "base/base.h"

struct output {
	FILE *f;
	char *path; /* NULL: standard output, or what is no regular file */
	char *temp;
};

/*
 * path: NULL or "-" is standard output. A regular file, or what does not exist yet, is written
 * beside its place with mode; anything else directly. 0 or -errno.
 */
int output_open(struct output *o, const char *path, mode_t mode);
/* Make it durable and give it its name. 0 or -errno; then it is gone. */
int output_commit(struct output *o);
/* Without output_commit(): leave no trace. After it: nothing. */
void output_done(struct output *o);

#endif
