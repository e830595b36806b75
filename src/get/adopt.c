/*
 * adopt.c - going on with what another downloader has begun
 *
 * Its file becomes a part of ours: the blocks that have come are copied into the store, with sums,
 * made durable, and only then the other's files go. A crash in between leaves both; the next run
 * begins with what ours has.
 *
 * Others keep no validator, so the bytes must be proven to be the server's file of now: by a
 * checksum in the end, or because the server's file was not modified since the other began.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "get/internal.h"

#define COPY_BYTES (UINT64_C(1) << 20)

struct turn {
	struct write_turn turn;
	struct mtx lock;
	struct cnd changed;
	bool ready;
};

static void turn_ready(struct write_turn *t)
{
	struct turn *turn = container_of(t, struct turn, turn);

	mtx_lock(&turn->lock);
	turn->ready = true;
	cnd_signal(&turn->changed);
	mtx_unlock(&turn->lock);
}

/* Until its turn has come. 0 or -errno. */
static int put(struct version *v, struct turn *turn, uint64_t off, const void *data, size_t len)
{
	int r;

	while ((r = version_write(v, off, data, len, 0, true, &turn->turn)) == -EAGAIN) {
		mtx_lock(&turn->lock);
		while (!turn->ready)
			cnd_wait(&turn->changed, &turn->lock);
		turn->ready = false;
		mtx_unlock(&turn->lock);
	}
	return r;
}

/* The whole blocks of r, from fd into v. */
static int copy_range(struct file *f, struct version *v, struct turn *turn, int fd, struct range r,
		      void *buf)
{
	uint64_t size = version_size(v);

	r.off = block_ceil(r.off);
	r.end = r.end >= size ? size : block_floor(r.end);
	for (uint64_t at = r.off; at < r.end;) {
		size_t len = (size_t)min_u64(COPY_BYTES, r.end - at), have = 0;
		ssize_t n = 1;
		int e;

		if (get_stopping(f->g))
			return -EINTR;
		while (have < len &&
		       (n = pread(fd, (char *)buf + have, len - have, (off_t)(at + have))) > 0)
			have += (size_t)n;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		e = put(v, turn, at, buf, len);
		if (e < 0)
			return e;
		at += len;
	}
	return 0;
}

static int copy_parts(struct file *f, const struct rangeset *parts)
{
	int fd = openat(f->target.dirfd, f->target.name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	struct turn turn = {.turn.ready = turn_ready};
	struct version *v = NULL;
	void *buf = malloc(COPY_BYTES);
	struct range part;
	uint64_t at = 0;
	int r = fd < 0 ? -errno : buf ? object_hold(f->object, 0, &v) : -ENOMEM;

	mtx_init(&turn.lock, RANK_QUEUE, "adopt");
	cnd_init(&turn.changed);
	while (r == 0 && rangeset_next(parts, at, &part) == 0) {
		r = copy_range(f, v, &turn, fd, part, buf);
		at = part.end;
	}
	cnd_done(&turn.changed);
	mtx_done(&turn.lock);
	version_put(v);
	free(buf);
	if (fd >= 0)
		close(fd);
	return r == 0 ? store_checkpoint(f->store) : r;
}

/* The server's file is as old as that, and the other's was made later. */
static bool unmodified_since(const struct file *f, int64_t modified)
{
	struct statx st;

	return modified != MANIFEST_NO_TIME &&
	       statx(f->target.dirfd, f->target.name, AT_SYMLINK_NOFOLLOW, STATX_BTIME, &st) == 0 &&
	       (st.stx_mask & STATX_BTIME) && st.stx_btime.tv_sec > modified;
}

/* Ours has all that is of use of it. 0 or -errno. */
static int remove_other(const struct file *f)
{
	char *control;
	int r = 0;

	if (asprintf(&control, "%s" FOREIGN_ARIA2_SUFFIX, f->target.name) < 0)
		return -ENOMEM;
	/* The control file last: without it the other would be taken for a whole file. */
	if (unlinkat(f->target.dirfd, f->target.name, 0) < 0 ||
	    (f->g->cfg.continue_from == FOREIGN_ARIA2 && unlinkat(f->target.dirfd, control, 0) < 0))
		r = -errno;
	free(control);
	return r;
}

int file_adopt(struct file *f)
{
	enum foreign_kind kind = f->g->cfg.continue_from;
	char why[FOREIGN_WHY_MAX] = "";
	struct rangeset parts;
	struct object_info info;
	struct stat st;
	int r;

	if (kind == FOREIGN_NONE || target_existing(&f->target, &st) < 0)
		return 0;
	rangeset_init(&parts);
	r = file_ask(f);
	object_info(f->object, &info);
	if (r == 0 && (info.size == SIZE_UNKNOWN || info.length_unknown)) {
		snprintf(why, sizeof(why), "the server gives no length");
		r = -EINVAL;
	}
	if (r == 0)
		r = foreign_parts(f->target.dirfd, f->target.name, kind, (uint64_t)st.st_size,
				  info.size, &parts, why);
	if (r == 0 && f->entry->checksum.algo == CHECKSUM_NONE &&
	    !unmodified_since(f, info.mtime)) {
		snprintf(why, sizeof(why),
			 "neither a checksum nor the server's date proves that it is of the "
			 "server's file (give --checksum, or move it away)");
		r = -EINVAL;
	}
	/*
	 * All but its last block: what is all there gets no rows (checkpoint.c), and without rows
	 * ours has nothing of it after a crash.
	 */
	if (r == 0 && info.size > 0)
		r = rangeset_remove(&parts, range_make(block_floor(info.size - 1), UINT64_MAX));
	if (r == 0)
		r = copy_parts(f, &parts);
	if (r == 0)
		r = remove_other(f);
	if (r == 0) {
		object_info(f->object, &info);
		mtx_lock(&f->g->lock);
		f->last.resumed = info.bytes_cached;
		mtx_unlock(&f->g->lock);
	}
	rangeset_done(&parts);
	/* Nothing of the kind: what is there is looked at like any other file. */
	if (r == -ENOENT)
		return 0;
	if (r < 0 && r != -EINTR)
		file_say(f, "what was begun of it can't be gone on with: %s",
			 why[0] ? why : strerror(-r));
	return r;
}
