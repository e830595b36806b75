/*
 * cache.h - the directory of one cache, its lock file, and backing files by id
 *
 * A backing file is sparse, of its version's size where that is known and the file system can hold
 * it, and is named files/ID-COOKIE. The cookie is random, so that an older database never
 * recognises a newer file of the same id. Everything is done relative to descriptors; links are
 * never followed.
 */
#ifndef STORE_CACHE_H
#define STORE_CACHE_H

#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "core/range.h"
#include "store/openfiles.h"

struct store_target;

#define CACHE_LOCK_NAME	 "lock"
#define CACHE_FILES_NAME "files"
#define CACHE_PART_NAME	 "part" /* of a target: which file is its */
/* The daemon's last good copy of a manifest given by URL, and the same while it is written. */
#define CACHE_MANIFEST_NAME	"manifest"
#define CACHE_MANIFEST_NEW_NAME CACHE_MANIFEST_NAME ".new"

struct cache {
	char *path; /* of the directory; real since cache_resolve() */
	int dirfd, filesfd, lockfd;
	/*
	 * Of a target, NULL else: the only name of a backing file, which is in the user's own
	 * directory filesfd; and the newest version that had a file of that name, 0 none yet. An
	 * older one may neither give the name nor take it: part_lock is held from the look to the
	 * system call.
	 */
	char *part;
	struct mtx part_lock;
	uint64_t part_id;		  /* part_lock */
	atomic_uint_fast64_t part_ino;	  /* of the file that we made by that name, 0: none; … */
	atomic_int_fast64_t part_born_ns; /* … and when it was made, 0: nobody tells */
	dev_t dev;
	uint64_t fs_block;    /* the file system's unit of allocation */
	bool network;	      /* NFS, CIFS, FUSE */
	bool counts_blocks;   /* what was written has its blocks at once, uncompressed */
	atomic_bool no_punch; /* the file system can't; whole files are evicted */
	struct openfiles open;
};

/*
 * Make or enter dir (0700 and ours, else -EPERM) and lock it. -EBUSY: *owner names who holds it
 * ("PID on HOST, DESCRIPTION"). 0 or -errno. description goes into the lock file; NULL leaves its
 * text. target NULL, or where the one backing file is instead of in dir; its dirfd stays the
 * caller's.
 */
int cache_open(struct cache *c, const char *dir, const struct store_target *target,
	       const char *description, char *owner, size_t owner_size);
/*
 * Make path the real one, for SQLite, which goes by it and follows no link: it must lead where the
 * descriptor does. 0, -EPERM, -errno.
 */
int cache_resolve(struct cache *c);
/* Releases the lock. */
void cache_close(struct cache *c);
/* Of a target: is there a file of its name that we have not made, as far as we know? */
bool cache_part_foreign(const struct cache *c);
/* Of a target: is it known which one we have made? */
bool cache_part_noted(const struct cache *c);
/* Of a target: the file of its name, open as fd, is ours from now on; the next process knows. */
void cache_own_part(struct cache *c, int fd);
/* Remove dir with all that is ours in it, before cache_close(). 0 or -errno of what stays. */
int cache_remove(struct cache *c);
/* Who holds the lock of the directory; false: nobody. Any process may ask. text: "PID on HOST,
 * DESCRIPTION". */
bool cache_owner(int dirfd, char *text, size_t size);
/* What the lock file says of its last owner, dead or alive; "" nothing. */
void cache_last_owner(int dirfd, char *text, size_t size);
/* Bytes that an ordinary user may still write there. 0, or -errno: nobody knows, so write none. */
int cache_disk_free(const struct cache *c, uint64_t *ret);

/* One backing file in use. Counted; the last put closes. */
struct backing {
	atomic_uint refs;
	struct openfile file;
	struct cache *cache; /* these never change */
	uint64_t id, ino, cookie;
	atomic_uint_fast64_t size; /* the file's length on disk; 0: it grows with what is written */
};

/*
 * A new file. 0, or -errno (-ENOSPC, -EMFILE, …); -ESTALE: the target's name is a newer version's.
 * Not durable: backing_sync() and cache_sync_dir().
 */
int cache_create(struct cache *c, uint64_t id, uint64_t cookie, uint64_t size,
		 struct backing **ret);
/*
 * The recorded one. -ESTALE: it is another file than recorded (device, inode, length) or shorter
 * than what is claimed of it; -ENOENT, -errno.
 */
int cache_attach(struct cache *c, uint64_t id, uint64_t cookie, uint64_t ino, uint64_t size,
		 uint64_t claimed_end, struct backing **ret);
/*
 * 0 or -errno. Of a target (its cookie is nothing): 0 also when the name is a newer version's,
 * -EEXIST when it is that of somebody else's file, which stays.
 */
int cache_unlink(struct cache *c, uint64_t id, uint64_t cookie);
/*
 * Names of files. -errno: those made since the last sync may be lost, and no later sync would tell:
 * they are to be made again. The descriptors are new ones by then.
 */
int cache_sync_dir(struct cache *c);

/* Does its name still lead to it? A file that lost it is gone when it is closed. */
bool cache_named(const struct backing *b);
struct backing *backing_get(struct backing *b);
void backing_put(struct backing *b);
/* Another descriptor of the same file, for after a failed sync. 0 or -errno. */
int backing_reopen(const struct backing *b, struct backing **ret);
/* openfiles.c's: a descriptor of b, which is recognised by its inode, or -errno. */
int cache_open_again(const struct backing *b);
/* Give it its length now that it is known. 0 or -errno (then it goes on growing). */
int backing_set_size(struct backing *b, uint64_t size);
/* All of it or -errno (-EIO past the end). */
int backing_read(struct backing *b, uint64_t off, void *buf, size_t len);
int backing_write(struct backing *b, uint64_t off, const void *buf, size_t len);
/* 0 or -errno. */
int backing_stat(struct backing *b, struct stat *ret);
/* Begin to write back what is dirty, without waiting. */
void backing_writeback(struct backing *b);
/* Give back the blocks of r, reading zeros from then on. -EOPNOTSUPP sets c->no_punch. */
int backing_punch(struct cache *c, struct backing *b, struct range r);
/* Give back all blocks, where holes can't be punched. */
int backing_empty(struct backing *b);
/* Allocated bytes. 0 or -errno. */
int backing_allocated(struct backing *b, uint64_t *ret);
/* First allocated run that ends after off. 0, -ENXIO (none), -EOPNOTSUPP. */
int backing_next_data(struct backing *b, uint64_t off, struct range *ret);

#endif
