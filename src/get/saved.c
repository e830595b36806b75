/*
 * saved.c - downloads that were begun and have not come to their end
 */
#include "get/saved.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

#include "get/get.h"
#include "get/target.h"
#include "store/cache.h"

#define TEXT_MAX (1 << 20)

/* One with its strings. */
struct item {
	struct saved saved;
	char *path, *manifest;
	char owner[STORE_OWNER_MAX];
	bool owned;
};

static void item_done(struct item *it)
{
	free(it->path);
	free(it->manifest);
}

/* All of a small file, terminated. 0 or -errno. */
static int read_text(int dirfd, const char *name, char **ret, size_t *ret_len)
{
	int fd = openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC), r = 0;
	char *text = fd < 0 ? NULL : malloc(TEXT_MAX + 1);
	size_t len = 0;
	ssize_t n = 0;

	if (!text) {
		r = fd < 0 ? -errno : -ENOMEM;
	} else {
		while (len < TEXT_MAX && (n = read(fd, text + len, TEXT_MAX - len)) > 0)
			len += (size_t)n;
		r = n < 0 ? -errno : 0;
		text[len] = '\0';
	}
	if (fd >= 0)
		close(fd);
	if (r < 0) {
		free(text);
		return r;
	}
	*ret = text;
	*ret_len = len;
	return 0;
}

static void look_at_part(struct saved *s)
{
	struct stat st;
	char *part;

	if (asprintf(&part, "%s%s", s->path, GET_PART) < 0)
		return;
	if (stat(part, &st) == 0)
		s->changed_s = st.st_mtime;
	else
		s->part_missing = errno == ENOENT;
	free(part);
}

/* 0; -ENOENT: it holds no download that could be gone on with. */
static int item_load(int rootfd, const char *root, const char *name, struct item *it)
{
	struct store_record rec = {.size = SIZE_UNKNOWN};
	char dir[PATH_MAX];
	size_t len;
	int dirfd, r;

	*it = (struct item){.saved.size = SIZE_UNKNOWN};
	if ((size_t)snprintf(dir, sizeof(dir), "%s/%s", root, name) >= sizeof(dir))
		return -ENOENT;
	dirfd = openat(rootfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dirfd < 0)
		return -ENOENT;
	r = read_text(dirfd, TARGET_PATH_NAME, &it->path, &len);
	if (r == 0 &&
	    read_text(dirfd, TARGET_ENTRY_NAME, &it->manifest, &it->saved.manifest_len) < 0)
		it->manifest = NULL;
	it->owned = r == 0 && cache_owner(dirfd, it->owner, sizeof(it->owner));
	it->owner[strcspn(it->owner, ",")] = '\0'; /* the rest says at what it is */
	if (r == 0 && !it->owned && store_peek(dirfd, dir, &rec) == 0)
		it->saved.durable = rec.bytes_durable;
	it->saved.size = rec.size;
	close(dirfd);
	if (r < 0)
		return -ENOENT;
	it->saved.path = it->path;
	it->saved.manifest = it->manifest;
	look_at_part(&it->saved);
	return 0;
}

static int by_path(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	return strcmp(x->path, y->path);
}

static int load_all(int rootfd, const char *root, DIR *d, struct item **ret, size_t *ret_count)
{
	struct item *list = NULL, *more;
	const struct dirent *de;
	size_t count = 0, room = 0;
	int r = 0;

	while (r == 0 && (de = readdir(d)) != NULL) {
		if (de->d_name[0] == '.')
			continue;
		if (count == room) {
			room = room ? 2 * room : 16;
			more = reallocarray(list, room, sizeof(*list));
			if (!more) {
				r = -ENOMEM;
				break;
			}
			list = more;
		}
		if (item_load(rootfd, root, de->d_name, &list[count]) == 0)
			count++;
		else
			item_done(&list[count]);
	}
	*ret = list;
	*ret_count = count;
	return r;
}

int saved_each(const char *state_dir, int (*fn)(void *ctx, const struct saved *s), void *ctx)
{
	struct item *list = NULL;
	char root[PATH_MAX];
	size_t count = 0;
	DIR *d;
	int r;

	if ((size_t)snprintf(root, sizeof(root), "%s/get", state_dir) >= sizeof(root))
		return -ENAMETOOLONG;
	d = opendir(root);
	if (!d)
		return errno == ENOENT ? 0 : -errno;
	r = load_all(dirfd(d), root, d, &list, &count);
	closedir(d);
	if (count > 0)
		qsort(list, count, sizeof(*list), by_path);
	for (size_t i = 0; r == 0 && i < count; i++) {
		/* Where it lies now: it was moved by sorting. */
		list[i].saved.owner = list[i].owned ? list[i].owner : NULL;
		r = fn(ctx, &list[i].saved);
	}
	for (size_t i = 0; i < count; i++)
		item_done(&list[i]);
	free(list);
	return r;
}

int saved_forget(const char *state_dir, const char *path, char *owner, size_t owner_size)
{
	struct store_target place;
	char why[TARGET_WHY_MAX];
	struct target t;
	struct cache c;
	int r = target_init(&t, path, strlen(path), state_dir, why);

	if (r < 0)
		return r;
	if (access(t.state, F_OK) < 0) {
		r = -errno;
		goto out;
	}
	place = (struct store_target){.dirfd = t.dirfd, .part = t.part};
	r = cache_open(&c, t.state, &place, path, owner, owner_size);
	if (r < 0)
		goto out;
	/* What somebody else has put there is not ours to remove. */
	r = cache_unlink(&c, UINT64_MAX, 0);
	if (r == 0 || r == -ENOENT || r == -EEXIST)
		r = cache_remove(&c);
	cache_close(&c);
out:
	target_done(&t);
	return r;
}
