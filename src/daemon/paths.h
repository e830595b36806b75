/*
 * paths.h - host paths: where caches, downloads and control sockets live, and what lies inside what
 *
 * Before the mount only, or of paths outside of it: the daemon never resolves a path under its own
 * mount.
 */
#ifndef DAEMON_PATHS_H
#define DAEMON_PATHS_H

#include <limits.h>

#include "base/base.h"

/* path made absolute against the working directory, not resolved; malloc'ed, NULL without memory.
 */
char *path_absolute(const char *path);
/*
 * path with what exists of it resolved (symlinks, ".."), the rest as it stands; malloc'ed. 0 or
 * -errno. For places that will be made.
 */
int path_resolve(const char *path, char **ret);
/* Is path dir itself or below it? Both absolute and resolved. */
bool path_within(const char *dir, const char *path);
/* Make path and what is missing above it, all 0700. 0 or -errno. */
int path_make_dirs(const char *path);

/* The root of the caches: given, or the user's own. malloc'ed, absolute. 0 or -ENOMEM. */
int cache_root(const char *given, char **ret);
/* What `get` remembers of downloads: $XDG_STATE_HOME/rgetfs. malloc'ed, absolute. 0 or -ENOMEM. */
int state_root(char **ret);
/*
 * The directory of one manifest beneath root: name, or one made from identity (its real path or
 * URL, or its content). malloc'ed. 0, -EINVAL (name is no plain file name) or -ENOMEM.
 */
int cache_dir(const char *root, const char *name, const char *identity, char **ret);

/*
 * The directory of control sockets: made if absent, ours alone (0700, no symlink), else -EPERM.
 * Written to buf (path without a slash at its end).
 */
int control_dir(char *buf, size_t size);

#endif
