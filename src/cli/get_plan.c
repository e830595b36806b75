/*
 * get_plan.c - which URL or entry goes to which path
 * Callers: get. One thread.
 *
 * What is typed becomes a manifest and is read as one, so that the same things are refused and the
 * same names come out as in a list. Each URL is looked at alone first: a complaint then is about it
 * and not about a line of a text that nobody has seen.
 */
#include "cli/get_plan.h"

#include <ctype.h>
#include <sys/stat.h>

#include "cli/screen.h"
#include "core/url.h"

#define TEXT_MAX (1u << 30)
#define NAME	 "URL" /* what our manifest is called in complaints; taken away again */

/* The URL of one argument, by the name it gets. */
struct wanted {
	char *path;
	size_t at; /* in the order they were typed */
};

static int refuse_plan(char error[GET_PLAN_ERROR_MAX], const char *where, const char *what)
{
	char clean[PATH_MAX];

	snprintf(error, GET_PLAN_ERROR_MAX, "%s: %s", text_clean(clean, sizeof(clean), where),
		 what);
	return -EINVAL;
}

/* The same about a URL, which is shown without its secrets. */
static int refuse_url(char error[GET_PLAN_ERROR_MAX], const char *url, const char *what)
{
	struct url_origin origin;
	char shown[URL_MAX];

	/* What can't be taken apart may begin with a password all the same. */
	if (url_origin(url, &origin) == 0)
		url_redact(url, shown, sizeof(shown));
	else
		snprintf(shown, sizeof(shown), "%s", strstr(url, "://") ? "get" : url);
	return refuse_plan(error, shown, what);
}

static bool has_control(const char *s)
{
	for (; *s; s++) {
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			return true;
	}
	return false;
}

