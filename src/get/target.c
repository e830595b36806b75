/*
 * target.c - the place of one download: the file, its part beside it, its directory of state
 */
#include "get/target.h"

#include <fcntl.h>
#include <limits.h>

#include "get/beneath.h"
#include "get/get.h"
#include "store/digest.h"

/* "" for "name", "/" for "/name". */
static int split(struct target *t, const char *path, char **ret_dir)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	*ret_dir = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
	t->name = strdup(name);
	t->final = strdup(name);
	if (!*ret_dir || !t->name || !t->final || asprintf(&t->part, "%s%s", name, GET_PART) < 0) {
		t->part = NULL;
		return -ENOMEM;
	}
	return 0;
}

static int state_path(struct target *t, const char *state_dir)
{
	char *path = target_path(t), hex[33];
	uint8_t sum[32];
	int r = path ? digest_sha256(path, strlen(path), sum) : -ENOMEM;

	free(path);
	if (r < 0)
		return r;
	for (int i = 0; i < 16; i++)
		snprintf(hex + 2 * (size_t)i, 3, "%02x", sum[i]);
	if (asprintf(&t->state, "%s/get/%s", state_dir, hex) < 0) {
		t->state = NULL;
		return -ENOMEM;
	}
	return 0;
}

static int enter(struct target *t, const char *dir, size_t own)
{
	int fd = beneath_open(dir, own);

	if (fd < 0)
		return fd;
	t->dirfd = fd;
	t->dir = realpath(dir, NULL);
	return t->dir ? 0 : -errno;
}

int target_init(struct target *t, const char *path, size_t own, const char *state_dir,
		char why[TARGET_WHY_MAX])
{
	char *dir = NULL;
	int r;

	*t = (struct target){.dirfd = -1};
	r = split(t, path, &dir);
	if (r == 0 && strlen(t->part) > NAME_MAX) {
		r = -ENAMETOOLONG;
		snprintf(why, TARGET_WHY_MAX,
			 "the name is too long, %s must fit behind it (give another with --output)",
			 GET_PART);
		goto out;
	}
	if (r == 0)
		r = enter(t, dir, own);
	if (r == -ELOOP)
		snprintf(why, TARGET_WHY_MAX,
			 "its directory is behind a link, which may lead elsewhere (name the place "
			 "with --dir or --output)");
	else if (r < 0)
		snprintf(why, TARGET_WHY_MAX, "its directory can't be used: %s", strerror(-r));
	if (r == 0) {
		r = state_path(t, state_dir);
		if (r < 0)
			snprintf(why, TARGET_WHY_MAX, "%s", strerror(-r));
	}
out:
	free(dir);
	if (r < 0)
		target_done(t);
	return r;
}

void target_done(struct target *t)
{
	if (t->dirfd >= 0)
		close(t->dirfd);
	free(t->dir);
	free(t->name);
	free(t->final);
	free(t->part);
	free(t->state);
	*t = (struct target){.dirfd = -1};
}

char *target_path(const struct target *t)
{
	const char *slash = strcmp(t->dir, "/") == 0 ? "" : "/";
	char *path;

	return asprintf(&path, "%s%s%s", t->dir, slash, t->name) < 0 ? NULL : path;
}

/* What DOS takes for a separator is none here, but servers send such paths. */
static const char *last_component(const char *filename)
{
	const char *name = filename;

	for (const char *p = filename; *p; p++) {
		if (*p == '/' || *p == '\\')
			name = p + 1;
	}
	return name;
}

int target_rename(struct target *t, const char *filename)
{
	char *name = strdup(last_component(filename));
	size_t len;

	if (!name)
		return -ENOMEM;
	len = strlen(name);
	for (size_t i = 0; i < len; i++) {
		unsigned char b = (unsigned char)name[i];

		if (b < 0x20 || b == 0x7f || (i == 0 && b == '.'))
			name[i] = '_';
	}
	if (len == 0 || len > NAME_MAX) {
		free(name);
		return -EINVAL;
	}
	free(t->final);
	t->final = name;
	return 0;
}

int target_existing(const struct target *t, struct stat *ret)
{
	if (fstatat(t->dirfd, t->final, ret, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? -ENOENT : -errno;
	return S_ISREG(ret->st_mode) ? 0 : -EEXIST;
}

int target_check_part(const struct target *t, char why[TARGET_WHY_MAX])
{
	struct stat st;

	if (fstatat(t->dirfd, t->part, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	if (S_ISREG(st.st_mode) && access(t->state, F_OK) == 0)
		return 0;
	target_in_the_way(t, why);
	return -EEXIST;
}

void target_in_the_way(const struct target *t, char why[TARGET_WHY_MAX])
{
	snprintf(why, TARGET_WHY_MAX,
		 "%s is in the way, no download of rgetfs's has begun it (move it away, or give "
		 "another name with --output)",
		 t->part);
}

static int leave(int dirfd, const char *name, const void *data, size_t len)
{
	int fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	int r = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, data, len) != (ssize_t)len)
		r = -EIO;
	else if (fsync(fd) < 0)
		r = -errno;
	if (close(fd) < 0 && r == 0)
		r = -errno;
	return r;
}

int target_describe(const struct target *t, int dirfd, const char *entry, size_t len)
{
	char *path = target_path(t);
	int r = path ? leave(dirfd, TARGET_PATH_NAME, path, strlen(path)) : -ENOMEM;

	free(path);
	return r == 0 ? leave(dirfd, TARGET_ENTRY_NAME, entry, len) : r;
}
