/*
 * mount.c - the life of a mount, from the command to the last checkpoint
 *
 *   parse, check -> fork with a ready pipe -> (a manifest by URL is fetched here) -> lock, database
 * -> control socket -> mount -> threads -> ready -> loop -> stop -> last checkpoint
 *
 * Up to the fork everything is one thread, and no handle of SQLite, curl or a lock crosses it. The
 * loop runs on the main thread; a "life" thread takes signals and the order to end. Whatever ends
 * the loop (a signal, the control socket, fusermount3 -u), the way down is the same.
 */
#include "daemon/mount.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/strbuf.h"
#include "daemon/check.h"
#include "daemon/limits.h"
#include "daemon/orders.h"
#include "daemon/mounts.h"
#include "daemon/paths.h"
#include "daemon/ready.h"
#include "daemon/source.h"

#define MIN_FREE_MAX   (UINT64_C(1) << 30)
#define PARKED_DEFAULT 2048
#define OWNER_ENDS_US  (15 * USEC_PER_SEC)

struct mount {
	const struct mount_config *cfg;
	struct engine_config engine_cfg; /* the same within the limits of this process */
	unsigned int commands_max;
	struct source source;
	char *point;
	char *cache;	   /* the manifest's own directory */
	char *description; /* for the lock file: manifest and mountpoint */
	struct ready ready;
	struct manifest *manifest; /* as loaded at the start; the tree has its own */
	int64_t manifest_mtime;
	uint64_t started_us;

	struct engine *engine;
	struct fs *fs;
	struct control *control;
	struct orders *orders;

	int signal_fd, end_fd;
	pthread_t life;
	bool life_runs;
	atomic_bool over; /* the loop has ended; life has nothing left to do */
	atomic_bool reloading;
};

struct engine *mount_engine(struct mount *mt)
{
	return mt->engine;
}

struct fs *mount_fs(struct mount *mt)
{
	return mt->fs;
}

const char *mount_point(const struct mount *mt)
{
	return mt->point;
}

const char *mount_manifest_shown(const struct mount *mt)
{
	return mt->source.kind == SOURCE_FILE ? mt->source.place : mt->source.shown;
}

const char *mount_cache_dir(const struct mount *mt)
{
	return mt->cache;
}

uint64_t mount_uptime_s(const struct mount *mt)
{
	return (clock_now_us() - mt->started_us) / USEC_PER_SEC;
}

void mount_end(struct mount *mt)
{
	uint64_t one = 1;

	if (write(mt->end_fd, &one, sizeof(one)) < 0)
		log_error("the order to end could not be passed on: %s", strerror(errno));
}

/* ---- before the fork ---- */

static int prepare_cache(struct mount *mt, char error[MANIFEST_ERROR_MAX])
{
	char *root = NULL, *real = NULL;
	int r;

	r = cache_root(mt->cfg->cache_root, &root);
	if (r == 0)
		r = path_resolve(root, &real);
	if (r < 0) {
		snprintf(error, MANIFEST_ERROR_MAX, "%s: %s (give another --cache-dir)",
			 root ? root : "cache", strerror(-r));
		goto out;
	}
	r = cache_dir(real, mt->cfg->cache_name, mt->source.identity, &mt->cache);
	if (r < 0)
		snprintf(error, MANIFEST_ERROR_MAX,
			 "--cache-name: not a plain file name (no slash, no leading dot)");
out:
	free(root);
	free(real);
	return r;
}

