/*
 * fsops_name.c - LOOKUP, GETATTR and FORGET: from a name to a node and what stat shows of it
 *
 * A node can only be made when the size is known. If it isn't, the request is parked, the object
 * asked, and the answer given by the engine's thread. ENOENT is only said of what the manifest
 * doesn't have or the server has confirmed to be gone; never when it could not be asked.
 */
#include "fs/fsops_int.h"

/* The manifest may be replaced, or a version turn up, between two looks: look again so often at
 * most. */
#define LOOKS_MAX 8

/*
 * That a server gives no length is remembered by the object in memory alone, and a node that says
 * so can't be opened without. Afterwards info is what it knows.
 */
static int keep_stream(struct fs *fs, const struct tree_name *n, struct object_info *info)
{
	struct object *o;
	int r = engine_object(fs->engine, n->manifest, n->index, &o);

	if (r < 0)
		return r;
	r = notifier_keep(fs->notifier, o);
	object_info(o, info);
	object_put(o);
	return r;
}

int fs_facts(struct fs *fs, const struct tree_name *n, struct object_info *ret_info,
	     struct node_facts *ret)
{
	int r = engine_peek(fs->engine, n->manifest, n->index, ret_info);

	if (r == 0 && ret_info->length_unknown)
		r = keep_stream(fs, n, ret_info);
	if (r < 0)
		return r;
	if (ret_info->size == SIZE_UNKNOWN)
		return -ENOENT;
	*ret = (struct node_facts){
		.content = ret_info->content,
		.generation = ret_info->generation,
		.size = ret_info->size,
		.mtime = ret_info->mtime != MANIFEST_NO_TIME
				 ? ret_info->mtime
				 : manifest_mtime(n->manifest, n->index),
		.mode = ret_info->length_unknown ? NODE_DIRECT : NODE_CACHED,
	};
	return 0;
}

/* At least 1 for a file that is not empty: whoever copies it must not take it for one hole. */
static blkcnt_t blocks_of(uint64_t size, uint64_t cached)
{
	uint64_t blocks = (min_u64(cached, size) + 511) / 512;

	return (blkcnt_t)(size > 0 ? max_u64(blocks, 1) : 0);
}

static void file_attr(struct fs *fs, const struct node_view *v, const struct object_info *info,
		      struct stat *st, double *ret_timeout)
{
	uint64_t size = v->facts.size;
	uint64_t cached = info ? info->bytes_cached : size;

	*ret_timeout = 1.0;
	if (v->facts.mode == NODE_DIRECT) {
		if (info && info->size != SIZE_UNKNOWN)
			size = max_u64(info->size, 1);
		*ret_timeout = 0;
	} else if (!info || info->state == OBJECT_COMPLETE) {
		*ret_timeout = DAY_S;
	}
	st->st_mode = S_IFREG | (v->name.perm ? v->name.perm & 0777 : fs->cfg.mode);
	st->st_nlink = 1;
	st->st_size = (off_t)size;
	st->st_blocks = blocks_of(size, cached);
	st->st_mtime = v->facts.mtime;
}

void fs_attr(struct fs *fs, const struct node_view *v, const struct object_info *info,
	     struct stat *st, double *ret_timeout)
{
	*st = (struct stat){
		.st_ino = v->name.ino,
		.st_uid = fs->cfg.uid,
		.st_gid = fs->cfg.gid,
		.st_blksize = BLOCK_SIZE,
	};
	if (v->name.directory) {
		st->st_mode = S_IFDIR | fs->cfg.dir_mode;
		st->st_nlink =
			1; /* "not counted": find must not derive the number of subdirectories */
		st->st_size = 4096;
		st->st_blocks = 8;
		st->st_mtime = atomic_load(&fs->dir_mtime);
		*ret_timeout = DAY_S;
	} else {
		file_attr(fs, v, info, st, ret_timeout);
	}
	st->st_atime = st->st_mtime;
	st->st_ctime = st->st_mtime;
}

void fs_entry(struct fs *fs, const struct node_view *v, const struct object_info *info,
	      struct fuse_entry_param *ret)
{
	*ret = (struct fuse_entry_param){
		.ino = v->id,
		.generation = 1, /* ids are never used twice */
		.entry_timeout = DAY_S,
	};
	fs_attr(fs, v, info, &ret->attr, &ret->attr_timeout);
}

/*
 * Find parent/name and count a look-up of its node. 0; -ENOENT; -EINPROGRESS: the size must be
 * asked first, *ret_name is the name (a reference); another -errno.
 */
static int look(struct fs *fs, uint64_t parent, const char *name, struct fuse_entry_param *ret,
		struct tree_name *ret_name)
{
	struct object_info info;
	struct node_facts facts;
	struct node_view view;
	struct tree_name n;
	int r = -EAGAIN;

