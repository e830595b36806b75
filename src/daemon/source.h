/*
 * source.h - where a manifest comes from: a file, standard input, or an http(s) URL
 */
#ifndef DAEMON_SOURCE_H
#define DAEMON_SOURCE_H

#include "daemon/download.h"
#include "manifest/manifest.h"

enum source_kind { SOURCE_FILE, SOURCE_STDIN, SOURCE_URL };

struct source {
	enum source_kind kind;
	char *place;	/* real path or URL; NULL for standard input */
	char *shown;	/* the same for people: no secrets */
	char *identity; /* what names its cache directory */
	char *data;	/* of standard input, read once */
	size_t len;
};

/* arg: what the user typed. Reads standard input to its end. 0, or -errno with a line in error. */
int source_init(struct source *s, const char *arg, char error[MANIFEST_ERROR_MAX]);
void source_done(struct source *s);

/*
 * Load and parse it (again). opt's default_mtime is replaced by the source's own date, also in
 * *ret_mtime. A URL is fetched on threads that are gone when this returns, so not before the last
 * fork; a copy is kept as keep_dir/manifest and used, with a warning, when it can't be fetched
 * (keep_dir NULL: no copy).
 * The manifest is foreign unless every address of the URL's host is one of ours; what is no URL
 * never is. 0, or -errno with a line in error.
 */
struct source_net {
	const struct fetch_config *fetch;
	bool offline;
	struct download_cancel cancel;
};
#define SOURCE_WHY_MAX 256
struct source_result {
	struct manifest *manifest;
	int64_t mtime;
	char kept_why[SOURCE_WHY_MAX]; /* why it is the copy that was kept; "": it is not */
};
int source_load(const struct source *s, const struct manifest_options *opt,
		const struct source_net *net, const char *keep_dir, struct source_result *ret,
		char error[MANIFEST_ERROR_MAX]);

#endif
