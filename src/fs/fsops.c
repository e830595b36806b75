/*
 * fsops.c - the session: what is asked of the kernel, mount, loop, end
 *
 * The life of requests that leave their FUSE thread ends before that of the session: each is
 * counted (fs_park) until it was answered, and fs_close() waits for all of them.
 */
#include "fs/fsops_int.h"

#include <signal.h>
#include <sys/statvfs.h>
#include <sys/uio.h>

#include "base/clock.h"
#include "base/log.h"

#define LOOP_THREADS	     4 /* right if a READ never blocks one */
#define MAX_BACKGROUND	     4096
#define CONGESTION_THRESHOLD 3072
#define STATFS_BLOCK	     UINT64_C(4096)
#define DRAIN_US	     (30 * USEC_PER_SEC)
#define FORGET_WAIT_US	     (1 * USEC_PER_SEC)

void fs_park(struct fs *fs)
{
	mtx_lock(&fs->lock);
	fs->parked++;
	mtx_unlock(&fs->lock);
}

void fs_unpark(struct fs *fs)
{
	mtx_lock(&fs->lock);
	if (--fs->parked == 0)
		cnd_broadcast(&fs->drained);
	mtx_unlock(&fs->lock);
}

/* ---- INIT ---- */

static void want(struct fuse_conn_info *conn, unsigned int cap, bool on)
{
	if (!(conn->capable & cap))
		return;
#if FUSE_VERSION >= FUSE_MAKE_VERSION(3, 17)
	if (on)
		fuse_set_feature_flag(conn, cap);
	else
		fuse_unset_feature_flag(conn, cap);
#else
	if (on)
		conn->want |= cap;
	else
		conn->want &= ~cap;
#endif
}

/*
 * Before 3.17 libfuse takes the wish for look-ups beside each other and does not tell the kernel,
 * which then lets nobody into a directory while one look-up there waits. Told here, in the one
 * answer to INIT: by the thread that has just been in op_init().
 */
static _Thread_local bool answers_init;

/* How the kernel's struct fuse_init_out begins. */
struct init_out {
	uint32_t major, minor, max_readahead, flags;
};
#define INIT_PARALLEL_DIROPS (UINT32_C(1) << 18)

static ssize_t reply_write(int fd, struct iovec *iov, int count, void *userdata)
{
	(void)userdata;
	if (answers_init && count > 1 && iov[1].iov_len >= sizeof(struct init_out)) {
		struct init_out *out = iov[1].iov_base;

		out->flags |= INIT_PARALLEL_DIROPS;
	}
	answers_init = false;
	return writev(fd, iov, count);
}

static ssize_t request_read(int fd, void *buf, size_t len, void *userdata)
{
	(void)userdata;
	return read(fd, buf, len);
}

static const struct fuse_custom_io device_io = {.writev = reply_write, .read = request_read};

static void op_init(void *userdata, struct fuse_conn_info *conn)
{
	(void)userdata;
	answers_init = conn->capable & FUSE_CAP_PARALLEL_DIROPS;
	want(conn, FUSE_CAP_ASYNC_READ, true);
	want(conn, FUSE_CAP_PARALLEL_DIROPS, true);
	want(conn, FUSE_CAP_READDIRPLUS, true);
	want(conn, FUSE_CAP_READDIRPLUS_AUTO, true);
	/* What a node shows never changes: no GETATTR between reads, no pages dropped for a date.
	 */
	want(conn, FUSE_CAP_AUTO_INVAL_DATA, false);
	want(conn, FUSE_CAP_EXPLICIT_INVAL_DATA, true);
	want(conn, FUSE_CAP_SPLICE_READ, false);
	want(conn, FUSE_CAP_SPLICE_WRITE, false);
	want(conn, FUSE_CAP_SPLICE_MOVE, false);
	/* The default of 12 lets a dozen parked reads stop every other one. */
	conn->max_background = MAX_BACKGROUND;
	conn->congestion_threshold = CONGESTION_THRESHOLD;
}

/* ---- the whole file system ---- */