/* What a manifest's text would take for something else than a URL. */
static int check_url(const char *url, char error[GET_PLAN_ERROR_MAX])
{
	if (has_control(url))
		return refuse_url(error, url, "the URL has a control byte (percent-encode it)");
	if (isalpha((unsigned char)url[0]) && strstr(url, "://"))
		return 0;
	return refuse_url(error, url,
			  access(url, F_OK) == 0
				  ? "a file, not a URL (a list of URLs is given with -i)"
				  : "not a URL (write https:// or http:// before it)");
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* What join() puts before a path. */
static size_t own_length(const char *dir)
{
	size_t len = dir ? strlen(dir) : 0;

	while (len > 1 && dir[len - 1] == '/')
		len--;
	return len;
}

/* dir/path, or path alone; malloc'ed, NULL without memory. */
static char *join(const char *dir, const char *path)
{
	size_t len = own_length(dir);
	char *out;

	if (len == 0 || path[0] == '/')
		return strdup(path);
	if (asprintf(&out, "%.*s%s%s", (int)len, dir, len == 1 && dir[0] == '/' ? "" : "/", path) <
	    0)
		return NULL;
	return out;
}

static struct get_file file_of(uint32_t index, const char *dir, const char *path)
{
	return (struct get_file){.index = index, .path = join(dir, path), .own = own_length(dir)};
}

/* -O: a place for a file. *ret is the path, malloc'ed. */
static int check_output(const struct get_plan_options *o, char **ret,
			char error[GET_PLAN_ERROR_MAX])
{
	const char *name = base_name(o->output);
	struct stat st;
	char *path;

	if (strcmp(o->output, "-") == 0)
		return refuse_plan(error, "-O -",
				   "a download is a file that can be gone on with (give a name; to "
				   "read as it comes, rgetfs mount)");
	if (has_control(name))
		return refuse_plan(error, o->output, "the name has a control byte (give another)");
	path = join(o->dir, o->output);
	if (!path)
		return -ENOMEM;
	if (!*name || (stat(path, &st) == 0 && S_ISDIR(st.st_mode))) {
		free(path);
		return refuse_plan(error, o->output,
				   "a directory (-d DIR puts files into it, -O FILE names one)");
	}
	*ret = path;
	return 0;
}

/* urls as one entry of a manifest's text. */
static void add_entry(struct strbuf *text, const struct get_plan_options *o, char *const *urls,
		      size_t count)
{
	for (size_t i = 0; i < count; i++)
		strbuf_addf(text, "%s%s", i ? "\t" : "", urls[i]);
	strbuf_addc(text, '\n');
	if (o->output)
		strbuf_addf(text, " out=%s\n", base_name(o->output));
	if (o->checksum)
		strbuf_addf(text, " checksum=%s\n", o->checksum);
}

/* Text that is to be freed into a manifest; the complaint is without the name and line of that. */
static int parse(struct strbuf *text, const struct get_plan_options *o, struct manifest **ret,
		 char error[MANIFEST_ERROR_MAX])
{
	const struct manifest_options mopt = {
		.layout = o->layout,
		.default_mtime = MANIFEST_NO_TIME,
		.path_key = "-O FILE",
	};
	char full[MANIFEST_ERROR_MAX];
	const char *what = full + strlen(NAME);
	int r = strbuf_error(text);

	snprintf(full, sizeof(full), NAME ": out of memory");
	if (r == 0)
		r = manifest_parse(text->s, text->len, NAME, &mopt, ret, full);
	strbuf_done(text);
	if (r < 0) {
		what += strspn(what, ":0123456789");
		snprintf(error, MANIFEST_ERROR_MAX, "%s", what + strspn(what, " "));
	}
	return r;
}

/* The manifest of urls, mirrors of one another. */
static int parse_one(const struct get_plan_options *o, char *const *urls, size_t count,
		     struct manifest **ret, char error[GET_PLAN_ERROR_MAX])
{
	char what[MANIFEST_ERROR_MAX];
	struct strbuf text;
	int r;

	strbuf_init(&text, TEXT_MAX);
	add_entry(&text, o, urls, count);
	r = parse(&text, o, ret, what);
	if (r < 0)
		refuse_url(error, urls[0], what);
	return r;
}

static int plan_alloc(struct get_plan *p, struct manifest *m, size_t count)
{
	*p = (struct get_plan){.m = manifest_get(m)};
	p->files = calloc(count + 1, sizeof(*p->files));
	return p->files ? 0 : -ENOMEM;
}

static void free_paths(struct get_file *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free((char *)(uintptr_t)list[i].path);
	free(list);
}

void get_plan_done(struct get_plan *p)
{
	free_paths(p->files, p->count);
	free_paths(p->dirs, p->dir_count);
	manifest_put(p->m);
	*p = (struct get_plan){0};
}

/* ---- mirrors of one file ---- */

static int plan_output(struct get_plan *p, const struct get_plan_options *o, char *const *urls,
		       size_t count, char error[GET_PLAN_ERROR_MAX])
{
	struct manifest *m = NULL;
	char *path = NULL;
	int r = check_output(o, &path, error);

	/* Each alone: which of them is meant is plain then. */
	for (size_t i = 0; i < count && r == 0 && count > 1; i++) {
		r = parse_one(o, &urls[i], 1, &m, error);
		if (r == 0)
			manifest_put(m);
		m = NULL;
	}
	if (r == 0)
		r = parse_one(o, urls, count, &m, error);
	if (r == 0)
		r = plan_alloc(p, m, 1);
	if (r == 0) {
		p->files[0] = (struct get_file){.index = 0, .path = path, .own = strlen(path)};
		p->count = 1;
		path = NULL;
	}
	free(path);
	manifest_put(m);
	return r;
}

/* ---- a file for each URL ---- */

static int by_path(const void *a, const void *b)
{
	const struct wanted *x = a, *y = b;
	int c = strcmp(x->path, y->path);

	return c ? c : (x->at > y->at) - (x->at < y->at);
}

static int path_of(const void *key, const void *item)
{
	return strcmp(key, ((const struct wanted *)item)->path);
}

/* The name that a URL gives. */
static int look_at(const struct get_plan_options *o, char *const *url, char **ret,
		   char error[GET_PLAN_ERROR_MAX])
{
	struct manifest *m = NULL;
	struct entry e;
	int r = parse_one(o, url, 1, &m, error);

	if (r < 0)
		return r;
	entry_init(&e);
	r = manifest_entry(m, 0, &e);
	if (r == 0)
		*ret = strdup(e.path);
	entry_done(&e);
	manifest_put(m);
	return r < 0 || !*ret ? -ENOMEM : 0;
}

/* list is sorted. The same URL twice is one file; two with one name are none. */
static int refuse_same_names(struct wanted *list, size_t *count, char *const *urls,
			     char error[GET_PLAN_ERROR_MAX])
{
	char what[PATH_MAX];
	size_t kept = 0;

	for (size_t i = 0; i < *count; i++) {
		if (kept > 0 && strcmp(list[kept - 1].path, list[i].path) == 0) {
			if (strcmp(urls[list[kept - 1].at], urls[list[i].at]) != 0) {
				snprintf(what, sizeof(what),
					 "its name %.1024s is another URL's already (name mirrors "
					 "of one file with -O FILE, or use --layout=url)",
					 list[i].path);
				return refuse_url(error, urls[list[i].at], what);
			}
			free(list[i].path);
			list[i].path = NULL;
		} else if (kept++ != i) {
			list[kept - 1] = list[i];
			list[i].path = NULL;
		}
	}
	*count = kept;
	return 0;
}

/* One manifest of all, of which list (sorted by path) tells whose entry is whose. */
static int plan_all(struct get_plan *p, const struct get_plan_options *o, const struct wanted *list,
		    size_t count, char *const *urls, size_t url_count,
		    char error[GET_PLAN_ERROR_MAX])
{
	struct get_file *placed = calloc(url_count + 1, sizeof(*placed));
	char what[MANIFEST_ERROR_MAX];
	struct manifest *m = NULL;
	struct strbuf text;
	struct entry e;
	int r;

	strbuf_init(&text, TEXT_MAX);
	for (size_t i = 0; i < count; i++)
		add_entry(&text, o, &urls[list[i].at], 1);
	r = parse(&text, o, &m, what);
	if (r < 0)
		refuse_plan(error, "get", what);
	else
		r = placed ? plan_alloc(p, m, count) : -ENOMEM;
	entry_init(&e);
	for (uint32_t i = 0; r == 0 && i < manifest_count(m); i++) {
		const struct wanted *w;

		r = manifest_entry(m, i, &e);
		if (r < 0)
			break;
		w = bsearch(e.path, list, count, sizeof(*list), path_of);
		if (w)
			placed[w->at] = file_of(i, o->dir, e.path);
		if (!w || !placed[w->at].path)
			r = -ENOMEM;
	}
	entry_done(&e);
	for (size_t i = 0; placed && i < url_count; i++) {
		if (placed[i].path && r == 0)
			p->files[p->count++] = placed[i];
		else
			free((char *)(uintptr_t)placed[i].path);
	}
	free(placed);
	manifest_put(m);
	if (r < 0)
		get_plan_done(p);
	return r;
}

static int plan_names(struct get_plan *p, const struct get_plan_options *o, char *const *urls,
		      size_t count, char error[GET_PLAN_ERROR_MAX])
{
	struct wanted *list = calloc(count + 1, sizeof(*list));
	size_t known = 0, kept;
	int r = list ? 0 : -ENOMEM;

	for (; r == 0 && known < count; known++) {
		list[known].at = known;
		r = look_at(o, &urls[known], &list[known].path, error);
	}
	kept = known;
	if (r == 0) {
		qsort(list, count, sizeof(*list), by_path);
		r = refuse_same_names(list, &kept, urls, error);
	}
	if (r == 0)
		r = plan_all(p, o, list, kept, urls, count, error);
	for (size_t i = 0; list && i < count; i++)
		free(list[i].path);
	free(list);
	return r;
}

int get_plan_urls(struct get_plan *p, const struct get_plan_options *o, char *const *urls,
		  size_t count, char error[GET_PLAN_ERROR_MAX])
{
	int r = 0;

	*p = (struct get_plan){0};
	snprintf(error, GET_PLAN_ERROR_MAX, "out of memory");
	for (size_t i = 0; i < count && r == 0; i++)
		r = check_url(urls[i], error);
	if (r == 0)
		r = o->output ? plan_output(p, o, urls, count, error)
			      : plan_names(p, o, urls, count, error);
	if (r == -ENOMEM)
		snprintf(error, GET_PLAN_ERROR_MAX, "out of memory");
	return r;
}

/* ---- a manifest ---- */

/* One more place for an entry that is no file. */
static int add_dir(struct get_plan *p, struct get_file dir)
{
	struct get_file *more = reallocarray(p->dirs, p->dir_count + 1, sizeof(*more));

	if (more)
		p->dirs = more;
	if (!more || !dir.path) {
		free((char *)(uintptr_t)dir.path);
		return -ENOMEM;
	}
	more[p->dir_count++] = dir;
	return 0;
}

int get_plan_manifest(struct get_plan *p, const char *dir, struct manifest *m)
{
	struct entry e;
	int r = plan_alloc(p, m, manifest_count(m));

	entry_init(&e);
	for (uint32_t i = 0; r == 0 && i < manifest_count(m); i++) {
		r = manifest_entry(m, i, &e);
		if (r < 0)
			break;
		if (e.directory) {
			r = add_dir(p, file_of(i, dir, e.path));
			continue;
		}
		p->files[p->count] = file_of(i, dir, e.path);
		r = p->files[p->count].path ? 0 : -ENOMEM;
		p->count += r == 0;
	}
	entry_done(&e);
	if (r < 0)
		get_plan_done(p);
	return r;
}
