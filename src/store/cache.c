/*
 * cache.c - the directory of one cache and its lock file
 *
 * The lock is a flock: it dies with the process, whatever kills it, and it is not shared with a
 * process forked before. The file's text only says who holds it.
 */
#include "store/cache.h"

#include <dirent.h>
#include <inttypes.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>

#include "base/log.h"
#include "store/store.h"

#ifndef CIFS_SUPER_MAGIC
#define CIFS_SUPER_MAGIC 0xFF534D42
#endif
#ifndef SMB2_SUPER_MAGIC
#define SMB2_SUPER_MAGIC 0xFE534D42
#endif
#ifndef FUSE_SUPER_MAGIC
#define FUSE_SUPER_MAGIC 0x65735546
#endif

/* mkdir -p, what is missing private to us. */
static int make_dirs(const char *dir)
{
	char *path;
	int r = 0;

	/* Mostly only the last is missing. */
	if (mkdir(dir, 0700) == 0 || errno == EEXIST)
		return 0;
	path = strdup(dir);
	if (!path)
		return -ENOMEM;
	for (char *p = path + 1; !r && *p; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		if (mkdir(path, 0700) < 0 && errno != EEXIST)
			r = -errno;
		*p = '/';
	}
	if (!r && mkdir(path, 0700) < 0 && errno != EEXIST)
		r = -errno;
	free(path);
	return r;
}

/* Ours, and nobody else may write into it. */
static int check_private(int fd, struct stat *ret)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (st.st_uid != geteuid() || (st.st_mode & 022))
		return -EPERM;
	if ((st.st_mode & 0777) != 0700 && fchmod(fd, 0700) < 0)
		return -errno;
	*ret = st;
	return 0;
}

static int open_subdir(int dirfd, const char *name, struct stat *ret)
{
	int fd, r;

	if (mkdirat(dirfd, name, 0700) < 0 && errno != EEXIST)
		return -errno;
	fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	r = check_private(fd, ret);
	if (r) {
		close(fd);
		return r;
	}
	return fd;
}

static unsigned int fs_kind(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) < 0 ? 0 : (unsigned int)fs.f_type;
}

/* The database is in one directory, the bytes in another. */
static void learn_kind(struct cache *c)
{
	struct statvfs vfs;

	switch (fs_kind(c->dirfd)) {
	case NFS_SUPER_MAGIC:
	case SMB_SUPER_MAGIC:
	case CIFS_SUPER_MAGIC:
	case SMB2_SUPER_MAGIC:
	case FUSE_SUPER_MAGIC:
		c->network = true;
		break;
	default:
		break;
	}
	switch (fs_kind(c->filesfd)) {
	case EXT4_SUPER_MAGIC:
	case XFS_SUPER_MAGIC:
	case TMPFS_MAGIC:
		c->counts_blocks = true;
		break;
	default:
		break;
	}
	c->fs_block = 4096;
	if (fstatvfs(c->filesfd, &vfs) == 0 && vfs.f_frsize >= 512 && vfs.f_frsize <= BLOCK_SIZE &&
	    (vfs.f_frsize & (vfs.f_frsize - 1)) == 0)
		c->fs_block = max_u64(vfs.f_frsize, 4096);
}

