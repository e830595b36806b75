/*
 * get_saved.c - downloads that were begun: list them, go on with them, forget them
 * Callers: get. One thread.
 */
#include "cli/get_saved.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "base/size.h"
#include "cli/screen.h"
#include "daemon/select.h"
#include "get/saved.h"

#define OWNER_MAX 512 /* as saved_forget() wants it */

/* path: NULL, or as it goes into a message. */
static void say(const char *path, const char *what)
{
	char clean[PATH_MAX];

	fprintf(stderr, "rgetfs: %s: %s\n", text_clean(clean, sizeof(clean), path), what);
}

/* ---- list ---- */

struct listing {
	bool json;
	uint64_t count, durable;
};

static void list_json(const struct saved *s)
{
	bool known = s->size != SIZE_UNKNOWN, idle = !s->owner;
	json_t *j = json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:b,s:b}", "path", json_text(s->path),
			      "size", known ? json_number(s->size) : json_null(), "durable",
			      idle ? json_number(s->durable) : json_null(), "percent",
			      known ? json_integer(percent(s->durable, s->size)) : json_null(),
			      "changed", json_integer(s->changed_s), "owner",
			      s->owner ? json_text(s->owner) : json_null(), "part_missing",
			      s->part_missing, "readable", s->manifest != NULL);

	json_dumpf(j, stdout, JSON_COMPACT);
	putchar('\n');
	json_decref(j);
}

static void list_line(const struct saved *s, bool first)
{
	char durable[SIZE_TEXT_MAX] = "?", size[SIZE_TEXT_MAX] = "?", share[8] = "?";
	char changed[32] = "?", path[PATH_MAX], owner[OWNER_MAX];
	time_t when = (time_t)s->changed_s;
	struct tm tm;

	/* While somebody is at it only that one knows. */
	if (!s->owner)
		format_size(durable, s->durable);
	if (s->size != SIZE_UNKNOWN) {
		format_size(size, s->size);
		snprintf(share, sizeof(share), "%u%%", percent(s->durable, s->size));
	}
	if (localtime_r(&when, &tm))
		strftime(changed, sizeof(changed), "%Y-%m-%d %H:%M", &tm);
	if (first)
		printf("%9s %9s %5s %-16s %s\n", "DURABLE", "SIZE", "SHARE", "CHANGED", "FILE");
	printf("%9s %9s %5s %-16s %s\n", durable, size, share, changed,
	       text_clean(path, sizeof(path), s->path));
	if (s->owner)
		printf("%42s %s is at it\n", "", text_clean(owner, sizeof(owner), s->owner));
	if (s->part_missing)
		printf("%42s " GET_PART " is gone, it begins anew\n", "");
	if (!s->manifest)
		printf("%42s where it came from can't be read\n", "");
}

static int list_one(void *ctx, const struct saved *s)
{
	struct listing *l = ctx;

	if (l->json)
		list_json(s);
	else
		list_line(s, l->count == 0);
	l->count++;
	l->durable = add_sat_u64(l->durable, s->durable);
	return 0;
}

int get_saved_list(const char *state_dir, bool json)
{
	struct listing l = {.json = json};
	char durable[SIZE_TEXT_MAX];
	int r = saved_each(state_dir, list_one, &l);

	if (r < 0) {
		say(state_dir, strerror(-r));
		return 1;
	}
	if (json)
		return 0;
	if (l.count == 0)
		printf("no download was begun that did not come to its end\n");
	else
		printf("%9s in %" PRIu64 " %s (rgetfs get --resume-all goes on with all)\n",
		       format_size(durable, l.durable), l.count, plural(l.count, "file", "files"));
	return 0;
}

/* ---- forget ---- */

static int forget(const char *state_dir, const char *path, bool quiet)
{
	char owner[OWNER_MAX] = "", what[OWNER_MAX + 64], clean[PATH_MAX];
	int r = saved_forget(state_dir, path, owner, sizeof(owner));

	if (r == 0) {
		if (!quiet)
			printf("%s: forgotten\n", text_clean(clean, sizeof(clean), path));
		return 0;
	}
	if (r == -ENOENT)
		snprintf(what, sizeof(what),
			 "no download of it was begun (rgetfs get --list names them)");
	else if (r == -EBUSY)
		snprintf(what, sizeof(what), "%s is at it (end that first)", owner);
	else
		snprintf(what, sizeof(what), "%s", strerror(-r));
	say(path, what);
	return 1;
}