	for (int looks = 0; looks < LOOKS_MAX && r == -EAGAIN; looks++) {
		r = tree_find(fs->tree, parent, name, strlen(name), &n);
		if (r < 0)
			return r;
		facts = (struct node_facts){0};
		if (!n.directory) {
			r = fs_facts(fs, &n, &info, &facts);
			if (r == -ENOENT) {
				*ret_name = n;
				return -EINPROGRESS;
			}
			if (r < 0)
				goto next;
		}
		r = tree_enter(fs->tree, &n, &facts, &view);
		if (r == 0) {
			fs_entry(fs, &view, n.directory ? NULL : &info, ret);
			node_view_done(&view);
		}
	next:
		tree_name_done(&n);
	}
	return r == -EAGAIN ? -EIO : r;
}

static void reply_look(struct fs *fs, fuse_req_t req, int r, const struct fuse_entry_param *e)
{
	/* Only what the manifest doesn't have is remembered by the kernel as absent. */
	static const struct fuse_entry_param absent = {.entry_timeout = DAY_S};

	if (r == -ENOENT) {
		fuse_reply_entry(req, &absent);
	} else if (r < 0) {
		fuse_reply_err(req, -r);
	} else {
		uint64_t id = e->ino;

		if (fuse_reply_entry(req, e) < 0)
			tree_forget(fs->tree, id, 1);
	}
}

/* A look-up that waits for a size. */
struct ask {
	struct fs *fs;
	fuse_req_t req;
	struct object *object;
	struct probe *probe;
	uint64_t parent;
	char name[];
};

/* How it is answered when its object could not be asked. */
static int ask_errno(int error)
{
	return error == -ENOENT || error == -EINTR ? -error : EIO;
}

static void ask_done(void *ctx, int error)
{
	struct ask *a = ctx;
	struct fs *fs = a->fs;
	struct fuse_entry_param e = {0};
	struct tree_name n = {0};
	int r;

	fs_uninterruptible(a->req);
	if (error) {
		fuse_reply_err(a->req, ask_errno(error));
	} else {
		r = look(fs, a->parent, a->name, &e, &n);
		if (r == -EINPROGRESS) {
			tree_name_done(&n);
			r = -EIO;
		}
		reply_look(fs, a->req, r, &e);
	}
	object_put(a->object);
	free(a);
	fs_unpark(fs);
}

/* Its only answer is still the one of ask_done(). */
static void ask_interrupted(fuse_req_t req, void *data)
{
	struct ask *a = data;

	(void)req;
	probe_cancel(a->probe);
}

static void ask_start(struct fs *fs, fuse_req_t req, uint64_t parent, const char *name,
		      const struct tree_name *n)
{
	size_t len = strlen(name) + 1;
	struct ask *a = calloc(1, sizeof(*a) + len);
	int r;

	if (!a) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	a->fs = fs;
	a->req = req;
	a->parent = parent;
	memcpy(a->name, name, len);
	r = engine_object(fs->engine, n->manifest, n->index, &a->object);
	if (r == 0) {
		a->probe = probe_new(a->object, true, ask_done, a);
		if (!a->probe) {
			object_put(a->object);
			r = -ENOMEM;
		}
	}
	if (r < 0) {
		free(a);
		fuse_reply_err(req, -r);
		return;
	}
	fs_park(fs);
	fuse_req_interrupt_func(req, ask_interrupted, a);
	probe_begin(a->probe);
}

void fs_op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct fs *fs = fs_of(req);
	struct fuse_entry_param e = {0};
	struct tree_name n = {0};
	int r;

	r = look(fs, parent, name, &e, &n);
	if (r == -EINPROGRESS) {
		ask_start(fs, req, parent, name, &n);
		tree_name_done(&n);
		return;
	}
	reply_look(fs, req, r, &e);
}

void fs_op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	struct object_info info;
	struct node_view v;
	struct stat st;
	double timeout;
	bool known = false;
	int r;

	(void)fi;
	r = tree_view(fs->tree, ino, &v);
	if (r < 0) {
		fuse_reply_err(req, -r);
		return;
	}
	if (!v.superseded && !v.name.directory) {
		r = engine_peek(fs->engine, v.name.manifest, v.name.index, &info);
		/* Another version by now: this node goes on showing its own until its name is asked
		 * again. */
		known = r == 0 && info.generation == v.facts.generation;
	}
	fs_attr(fs, &v, known ? &info : NULL, &st, &timeout);
	node_view_done(&v);
	fuse_reply_attr(req, &st, timeout);
}

void fs_op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t count)
{
	tree_forget(fs_of(req)->tree, ino, count);
	fuse_reply_none(req);
}

void fs_op_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *forgets)
{
	for (size_t i = 0; i < count; i++)
		tree_forget(fs_of(req)->tree, forgets[i].ino, forgets[i].nlookup);
	fuse_reply_none(req);
}
