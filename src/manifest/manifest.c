/*
 * manifest.c - a loaded list: entries by index, names as a tree
 * Callers: engine, fs, cli, any thread; builder makes it.
 *
 * Always true once built:
 *   M1  rows are sorted by path, component by component.
 *   M2  the children of a directory are consecutive in child[] and sorted by name, each name once.
 *   M3  a directory comes after its parent; none is deeper than NAME_DEPTH_MAX.
 *   M4  nothing changes until the last reference goes.
 */
#include "manifest/manifest.h"

#include <assert.h>

#include "core/url.h"
#include "manifest/names.h"
#include "manifest/store.h"

/* All strings of one entry at their largest, several times over: a bound against our own mistakes.
 */
#define ENTRY_TEXT_MAX (4u << 20)

struct manifest *manifest_new(void)
{
	struct manifest *m = calloc(1, sizeof(*m));

	if (m) {
		atomic_init(&m->refs, 1);
		m->default_mtime = MANIFEST_NO_TIME;
	}
	return m;
}

struct manifest *manifest_get(struct manifest *m)
{
	atomic_fetch_add_explicit(&m->refs, 1, memory_order_relaxed);
	return m;
}

void manifest_put(struct manifest *m)
{
	if (!m || atomic_fetch_sub_explicit(&m->refs, 1, memory_order_acq_rel) != 1)
		return;
	blob_done(&m->text);
	strtree_done(&m->strings);
	free(m->row);
	free(m->dir);
	free(m->child);
	free(m);
}

uint32_t manifest_count(const struct manifest *m)
{
	return m->count;
}

uint64_t manifest_size(const struct manifest *m, uint32_t index)
{
	assert(index < m->count);
	return m->row[index].size;
}

int64_t manifest_mtime(const struct manifest *m, uint32_t index)
{
	assert(index < m->count);
	return m->row[index].mtime == MANIFEST_NO_TIME ? m->default_mtime : m->row[index].mtime;
}

unsigned int manifest_mode(const struct manifest *m, uint32_t index)
{
	assert(index < m->count);
	return m->row[index].mode;
}

void entry_init(struct entry *e)
{
	memset(e, 0, sizeof(*e));
	e->size = SIZE_UNKNOWN;
	e->mtime = MANIFEST_NO_TIME;
	e->slice.end = SIZE_UNKNOWN;
	strbuf_init(&e->text, ENTRY_TEXT_MAX);
}

void entry_done(struct entry *e)
{
	strbuf_done(&e->text);
	entry_init(e);
}

/* Where the strings of an entry start in its text, until that has stopped moving. */
struct entry_offsets {
	size_t url[MANIFEST_URLS_MAX];
	size_t header[MANIFEST_HEADERS_MAX];
	size_t etag;
	size_t id;
};

/* Close the string that was appended last. */
static void text_end(struct strbuf *text)
{
	strbuf_addc(text, '\0');
}

static void add_path(const struct manifest *m, const struct row *row, struct strbuf *text)
{
	uint32_t chain[NAME_DEPTH_MAX];
	unsigned int depth = 0;
	struct span name;

	for (uint32_t dir = row->dir; dir; dir = m->dir[dir].parent) {
		assert(depth < NAME_DEPTH_MAX);
		chain[depth++] = dir;
	}
	while (depth > 0) {
		name = blob_get(&m->text, m->dir[chain[--depth]].name);
		strbuf_add(text, name.s, name.len);
		strbuf_addc(text, '/');
	}
	name = blob_get(&m->text, row->name);
	strbuf_add(text, name.s, name.len);
	text_end(text);
}

static size_t add_url(const struct manifest *m, uint32_t prefix, struct span tail,
		      struct strbuf *text)
{
	size_t start = text->len;

	strtree_append(&m->strings, &m->text, prefix, text);
	strbuf_add(text, tail.s, tail.len);
	text_end(text);
	return start;
}

/* length and text, at *at */
static struct span extra_text(const uint8_t **at)
{
	size_t len = varint_get(at);
	struct span text = span_make((const char *)*at, len);

	*at += len;
	return text;
}

static size_t add_extra_text(const uint8_t **at, struct strbuf *text)
{
	struct span part = extra_text(at);
	size_t start = text->len;

	strbuf_add(text, part.s, part.len);
	text_end(text);
	return start;
}

static void extra_urls(const struct manifest *m, const struct row *row, const uint8_t **at,
		       struct entry *e, struct entry_offsets *offs)
{
	for (uint64_t n = varint_get(at); n > 0; n--) {
		uint32_t prefix = (uint32_t)varint_get(at);
		size_t len = varint_get(at);
		struct span tail =
			len ? span_make((const char *)*at, len - 1) : blob_get(&m->text, row->name);

		if (len)
			*at += len - 1;
		offs->url[e->url_count++] = add_url(m, prefix, tail, &e->text);
	}
}