int get_saved_forget(const char *state_dir, char *const *files, size_t count, bool quiet)
{
	int status = 0;

	for (size_t i = 0; i < count; i++)
		status |= forget(state_dir, files[i], quiet);
	return status;
}

/* ---- go on ---- */

struct collecting {
	bool quiet;
	unsigned int failed;
	FILE *f; /* a manifest of all */
	char **paths;
	size_t count;
};

/* Its entry under a name that sorts as it comes: entry n of the manifest is that of path n. */
static int write_entry(struct collecting *c, const struct manifest *m, const char *path)
{
	const char *slash = strrchr(path, '/');
	char *name = NULL;
	struct entry e;
	int r;

	entry_init(&e);
	r = manifest_entry(m, 0, &e);
	if (r == 0 && asprintf(&name, "%010zu/%s", c->count, slash ? slash + 1 : path) < 0) {
		name = NULL;
		r = -ENOMEM;
	}
	if (r == 0) {
		e.path = name;
		r = manifest_write_json_entry(c->f, &e, c->count == 0);
	}
	free(name);
	entry_done(&e);
	return r;
}

static int keep_path(struct collecting *c, const char *path)
{
	char **more = realloc(c->paths, (c->count + 1) * sizeof(*more));

	if (!more)
		return -ENOMEM;
	c->paths = more;
	c->paths[c->count] = strdup(path);
	if (!c->paths[c->count])
		return -ENOMEM;
	c->count++;
	return 0;
}

static int collect(void *ctx, const struct saved *s)
{
	const struct manifest_options opt = {.default_mtime = MANIFEST_NO_TIME};
	char error[MANIFEST_ERROR_MAX] = "", clean[PATH_MAX], owner[OWNER_MAX];
	struct collecting *c = ctx;
	struct manifest *m = NULL;
	int r = -EINVAL;

	/* Somebody else's is no failure: it goes on anyhow. */
	if (s->owner) {
		if (!c->quiet)
			printf("%s: %s is at it\n", text_clean(clean, sizeof(clean), s->path),
			       text_clean(owner, sizeof(owner), s->owner));
		return 0;
	}
	if (s->manifest)
		r = manifest_parse(s->manifest, s->manifest_len, s->path, &opt, &m, error);
	if (r == 0 && manifest_count(m) == 1) {
		r = write_entry(c, m, s->path);
		if (r == 0)
			r = keep_path(c, s->path);
	} else if (r != -ENOMEM) {
		c->failed++;
		say(s->path, "where it came from can't be read (get it again by its URL, or "
			     "--forget it)");
		r = 0;
	}
	manifest_put(m);
	return r;
}

/* text is the manifest, c->paths have their entries' order. */
static int make_plan(struct collecting *c, const char *text, size_t len, struct get_plan *ret,
		     char error[MANIFEST_ERROR_MAX])
{
	const struct manifest_options opt = {.default_mtime = MANIFEST_NO_TIME};
	struct manifest *m = NULL;
	int r = manifest_parse(text, len, "get", &opt, &m, error);

	if (r < 0)
		return r;
	*ret = (struct get_plan){.m = m, .files = calloc(c->count + 1, sizeof(*ret->files))};
	if (!ret->files) {
		get_plan_done(ret);
		return -ENOMEM;
	}
	for (size_t i = 0; i < c->count; i++) {
		ret->files[i] = (struct get_file){.index = (uint32_t)i,
						  .path = c->paths[i],
						  .own = strlen(c->paths[i])};
		c->paths[i] = NULL;
	}
	ret->count = c->count;
	return 0;
}

int get_saved_plan(const char *state_dir, bool quiet, struct get_plan *ret)
{
	struct collecting c = {.quiet = quiet};
	char error[MANIFEST_ERROR_MAX] = "";
	char *text = NULL;
	size_t len = 0;
	int r = -ENOMEM;

	*ret = (struct get_plan){0};
	c.f = open_memstream(&text, &len);
	if (c.f) {
		r = manifest_write_json_begin(c.f);
		if (r == 0)
			r = saved_each(state_dir, collect, &c);
		if (r == 0)
			r = manifest_write_json_end(c.f);
		fclose(c.f);
	}
	if (r == 0)
		r = make_plan(&c, text, len, ret, error);
	if (r < 0)
		say(error[0] ? "--resume-all" : state_dir, error[0] ? error : strerror(-r));
	for (size_t i = 0; i < c.count; i++)
		free(c.paths[i]);
	free(c.paths);
	free(text);
	return r < 0 || c.failed > 0;
}
