/*
 * progress.h - how far something is that takes its time: a line for each active file and one for
 * all
 *
 * On a terminal (standard error) they are redrawn; otherwise a plain line goes to standard output
 * every ten seconds. The rate is measured here, from what bytes_done does between calls.
 */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include "cli/screen.h"

struct progress_file {
	const char *name;
	uint64_t size; /* SIZE_UNKNOWN */
	uint64_t done;
	uint64_t rate_bps;
	unsigned int connections;
};

struct progress_total {
	uint64_t files, files_done, files_failed;
	uint64_t bytes, bytes_done;
	const char *waiting; /* why nothing moves; NULL: nothing to say */
	bool sizes_unknown;  /* bytes may grow: shares and the time left are those of files */
};

struct progress {
	struct screen screen;
	bool quiet;
	uint64_t started_us, drawn_us;
	uint64_t rated_us, rated_bytes; /* when the rate was last looked at */
	double rate_bps;
	uint64_t first_bytes; /* done before we began */
	bool begun;
};

void progress_init(struct progress *p, bool quiet);
/* Draws when it is time to. */
void progress_update(struct progress *p, const struct progress_total *total,
		     const struct progress_file *files, size_t count);
/* Before anything else is written to the terminal. */
void progress_clear(struct progress *p);
void progress_done(struct progress *p);
/* Since progress_init(). */
uint64_t progress_elapsed_us(const struct progress *p);

#endif