/* Nothing of ours may lie behind our own mount: using it would wait for ourselves. */
static int check_outside(struct mount *mt, char error[MANIFEST_ERROR_MAX])
{
	const struct {
		const char *what, *path, *hint;
	} places[] = {
		{"the cache", mt->cache, "give another --cache-dir"},
		{"the log", mt->cfg->log_file, "give another --log-file"},
		{"the manifest", mt->source.kind == SOURCE_FILE ? mt->source.place : NULL,
		 "move it, or mount elsewhere"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		char *real = NULL;
		bool inside;
		int r = places[i].path ? path_resolve(places[i].path, &real) : 0;

		if (r < 0) {
			snprintf(error, MANIFEST_ERROR_MAX, "%s: %s (%s)", places[i].path,
				 strerror(-r), places[i].hint);
			return r;
		}
		inside = real && path_within(mt->point, real);
		free(real);
		if (inside) {
			snprintf(error, MANIFEST_ERROR_MAX,
				 "%s: %s (%s) lies inside the mountpoint (%s)", mt->point,
				 places[i].what, places[i].path, places[i].hint);
			return -EINVAL;
		}
	}
	return 0;
}

static int load(struct mount *mt, struct download_cancel cancel, struct source_result *ret,
		char error[MANIFEST_ERROR_MAX])
{
	const struct source_net net = {
		.fetch = &mt->engine_cfg.fetch,
		.offline = mt->engine_cfg.offline,
		.cancel = cancel,
	};

	return source_load(&mt->source, &mt->cfg->options, &net, mt->cache, ret, error);
}

/* Found out while somebody still looks; it is used when the mount is ready. */
static int check_log(const char *path, char error[MANIFEST_ERROR_MAX])
{
	int fd =
		path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600) : 0;
	int r = fd < 0 ? -errno : 0;

	if (r < 0)
		snprintf(error, MANIFEST_ERROR_MAX, "%s: %s (give another --log-file)", path,
			 strerror(-r));
	else if (path)
		close(fd);
	return r;
}

static int prepare(struct mount *mt, char error[MANIFEST_ERROR_MAX])
{
	const struct mount_config *cfg = mt->cfg;
	int r;

	r = limits_fit(&mt->engine_cfg, &mt->commands_max, error);
	if (r == 0)
		r = check_mountpoint(cfg->mountpoint, &mt->point, error);
	if (r == 0)
		r = check_may_mount(mt->point, error);
	if (r == 0)
		r = check_allow_other(cfg->allow_other, error);
	if (r == 0)
		r = source_init(&mt->source, cfg->manifest, error);
	if (r == 0)
		r = prepare_cache(mt, error);
	if (r == 0)
		r = check_outside(mt, error);
	if (r == 0)
		r = check_log(cfg->log_file, error);
	if (r == 0 &&
	    asprintf(&mt->description, "%s on %s", mount_manifest_shown(mt), mt->point) < 0) {
		mt->description = NULL;
		r = -ENOMEM;
	}
	return r;
}

/* ---- the daemon ---- */

static void object_changed(void *ctx, struct object *o)
{
	struct mount *mt = ctx;

	if (mt->fs)
		fs_changed(mt->fs, o);
}

static void *life_run(void *arg)
{
	struct mount *mt = arg;
	struct pollfd p[2] = {{.fd = mt->signal_fd, .events = POLLIN},
			      {.fd = mt->end_fd, .events = POLLIN}};

	while (poll(p, 2, -1) <= 0)
		;
	if (!atomic_load(&mt->over)) {
		log_info("%s: ending", mt->point);
		orders_quit(mt->orders);
		engine_stop(mt->engine); /* parked requests are answered: nobody waits for us */
		/*
		 * Before the loop ends, as the notifier: a reload may wait in the kernel for a lock
		 * that a look-up holds while it waits for us.
		 */
		control_stop(mt->control);
		fs_stop(mt->fs);
	}
	return NULL;
}

static int take_signals(struct mount *mt)
{
	sigset_t set;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGQUIT);
	if (mt->cfg->foreground)
		sigaddset(&set, SIGHUP); /* the terminal is gone */
	else
		signal(SIGHUP, SIG_IGN);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	mt->signal_fd = signalfd(-1, &set, SFD_CLOEXEC);
	mt->end_fd = eventfd(0, EFD_CLOEXEC);
	return mt->signal_fd < 0 || mt->end_fd < 0 ? -errno : 0;
}

