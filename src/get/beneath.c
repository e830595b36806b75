/*
 * beneath.c - directories that are made and entered without leaving the place that a user named
 * Callers: target, and the command for empty directories. No state.
 *
 * A manifest names directories below the user's; what is there by such a name may be a link that
 * leads elsewhere, and a stranger's list would write there. Each component is one step from the one
 * before, so that nobody can exchange what was looked at.
 */
#include "get/beneath.h"

#include <fcntl.h>
#include <sys/stat.h>

/* name below at, made if it is missing; how: more flags. The descriptor, or -errno. */
static int step(int at, const char *name, int how)
{
	struct stat st;
	int fd;

	if (mkdirat(at, name, 0777) < 0 && errno != EEXIST)
		return -errno;
	fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | how);
	if (fd >= 0)
		return fd;
	if (errno == ENOTDIR && fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    S_ISLNK(st.st_mode) && (how & O_NOFOLLOW))
		return -ELOOP;
	return -errno;
}

/* What is only to be passed may not be readable: the last one alone is opened to be synced. */
int beneath_open(const char *path, size_t own)
{
	char *copy = strdup(path), *rest = copy, *name;
	int fd =
		copy ? open(path[0] == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC) : -ENOMEM;
	bool there = false; /* at the last component */

	if (copy && fd < 0)
		fd = -errno;
	while (fd >= 0 && !there && (name = strsep(&rest, "/"))) {
		int how = (size_t)(name - copy) < own ? 0 : O_NOFOLLOW, next;

		there = !rest || !rest[strspn(rest, "/")];
		if (!*name && !there)
			continue;
		next = step(fd, *name ? name : ".", how | (there ? 0 : O_PATH));
		close(fd);
		fd = next;
	}
	free(copy);
	return fd;
}
