/*
 * asking.h - ask the servers of a manifest for size, date and validator of every entry, once
 *
 * With an engine of its own on a cache directory that is thrown away.
 */
#ifndef CLI_ASKING_H
#define CLI_ASKING_H

#include "cli/progress.h"
#include "engine/engine.h"

struct answer {
	uint64_t size; /* SIZE_UNKNOWN: none */
	int64_t mtime; /* MANIFEST_NO_TIME: none */
	char *etag;    /* a strong one, or NULL */
	char *error;   /* why there is no answer; NULL: there is one */
};

/*
 * ret: one answer for each entry of m (also for directories, of which nothing is asked). cfg: how
 * to fetch; what it says of the store is not used. stop is looked at every 100 ms: then -EINTR. 0,
 * or -errno with a line in error.
 */
int asking_run(const struct engine_config *cfg, struct manifest *m, struct progress *progress,
	       bool (*stop)(void), struct answer **ret, char error[MANIFEST_ERROR_MAX]);
void asking_done(struct answer *answers, uint32_t count);

#endif
