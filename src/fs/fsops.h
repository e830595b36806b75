/*
 * fsops.h - the file system as FUSE sees it: a session over a tree and an engine
 *
 * The fsops_* files are the only ones that know libfuse. Each request is answered by the thread
 * that brings it or, where bytes or a size must be asked for, by whoever has them later: no FUSE
 * thread ever waits for the network.
 *
 * Life: fs_new() -> fs_mount() -> fs_loop() until it is unmounted or fs_stop() -> engine_stop() ->
 * fs_close() -> engine_free() -> fs_free().
 */
#ifndef FS_FSOPS_H
#define FS_FSOPS_H

#include <sys/types.h>

#include "engine/engine.h"

struct fs;

struct fs_config {
	struct engine *engine;
	uid_t uid;
	gid_t gid;
	unsigned int mode; /* of files the manifest says nothing about */
	unsigned int dir_mode;
	int64_t dir_mtime;   /* of directories: the manifest's own */
	const char *control; /* path of the control socket, shown on the root */
	const char *fsname;  /* what df and /proc/mounts show as the source; no secrets */
	bool allow_other;    /* brings default_permissions */
	bool noexec;
};

/* The strings are copied, the manifest is referenced. 0 or -ENOMEM. */
int fs_new(const struct fs_config *cfg, struct manifest *m, struct fs **ret);
/*
 * Mount it and start the notifier (a thread: after the last fork). 0, or -errno with libfuse's own
 * words in why.
 */
#define FS_WHY_MAX 256
int fs_mount(struct fs *fs, const char *mountpoint, char why[FS_WHY_MAX]);
/*
 * Answer requests until the file system is unmounted or fs_stop(). Blocks; the caller's thread must
 * have SIGUSR1 unblocked (fs_stop() wakes it so). 0 or -errno.
 */
int fs_loop(struct fs *fs);
/* Make fs_loop() return. From any thread but those that answer requests; waits for the notifier
 * only. */
void fs_stop(struct fs *fs);
/*
 * After fs_loop() and engine_stop(): waits until parked requests have been answered, unmounts
 * (detached, if somebody still uses it), lets go of everything of the engine's. 0; -ETIMEDOUT: the
 * engine still owes answers; then neither it nor fs may be freed.
 */
int fs_close(struct fs *fs);
/* After engine_free(), whose thread may call fs_changed() until then. NULL is fine. */
void fs_free(struct fs *fs);

/* engine_config.changed: an object has another version, size or state. Any thread, never blocks. */
void fs_changed(struct fs *fs, struct object *o);
/*
 * Cached bytes of o are gone: the kernel's own copy of them and what stat shows go as well. Where
 * somebody waits for a read of it, the name gets another node instead, because the kernel lets go
 * of no page that is being read. Any thread, never blocks.
 */
void fs_forget(struct fs *fs, struct object *o);
/*
 * Wait until the kernel has been told of that, for a second at most: it may be late where a read
 * came in between. Not a thread that answers requests, nor the engine's.
 */
void fs_forget_wait(struct fs *fs);
/*
 * Take an edited manifest over and tell the kernel; one caller at a time, not a thread that answers
 * requests. 0 or -ENOMEM.
 */
int fs_replace(struct fs *fs, struct manifest *m, int64_t dir_mtime);
/* The current manifest, one more reference. */
struct manifest *fs_manifest(struct fs *fs);

struct fs_totals {
	uint64_t files;
	uint64_t bytes;	  /* of those whose size is known */
	uint64_t unknown; /* files without a size */
};
/* As last computed; never blocks. Sizes that were asked meanwhile come in with the next round. */
void fs_totals(struct fs *fs, struct fs_totals *ret);

#endif