static uint64_t min_free_of(const struct mount *mt)
{
	uint64_t given = mt->engine_cfg.store.min_free;
	struct statvfs st;

	if (given != MIN_FREE_DEFAULT)
		return given;
	if (statvfs(mt->cache, &st) < 0)
		return MIN_FREE_MAX;
	return min_u64(MIN_FREE_MAX, (uint64_t)st.f_blocks * st.f_frsize / 20);
}

/* "1234 on host, MANIFEST on MOUNTPOINT": is that mount gone, so that its daemon can only be
 * ending? */
static bool owner_is_ending(const char *owner)
{
	const char *point = NULL;
	struct mount_entry m;

	for (const char *at = strstr(owner, " on /"); at; at = strstr(at + 1, " on /"))
		point = at + 4;
	if (!point)
		return false;
	if (mounts_at(point, &m) < 0)
		return true;
	mount_entry_done(&m);
	return false;
}

/* umount(8) returns before the last checkpoint: who mounts again at once waits for that. */
static int open_engine(const struct engine_config *cfg, struct engine **ret,
		       char owner[STORE_OWNER_MAX])
{
	const struct timespec pause = {.tv_nsec = 50000000L};
	uint64_t until_us = clock_now_us() + OWNER_ENDS_US;

	for (;;) {
		int r = engine_new(cfg, ret, owner);

		if (r != -EBUSY || !owner_is_ending(owner) || clock_now_us() >= until_us)
			return r;
		nanosleep(&pause, NULL);
	}
}

static int start_engine(struct mount *mt, char error[MANIFEST_ERROR_MAX])
{
	struct engine_config cfg = mt->engine_cfg;
	char owner[STORE_OWNER_MAX] = "";
	int r;

	r = path_make_dirs(mt->cache);
	if (r == 0) {
		cfg.store.dir = mt->cache;
		cfg.store.description = mt->description;
		cfg.store.min_free = min_free_of(mt);
		if (cfg.parked_per_origin == 0)
			cfg.parked_per_origin = PARKED_DEFAULT;
		cfg.changed = object_changed;
		cfg.ctx = mt;
		r = open_engine(&cfg, &mt->engine, owner);
	}
	if (r == -EBUSY)
		snprintf(error, MANIFEST_ERROR_MAX,
			 "%s: its cache is in use by %s (%s, or give another --cache-name)",
			 mount_manifest_shown(mt), owner,
			 owner_is_ending(owner)
				 ? "that is unmounted: end the programs that still use its files"
				 : "unmount that");
	else if (r == -EPERM)
		snprintf(error, MANIFEST_ERROR_MAX,
			 "%s: the cache belongs to somebody else or others can write to it "
			 "(chown and chmod 700 it, or give another --cache-dir)",
			 mt->cache);
	else if (r < 0)
		snprintf(error, MANIFEST_ERROR_MAX, "%s: the cache can't be opened: %s (%s)",
			 mt->cache, strerror(-r),
			 r == -ENOSPC || r == -EDQUOT
				 ? "make room for its database, or give another --cache-dir"
				 : "give another --cache-dir");
	return r;
}

static int start_control(struct mount *mt, char error[MANIFEST_ERROR_MAX])
{
	int r = control_new(&mt->control);

	if (r == 0)
		control_set_max(mt->control, mt->commands_max);
	if (r == 0)
		r = handlers_register(mt->control, mt);
	if (r == 0)
		r = status_register(mt->control, mt);
	if (r == 0)
		r = orders_new(mt, mt->control, &mt->orders);
	if (r < 0)
		snprintf(error, MANIFEST_ERROR_MAX, "no control socket: %s%s", strerror(-r),
			 r == -EPERM ? " (its directory is not ours alone)" : "");
	return r;
}

