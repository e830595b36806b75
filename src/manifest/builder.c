/*
 * builder.c - entries in the order of the list become a manifest
 * Callers: load (makes and finishes it), the formats (add). One thread.
 *
 * Every name is looked up as it comes, so that a clash is told at once, with both its lines; so is
 * every content (contents.c), because entries of one share their bytes in the cache.
 */
#include "manifest/builder.h"

#include <inttypes.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/log.h"
#include "core/url.h"
#include "manifest/contents.h"
#include "manifest/names.h"
#include "manifest/pack.h"
#include "manifest/store.h"

#define ROWS_MIN 64

struct builder {
	struct complaint *c;
	struct manifest_options opt;
	struct manifest *m;
	uint64_t seed;
	struct hash_index names; /* (directory, name) to CHILD_DIR | directory, or row */
	struct contents contents;
	uint32_t row_size;
	uint32_t dir_size;
	uint32_t *row_line;
	uint32_t *dir_line;
	struct strbuf path; /* of the entry that is added */
	struct packer packer;
	/* Neighbours mostly share their directory. */
	struct strbuf last_dir;
	uint32_t last_dir_id;
	/* Entries that came twice, taken once. */
	uint32_t twice;
	uint32_t twice_line[2];
};

struct complaint *builder_complaint(struct builder *b)
{
	return b->c;
}

/* One more row fits. */
static int row_room(struct builder *b)
{
	uint32_t size = b->row_size ? b->row_size + b->row_size / 2 : ROWS_MIN;
	struct row *row;
	uint32_t *line;

	if (b->m->count < b->row_size)
		return 0;
	row = realloc(b->m->row, size * sizeof(*row));
	if (!row)
		return -ENOMEM;
	b->m->row = row;
	line = realloc(b->row_line, size * sizeof(*line));
	if (!line)
		return -ENOMEM;
	b->row_line = line;
	b->row_size = size;
	return 0;
}

/* One more directory fits. */
static int dir_room(struct builder *b)
{
	uint32_t size = b->dir_size ? b->dir_size + b->dir_size / 2 : ROWS_MIN;
	struct dir *dir;
	uint32_t *line;

	if (b->m->dir_count < b->dir_size)
		return 0;
	dir = realloc(b->m->dir, size * sizeof(*dir));
	if (!dir)
		return -ENOMEM;
	b->m->dir = dir;
	line = realloc(b->dir_line, size * sizeof(*line));
	if (!line)
		return -ENOMEM;
	b->dir_line = line;
	b->dir_size = size;
	return 0;
}

struct builder *builder_new(struct complaint *c, const struct manifest_options *opt)
{
	struct builder *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->c = c;
	b->opt = *opt;
	strbuf_init(&b->path, 2 * NAME_PATH_MAX + URL_MAX);
	strbuf_init(&b->last_dir, NAME_PATH_MAX);
	/* Early at boot there may be none: only the defence against planned collisions is weaker.
	 */
	if (getrandom(&b->seed, sizeof(b->seed), GRND_NONBLOCK) != sizeof(b->seed))
		b->seed = clock_now_us();
	b->m = manifest_new();
	pack_init(&b->packer, b->m, b->seed, c);
	contents_init(&b->contents, b->m, b->seed, c);
	if (!b->m || row_room(b) < 0 || dir_room(b) < 0) {
		builder_free(b);
		return NULL;
	}
	b->m->default_mtime = opt->default_mtime;
	b->m->foreign = opt->foreign;
	b->m->dir[0] = (struct dir){0};
	b->dir_line[0] = 0;
	b->m->dir_count = 1;
	return b;
}

void builder_free(struct builder *b)
{
	if (!b)
		return;
	manifest_put(b->m);
	hash_done(&b->names);
	contents_done(&b->contents);
	free(b->row_line);
	free(b->dir_line);
	strbuf_done(&b->path);
	pack_done(&b->packer);
	strbuf_done(&b->last_dir);
	free(b);
}

/* ---- the tree of names ---- */

/* What is named so in dir: CHILD_DIR | directory, a row, or HASH_NONE. */
static uint32_t find_name(const struct builder *b, uint32_t dir, struct span name, uint32_t hash)
{
	const struct manifest *m = b->m;
	uint32_t pos = hash;
	uint32_t ref;

	while ((ref = hash_next(&b->names, hash, &pos)) != HASH_NONE) {
		uint32_t id = ref & ~CHILD_DIR;
		uint32_t parent = ref & CHILD_DIR ? m->dir[id].parent : m->row[id].dir;
		uint32_t text = ref & CHILD_DIR ? m->dir[id].name : m->row[id].name;

		if (parent == dir && span_equal(blob_get(&m->text, text), name))
			return ref;
	}
	return HASH_NONE;
}