static void read_owner(int fd, char *text, size_t size)
{
	ssize_t n = pread(fd, text, size - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	for (char *p = text; *p; p++) {
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			*p = '?';
	}
}

static void name_owner(int fd, char *text, size_t size)
{
	read_owner(fd, text, size);
	if (!*text)
		snprintf(text, size, "another process");
}

/* Is the locked file still the one of that name, or was the cache removed while we waited? */
static bool lock_is_current(int dirfd, int fd)
{
	struct stat have, named;

	return fstat(fd, &have) == 0 &&
	       fstatat(dirfd, CACHE_LOCK_NAME, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
	       have.st_ino == named.st_ino && have.st_dev == named.st_dev;
}

/* 0, -EBUSY with who holds it, -EAGAIN (look for the directory again), -errno. */
static int take_lock(struct cache *c, const char *description, char *owner, size_t owner_size)
{
	char host[HOST_NAME_MAX + 1] = "", *text = NULL;
	int fd, len, r = 0;

	fd = openat(c->dirfd, CACHE_LOCK_NAME, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		r = errno == EWOULDBLOCK ? -EBUSY : -errno;
		if (r == -EBUSY)
			name_owner(fd, owner, owner_size);
		close(fd);
		return r;
	}
	if (!lock_is_current(c->dirfd, fd)) {
		close(fd);
		return -EAGAIN;
	}
	c->lockfd = fd;
	if (!description)
		return 0;
	gethostname(host, sizeof(host) - 1);
	len = asprintf(&text, "%ld on %s, %s\n", (long)getpid(), host, description);
	if (len < 0)
		return -ENOMEM;
	/* Only for people to read: a full disk must not keep a cache from being used. */
	if (ftruncate(fd, 0) < 0 || pwrite(fd, text, (size_t)len, 0) != len)
		log_debug("lock file of %s: %s", c->path, strerror(errno));
	free(text);
	return 0;
}

static void cache_init(struct cache *c)
{
	*c = (struct cache){.dirfd = -1, .filesfd = -1, .lockfd = -1};
	openfiles_init(&c->open);
	mtx_init(&c->part_lock, RANK_PART, "part");
}

static int enter(struct cache *c, const char *dir)
{
	struct stat st = {0};
	int r;

	c->dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (c->dirfd < 0)
		return errno == ELOOP || errno == ENOTDIR ? -EPERM : -errno;
	r = check_private(c->dirfd, &st);
	if (r)
		return r;
	c->dev = st.st_dev;
	c->path = strdup(dir);
	return c->path ? 0 : -ENOMEM;
}

int cache_resolve(struct cache *c)
{
	char *path = realpath(c->path, NULL);
	struct stat st, path_st;

	if (!path)
		return -errno;
	free(c->path);
	c->path = path;
	if (fstat(c->dirfd, &st) < 0 || stat(path, &path_st) < 0)
		return -errno;
	return path_st.st_dev == st.st_dev && path_st.st_ino == st.st_ino ? 0 : -EPERM;
}

/* The directory of the backing files. 0 or -errno. */
static int enter_files(struct cache *c)
{
	struct stat st = {0};
	int fd = open_subdir(c->dirfd, CACHE_FILES_NAME, &st);

	if (fd < 0)
		return fd;
	c->filesfd = fd;
	/* A mount point below would be another file system than the one the rows speak of. */
	return st.st_dev == c->dev ? 0 : -EXDEV;
}

/* The number of a file that is gone is soon another's: its birth tells them apart. */
struct part_note {
	uint64_t ino;
	int64_t born_ns; /* 0: the file system does not tell */
};

/* Of name in dirfd, or of dirfd itself ("" and AT_EMPTY_PATH). 0 or -errno. */
static int part_look(int dirfd, const char *name, int how, struct part_note *ret)
{
	struct statx st = {0};

	if (statx(dirfd, name, how | AT_SYMLINK_NOFOLLOW, STATX_INO | STATX_BTIME, &st) < 0)
		return -errno;
	*ret = (struct part_note){.ino = st.stx_ino};
	if (st.stx_mask & STATX_BTIME)
		ret->born_ns = (int64_t)st.stx_btime.tv_sec * 1000000000 + st.stx_btime.tv_nsec;
	return 0;
}

/* Which file we made: a note beside the lock, which a power cut may take. */
void cache_own_part(struct cache *c, int fd)
{
	struct part_note note = {0};
	int r = part_look(fd, "", AT_EMPTY_PATH, &note);
	int notefd = openat(c->dirfd, CACHE_PART_NAME, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC,
			    0600);

	atomic_store(&c->part_born_ns, note.born_ns);
	atomic_store(&c->part_ino, note.ino);
	if (r || notefd < 0 || pwrite(notefd, &note, sizeof(note), 0) != sizeof(note))
		log_debug("%s: %s can't be noted: %s", c->path, c->part, strerror(errno));
	if (notefd >= 0)
		close(notefd);
}

static struct part_note part_noted(const struct cache *c)
{
	int fd = openat(c->dirfd, CACHE_PART_NAME, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	struct part_note note;

	if (fd < 0)
		return (struct part_note){0};
	if (pread(fd, &note, sizeof(note), 0) != sizeof(note))
		note = (struct part_note){0};
	close(fd);
	return note;
}

static int enter_target(struct cache *c, const struct store_target *target)
{
	struct part_note note;
	struct stat st;

	c->filesfd = fcntl(target->dirfd, F_DUPFD_CLOEXEC, 0);
	if (c->filesfd < 0 || fstat(c->filesfd, &st) < 0)
		return -errno;
	c->dev = st.st_dev;
	c->part = strdup(target->part);
	if (!c->part)
		return -ENOMEM;
	note = part_noted(c);
	atomic_store(&c->part_born_ns, note.born_ns);
	atomic_store(&c->part_ino, note.ino);
	return 0;
}

bool cache_part_noted(const struct cache *c)
{
	return atomic_load(&c->part_ino) != 0;
}

bool cache_part_foreign(const struct cache *c)
{
	struct part_note is = {0};

	return part_look(c->filesfd, c->part, 0, &is) == 0 &&
	       (is.ino != atomic_load(&c->part_ino) || is.born_ns != atomic_load(&c->part_born_ns));
}

static int cache_try(struct cache *c, const char *dir, const struct store_target *target,
		     const char *description, char *owner, size_t owner_size)
{
	int r;

	cache_init(c);
	r = make_dirs(dir);
	if (!r)
		r = enter(c, dir);
	if (!r)
		r = take_lock(c, description, owner, owner_size);
	if (!r)
		r = target ? enter_target(c, target) : enter_files(c);
	if (r)
		cache_close(c);
	else
		learn_kind(c);
	return r;
}

int cache_open(struct cache *c, const char *dir, const struct store_target *target,
	       const char *description, char *owner, size_t owner_size)
{
	int r;

	/* Each time somebody has just removed the cache; nobody does that for ever. */
	for (int tries = 0; tries < 10; tries++) {
		r = cache_try(c, dir, target, description, owner, owner_size);
		if (r != -EAGAIN)
			break;
	}
	return r;
}

void cache_close(struct cache *c)
{
	if (c->filesfd >= 0)
		close(c->filesfd);
	if (c->lockfd >= 0)
		close(c->lockfd);
	if (c->dirfd >= 0)
		close(c->dirfd);
	free(c->path);
	free(c->part);
	openfiles_done(&c->open);
	mtx_done(&c->part_lock);
	cache_init(c);
}

int cache_remove(struct cache *c)
{
	int fd = openat(c->dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *de;

	if (!d) {
		r = -errno;
		if (fd >= 0)
			close(fd);
		return r;
	}
	/* The lock last: until then nobody takes it for a place of his own. */
	while ((de = readdir(d)) != NULL) {
		if (strcmp(de->d_name, CACHE_LOCK_NAME) != 0 && de->d_name[0] != '.' &&
		    unlinkat(c->dirfd, de->d_name, 0) < 0)
			r = -errno;
	}
	closedir(d);
	if (!r && (unlinkat(c->dirfd, CACHE_LOCK_NAME, 0) < 0 || rmdir(c->path) < 0))
		r = -errno;
	return r;
}

bool cache_owner(int dirfd, char *text, size_t size)
{
	bool held = false;
	int fd;

	fd = openat(dirfd, CACHE_LOCK_NAME, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return false;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK) {
		name_owner(fd, text, size);
		held = true;
	}
	close(fd);
	return held;
}

void cache_last_owner(int dirfd, char *text, size_t size)
{
	int fd = openat(dirfd, CACHE_LOCK_NAME, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	text[0] = '\0';
	if (fd < 0)
		return;
	read_owner(fd, text, size);
	close(fd);
}

int cache_disk_free(const struct cache *c, uint64_t *ret)
{
	struct statvfs vfs;

	if (fstatvfs(c->filesfd, &vfs) < 0)
		return -errno;
	*ret = (uint64_t)vfs.f_bavail * vfs.f_frsize;
	return 0;
}

/* The same directory by a new open file description, under the same number for whoever uses it now.
 */
static int reopen_dir(int dirfd)
{
	int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;

	if (fd < 0)
		return -errno;
	if (dup3(fd, dirfd, O_CLOEXEC) < 0)
		r = -errno;
	close(fd);
	return r;
}

static int sync_dir(int dirfd)
{
	int r = fsync(dirfd) < 0 ? -errno : 0;

	if (r && reopen_dir(dirfd))
		log_error("the cache directory can't be opened again: %s", strerror(-r));
	return r;
}

int cache_sync_dir(struct cache *c)
{
	int r = sync_dir(c->filesfd), top = sync_dir(c->dirfd);

	return r ? r : top;
}
