/*
 * fsops_dir.c - OPENDIR, READDIR and READDIRPLUS: the names of a directory
 *
 * A listing never waits: a file whose size nobody has told yet is listed without attributes, and
 * stat asks. An open directory keeps the manifest it was opened with, so that offsets mean the same
 * to its end: 0 ".", 1 "..", then the children in order.
 */
#include "fs/fsops_int.h"

#define OFF_FIRST_CHILD 2
/* No entry with attributes takes less of an answer (struct fuse_direntplus has 152 bytes without
 * the name). */
#define DIRENT_MIN 128

void fs_op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	struct node_view *v = calloc(1, sizeof(*v));
	int r;

	r = v ? tree_view(fs->tree, ino, v) : -ENOMEM;
	if (r == 0 && (v->superseded || !v->name.directory)) {
		r = v->superseded ? -ESTALE : -ENOTDIR;
		node_view_done(v);
	}
	if (r < 0) {
		free(v);
		fuse_reply_err(req, -r);
		return;
	}
	fi->fh = (uintptr_t)v;
	fi->cache_readdir = 1;
	fi->keep_cache = 1;
	if (fuse_reply_open(req, fi) < 0) {
		node_view_done(v);
		free(v);
	}
}

void fs_op_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct node_view *v = (struct node_view *)(uintptr_t)fi->fh;

	(void)ino;
	node_view_done(v);
	free(v);
	fuse_reply_err(req, 0);
}

/* A listing under way. */
struct listing {
	struct fs *fs;
	fuse_req_t req;
	const struct node_view *dir;
	bool plus;
	char *buf;
	size_t size, used;
	/* Look-ups counted for it, taken back when the kernel doesn't take the answer. */
	uint64_t *entered;
	size_t entered_count;
};

/* What goes out for one name: without attributes unless the node can be had at once. */
static void entry_of(struct listing *l, const struct tree_name *n, struct fuse_entry_param *e)
{
	struct node_facts facts = {0};
	struct object_info info;
	struct node_view view;

	*e = (struct fuse_entry_param){
		.attr = {.st_ino = n->ino, .st_mode = n->directory ? S_IFDIR : S_IFREG},
	};
	if (!l->plus)
		return;
	if (!n->directory && fs_facts(l->fs, n, &info, &facts) < 0)
		return;
	if (tree_enter(l->fs->tree, n, &facts, &view) < 0)
		return; /* out of date or out of memory: the kernel asks for the name by itself */
	fs_entry(l->fs, &view, n->directory ? NULL : &info, e);
	node_view_done(&view);
}

static size_t room_needed(const struct listing *l, const char *name)
{
	return l->plus ? fuse_add_direntry_plus(l->req, NULL, 0, name, NULL, 0)
		       : fuse_add_direntry(l->req, NULL, 0, name, NULL, 0);
}

/* There must be room for it. */
static void put(struct listing *l, const char *name, const struct fuse_entry_param *e, off_t next)
{
	char *at = l->buf + l->used;
	size_t room = l->size - l->used;

	l->used += l->plus ? fuse_add_direntry_plus(l->req, at, room, name, e, next)
			   : fuse_add_direntry(l->req, at, room, name, &e->attr, next);
	if (e->ino)
		l->entered[l->entered_count++] = e->ino;
}

/* "." and "..": the kernel answers stat of them from its own tree, their numbers only must not be
 * 0. */
static bool put_dots(struct listing *l, off_t *off)
{
	static const char *const dots[OFF_FIRST_CHILD] = {".", ".."};
	struct fuse_entry_param e = {.attr = {.st_ino = l->dir->name.ino, .st_mode = S_IFDIR}};

	for (; *off < OFF_FIRST_CHILD; (*off)++) {
		if (room_needed(l, dots[*off]) > l->size - l->used)
			return false;
		put(l, dots[*off], &e, *off + 1);
	}
	return true;
}

static void put_children(struct listing *l, off_t off)
{
	uint32_t children = manifest_dir_children(l->dir->name.manifest, l->dir->name.index);

	for (; (uint64_t)off - OFF_FIRST_CHILD < children; off++) {
		struct manifest_child c;
		struct fuse_entry_param e;
		struct tree_name n;
		char name[256];

		tree_child(l->dir, (uint32_t)(off - OFF_FIRST_CHILD), &n, &c);
		memcpy(name, c.name, c.name_len); /* a component has 255 bytes at most */
		name[c.name_len] = '\0';
		/* Before it is entered: what doesn't fit must not count as looked up. */
		if (room_needed(l, name) > l->size - l->used) {
			tree_name_done(&n);
			return;
		}
		entry_of(l, &n, &e);
		tree_name_done(&n);
		put(l, name, &e, off + 1);
	}
}

static void list(fuse_req_t req, size_t size, off_t off, struct fuse_file_info *fi, bool plus)
{
	struct listing l = {
		.fs = fs_of(req),
		.req = req,
		.dir = (const struct node_view *)(uintptr_t)fi->fh,
		.plus = plus,
		.size = size,
		.buf = malloc(size),
		.entered = calloc(size / DIRENT_MIN + 1, sizeof(uint64_t)),
	};

	if (!l.buf || !l.entered)
		fuse_reply_err(req, ENOMEM);
	else if (off < 0)
		fuse_reply_err(req, EINVAL);
	else {
		if (put_dots(&l, &off))
			put_children(&l, off);
		if (fuse_reply_buf(req, l.buf, l.used) < 0) {
			for (size_t i = 0; i < l.entered_count; i++)
				tree_forget(l.fs->tree, l.entered[i], 1);
		}
	}
	free(l.buf);
	free(l.entered);
}

void fs_op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		   struct fuse_file_info *fi)
{
	(void)ino;
	list(req, size, off, fi, false);
}

void fs_op_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		       struct fuse_file_info *fi)
{
	(void)ino;
	list(req, size, off, fi, true);
}
