/*
 * status_view.h - a mount's status for people: the answer of its daemon as lines
 */
#ifndef CLI_STATUS_VIEW_H
#define CLI_STATUS_VIEW_H

#include <jansson.h>

#include "cli/screen.h"

/* bars: a progress bar for each file that is being fetched (for those who watch). */
void status_view(struct screen *s, const json_t *status, bool bars);
/* The same in one line and one for each file that is being fetched, for those who append. */
void status_view_plain(struct screen *s, const json_t *status);

#endif
