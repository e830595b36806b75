/*
 * check.h - what must hold before anything is mounted, each refusal with what to do
 */
#ifndef DAEMON_CHECK_H
#define DAEMON_CHECK_H

#include "manifest/manifest.h"

/*
 * An existing directory that answers and on which no rgetfs is mounted: *ret_real is its resolved
 * path, malloc'ed. 0, or -errno and a line.
 */
int check_mountpoint(const char *path, char **ret_real, char error[MANIFEST_ERROR_MAX]);
/* Is the kernel's door open, and the mountpoint one that fusermount3 takes from this user? 0, or
 * -errno and a line. */
int check_may_mount(const char *real, char error[MANIFEST_ERROR_MAX]);
/* May this user say --allow-other? 0, or -EPERM and a line. */
int check_allow_other(bool allow_other, char error[MANIFEST_ERROR_MAX]);

#endif
