/*
 * get_view.h - what is told of downloads: bars on a terminal, lines elsewhere, events as JSON
 */
#ifndef CLI_GET_VIEW_H
#define CLI_GET_VIEW_H

#include "cli/progress.h"
#include "get/get.h"

struct get_view {
	struct progress progress;
	bool quiet, json;
	size_t count;	  /* of files in all */
	uint64_t told_us; /* when JSON told of progress */
	struct get_info running[GET_RUNNING_MAX];
};

void get_view_init(struct get_view *v, bool quiet, bool json, size_t count);
/* Tell what has begun and ended since, and how far the others are. Call it often. */
void get_view_update(struct get_view *v, struct get *g);
/* After get_run(): the last words. stopped: by the user's word. */
void get_view_end(struct get_view *v, struct get *g, bool stopped);

#endif
