/*
 * inventory.c - the caches under a root: listing and removal
 *
 * A cache of ours is a directory with a lock file and a database. Anything else under the root is a
 * stranger's and is neither shown nor touched.
 */
#include "store/inventory.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "store/cache.h"
#include "store/extdb.h"

static int path_of(const char *root, const char *name, char **ret)
{
	if (!*name || name[0] == '.' || strchr(name, '/'))
		return -ENOENT;
	return asprintf(ret, "%s/%s", root, name) < 0 ? -ENOMEM : 0;
}

static bool is_cache(int dirfd)
{
	struct stat st;

	return fstatat(dirfd, CACHE_LOCK_NAME, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISREG(st.st_mode) && fstatat(dirfd, EXTDB_NAME, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISREG(st.st_mode);
}

/* fn for each entry of a directory but "." and "..". */
static int each_name(int at, const char *name, int (*fn)(void *ctx, int dirfd, const char *name),
		     void *ctx)
{
	int fd, r = 0;
	struct dirent *de;
	DIR *dir;

	fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	dir = fdopendir(fd);
	if (!dir) {
		r = -errno;
		close(fd);
		return r;
	}
	while (!r && (errno = 0, de = readdir(dir)) != NULL) {
		if (strcmp(de->d_name, ".") != 0 && strcmp(de->d_name, "..") != 0)
			r = fn(ctx, fd, de->d_name);
	}
	if (!r && errno)
		r = -errno;
	closedir(dir);
	return r;
}

/* ---- listing ---- */

static int add_file(void *ctx, int dirfd, const char *name)
{
	struct inventory_item *item = ctx;
	struct stat st;

	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode)) {
		item->files++;
		item->bytes += (uint64_t)st.st_blocks * 512;
	}
	return 0;
}

static void describe(int dirfd, struct inventory_item *item)
{
	char text[INVENTORY_TEXT_MAX], *comma;

	cache_last_owner(dirfd, text, sizeof(text));
	comma = strstr(text, ", ");
	snprintf(item->description, sizeof(item->description), "%s", comma ? comma + 2 : "");
	item->used = cache_owner(dirfd, item->owner, sizeof(item->owner));
	each_name(dirfd, CACHE_FILES_NAME, add_file, item);
}

struct listing {
	char **name;
	size_t count, max;
};

static int list_name(void *ctx, int dirfd, const char *name)
{
	struct listing *l = ctx;
	int fd;
	bool ours;

	if (name[0] == '.')
		return 0;
	fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return 0;
	ours = is_cache(fd);
	close(fd);
	if (!ours)
		return 0;
	if (l->count == l->max) {
		size_t max = l->max ? l->max * 2 : 32;
		char **more = reallocarray(l->name, max, sizeof(*more));

		if (!more)
			return -ENOMEM;
		l->name = more;
		l->max = max;
	}
	l->name[l->count] = strdup(name);
	if (!l->name[l->count])
		return -ENOMEM;
	l->count++;
	return 0;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int inventory_each(const char *root, int (*fn)(void *ctx, const struct inventory_item *item),
		   void *ctx)
{
	struct listing l = {0};
	int fd = -1, r;

	r = each_name(AT_FDCWD, root, list_name, &l);
	if (!r && l.count > 0)
		qsort(l.name, l.count, sizeof(*l.name), by_text);
	for (size_t i = 0; !r && i < l.count; i++) {
		struct inventory_item item = {.name = l.name[i]};
		char *path = NULL;

		r = path_of(root, l.name[i], &path);
		if (r)
			break;
		fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		free(path);
		if (fd < 0)
			continue; /* removed meanwhile */
		describe(fd, &item);
		close(fd);
		r = fn(ctx, &item);
	}
	for (size_t i = 0; i < l.count; i++)
		free(l.name[i]);
	free(l.name);
	return r;
}

/* ---- removal ---- */

static int unlink_one(void *ctx, int dirfd, const char *name)
{
	(void)ctx;
	return unlinkat(dirfd, name, 0) < 0 && errno != ENOENT ? -errno : 0;
}

static bool is_database(const char *name)
{
	return strncmp(name, EXTDB_NAME, strlen(EXTDB_NAME)) == 0;
}

static bool is_copy(const char *name)
{
	return strcmp(name, CACHE_MANIFEST_NAME) == 0 || strcmp(name, CACHE_MANIFEST_NEW_NAME) == 0;
}

/* A stranger's in a cache's directory: removing that would leave half a cache, which nobody lists.
 */
static int refuse_stranger(void *ctx, int dirfd, const char *name)
{
	(void)ctx;
	(void)dirfd;
	return is_database(name) || is_copy(name) || strcmp(name, CACHE_LOCK_NAME) == 0 ||
			       strcmp(name, CACHE_FILES_NAME) == 0
		       ? 0
		       : -ENOTEMPTY;
}

static int unlink_copy(void *ctx, int dirfd, const char *name)
{
	return is_copy(name) ? unlink_one(ctx, dirfd, name) : 0;
}

static int unlink_database(void *ctx, int dirfd, const char *name)
{
	return is_database(name) ? unlink_one(ctx, dirfd, name) : 0;
}

/* The database and the held lock make it a cache: they go last, so that a failure can be tried
 * again. */
static int remove_content(struct cache *c)
{
	int r = each_name(c->dirfd, CACHE_FILES_NAME, unlink_one, NULL);

	if (!r && unlinkat(c->dirfd, CACHE_FILES_NAME, AT_REMOVEDIR) < 0)
		r = -errno;
	if (!r)
		r = each_name(c->dirfd, ".", unlink_copy, NULL);
	if (!r)
		r = each_name(c->dirfd, ".", unlink_database, NULL);
	/* Whoever waited for this lock sees that its name is gone, and starts over. */
	if (!r && unlinkat(c->dirfd, CACHE_LOCK_NAME, 0) < 0)
		r = -errno;
	return r;
}

int inventory_remove(const char *root, const char *name, char owner[INVENTORY_TEXT_MAX])
{
	struct cache c;
	char *path = NULL;
	int fd, r;

	r = path_of(root, name, &path);
	if (r)
		return r;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	r = fd < 0 ? -errno : is_cache(fd) ? each_name(fd, ".", refuse_stranger, NULL) : -ENOENT;
	if (fd >= 0)
		close(fd);
	if (r) {
		free(path);
		return r;
	}
	r = cache_open(&c, path, NULL, "being removed", owner, INVENTORY_TEXT_MAX);
	if (!r) {
		r = remove_content(&c);
		if (!r && rmdir(path) < 0)
			r = -errno;
		cache_close(&c);
	}
	free(path);
	return r;
}
