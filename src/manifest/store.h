/*
 * store.h - how a manifest lies in memory; for what builds and reads one
 *
 * Bytes of an entry of a usual list: 40 for its row, 4 for its place in its directory, its name
 * once, and of the URL only what neither the name nor another entry's URL says already.
 */
#ifndef MANIFEST_STORE_H
#define MANIFEST_STORE_H

#include <stdatomic.h>

#include "manifest/manifest.h"
#include "manifest/strings.h"

/* One file, or one empty directory. */
struct row {
	uint64_t size;
	int64_t mtime;
	uint32_t dir;	 /* the directory it is in */
	uint32_t name;	 /* in text */
	uint32_t prefix; /* of the first URL: a node of urls */
	uint32_t tail;	 /* … and what follows it, in text; TAIL_IS_NAME: the name */
	uint32_t extra;	 /* what few entries have, in text, see pack.c; 0: none of it */
	uint16_t mode;
	uint16_t directory;
};
#define TAIL_IS_NAME 0

struct dir {
	uint32_t parent; /* the root's is the root */
	uint32_t name;	 /* in text; the root has none */
	uint32_t first;	 /* its children are child[first] up to the next directory's first */
};

/* What child[] says: a directory, or the row of a file. */
#define CHILD_DIR UINT32_C(0x80000000)

struct manifest {
	atomic_uint refs;
	uint64_t serial; /* of its making in this process */
	int64_t default_mtime;
	bool foreign;
	struct blob text;
	struct strtree strings; /* prefixes of URLs; whole headers */
	struct row *row;	/* sorted by path */
	uint32_t count;
	struct dir *dir; /* one more than dir_count, for the last one's end */
	uint32_t dir_count;
	uint32_t *child;
};

/* A manifest without entries, with one reference. NULL: no memory. */
struct manifest *manifest_new(void);
/*
 * Give m's rows and directories, in any order but parents first, their sorted order and each
 * directory its children; directories without any become rows too. 0 or -ENOMEM (then m can only be
 * put).
 */
int manifest_sort(struct manifest *m);

#endif
