/*
 * backing.c - one backing file: making and recognising it, its bytes, its holes
 *
 * Nothing here knows what is claimed of a file; version.c and forget.c keep that.
 */
#include <inttypes.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/stat.h>

#include "base/size.h"
#include "store/cache.h"

#define BACKING_NAME_MAX 48

/* A target's is fixed. buf is for the other ones. */
static const char *backing_name(const struct cache *c, char buf[BACKING_NAME_MAX], uint64_t id,
				uint64_t cookie)
{
	if (c->part)
		return c->part;
	snprintf(buf, BACKING_NAME_MAX, "%" PRIx64 "-%016" PRIx64, id, cookie);
	return buf;
}

/* fd is the new one's; closed when there is no memory. */
static struct backing *backing_new(struct cache *c, int fd, uint64_t id, uint64_t ino,
				   uint64_t cookie, uint64_t size)
{
	struct backing *b = calloc(1, sizeof(*b));

	if (!b) {
		close(fd);
		return NULL;
	}
	atomic_init(&b->refs, 1);
	atomic_init(&b->size, size);
	b->cache = c;
	b->id = id;
	b->ino = ino;
	b->cookie = cookie;
	openfiles_add(&c->open, b, fd);
	return b;
}

/* What we made by that name; what somebody else has put there stays. */
static int unlink_part_locked(struct cache *c) REQUIRES(c->part_lock)
{
	if (cache_part_foreign(c))
		return -EEXIST;
	return unlinkat(c->filesfd, c->part, 0) < 0 ? -errno : 0;
}

/* The descriptor of a new file, which is ours, or -errno. */
static int create_part(struct cache *c, uint64_t id)
{
	int fd = -ESTALE;

	mtx_lock(&c->part_lock);
	if (id >= c->part_id) {
		unlink_part_locked(c); /* of another version */
		fd = openat(c->filesfd, c->part, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			    0666);
		if (fd < 0)
			fd = -errno;
	}
	if (fd >= 0) {
		c->part_id = id;
		cache_own_part(c, fd);
	}
	mtx_unlock(&c->part_lock);
	return fd;
}

static int create_file(struct cache *c, uint64_t id, uint64_t cookie)
{
	char buf[BACKING_NAME_MAX];
	int fd;

	if (c->part)
		return create_part(c, id);
	fd = openat(c->filesfd, backing_name(c, buf, id, cookie),
		    O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	return fd < 0 ? -errno : fd;
}

int cache_create(struct cache *c, uint64_t id, uint64_t cookie, uint64_t size, struct backing **ret)
{
	struct backing *b = NULL;
	struct stat st;
	int fd, r;

	r = openfiles_room(&c->open);
	if (r)
		return r;
	fd = create_file(c, id, cookie);
	if (fd < 0)
		return fd;
	if (size == SIZE_UNKNOWN || size > FILE_SIZE_MAX) {
		size = 0;
	} else if (ftruncate(fd, (off_t)size) < 0) {
		r = -errno;
		/* Longer than this file system's files get: it grows as far as it goes. */
		if (r != -EFBIG && r != -EINVAL)
			goto out;
		size = 0;
	}
	if (fstat(fd, &st) < 0) {
		r = -errno;
		goto out;
	}
	b = backing_new(c, fd, id, st.st_ino, cookie, size);
	fd = -1;
	r = b ? 0 : -ENOMEM;
out:
	if (r) {
		if (fd >= 0)
			close(fd);
		cache_unlink(c, id, cookie);
		return r;
	}
	*ret = b;
	return 0;
}

/* Open by name and compare with ino (0: not known yet). */
static int backing_open(struct cache *c, uint64_t id, uint64_t cookie, uint64_t ino,
			struct stat *st)
{
	char buf[BACKING_NAME_MAX];
	const char *name = backing_name(c, buf, id, cookie);
	int fd, r;

	fd = openat(c->filesfd, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	r = fstat(fd, st) < 0 ? -errno : 0;
	if (!r && (!S_ISREG(st->st_mode) || st->st_ino != ino || st->st_dev != c->dev))
		r = -ESTALE;
	if (r) {
		close(fd);
		return r;
	}
	return fd;
}

int cache_attach(struct cache *c, uint64_t id, uint64_t cookie, uint64_t ino, uint64_t size,
		 uint64_t claimed_end, struct backing **ret)
{
	struct backing *b;
	struct stat st = {0};
	int fd;

	openfiles_room(&c->open);
	fd = backing_open(c, id, cookie, ino, &st);
	if (fd < 0)
		return fd;
	/* A growing file has the length of what was written; any other exactly its version's. */
	if ((uint64_t)st.st_size < claimed_end || (uint64_t)st.st_size > size ||
	    (c->part && cache_part_noted(c) && cache_part_foreign(c))) {
		close(fd);
		return -ESTALE;
	}
	if (c->part) {
		mtx_lock(&c->part_lock);
		c->part_id = max_u64(c->part_id, id);
		if (c->part_id == id)
			cache_own_part(c, fd);
		mtx_unlock(&c->part_lock);
	}
	b = backing_new(c, fd, id, st.st_ino, cookie, (uint64_t)st.st_size == size ? size : 0);
	if (!b)
		return -ENOMEM;
	*ret = b;
	return 0;
}

int cache_unlink(struct cache *c, uint64_t id, uint64_t cookie)
{
	char buf[BACKING_NAME_MAX];
	int r = 0;

	if (!c->part)
		return unlinkat(c->filesfd, backing_name(c, buf, id, cookie), 0) < 0 ? -errno : 0;
	mtx_lock(&c->part_lock);
	if (id >= c->part_id)
		r = unlink_part_locked(c);
	mtx_unlock(&c->part_lock);
	return r;
}

int cache_open_again(const struct backing *b)
{
	struct stat st = {0};

	return backing_open(b->cache, b->id, b->cookie, b->ino, &st);
}

bool cache_named(const struct backing *b)
{
	char buf[BACKING_NAME_MAX];
	struct stat st;

	if (fstatat(b->cache->filesfd, backing_name(b->cache, buf, b->id, b->cookie), &st,
		    AT_SYMLINK_NOFOLLOW) < 0)
		return errno != ENOENT;
	return st.st_ino == b->ino;
}

int backing_reopen(const struct backing *b, struct backing **ret)
{
	struct backing *n;
	int fd;

	openfiles_room(&b->cache->open);
	fd = cache_open_again(b);
	if (fd < 0)
		return fd;
	n = backing_new(b->cache, fd, b->id, b->ino, b->cookie, atomic_load(&b->size));
	if (!n)
		return -ENOMEM;
	*ret = n;
	return 0;
}

struct backing *backing_get(struct backing *b)
{
	atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed);
	return b;
}

void backing_put(struct backing *b)
{
	if (!b || atomic_fetch_sub(&b->refs, 1) != 1)
		return;
	openfiles_remove(&b->cache->open, b);
	free(b);
}

int backing_set_size(struct backing *b, uint64_t size)
{
	int fd, r;

	if (size > FILE_SIZE_MAX)
		return -EFBIG;
	fd = backing_use(b);
	if (fd < 0)
		return fd;
	r = ftruncate(fd, (off_t)size) < 0 ? -errno : 0;
	backing_unuse_written(b);
	if (r == 0)
		atomic_store(&b->size, size);
	return r;
}

int backing_read(struct backing *b, uint64_t off, void *buf, size_t len)
{
	unsigned char *p = buf;
	int fd = backing_use(b), r = 0;

	if (fd < 0)
		return fd;
	while (len > 0) {
		ssize_t n = pread(fd, p, len, (off_t)off);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			r = n < 0 ? -errno : -EIO;
			break;
		}
		p += n;
		off += (size_t)n;
		len -= (size_t)n;
	}
	backing_unuse(b);
	return r;
}

