/*
 * openfiles.c - which backing files have a descriptor just now
 *
 * A file without users whose writes are all synced is idle; idle ones are a list in the order of
 * their last use. Opening and closing are done without the lock: two threads may open the same file
 * at once, and the second closes its own again.
 */
#include "store/openfiles.h"

#include "store/cache.h"

void openfiles_init(struct openfiles *o)
{
	mtx_init(&o->lock, RANK_POOL, "open files");
	TAILQ_INIT(&o->idle);
	o->open = o->unsynced = o->max = 0;
}

void openfiles_done(struct openfiles *o)
{
	mtx_done(&o->lock);
}

/* Put b where it belongs now. */
static void settle_locked(struct openfiles *o, struct backing *b) REQUIRES(o->lock)
{
	struct openfile *f = &b->file;

	if (f->idle)
		TAILQ_REMOVE(&o->idle, b, file.link);
	o->unsynced -= f->unsynced;
	f->unsynced = f->fd >= 0 && f->writes != f->synced;
	o->unsynced += f->unsynced;
	f->idle = f->fd >= 0 && f->users == 0 && !f->unsynced;
	if (f->idle)
		TAILQ_INSERT_TAIL(&o->idle, b, file.link);
}

/* False: none is idle. */
static bool close_one(struct openfiles *o, bool beyond_max)
{
	struct backing *b;
	int fd = -1;

	mtx_lock(&o->lock);
	b = !beyond_max || (o->max > 0 && o->open >= o->max) ? TAILQ_FIRST(&o->idle) : NULL;
	if (b) {
		fd = b->file.fd;
		b->file.fd = -1;
		o->open--;
		settle_locked(o, b);
	}
	mtx_unlock(&o->lock);
	if (fd >= 0)
		close(fd);
	return b != NULL;
}

int openfiles_room(struct openfiles *o)
{
	bool full;

	while (close_one(o, true))
		;
	mtx_lock(&o->lock);
	full = o->max > 0 && o->open >= o->max;
	mtx_unlock(&o->lock);
	return full ? -EMFILE : 0;
}

bool openfiles_crowded(struct openfiles *o, const struct backing *b)
{
	bool crowded;

	mtx_lock(&o->lock);
	crowded = o->max > 0 && o->unsynced >= o->max && !(b && b->file.unsynced);
	mtx_unlock(&o->lock);
	return crowded;
}

void openfiles_add(struct openfiles *o, struct backing *b, int fd)
{
	mtx_lock(&o->lock);
	b->file.fd = fd;
	o->open++;
	settle_locked(o, b);
	mtx_unlock(&o->lock);
}

void openfiles_remove(struct openfiles *o, struct backing *b)
{
	int fd;

	mtx_lock(&o->lock);
	fd = b->file.fd;
	b->file.fd = -1;
	if (fd >= 0)
		o->open--;
	settle_locked(o, b);
	mtx_unlock(&o->lock);
	if (fd >= 0)
		close(fd);
}

/* Another descriptor for b. Where the process has none left, an idle one goes. */
static int open_again(struct openfiles *o, struct backing *b)
{
	int fd;

	openfiles_room(o);
	do
		fd = cache_open_again(b);
	while ((fd == -EMFILE || fd == -ENFILE) && close_one(o, false));
	return fd == -ESTALE || fd == -ELOOP ? -ENOENT : fd;
}

/* It has a descriptor and one more user. */
static int use_locked(struct openfiles *o, struct backing *b, int *fresh, uint64_t *ret_writes)
	REQUIRES(o->lock)
{
	struct openfile *f = &b->file;

	if (f->fd < 0 && *fresh >= 0) {
		f->fd = *fresh;
		*fresh = -1;
		o->open++;
	}
	if (f->fd >= 0) {
		f->users++;
		*ret_writes = f->writes;
		settle_locked(o, b);
	}
	return f->fd;
}

int backing_sync_begin(struct backing *b, uint64_t *ret_mark)
{
	struct openfiles *o = &b->cache->open;
	int fd, fresh = -1;

	for (;;) {
		mtx_lock(&o->lock);
		fd = use_locked(o, b, &fresh, ret_mark);
		mtx_unlock(&o->lock);
		if (fd >= 0)
			break;
		fresh = open_again(o, b);
		if (fresh < 0)
			return fresh;
	}
	if (fresh >= 0)
		close(fresh);
	return fd;
}

int backing_use(struct backing *b)
{
	uint64_t mark;

	return backing_sync_begin(b, &mark);
}

static void unuse(struct backing *b, uint64_t written, uint64_t synced)
{
	struct openfiles *o = &b->cache->open;

	mtx_lock(&o->lock);
	b->file.users--;
	b->file.writes += written;
	b->file.synced = max_u64(b->file.synced, synced);
	settle_locked(o, b);
	mtx_unlock(&o->lock);
}

void backing_unuse(struct backing *b)
{
	unuse(b, 0, 0);
}

void backing_unuse_written(struct backing *b)
{
	unuse(b, 1, 0);
}

void backing_sync_end(struct backing *b, uint64_t mark, bool synced)
{
	unuse(b, 0, synced ? mark : 0);
}
