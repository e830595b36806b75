/*
 * saved.h - downloads that were begun and have not come to their end
 *
 * Each has a directory below STATE/get, named by its target's real path: the lock, the database of
 * extents (store/cache.h) and entry.json, the manifest entry it came from as a JSON manifest. That
 * has the URLs as they were given but for passwords and headers, which belong to whoever goes on
 * with it.
 */
#ifndef GET_SAVED_H
#define GET_SAVED_H

#include "base/base.h"

struct saved {
	const char *path;     /* of the target, absolute */
	const char *manifest; /* JSON, one entry; NULL: it can't be read */
	size_t manifest_len;
	uint64_t size;	   /* SIZE_UNKNOWN, also while somebody is at it */
	uint64_t durable;  /* bytes; 0 while somebody is at it */
	int64_t changed_s; /* when PATH.part was last written to */
	bool part_missing; /* somebody removed PATH.part */
	const char *owner; /* "PID on HOST" that is at it now; NULL nobody */
};

/*
 * Each, sorted by path; fn returns 0 to go on, else the walk ends with what it returned. Strings
 * are valid during the call. 0 also when there is no state directory; -errno.
 */
int saved_each(const char *state_dir, int (*fn)(void *ctx, const struct saved *s), void *ctx);
/*
 * Remove what is kept of path's download, PATH.part as well. 0; -ENOENT: none was begun; -EBUSY:
 * somebody is at it (*owner, at least 512 bytes, says who); -errno.
 */
int saved_forget(const char *state_dir, const char *path, char *owner, size_t owner_size);

#endif
