/*
 * target.h - the place of one download: the file, its part beside it, its directory of state
 *
 * Everything is done relative to descriptors once the path was walked. One thread at a time.
 */
#ifndef GET_TARGET_H
#define GET_TARGET_H

#include <sys/stat.h>

#include "store/store.h"

#define TARGET_ENTRY_NAME "entry.json" /* in the state directory: saved.h */
#define TARGET_PATH_NAME  "target"
#define TARGET_WHY_MAX	  256

struct target {
	int dirfd;   /* of the directory that the file is in; -1 */
	char *dir;   /* its real path */
	char *name;  /* of the file in it, as it was asked for */
	char *final; /* … that it gets; name unless the server has another one for it */
	char *part;  /* name GET_PART */
	char *state; /* directory of the store: STATE_DIR/get/ID */
};

/*
 * Make what is missing of path's directory, and find the rest; own as in struct get_file. 0, or
 * -errno with *why for a person (what is wrong and what to do, without the path).
 */
int target_init(struct target *t, const char *path, size_t own, const char *state_dir,
		char why[TARGET_WHY_MAX]);
void target_done(struct target *t);
/* What was asked for, real but for its last component. malloc'ed, NULL without memory. */
char *target_path(const struct target *t);
/*
 * The file gets the name that a server gave it, made harmless: its last component, without control
 * bytes, not hidden. 0; -EINVAL: nothing is left of it; -ENOMEM.
 */
int target_rename(struct target *t, const char *filename);
/* Is the file there already? 0, -ENOENT, or -EEXIST: something that is no regular file. */
int target_existing(const struct target *t, struct stat *ret);
/* There is a part that no download of ours has begun: -EEXIST with *why; else 0. */
int target_check_part(const struct target *t, char why[TARGET_WHY_MAX]);
/* *why, when that turns out later. */
void target_in_the_way(const struct target *t, char why[TARGET_WHY_MAX]);
/* For store_target.begins: leave path and entry (JSON) in dirfd. 0 or -errno. */
int target_describe(const struct target *t, int dirfd, const char *entry, size_t len);

#endif