static int start_fs(struct mount *mt, char error[MANIFEST_ERROR_MAX])
{
	const struct mount_config *cfg = mt->cfg;
	const struct fs_config fs = {
		.engine = mt->engine,
		.uid = cfg->uid,
		.gid = cfg->gid,
		.mode = cfg->mode,
		.dir_mode = cfg->dir_mode,
		.dir_mtime = mt->manifest_mtime,
		.control = control_path(mt->control),
		.fsname = mount_manifest_shown(mt),
		.allow_other = cfg->allow_other,
		.noexec = cfg->noexec,
	};
	char why[FS_WHY_MAX] = "out of memory";
	int r;

	r = fs_new(&fs, mt->manifest, &mt->fs);
	if (r == 0)
		r = fs_mount(mt->fs, mt->point, why);
	if (r < 0)
		snprintf(error, MANIFEST_ERROR_MAX, "%s: can't be mounted: %s", mt->point, why);
	return r;
}

static int start_threads(struct mount *mt, char error[MANIFEST_ERROR_MAX])
{
	int r = control_start(mt->control);

	if (r == 0)
		r = -pthread_create(&mt->life, NULL, life_run, mt);
	mt->life_runs = r == 0;
	if (r < 0)
		snprintf(error, MANIFEST_ERROR_MAX, "threads can't be started: %s", strerror(-r));
	return r;
}

static int start(struct mount *mt, char error[MANIFEST_ERROR_MAX])
{
	struct source_result loaded = {.manifest = mt->manifest, .mtime = mt->manifest_mtime};
	int r = 0;

	if (!mt->manifest) {
		r = load(mt, (struct download_cancel){0}, &loaded, error);
		if (r < 0)
			return r;
		mt->manifest = loaded.manifest;
		mt->manifest_mtime = loaded.mtime;
	}
	r = take_signals(mt);
	if (r < 0)
		snprintf(error, MANIFEST_ERROR_MAX, "signals: %s", strerror(-r));
	if (r == 0)
		r = start_engine(mt, error);
	if (r == 0)
		r = start_control(mt, error);
	if (r == 0)
		r = start_fs(mt, error);
	if (r == 0)
		r = start_threads(mt, error);
	return r;
}

/* 0, or the last checkpoint's -errno. */
static int stop(struct mount *mt)
{
	int r = 0;

	atomic_store(&mt->over, true);
	if (mt->life_runs) {
		mount_end(mt);
		pthread_join(mt->life, NULL);
	}
	if (mt->orders)
		orders_quit(mt->orders);
	if (mt->control)
		control_stop(mt->control);
	orders_free(mt->orders);
	if (mt->engine)
		engine_stop(mt->engine);
	if (mt->fs && fs_close(mt->fs) < 0) {
		r = engine_checkpoint(mt->engine); /* all that can still be done */
	} else {
		if (mt->engine)
			r = engine_free(mt->engine);
		fs_free(mt->fs);
	}
	if (r < 0)
		log_error("%s: the last checkpoint failed: %s", mt->point, strerror(-r));
	control_free(mt->control); /* last: whoever waits for its end knows that all is durable */
	if (mt->signal_fd >= 0)
		close(mt->signal_fd);
	if (mt->end_fd >= 0)
		close(mt->end_fd);
	return r;
}

static void log_begin(const struct mount_config *cfg)
{
	int r = 0;

	log_set_level(cfg->log_level);
	log_never_wait();
	if (cfg->log_file)
		r = log_open(LOG_TO_FILE, cfg->log_file);
	else if (!cfg->foreground)
		r = log_open(LOG_TO_SYSLOG, NULL);
	if (r < 0)
		log_warn("%s: %s", cfg->log_file, strerror(-r));
}

static int serve(struct mount *mt)
{
	char error[MANIFEST_ERROR_MAX] = "out of memory";
	int r;

	if (!mt->cfg->foreground) {
		setsid();
		if (chdir("/") < 0)
			log_warn("/: %s", strerror(errno));
	}
	umask(077);
	mt->started_us = clock_now_us();
	r = start(mt, error);
	if (r < 0) {
		ready_fail(&mt->ready, "%s", error);
		stop(mt);
		return 1;
	}
	log_begin(mt->cfg);
	log_info("%s: mounted %s, cache %s", mt->point, mount_manifest_shown(mt), mt->cache);
	engine_ask_sizes(mt->engine, mt->manifest);
	if (mt->engine_cfg.fill == FILL_ALL)
		engine_fill_manifest(mt->engine, mt->manifest);
	ready_ok(&mt->ready);

	r = fs_loop(mt->fs);
	if (r < 0)
		log_error("%s: %s", mt->point, strerror(-r));
	if (stop(mt) < 0)
		r = -EIO;
	log_info("%s: ended", mt->point);
	return r < 0;
}

