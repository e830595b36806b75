/*
 * fsops_file.c - OPEN, READ and RELEASE
 *
 * A read is answered whole or with an error, by the thread that has its bytes; a short answer would
 * be zeros to the kernel. ESTALE is said by OPEN of a superseded node and by nothing else: the
 * kernel then looks the name up again by itself.
 */
#include "fs/fsops_int.h"

#include <fcntl.h>

/* What a READ may ask at once (libfuse's buffers are larger). */
#define READ_MAX (UINT64_C(1) << 20)

static void file_close(struct open_file *f)
{
	handle_close(f->handle);
	object_put(f->object);
	free(f);
}

/* 0, -ESTALE, or another -errno. */
static int file_open(struct fs *fs, const struct node_view *v, struct open_file **ret)
{
	struct open_file *f = calloc(1, sizeof(*f));
	int r;

	if (!f)
		return -ENOMEM;
	r = engine_object(fs->engine, v->name.manifest, v->name.index, &f->object);
	if (r == 0) {
		r = object_open(f->object, v->facts.generation, &f->handle);
		if (r < 0)
			object_put(f->object);
	}
	if (r < 0) {
		free(f);
		return r;
	}
	f->direct = v->facts.mode == NODE_DIRECT;
	mtx_lock(&fs->lock);
	LIST_INSERT_HEAD(&fs->open_files, f, link);
	mtx_unlock(&fs->lock);
	*ret = f;
	return 0;
}

static void file_forget(struct fs *fs, struct open_file *f)
{
	mtx_lock(&fs->lock);
	LIST_REMOVE(f, link);
	mtx_unlock(&fs->lock);
	file_close(f);
}

void fs_op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	struct node_view v;
	struct open_file *f = NULL;
	int r;

	if ((fi->flags & O_ACCMODE) != O_RDONLY || (fi->flags & O_TRUNC)) {
		fuse_reply_err(req, EROFS);
		return;
	}
	r = tree_view(fs->tree, ino, &v);
	if (r == 0) {
		if (v.superseded)
			r = -ESTALE;
		else if (v.name.directory)
			r = -EISDIR;
		else
			r = file_open(fs, &v, &f);
		if (r == -ESTALE)
			tree_supersede(fs->tree, ino);
		node_view_done(&v);
	}
	if (r != 0) {
		fuse_reply_err(req, -r);
		return;
	}
	fi->fh = (uintptr_t)f;
	fi->keep_cache = !f->direct;
	fi->direct_io = f->direct;
	fi->noflush = 1;
	if (fuse_reply_open(req, fi) < 0)
		file_forget(fs, f);
}

void fs_op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	file_forget(fs_of(req), (struct open_file *)(uintptr_t)fi->fh);
	fuse_reply_err(req, 0);
}

void fs_close_all(struct fs *fs)
{
	for (;;) {
		struct open_file *f;

		mtx_lock(&fs->lock);
		f = LIST_FIRST(&fs->open_files);
		if (f)
			LIST_REMOVE(f, link);
		mtx_unlock(&fs->lock);
		if (!f)
			return;
		file_close(f);
	}
}

/* ---- READ ---- */

struct read {
	struct waiter waiter;
	struct fs *fs;
	struct open_file *file;
	struct demand *demand;
	fuse_req_t req;
};

static void read_end(struct read *rd, int error, const void *data)
{
	struct fs *fs = rd->fs;

	if (error)
		fuse_reply_err(rd->req, error == -ENOMEM || error == -EINTR ? -error : EIO);
	else
		fuse_reply_buf(rd->req, data, range_len(rd->waiter.range));
	free(rd);
	fs_unpark(fs);
}

/* Its only answer is still the one of read_done(). */
static void read_interrupted(fuse_req_t req, void *data)
{
	(void)req;
	demand_cancel(data);
}

/* Through the page cache no read may end with EINTR: a signal that does not kill is no matter. */
static void read_signalled(fuse_req_t req, void *data)
{
	(void)req;
	demand_signalled(data);
}

static void read_post(struct read *rd)
{
	struct demand *d = demand_new(rd->file->handle, &rd->waiter, fuse_req_ctx(rd->req)->pid);

	if (!d) {
		read_end(rd, -ENOMEM, NULL);
		return;
	}
	rd->demand = d;
	fuse_req_interrupt_func(rd->req, rd->file->direct ? read_interrupted : read_signalled, d);
	demand_begin(d);
}

static void read_done(struct waiter *w, int error, const void *data)
{
	struct read *rd = container_of(w, struct read, waiter);
	uint64_t size;

	fs_uninterruptible(rd->req);
	demand_put(rd->demand);
	/*
	 * Of an object without a length: its end turned out to lie inside what was asked. Direct
	 * I/O, so the kernel takes a short answer for what it is.
	 */
	if (error && rd->file->direct) {
		size = handle_size(rd->file->handle);
		if (size < w->range.end) {
			w->range.end = max_u64(size, w->range.off);
			if (range_empty(w->range))
				read_end(rd, 0, "");
			else
				read_post(rd);
			return;
		}
	}
	read_end(rd, error, data);
}

void fs_op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
	struct open_file *f = (struct open_file *)(uintptr_t)fi->fh;
	struct range r = range_of_length((uint64_t)off, min_u64(size, READ_MAX));
	struct read *rd;

	(void)ino;
	if (f->direct && !fi->lock_owner) {
		/*
		 * For the page cache, which direct I/O passes by: sendfile, splice or a private
		 * mapping, and the kernel takes the size it knows for the end.
		 */
		fuse_reply_err(req, EINVAL);
		return;
	}
	/* A direct one's size is unknown until it has come to its end: then it is no bound yet. */
	r = range_intersect(r, range_make(0, handle_size(f->handle)));
	if (range_empty(r)) {
		fuse_reply_buf(req, NULL, 0);
		return;
	}
	rd = calloc(1, sizeof(*rd));
	if (!rd) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	rd->waiter.range = r;
	rd->waiter.done = read_done;
	rd->fs = fs_of(req);
	rd->file = f;
	rd->req = req;
	fs_park(rd->fs);
	read_post(rd);
}