static void extra_headers(const struct manifest *m, const uint8_t **at, struct entry *e,
			  struct entry_offsets *offs)
{
	for (uint64_t n = varint_get(at); n > 0; n--) {
		offs->header[e->header_count++] = e->text.len;
		strtree_append(&m->strings, &m->text, (uint32_t)varint_get(at), &e->text);
		text_end(&e->text);
	}
}

/* The order is that of enum extra_bit. Returns the bits. */
static unsigned int extra_read(const struct manifest *m, const struct row *row, struct entry *e,
			       struct entry_offsets *offs)
{
	const uint8_t *at = (const uint8_t *)blob_get(&m->text, row->extra).s;
	unsigned int bits = *at++;

	if (bits & EXTRA_URLS)
		extra_urls(m, row, &at, e, offs);
	if (bits & EXTRA_CHECKSUM) {
		e->checksum.algo = (enum checksum_algo) * at++;
		memcpy(e->checksum.value, at, checksum_length(e->checksum.algo));
		at += checksum_length(e->checksum.algo);
	}
	if (bits & EXTRA_ETAG)
		offs->etag = add_extra_text(&at, &e->text);
	if (bits & EXTRA_ID)
		offs->id = add_extra_text(&at, &e->text);
	if (bits & EXTRA_SLICE) {
		uint64_t len;

		e->slice.off = varint_get(&at);
		len = varint_get(&at);
		e->slice.end = len ? e->slice.off + len : SIZE_UNKNOWN;
	}
	if (bits & EXTRA_HEADERS)
		extra_headers(m, &at, e, offs);
	return bits;
}

int manifest_row_entry(const struct manifest *m, const struct row *row, struct entry *e)
{
	struct strbuf text = e->text;
	struct entry_offsets offs = {.etag = 0, .id = 0};
	unsigned int bits = 0;

	strbuf_reset(&text);
	memset(e, 0, sizeof(*e));
	e->text = text;
	e->directory = row->directory;
	e->size = row->size;
	e->mtime = row->mtime;
	e->mode = row->mode;
	e->slice.end = SIZE_UNKNOWN;
	add_path(m, row, &e->text);
	if (!row->directory)
		offs.url[e->url_count++] =
			add_url(m, row->prefix,
				blob_get(&m->text,
					 row->tail == TAIL_IS_NAME ? row->name : row->tail),
				&e->text);
	if (row->extra)
		bits = extra_read(m, row, e, &offs);
	if (strbuf_error(&e->text))
		return strbuf_error(&e->text);

	e->path = e->text.s;
	for (unsigned int i = 0; i < e->url_count; i++)
		e->url[i] = e->text.s + offs.url[i];
	for (unsigned int i = 0; i < e->header_count; i++)
		e->header[i] = e->text.s + offs.header[i];
	if (bits & EXTRA_ETAG)
		e->etag = e->text.s + offs.etag;
	if (bits & EXTRA_ID)
		e->id = e->text.s + offs.id;
	return 0;
}

int manifest_entry(const struct manifest *m, uint32_t index, struct entry *e)
{
	assert(index < m->count);
	return manifest_row_entry(m, &m->row[index], e);
}

uint32_t manifest_dir_count(const struct manifest *m)
{
	return m->dir_count;
}

uint32_t manifest_dir_parent(const struct manifest *m, uint32_t dir)
{
	assert(dir < m->dir_count);
	return m->dir[dir].parent;
}

uint32_t manifest_dir_children(const struct manifest *m, uint32_t dir)
{
	assert(dir < m->dir_count);
	return m->dir[dir + 1].first - m->dir[dir].first;
}

void manifest_child(const struct manifest *m, uint32_t dir, uint32_t nth,
		    struct manifest_child *ret)
{
	uint32_t ref;
	struct span name;

	assert(nth < manifest_dir_children(m, dir));
	ref = m->child[m->dir[dir].first + nth];
	ret->directory = ref & CHILD_DIR;
	ret->index = ref & ~CHILD_DIR;
	name = blob_get(&m->text,
			ret->directory ? m->dir[ret->index].name : m->row[ret->index].name);
	ret->name = name.s;
	ret->name_len = name.len;
}

int manifest_lookup(const struct manifest *m, uint32_t dir, const char *name, size_t len,
		    struct manifest_child *ret)
{
	uint32_t low = 0, high = manifest_dir_children(m, dir);

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		struct manifest_child child;
		int order;

		manifest_child(m, dir, middle, &child);
		order = memcmp(name, child.name, min_u64(len, child.name_len));
		if (order == 0 && len == child.name_len) {
			*ret = child;
			return 0;
		}
		if (order > 0 || (order == 0 && len > child.name_len))
			low = middle + 1;
		else
			high = middle;
	}
	return -ENOENT;
}