static int add_dir(struct builder *b, uint32_t line, uint32_t parent, struct span name,
		   uint32_t hash, uint32_t *ret_dir)
{
	struct manifest *m = b->m;
	uint32_t text;
	int r;

	if (m->dir_count >= MANIFEST_ENTRIES_MAX)
		return refuse(b->c, line, "more than %" PRIu32 " directories (split the list)",
			      MANIFEST_ENTRIES_MAX);
	r = dir_room(b);
	if (r == 0)
		r = blob_add(&m->text, name, &text);
	if (r == 0)
		r = hash_add(&b->names, hash, CHILD_DIR | m->dir_count);
	if (r < 0)
		return r;
	b->dir_line[m->dir_count] = line;
	m->dir[m->dir_count] = (struct dir){.parent = parent, .name = text};
	*ret_dir = m->dir_count++;
	return 0;
}

/* The directory name in parent, made when it is not there; path is the whole path, for messages. */
static int enter_dir(struct builder *b, uint32_t line, struct span path, uint32_t parent,
		     struct span name, uint32_t *ret_dir)
{
	uint32_t hash = hash_of(b->seed, parent, name);
	uint32_t ref = find_name(b, parent, name, hash);
	char whole[QUOTE_MAX], part[QUOTE_MAX];

	if (ref == HASH_NONE)
		return add_dir(b, line, parent, name, hash, ret_dir);
	if (!(ref & CHILD_DIR)) {
		struct span prefix = span_make(path.s, (size_t)(name.s + name.len - path.s));

		if (prefix.len == path.len)
			return refuse(
				b->c, line,
				"%s is a directory here, but line %u makes it a file (rename one)",
				quote(whole, path), b->row_line[ref]);
		return refuse(b->c, line,
			      "%s needs a directory %s, but line %u makes that a file (rename one)",
			      quote(whole, path), quote(part, prefix), b->row_line[ref]);
	}
	*ret_dir = ref & ~CHILD_DIR;
	return 0;
}

/* The directory that path is in, and what is left as its name. */
static int enter_parents(struct builder *b, uint32_t line, struct span path, uint32_t *ret_dir,
			 struct span *ret_name)
{
	const char *slash = memrchr(path.s, '/', path.len);
	struct span parents = span_make(path.s, slash ? (size_t)(slash - path.s) : 0);
	const char *at = parents.s, *end = parents.s + parents.len;
	uint32_t dir = 0;
	int r;

	*ret_name = slash ? span_make(slash + 1, path.len - parents.len - 1) : path;
	*ret_dir = 0;
	if (!slash)
		return 0;
	if (span_equal(parents, span_make(b->last_dir.s, b->last_dir.len))) {
		*ret_dir = b->last_dir_id;
		return 0;
	}
	for (;;) {
		const char *stop = memchr(at, '/', (size_t)(end - at));

		stop = stop ? stop : end;
		r = enter_dir(b, line, path, dir, span_make(at, (size_t)(stop - at)), &dir);
		if (r < 0)
			return r;
		if (stop == end)
			break;
		at = stop + 1;
	}
	strbuf_reset(&b->last_dir);
	strbuf_add(&b->last_dir, parents.s, parents.len);
	b->last_dir_id = dir;
	*ret_dir = dir;
	return strbuf_error(&b->last_dir);
}

/* ---- entries ---- */

static bool urls_equal(const struct entry *a, const struct entry *b)
{
	if (a->url_count != b->url_count)
		return false;
	for (unsigned int i = 0; i < a->url_count; i++) {
		if (strcmp(a->url[i], b->url[i]) != 0)
			return false;
	}
	return true;
}

static bool details_equal(const struct entry *a, const struct entry *b)
{
	if (a->size != b->size || a->mtime != b->mtime || a->mode != b->mode ||
	    a->slice.off != b->slice.off || a->slice.end != b->slice.end ||
	    !checksum_equal(&a->checksum, &b->checksum) || !text_equal(a->etag, b->etag) ||
	    !text_equal(a->id, b->id) || a->header_count != b->header_count)
		return false;
	for (unsigned int i = 0; i < a->header_count; i++) {
		if (strcmp(a->header[i], b->header[i]) != 0)
			return false;
	}
	return true;
}

/*
 * Would --layout=url tell d and first, which have one path now, apart? Not where both were named so
 * by the list, nor where their URLs differ in the query alone.
 */
static bool layout_helps(struct builder *b, const struct draft *d, const struct entry *first)
{
	struct span url = span_make(first->url[0], strlen(first->url[0]));
	const char *last = strrchr(first->path, '/');
	struct strbuf mine, other;
	bool helps;

	if (b->opt.layout == LAYOUT_URL)
		return false;
	strbuf_init(&mine, NAME_PATH_MAX + URL_MAX);
	strbuf_init(&other, NAME_PATH_MAX + URL_MAX);
	if (d->out.s)
		helps = name_of_url(b->c, d->line, url, LAYOUT_FLAT, &mine) == 0 &&
			strcmp(mine.s, last ? last + 1 : first->path) == 0;
	else
		helps = name_of_url(b->c, d->line, d->url[0], LAYOUT_URL, &mine) == 0 &&
			name_of_url(b->c, d->line, url, LAYOUT_URL, &other) == 0 &&
			strcmp(mine.s, other.s) != 0;
	strbuf_done(&mine);
	strbuf_done(&other);
	return helps;
}

