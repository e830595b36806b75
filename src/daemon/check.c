/*
 * check.c - what must hold before anything is mounted, each refusal with what to do
 */
#include "daemon/check.h"

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>

#include "daemon/mounts.h"

#define DEVICE	  "/dev/fuse"
#define FUSE_CONF "/etc/fuse.conf"

/* A mount of rgetfs is what lies uppermost there: a second one would only hide it. */
static int check_free(const char *real, dev_t dev, char error[MANIFEST_ERROR_MAX])
{
	struct mount_entry m;
	int r;

	if (mounts_at(real, &m) < 0)
		return 0;
	r = makedev(m.major, m.minor) == dev ? -EBUSY : 0;
	if (r < 0)
		snprintf(error, MANIFEST_ERROR_MAX,
			 "%s: %s is mounted there already (rgetfs unmount %s ends that)", real,
			 m.source, real);
	mount_entry_done(&m);
	return r;
}

int check_mountpoint(const char *path, char **ret_real, char error[MANIFEST_ERROR_MAX])
{
	struct statvfs vfs;
	struct stat st;
	char *real;
	int r;

	/* The kernel may answer stat for a dead mount from memory; statvfs it must ask for. */
	real = stat(path, &st) < 0 || statvfs(path, &vfs) < 0 ? NULL : realpath(path, NULL);
	if (!real) {
		r = -errno;
		if (r == -ENOTCONN)
			snprintf(
				error, MANIFEST_ERROR_MAX,
				"%s: a mount whose daemon is dead lies there (rgetfs unmount %s frees it)",
				path, path);
		else
			snprintf(error, MANIFEST_ERROR_MAX, "%s: %s%s", path, strerror(-r),
				 r == -ENOENT ? " (mkdir it first)" : "");
		return r;
	}
	if (!S_ISDIR(st.st_mode)) {
		snprintf(error, MANIFEST_ERROR_MAX, "%s: not a directory", path);
		free(real);
		return -ENOTDIR;
	}
	r = check_free(real, st.st_dev, error);
	if (r < 0) {
		free(real);
		return r;
	}
	*ret_real = real;
	return 0;
}

int check_may_mount(const char *real, char error[MANIFEST_ERROR_MAX])
{
	struct stat st;
	int r = 0;

	if (access(DEVICE, R_OK | W_OK) < 0) {
		r = -errno;
		snprintf(error, MANIFEST_ERROR_MAX, DEVICE ": %s (%s)", strerror(-r),
			 r == -EACCES ? "chmod 666 " DEVICE ", as root"
				      : "modprobe fuse, as root; a container must be given it");
	} else if (geteuid() == 0) {
		return 0;
	} else if (stat(real, &st) < 0) {
		r = -errno;
		snprintf(error, MANIFEST_ERROR_MAX, "%s: %s", real, strerror(-r));
	} else if (access(real, W_OK) < 0 || ((st.st_mode & S_ISVTX) && st.st_uid != getuid())) {
		r = -EACCES;
		snprintf(error, MANIFEST_ERROR_MAX,
			 "%s: only who may write there and root may mount there (give a directory "
			 "of yours)",
			 real);
	}
	return r;
}

static bool fuse_conf_allows(void)
{
	FILE *f = fopen(FUSE_CONF, "re");
	char line[256];
	bool allows = false;

	while (f && fgets(line, sizeof(line), f)) {
		char *word = line + strspn(line, " \t");

		word[strcspn(word, " \t\n#")] = '\0';
		if (strcmp(word, "user_allow_other") == 0)
			allows = true;
	}
	if (f)
		fclose(f);
	return allows;
}

int check_allow_other(bool allow_other, char error[MANIFEST_ERROR_MAX])
{
	if (!allow_other || geteuid() == 0 || fuse_conf_allows())
		return 0;
	snprintf(error, MANIFEST_ERROR_MAX,
		 "--allow-other: " FUSE_CONF
		 " forbids it to ordinary users (root can add the line user_allow_other there)");
	return -EPERM;
}
