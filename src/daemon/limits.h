/*
 * limits.h - how many descriptors there are, and who may have them
 */
#ifndef DAEMON_LIMITS_H
#define DAEMON_LIMITS_H

#include "engine/engine.h"

/*
 * Raise the soft limit to the hard one (what is started later inherits that: fusermount3 alone),
 * and bound the engine's connections and open backing files by what is left beside those that came
 * with us. *ret_commands: connections of the control socket (NULL: there is none). 0; -EMFILE and a
 * line: too few for any work.
 */
#define LIMITS_TEXT_MAX 256
int limits_fit(struct engine_config *cfg, unsigned int *ret_commands, char error[LIMITS_TEXT_MAX]);

/* The same for downloads: how many of want files at once, each with a store of its own, go. */
unsigned int limits_downloads(const struct engine_config *cfg, unsigned int want);

#endif
