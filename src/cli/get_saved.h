/*
 * get_saved.h - downloads that were begun: list them, go on with them, forget them
 */
#ifndef CLI_GET_SAVED_H
#define CLI_GET_SAVED_H

#include "cli/get_plan.h"

/* These three return an exit status; everything has been said. */
int get_saved_list(const char *state_dir, bool json);
int get_saved_forget(const char *state_dir, char *const *files, size_t count, bool quiet);
/*
 * What is to be gone on with, as a plan (to be freed, also when it holds no file). 1: something is
 * not in it that should be.
 */
int get_saved_plan(const char *state_dir, bool quiet, struct get_plan *ret);

#endif
