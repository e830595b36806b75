/*
 * fsops_int.h - what the fsops_* files share
 */
#ifndef FS_FSOPS_INT_H
#define FS_FSOPS_INT_H

#define FUSE_USE_VERSION 314
#include <fuse_lowlevel.h>

#include <bsd/sys/queue.h>
#include <stdatomic.h>

#include "base/lock.h"
#include "fs/fsops.h"
#include "fs/tree.h"

#define DAY_S 86400.0

/* One open file, fi->fh. */
struct open_file {
	LIST_ENTRY(open_file) link;
	struct object *object;
	struct handle *handle;
	bool direct; /* the server gives no length */
};

struct notifier;

struct fs {
	struct fs_config cfg; /* its strings are ours */
	struct engine *engine;
	struct tree *tree;
	atomic_int_fast64_t dir_mtime;
	struct fuse_session *session;
	bool mounted;
	struct notifier *notifier;

	/* What statfs and status show, refreshed by the notifier's thread. */
	atomic_uint_fast64_t total_files, total_bytes, total_unknown;

	pthread_t loop_thread;
	atomic_bool looping;

	struct mtx lock; /* RANK_FILES; guards all below */
	struct cnd drained;
	LIST_HEAD(open_file_list, open_file) open_files;
	unsigned int parked; /* requests that somebody else will answer */
};

static inline struct fs *fs_of(fuse_req_t req)
{
	return fuse_req_userdata(req);
}

/* A request leaves its FUSE thread, and comes to its end: fs_close() waits for all of them. */
void fs_park(struct fs *fs);
void fs_unpark(struct fs *fs);
/*
 * A parked request may be interrupted: fuse_req_interrupt_func() before whoever will answer can
 * know of it. libfuse calls the function under the request's own lock, perhaps at once, so it never
 * answers; it has the wait called off, and the answer comes from where it always does. Which first
 * calls this: when it returns, the function is not running and will not be called.
 */
static inline void fs_uninterruptible(fuse_req_t req)
{
	fuse_req_interrupt_func(req, NULL, NULL);
}

/* fsops_name.c */
void fs_op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name);
void fs_op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void fs_op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t count);
void fs_op_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *forgets);
/*
 * What is known of the file n decides its facts. 0; -ENOENT: its size must be asked first, so it
 * can have no node yet; another -errno. An object without a length is kept in memory from then on.
 */
int fs_facts(struct fs *fs, const struct tree_name *n, struct object_info *ret_info,
	     struct node_facts *ret);
/* info may be NULL: of directories and superseded nodes. *ret_timeout: how long the kernel may
 * believe it. */
void fs_attr(struct fs *fs, const struct node_view *v, const struct object_info *info,
	     struct stat *ret, double *ret_timeout);
/* The kernel's entry for a node just entered. */
void fs_entry(struct fs *fs, const struct node_view *v, const struct object_info *info,
	      struct fuse_entry_param *ret);

/* fsops_dir.c */
void fs_op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void fs_op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		   struct fuse_file_info *fi);
void fs_op_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		       struct fuse_file_info *fi);
void fs_op_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);

/* fsops_file.c */
void fs_op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void fs_op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi);
void fs_op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
/* Close everything that is still open. */
void fs_close_all(struct fs *fs);

/* fsops_xattr.c */
void fs_op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size);
void fs_op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size);

/* fsops_notify.c */
int notifier_new(struct fs *fs, struct notifier **ret);
/* Joins its threads; while requests are still answered, or the kernel may wait for us while we wait
 * for it. */
void notifier_stop(struct notifier *n);
/* Afterwards: put what was kept; nothing is kept any more. */
void notifier_release(struct notifier *n);
void notifier_free(struct notifier *n);
void notifier_changed(struct notifier *n, struct object *o);
void notifier_forget(struct notifier *n, struct object *o);
/* Until the kernel has been told what was posted before. */
void notifier_wait(struct notifier *n, uint64_t until_us);
/* Keep o in memory as long as we are mounted. 0 or -ENOMEM. */
int notifier_keep(struct notifier *n, struct object *o);
/* Somebody looks at the totals: count again soon if there is reason to. */
void notifier_want_totals(struct notifier *n);

#endif