static void op_statfs(fuse_req_t req, fuse_ino_t ino)
{
	struct fs *fs = fs_of(req);
	struct engine_stats stats;
	struct fs_totals t;
	uint64_t left;
	struct statvfs st;

	(void)ino;
	fs_totals(fs, &t);
	engine_stats(fs->engine, &stats);
	left = t.bytes - min_u64(t.bytes, stats.store.bytes_cached);
	st = (struct statvfs){
		.f_bsize = STATFS_BLOCK,
		.f_frsize = STATFS_BLOCK,
		/* Never 0: desktops take a volume without blocks for a broken one. */
		.f_blocks = max_u64((t.bytes + STATFS_BLOCK - 1) / STATFS_BLOCK, 1),
		.f_bfree = left / STATFS_BLOCK,
		.f_bavail = left / STATFS_BLOCK,
		.f_files = max_u64(t.files, 1),
		.f_namemax = 255,
	};
	fuse_reply_statfs(req, &st);
}

static void op_access(fuse_req_t req, fuse_ino_t ino, int mask)
{
	(void)ino;
	fuse_reply_err(req, mask & W_OK ? EROFS : 0);
}

/* ---- nothing can be written, each in its own signature ---- */

static void op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int to_set,
		       struct fuse_file_info *fi)
{
	(void)ino;
	(void)attr;
	(void)to_set;
	(void)fi;
	fuse_reply_err(req, EROFS);
}

static void op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t dev)
{
	(void)parent;
	(void)name;
	(void)mode;
	(void)dev;
	fuse_reply_err(req, EROFS);
}

static void op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	(void)parent;
	(void)name;
	(void)mode;
	fuse_reply_err(req, EROFS);
}

static void op_remove(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	(void)parent;
	(void)name;
	fuse_reply_err(req, EROFS);
}

static void op_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name)
{
	(void)target;
	(void)parent;
	(void)name;
	fuse_reply_err(req, EROFS);
}

static void op_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t to_parent,
		      const char *to_name, unsigned int flags)
{
	(void)parent;
	(void)name;
	(void)to_parent;
	(void)to_name;
	(void)flags;
	fuse_reply_err(req, EROFS);
}

static void op_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name)
{
	(void)ino;
	(void)parent;
	(void)name;
	fuse_reply_err(req, EROFS);
}

static void op_write(fuse_req_t req, fuse_ino_t ino, const char *buf, size_t size, off_t off,
		     struct fuse_file_info *fi)
{
	(void)ino;
	(void)buf;
	(void)size;
	(void)off;
	(void)fi;
	fuse_reply_err(req, EROFS);
}

static void op_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
		      struct fuse_file_info *fi)
{
	(void)parent;
	(void)name;
	(void)mode;
	(void)fi;
	fuse_reply_err(req, EROFS);
}

static void op_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name, const char *value,
			size_t size, int flags)
{
	(void)ino;
	(void)name;
	(void)value;
	(void)size;
	(void)flags;
	fuse_reply_err(req, EROFS);
}

static void op_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name)
{
	(void)ino;
	(void)name;
	fuse_reply_err(req, EROFS);
}

/*
 * Left out on purpose: lseek (a range not fetched yet must never look like a hole), flush (nothing
 * to do, and the kernel stops asking), read-ahead and locks of our own.
 */
static const struct fuse_lowlevel_ops ops = {
	.init = op_init,
	.lookup = fs_op_lookup,
	.forget = fs_op_forget,
	.forget_multi = fs_op_forget_multi,
	.getattr = fs_op_getattr,
	.opendir = fs_op_opendir,
	.readdir = fs_op_readdir,
	.readdirplus = fs_op_readdirplus,
	.releasedir = fs_op_releasedir,
	.open = fs_op_open,
	.read = fs_op_read,
	.release = fs_op_release,
	.statfs = op_statfs,
	.access = op_access,
	.getxattr = fs_op_getxattr,
	.listxattr = fs_op_listxattr,
	.setattr = op_setattr,
	.mknod = op_mknod,
	.mkdir = op_mkdir,
	.unlink = op_remove,
	.rmdir = op_remove,
	.symlink = op_symlink,
	.rename = op_rename,
	.link = op_link,
	.write = op_write,
	.create = op_create,
	.setxattr = op_setxattr,
	.removexattr = op_removexattr,
};

/* ---- life ---- */

int fs_new(const struct fs_config *cfg, struct manifest *m, struct fs **ret)
{
	struct fs *fs = calloc(1, sizeof(*fs));
	int r = -ENOMEM;

	if (!fs)
		return -ENOMEM;
	mtx_init(&fs->lock, RANK_FILES, "files");
	cnd_init(&fs->drained);
	LIST_INIT(&fs->open_files);
	fs->cfg = *cfg;
	fs->engine = cfg->engine;
	fs->cfg.control = strdup(cfg->control);
	fs->cfg.fsname = strdup(cfg->fsname);
	atomic_init(&fs->dir_mtime, cfg->dir_mtime);
	if (fs->cfg.control && fs->cfg.fsname)
		r = tree_new(m, &fs->tree);
	if (r < 0) {
		fs_free(fs);
		return r;
	}
	*ret = fs;
	return 0;
}

