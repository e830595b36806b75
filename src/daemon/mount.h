/*
 * mount.h - the life of a mount, from the command to the last checkpoint
 */
#ifndef DAEMON_MOUNT_H
#define DAEMON_MOUNT_H

#include <sys/types.h>

#include "base/log.h"
#include "daemon/control.h"
#include "daemon/source.h"
#include "engine/engine.h"
#include "fs/fsops.h"

#define MIN_FREE_DEFAULT \
	UINT64_MAX /* for engine.store.min_free: 1 GiB or 5 % of the disk, the smaller */

struct mount_config {
	const char *manifest; /* as given: a file, "-", a URL */
	const char *mountpoint;
	bool foreground;
	const char *cache_root; /* absolute; NULL: the user's own */
	const char *cache_name; /* NULL: made from the manifest's place */
	const char *log_file;	/* absolute; NULL: syslog, or stderr in the foreground */
	enum log_level log_level;
	struct engine_config
		engine; /* store.dir, store.description, changed and ctx are ours to set */
	struct manifest_options options;
	uid_t uid;
	gid_t gid;
	unsigned int mode, dir_mode;
	bool allow_other, noexec;
};

/* Returns the exit status; every error has been said on stderr. */
int mount_run(const struct mount_config *cfg);

/* ---- for command handlers: a running mount ---- */

struct mount;

struct engine *mount_engine(struct mount *mt);
struct fs *mount_fs(struct mount *mt);
/* Resolved, absolute. Never to be looked up by the daemon. */
const char *mount_point(const struct mount *mt);
const char *mount_manifest_shown(const struct mount *mt); /* no secrets */
const char *mount_cache_dir(const struct mount *mt);
uint64_t mount_uptime_s(const struct mount *mt);
/* As SIGTERM: end soon. Returns at once. */
void mount_end(struct mount *mt);
/*
 * Load the manifest again and take it over; one at a time. 0, or -errno and a line. kept_why: as in
 * source_result.
 */
int mount_reload(struct mount *mt, struct download_cancel cancel, char kept_why[SOURCE_WHY_MAX],
		 char error[MANIFEST_ERROR_MAX]);

/* handlers.c: ping, checkpoint, unmount, reload; status.c: status. 0 or -ENOMEM. */
int handlers_register(struct control *c, struct mount *mt);
int status_register(struct control *c, struct mount *mt);

#endif
