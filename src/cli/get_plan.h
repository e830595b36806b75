/*
 * get_plan.h - which URL or entry goes to which path
 */
#ifndef CLI_GET_PLAN_H
#define CLI_GET_PLAN_H

#include <limits.h>

#include "get/get.h"

struct get_plan_options {
	const char *dir;      /* where files go; NULL: the working directory */
	const char *output;   /* the one file that all URLs are mirrors of; NULL: names by URL */
	const char *checksum; /* ALGO=HEX of the one file; NULL */
	enum manifest_layout layout;
};

struct get_plan {
	struct manifest *m;
	struct get_file *files; /* their paths are the plan's */
	size_t count;
	struct get_file *dirs; /* of the manifest, with nothing in them */
	size_t dir_count;
};

#define GET_PLAN_ERROR_MAX (MANIFEST_ERROR_MAX + PATH_MAX)

/*
 * Of URLs as a user types them; files are in their order. 0; -EINVAL or -ENOMEM and a line in error
 * (nothing has to be freed then).
 */
int get_plan_urls(struct get_plan *p, const struct get_plan_options *o, char *const *urls,
		  size_t count, char error[GET_PLAN_ERROR_MAX]);
/* Of all files and empty directories of m, which is kept. 0 or -ENOMEM. */
int get_plan_manifest(struct get_plan *p, const char *dir, struct manifest *m);
void get_plan_done(struct get_plan *p);

#endif