/* What libfuse said last, while fs_mount() runs: it alone knows why a mount failed. */
static _Thread_local char *fuse_said;

static void PRINTF_LIKE(2, 0) fuse_says(enum fuse_log_level level, const char *fmt, va_list ap)
{
	char line[FS_WHY_MAX];

	vsnprintf(line, sizeof(line), fmt, ap);
	line[strcspn(line, "\n")] = '\0';
	if (fuse_said)
		memcpy(fuse_said, line, sizeof(line));
	else
		log_line(level <= FUSE_LOG_ERR ? LOG_LEVEL_WARN : LOG_LEVEL_DEBUG, "%s", line);
}

static int session_args(const struct fs *fs, struct fuse_args *args)
{
	char *fsname = NULL, *opts = NULL;
	int r = -ENOMEM;

	if (asprintf(&fsname, "fsname=%s", fs->cfg.fsname) < 0)
		fsname = NULL;
	if (fsname && fuse_opt_add_opt(&opts, "ro,nosuid,nodev,subtype=rgetfs") == 0 &&
	    (!fs->cfg.noexec || fuse_opt_add_opt(&opts, "noexec") == 0) &&
	    (!fs->cfg.allow_other ||
	     fuse_opt_add_opt(&opts, "allow_other,default_permissions") == 0) &&
	    fuse_opt_add_opt_escaped(&opts, fsname) == 0 && fuse_opt_add_arg(args, "rgetfs") == 0 &&
	    fuse_opt_add_arg(args, "-o") == 0 && fuse_opt_add_arg(args, opts) == 0)
		r = 0;
	free(fsname);
	free(opts);
	return r;
}

int fs_mount(struct fs *fs, const char *mountpoint, char why[FS_WHY_MAX])
{
	struct fuse_args args = FUSE_ARGS_INIT(0, NULL);
	int r;

	snprintf(why, FS_WHY_MAX, "libfuse does not say why");
	fuse_set_log_func(fuse_says);
	fuse_said = why;
	r = session_args(fs, &args);
	if (r == 0) {
		errno = 0;
		fs->session = fuse_session_new(&args, &ops, sizeof(ops), fs);
		r = fs->session && fuse_session_mount(fs->session, mountpoint) == 0
			    ? 0
			    : (errno ? -errno : -EIO);
		fs->mounted = r == 0;
		if (r == 0 && fuse_version() < FUSE_MAKE_VERSION(3, 17))
			r = fuse_session_custom_io(fs->session, &device_io,
						   fuse_session_fd(fs->session));
	}
	fuse_said = NULL;
	fuse_opt_free_args(&args);
	return r < 0 ? r : notifier_new(fs, &fs->notifier);
}

static void wake(int sig)
{
	(void)sig; /* ends the loop's sem_wait(); that is all */
}

int fs_loop(struct fs *fs)
{
	struct sigaction sa = {.sa_handler = wake}; /* no SA_RESTART */
	struct fuse_loop_config *cfg = fuse_loop_cfg_create();
	int r;

	if (!cfg)
		return -ENOMEM;
	sigaction(SIGUSR1, &sa, NULL);
	fuse_loop_cfg_set_clone_fd(cfg, 0);
	fuse_loop_cfg_set_max_threads(cfg, LOOP_THREADS);
	fuse_loop_cfg_set_idle_threads(cfg, LOOP_THREADS);
	fs->loop_thread = pthread_self();
	atomic_store(&fs->looping, true);
	r = fuse_session_loop_mt(fs->session, cfg);
	atomic_store(&fs->looping, false);
	fuse_loop_cfg_destroy(cfg);
	return r > 0 ? -EIO : r;
}

void fs_stop(struct fs *fs)
{
	struct timespec pause = {.tv_nsec = 20000000L};

	/* While requests are still answered: a notification may wait for one of them. */
	notifier_stop(fs->notifier);
	fuse_session_exit(fs->session);
	/* The signal can come just before the loop goes to sleep: again until it has ended. */
	while (atomic_load(&fs->looping)) {
		pthread_kill(fs->loop_thread, SIGUSR1);
		nanosleep(&pause, NULL);
	}
}

