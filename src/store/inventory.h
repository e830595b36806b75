/*
 * inventory.h - the caches under a root, for `rgetfs cache`: what they hold, whether it is
 * consistent, removal
 *
 * Works on directories that nobody uses; the lock is taken first and held meanwhile. Blocks on the
 * disk; no threads of its own, one call at a time.
 */
#ifndef STORE_INVENTORY_H
#define STORE_INVENTORY_H

#include "base/base.h"

#define INVENTORY_TEXT_MAX 512

struct inventory_item {
	const char *name;		      /* of the directory under the root */
	bool used;			      /* a process holds its lock */
	char owner[INVENTORY_TEXT_MAX];	      /* "PID on HOST, DESCRIPTION" of that process */
	char description[INVENTORY_TEXT_MAX]; /* manifest and mountpoint of the last one; "" unknown
					       */
	uint64_t files;			      /* backing files */
	uint64_t bytes;			      /* allocated by them */
};
/*
 * fn for each cache under root, in order of names; it returns 0 to go on. What is no cache of ours
 * is left out. 0, what fn returned, or -errno (-ENOENT: no root).
 */
int inventory_each(const char *root, int (*fn)(void *ctx, const struct inventory_item *item),
		   void *ctx);

struct inventory_report {
	uint64_t objects, versions, extents;
	uint64_t bytes_claimed;	  /* by extents */
	uint64_t bytes_allocated; /* by their files */
	uint64_t blocks_checked, blocks_bad;
	uint64_t problems; /* how often say() was called */
};
/*
 * Is the cache consistent: database whole, files the recorded ones, and (checksums) every block as
 * it was received? Changes nothing. say() gets one sentence for each problem. 0 (also with
 * problems); -EBUSY: in use, owner says by whom; -ENOENT: no cache; -errno.
 */
int inventory_check(const char *root, const char *name, bool checksums,
		    void (*say)(void *ctx, const char *text), void *ctx,
		    struct inventory_report *ret, char owner[INVENTORY_TEXT_MAX]);

/*
 * Remove a cache that nobody uses, all of it. 0, -EBUSY (owner), -ENOENT (no cache of ours),
 * -ENOTEMPTY (something else lies in its directory; nothing was removed), -errno.
 */
int inventory_remove(const char *root, const char *name, char owner[INVENTORY_TEXT_MAX]);

#endif
