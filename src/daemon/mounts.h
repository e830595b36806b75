/*
 * mounts.h - which mounts of rgetfs there are, without touching them
 *
 * From /proc alone: a mount whose daemon hangs or is dead must not hang who looks for it.
 */
#ifndef DAEMON_MOUNTS_H
#define DAEMON_MOUNTS_H

#include <sys/types.h>

#include "base/base.h"

struct mount_entry {
	char *point;  /* malloc'ed, absolute */
	char *source; /* the manifest, as shown */
	unsigned int major, minor;
	uid_t uid; /* who mounted it */
};
void mount_entry_done(struct mount_entry *m);
/* The name of the user who mounted it, or the number. Returns buf. */
const char *mount_entry_user(const struct mount_entry *m, char *buf, size_t size);

/* The (topmost) mount of rgetfs at point, an absolute resolved path. 0, -ENOENT or -errno. */
int mounts_at(const char *point, struct mount_entry *ret);
/* The mount of rgetfs that path (absolute, resolved) lies in. 0, -ENOENT or -errno. */
int mounts_of(const char *path, struct mount_entry *ret);

/* Each mount of rgetfs, in the order of mounting; stops when fn returns other than 0 and returns
 * that. 0 or -errno. */
int mounts_each(int (*fn)(void *ctx, const struct mount_entry *m), void *ctx);

/*
 * path made absolute and resolved; a mount of ours at its end, which may be dead, is not looked at,
 * and nothing in one. malloc'ed. 0 or -errno.
 */
int mounts_resolve(const char *path, char **ret);

/*
 * "cat (1234), bash (99)": processes with open files, a working directory, a program or a mapping
 * in the mount at point; as many as may be looked at and fit. Returns how many.
 */
unsigned int mounts_holders(const char *point, char *buf, size_t size);

/*
 * The process that answers connection minor, told by the kernel (fdinfo of /dev/fuse, Linux 6.4)
 * for processes that we may look at. 0: none found.
 */
pid_t mounts_daemon(unsigned int minor);

#endif