static bool drain(struct fs *fs)
{
	uint64_t until = clock_now_us() + DRAIN_US;
	bool drained;

	mtx_lock(&fs->lock);
	while (fs->parked && cnd_wait_until(&fs->drained, &fs->lock, until))
		;
	drained = fs->parked == 0;
	mtx_unlock(&fs->lock);
	return drained;
}

int fs_close(struct fs *fs)
{
	if (fs->notifier)
		notifier_stop(fs->notifier);
	/*
	 * Before the unmount, which closes the descriptor: a late answer would go to whatever file
	 * got its number.
	 */
	if (!drain(fs)) {
		log_error("requests are still waiting %u s after the end of the mount",
			  (unsigned int)(DRAIN_US / USEC_PER_SEC));
		return -ETIMEDOUT;
	}
	if (fs->mounted)
		fuse_session_unmount(fs->session);
	fs_close_all(fs);
	if (fs->notifier)
		notifier_release(fs->notifier);
	return 0;
}

void fs_free(struct fs *fs)
{
	if (!fs)
		return;
	if (fs->session)
		fuse_session_destroy(fs->session);
	notifier_free(fs->notifier);
	tree_free(fs->tree);
	free((char *)(uintptr_t)fs->cfg.control);
	free((char *)(uintptr_t)fs->cfg.fsname);
	cnd_done(&fs->drained);
	mtx_done(&fs->lock);
	free(fs);
}

void fs_changed(struct fs *fs, struct object *o)
{
	if (fs->notifier)
		notifier_changed(fs->notifier, o);
}

void fs_forget(struct fs *fs, struct object *o)
{
	if (fs->notifier)
		notifier_forget(fs->notifier, o);
}

void fs_forget_wait(struct fs *fs)
{
	if (fs->notifier)
		notifier_wait(fs->notifier, clock_now_us() + FORGET_WAIT_US);
}

struct manifest *fs_manifest(struct fs *fs)
{
	return tree_manifest(fs->tree);
}

void fs_totals(struct fs *fs, struct fs_totals *ret)
{
	*ret = (struct fs_totals){
		.files = atomic_load(&fs->total_files),
		.bytes = atomic_load(&fs->total_bytes),
		.unknown = atomic_load(&fs->total_unknown),
	};
	if (ret->unknown)
		notifier_want_totals(fs->notifier);
}

/* ---- reload ---- */

/* Would the engine make the same object of both, and stat show the same? */
static bool entries_equal(const struct entry *a, const struct entry *b)
{
	if (a->size != b->size || a->mtime != b->mtime || a->mode != b->mode ||
	    a->header_count != b->header_count || a->slice.off != b->slice.off ||
	    a->slice.end != b->slice.end || !text_equal(a->id, b->id) ||
	    !text_equal(a->etag, b->etag) || !checksum_equal(&a->checksum, &b->checksum))
		return false;
	for (unsigned int i = 0; i < a->header_count; i++) {
		if (!text_equal(a->header[i], b->header[i]))
			return false;
	}
	/* Where an id or a checksum says what the content is, a moved URL changes nothing. */
	return a->id || a->checksum.algo != CHECKSUM_NONE ||
	       (a->url_count && b->url_count && text_equal(a->url[0], b->url[0]));
}

static bool same_file(void *ctx, struct manifest *was, uint32_t was_index, struct manifest *now,
		      uint32_t now_index)
{
	struct entry a, b;
	bool same;

	(void)ctx;
	entry_init(&a);
	entry_init(&b);
	same = manifest_entry(was, was_index, &a) == 0 && manifest_entry(now, now_index, &b) == 0 &&
	       entries_equal(&a, &b);
	entry_done(&a);
	entry_done(&b);
	return same;
}

static void tell_name(void *ctx, const struct tree_stale *s)
{
	struct fs *fs = ctx;

	fuse_lowlevel_notify_inval_entry(fs->session, s->parent, s->name, s->len);
}

static void tell_dir(void *ctx, uint64_t id)
{
	struct fs *fs = ctx;

	fuse_lowlevel_notify_inval_inode(fs->session, id, 0, 0);
}

int fs_replace(struct fs *fs, struct manifest *m, int64_t dir_mtime)
{
	const struct tree_replace_ops replace = {
		.same = same_file,
		.tell = tell_name,
		.tell_dir = tell_dir,
		.ctx = fs,
	};
	int r;

	atomic_store(&fs->dir_mtime, dir_mtime);
	r = tree_replace(fs->tree, m, &replace);
	/* What the engine has adopted has changed before; its names are told by the notifier. */
	fs_forget_wait(fs);
	return r;
}