/* A path that row old has already: the same entry again is dropped, another one refused. */
static int add_again(struct builder *b, const struct draft *d, uint32_t old, struct row *row)
{
	uint32_t line = b->row_line[old];
	struct entry first, second;
	char text[QUOTE_MAX];
	int r;

	entry_init(&first);
	entry_init(&second);
	r = unpack_row(b->m, &b->m->row[old], &first);
	if (r == 0)
		r = unpack_row(b->m, row, &second);
	if (r < 0)
		goto out;
	if (!urls_equal(&first, &second)) {
		r = refuse(b->c, d->line,
			   "%s is on line %u already, with another URL (%sgive one of them another "
			   "name with %s)",
			   quote(text, span_make(first.path, strlen(first.path))), line,
			   layout_helps(b, d, &first) ? "mount with --layout=url, or " : "",
			   b->c->path_key);
	} else if (!details_equal(&first, &second)) {
		r = refuse(b->c, d->line,
			   "%s is on line %u already, and the two say different things of it "
			   "(keep one)",
			   quote(text, span_make(first.path, strlen(first.path))), line);
	} else if (b->twice++ == 0) {
		b->twice_line[0] = line;
		b->twice_line[1] = d->line;
	}
out:
	entry_done(&first);
	entry_done(&second);
	return r;
}

/* ---- names and places ---- */

/* Directories of a list are directories already when something is in them, or when they come twice.
 */
static int add_directory(struct builder *b, const struct draft *d, struct span path)
{
	uint32_t dir;
	struct span name;
	int r = enter_parents(b, d->line, path, &dir, &name);

	return r < 0 ? r : enter_dir(b, d->line, path, dir, name, &dir);
}

static int add_file(struct builder *b, const struct draft *d, struct span path)
{
	struct manifest *m = b->m;
	uint32_t hash, ref;
	char shown[QUOTE_MAX];
	struct row row = {0};
	struct span name;
	int r;

	r = enter_parents(b, d->line, path, &row.dir, &name);
	if (r < 0)
		return r;
	hash = hash_of(b->seed, row.dir, name);
	ref = find_name(b, row.dir, name, hash);
	if (ref != HASH_NONE && ref & CHILD_DIR)
		return refuse(b->c, d->line,
			      "%s is a file, but line %u needs it as a directory (rename one)",
			      quote(shown, path), b->dir_line[ref & ~CHILD_DIR]);
	if (ref == HASH_NONE && m->count >= MANIFEST_ENTRIES_MAX)
		return refuse(b->c, d->line, "more than %" PRIu32 " entries (split the list)",
			      MANIFEST_ENTRIES_MAX);
	r = pack_row(&b->packer, d, name, &row);
	if (r < 0)
		return r;
	if (ref != HASH_NONE) {
		row.name = m->row[ref].name;
		return add_again(b, d, ref, &row);
	}
	r = contents_add(&b->contents, d, path, b->row_line);
	if (r == 0)
		r = row_room(b);
	if (r == 0)
		r = blob_add(&m->text, name, &row.name);
	if (r == 0)
		r = hash_add(&b->names, hash, m->count);
	if (r < 0)
		return r;
	b->row_line[m->count] = d->line;
	m->row[m->count++] = row;
	return 0;
}

/* dir and out, or dir and what the URL says. */
static int make_path(struct builder *b, const struct draft *d)
{
	strbuf_reset(&b->path);
	if (d->dir.len) {
		strbuf_add(&b->path, d->dir.s, d->dir.len);
		strbuf_addc(&b->path, '/');
	}
	if (d->out.s) {
		strbuf_add(&b->path, d->out.s, d->out.len);
		return strbuf_error(&b->path);
	}
	return name_of_url(b->c, d->line, d->url[0], b->opt.layout, &b->path);
}

int builder_add(struct builder *b, struct draft *d)
{
	struct span path;
	int r = draft_close(b->c, d);

	if (r == 0)
		r = make_path(b, d);
	if (r < 0)
		return r;
	path = span_make(b->path.s, b->path.len);
	r = name_check(b->c, d->line, path);
	if (r == 0)
		r = d->directory ? add_directory(b, d, path) : add_file(b, d, path);
	if (r == -EFBIG)
		r = refuse(b->c, d->line, "the list is too long to be held in memory (split it)");
	return r;
}

int builder_finish(struct builder *b, struct manifest **ret)
{
	struct manifest *m = b->m;
	int r;

	hash_done(&b->names);
	contents_done(&b->contents);
	blob_trim(&m->text);
	strtree_freeze(&m->strings);
	r = manifest_sort(m);
	if (r < 0)
		return r;
	if (b->twice)
		log_warn("%s:%u: %" PRIu32
			 " %s given more than once and taken once (the first: line %u and this "
			 "one)",
			 b->c->file, b->twice_line[1], b->twice,
			 b->twice == 1 ? "entry was" : "entries were", b->twice_line[0]);
	if (m->count == 0)
		log_warn("%s: no entries, the mount will be empty", b->c->file);
	b->m = NULL;
	*ret = m;
	return 0;
}