/* The background says it is ready: is it, for whoever uses the mountpoint now? */
static int confirm(const struct mount *mt, dev_t before)
{
	struct stat st;

	if (stat(mt->point, &st) == 0 && st.st_dev != before)
		return 0;
	fprintf(stderr, "rgetfs: %s: the mount was ready and is gone again (-f shows why)\n",
		mt->point);
	return 1;
}

static int run(struct mount *mt)
{
	char error[MANIFEST_ERROR_MAX] = "out of memory";
	struct source_result loaded = {0};
	struct stat st = {0};
	int status = 1;
	int r;

	r = prepare(mt, error);
	/* A URL's is fetched by the daemon: curl must not cross the fork. */
	if (r == 0 && mt->source.kind != SOURCE_URL) {
		r = load(mt, (struct download_cancel){0}, &loaded, error);
		if (r == 0) {
			mt->manifest = loaded.manifest;
			mt->manifest_mtime = loaded.mtime;
		}
	}
	if (r == 0 && stat(mt->point, &st) < 0) {
		r = -errno;
		snprintf(error, sizeof(error), "%s: %s", mt->point, strerror(-r));
	}
	if (r < 0) {
		ready_fail(&mt->ready, "%s", error);
		return 1;
	}
	if (!mt->cfg->foreground) {
		r = ready_fork(&mt->ready, &status);
		if (r < 0)
			fprintf(stderr, "rgetfs: fork: %s\n", strerror(-r));
		if (r != 0)
			return r < 0 || status ? 1 : confirm(mt, st.st_dev);
	}
	return serve(mt);
}

int mount_run(const struct mount_config *cfg)
{
	struct mount mt = {
		.cfg = cfg,
		.engine_cfg = cfg->engine,
		.ready.fd = -1,
		.signal_fd = -1,
		.end_fd = -1,
	};
	int status = run(&mt);

	if (mt.manifest)
		manifest_put(mt.manifest);
	source_done(&mt.source);
	free(mt.point);
	free(mt.cache);
	free(mt.description);
	return status;
}

/* ---- while it runs ---- */

int mount_reload(struct mount *mt, struct download_cancel cancel, char kept_why[SOURCE_WHY_MAX],
		 char error[MANIFEST_ERROR_MAX])
{
	struct source_result loaded = {0};
	int r;

	if (mt->source.kind == SOURCE_STDIN) {
		snprintf(error, MANIFEST_ERROR_MAX,
			 "the manifest came from standard input and can't be read again");
		return -EINVAL;
	}
	if (atomic_exchange(&mt->reloading, true)) {
		snprintf(error, MANIFEST_ERROR_MAX, "another reload is under way");
		return -EBUSY;
	}
	r = load(mt, cancel, &loaded, error);
	if (r == 0) {
		/* First: what is looked up by a new name shows what its object is by then. */
		engine_adopt(mt->engine, loaded.manifest);
		r = fs_replace(mt->fs, loaded.manifest, loaded.mtime);
		if (r < 0)
			snprintf(error, MANIFEST_ERROR_MAX, "%s", strerror(-r));
	}
	if (r == 0) {
		engine_forget_failed(mt->engine);
		engine_ask_sizes(mt->engine, loaded.manifest);
		if (mt->engine_cfg.fill == FILL_ALL)
			engine_fill_manifest(mt->engine, loaded.manifest);
		memcpy(kept_why, loaded.kept_why, SOURCE_WHY_MAX);
	}
	if (loaded.manifest)
		manifest_put(loaded.manifest);
	atomic_store(&mt->reloading, false);
	return r;
}