int backing_write(struct backing *b, uint64_t off, const void *buf, size_t len)
{
	const unsigned char *p = buf;
	int fd = backing_use(b), r = 0;

	if (fd < 0)
		return fd;
	while (len > 0) {
		ssize_t n = pwrite(fd, p, len, (off_t)off);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			r = n < 0 ? -errno : -EIO;
			break;
		}
		p += n;
		off += (size_t)n;
		len -= (size_t)n;
	}
	backing_unuse_written(b);
	return r;
}

void backing_writeback(struct backing *b)
{
	int fd = backing_use(b);

	if (fd < 0)
		return; /* the sync does it all the same */
	sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE);
	backing_unuse(b);
}

int backing_punch(struct cache *c, struct backing *b, struct range r)
{
	uint64_t end = r.end;
	int fd, error = 0;

	if (atomic_load(&c->no_punch))
		return -EOPNOTSUPP;
	/* Past the end of the file as well, or the last file system block stays allocated, only
	 * zeroed. */
	if (end == atomic_load(&b->size))
		end = min_u64(block_ceil(end), FILE_SIZE_MAX);
	fd = backing_use(b);
	if (fd < 0)
		return fd;
	while (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)r.off,
			 (off_t)(end - r.off)) < 0) {
		error = -errno;
		if (error != -EINTR)
			break;
		error = 0;
	}
	backing_unuse(b);
	if (error == -EOPNOTSUPP || error == -ENOSYS) {
		atomic_store(&c->no_punch, true);
		return -EOPNOTSUPP;
	}
	return error;
}

int backing_empty(struct backing *b)
{
	uint64_t size = atomic_load(&b->size);
	int fd = backing_use(b), r = 0;

	if (fd < 0)
		return fd;
	if (ftruncate(fd, 0) < 0 || (size > 0 && ftruncate(fd, (off_t)size) < 0))
		r = -errno;
	backing_unuse(b);
	return r;
}

int backing_stat(struct backing *b, struct stat *ret)
{
	int fd = backing_use(b), r;

	if (fd < 0)
		return fd;
	r = fstat(fd, ret) < 0 ? -errno : 0;
	backing_unuse(b);
	return r;
}

int backing_allocated(struct backing *b, uint64_t *ret)
{
	struct stat st = {0};
	int r = backing_stat(b, &st);

	if (r == 0)
		*ret = (uint64_t)st.st_blocks * 512;
	return r;
}

static int next_data(int fd, uint64_t off, struct range *ret)
{
	off_t data, hole;

	data = lseek(fd, (off_t)off, SEEK_DATA);
	if (data < 0)
		return errno == EINVAL ? -EOPNOTSUPP : -errno;
	hole = lseek(fd, data, SEEK_HOLE);
	if (hole < 0)
		return -errno;
	*ret = range_make((uint64_t)data, (uint64_t)hole);
	return 0;
}

int backing_next_data(struct backing *b, uint64_t off, struct range *ret)
{
	int fd = backing_use(b), r;

	if (fd < 0)
		return fd;
	r = next_data(fd, off, ret);
	backing_unuse(b);
	return r;
}
