/*
 * target.c - a store of one object in a file of the user's: how that file gets its name, or goes
 *
 * Everything else of such a store is as of any other, but that the database only comes to be with
 * the first checkpoint that finds the object incomplete (store_need_db(), checkpoint.c).
 */
#include <fcntl.h>

#include "base/clock.h"
#include "base/log.h"
#include "store/store_priv.h"

#define UNUSED_WAIT_US (10 * USEC_PER_SEC)

static bool in_use(struct store *s)
{
	struct version *v;
	bool used;

	mtx_lock(&s->lock);
	used = s->freeing > 0;
	TAILQ_FOREACH (v, &s->versions, link) {
		mtx_lock(&v->lock);
		used |= atomic_load(&v->refs) > (unsigned int)__builtin_popcount(v->holds);
		mtx_unlock(&v->lock);
	}
	mtx_unlock(&s->lock);
	return used;
}

void target_wait_unused(struct store *s)
{
	uint64_t until_us = clock_now_us() + UNUSED_WAIT_US;
	const struct timespec pause = {.tv_nsec = 2000000};

	while (in_use(s) && clock_now_us() < until_us)
		nanosleep(&pause, NULL);
}

/* All of key is in a file that has the name of the part, durable if the last checkpoint was. */
static int target_complete(struct store *s, const struct object_key *key)
{
	struct store_record rec;
	struct stat st;

	if (store_lookup(s, key, &rec) < 0 || rec.size == SIZE_UNKNOWN ||
	    (rec.size > 0 && (!rec.complete || rec.bytes_durable != rec.size)))
		return -EIO;
	if (fstatat(s->cache.filesfd, s->cache.part, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? -EIO : -errno;
	if (!S_ISREG(st.st_mode) || cache_part_foreign(&s->cache))
		return -ESTALE;
	return (uint64_t)st.st_size == rec.size ? 0 : -EIO;
}

/* An empty object has no byte that would have made its file. */
static int target_make_empty(struct store *s, const struct object_key *key)
{
	struct backing *empty = NULL;
	struct store_record rec;
	int r;

	if (store_lookup(s, key, &rec) < 0 || rec.size != 0)
		return 0;
	/* In place of what another version had; not of what somebody else has put there. */
	r = cache_create(&s->cache, UINT64_MAX, 0, 0, &empty);
	backing_put(empty);
	return r;
}

static int target_rename(struct store *s, int64_t mtime, const char *name)
{
	int dirfd = s->cache.filesfd;
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = mtime}};
	struct stat st;

	if (mtime != VALIDATOR_NO_TIME &&
	    utimensat(dirfd, s->cache.part, times, AT_SYMLINK_NOFOLLOW) < 0)
		log_debug("%s: its date can't be set: %s", name, strerror(errno));
	if (renameat2(dirfd, s->cache.part, dirfd, name, RENAME_NOREPLACE) == 0)
		return fsync(dirfd) < 0 ? -errno : 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	/* A file system without it: somebody may be quicker in between. */
	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return -EEXIST;
	if (renameat(dirfd, s->cache.part, dirfd, name) < 0 || fsync(dirfd) < 0)
		return -errno;
	return 0;
}

int store_finish(struct store *s, const struct object_key *key, int64_t mtime, const char *name)
{
	int r = target_make_empty(s, key), error;

	if (!r)
		r = store_checkpoint(s);
	if (!r)
		r = target_complete(s, key);
	if (!r)
		r = target_rename(s, mtime, name);
	/* It keeps the name that it has: the checkpoint has not made it durable. */
	if (r == -EEXIST && cache_sync_dir(&s->cache))
		log_warn("%s: its name may not outlast a power cut", s->cache.part);
	store_stop(s);
	if (!r) {
		error = cache_remove(&s->cache);
		if (error)
			log_warn("%s: what was kept of its download stays: %s", name,
				 strerror(-error));
	}
	store_end(s);
	return r;
}

int store_discard(struct store *s)
{
	int r, error;

	store_stop(s);
	r = cache_unlink(&s->cache, UINT64_MAX, 0);
	if (r == -ENOENT || r == -EEXIST)
		r = 0;
	error = cache_remove(&s->cache);
	store_end(s);
	return r ? r : error;
}

static int peek_object(void *ctx, const struct extdb_object *o)
{
	struct store_record *rec = ctx;

	rec->size =
		o->version.id && o->version.size != SIZE_UNKNOWN ? o->version.size : o->row.size;
	rec->mtime = o->row.mtime;
	rec->bytes_cached = rec->bytes_durable = o->version.id ? o->version.bytes : 0;
	return 0;
}

int store_peek(int dirfd, const char *dir, struct store_record *ret)
{
	struct extdb *db = NULL;
	uint64_t bad;
	int r = extdb_open_readonly(dirfd, dir, &db);

	if (r)
		return r;
	*ret = (struct store_record){.size = SIZE_UNKNOWN, .mtime = VALIDATOR_NO_TIME};
	r = extdb_each_object(db, peek_object, ret, &bad);
	extdb_close(db);
	return r;
}
