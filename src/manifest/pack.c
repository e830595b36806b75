/*
 * pack.c - what an entry says, in few bytes and back
 * Callers: builder (packs, one thread), manifest (unpacks, any thread).
 *
 * A URL is a node for what it begins with, shared by all that begin so, and a tail, which mostly is
 * the name and then takes nothing. What few entries have is one string of its own, the extra.
 */
#include "manifest/pack.h"

#include <assert.h>

#include "core/url.h"
#include "manifest/names.h"

/* A row's extra: mirrors and headers at their largest. */
#define EXTRA_MAX (1u << 20)

/* The bits of an extra's first byte; the fields follow in this order. */
enum extra_bit {
	EXTRA_URLS = 1,	    /* count, and of each prefix, length + 1 (0: tail is the name), tail */
	EXTRA_CHECKSUM = 2, /* algorithm, value */
	EXTRA_ETAG = 4,	    /* length, text */
	EXTRA_ID = 8,	    /* length, text */
	EXTRA_SLICE = 16,   /* first byte, length (0: all the rest) */
	EXTRA_HEADERS = 32, /* count, and of each its node of strings */
};

void pack_init(struct packer *p, struct manifest *m, uint64_t seed, struct complaint *c)
{
	*p = (struct packer){.m = m, .seed = seed, .c = c};
	strbuf_init(&p->extra, EXTRA_MAX);
	strbuf_init(&p->header, HEADER_TEXT_MAX + 2);
	strbuf_init(&p->last_prefix, URL_MAX);
}

void pack_done(struct packer *p)
{
	strbuf_done(&p->extra);
	strbuf_done(&p->header);
	strbuf_done(&p->last_prefix);
}

/* ---- in ---- */

/* Where the path of url ends, and so the part that others may share. */
static size_t path_end(struct span url)
{
	size_t len = 0;

	while (len < url.len && url.s[len] != '?' && url.s[len] != '#')
		len++;
	return len;
}

/* The node for what url begins with, up to the last slash of its path, and how much that is. */
static int intern_prefix(struct packer *p, struct span url, uint32_t *ret_node, size_t *ret_len)
{
	const char *slash = memrchr(url.s, '/', path_end(url));
	size_t len = slash ? (size_t)(slash + 1 - url.s) : 0;
	struct span prefix = span_make(url.s, len);
	size_t done = 0, stop = 0;
	uint32_t node = 0;
	int r;

	if (span_equal(prefix, span_make(p->last_prefix.s, p->last_prefix.len))) {
		*ret_node = p->last_prefix_node;
		*ret_len = p->last_prefix_len;
		return 0;
	}
	for (unsigned int depth = 0; done < len && depth < STRTREE_DEPTH_MAX; depth++) {
		/* The first piece is "scheme://host/", checked to be there. */
		stop = depth == 0 ? (size_t)((const char *)memchr(url.s, ':', len) + 3 - url.s)
				  : done;
		if (stop >= len)
			break; /* "scheme://host" without a path */
		stop = (size_t)((const char *)memchr(url.s + stop, '/', len - stop) + 1 - url.s);
		r = strtree_intern(&p->m->strings, &p->m->text, p->seed, node,
				   span_make(url.s + done, stop - done), &node);
		if (r == -ENOSPC)
			break;
		if (r < 0)
			return r;
		done = stop;
	}
	strbuf_reset(&p->last_prefix);
	strbuf_add(&p->last_prefix, prefix.s, prefix.len);
	p->last_prefix_node = node;
	p->last_prefix_len = done;
	*ret_node = node;
	*ret_len = done;
	return strbuf_error(&p->last_prefix);
}

static void extra_varint(struct strbuf *extra, uint64_t value)
{
	uint8_t bytes[VARINT_MAX];

	strbuf_add(extra, bytes, varint_put(bytes, value));
}

/* All URLs but the first. */
static int put_mirrors(struct packer *p, const struct draft *d, struct span name)
{
	extra_varint(&p->extra, d->url_count - 1);
	for (unsigned int i = 1; i < d->url_count; i++) {
		struct span tail;
		uint32_t node;
		size_t len;
		int r = intern_prefix(p, d->url[i], &node, &len);

		if (r < 0)
			return r;
		tail = span_make(d->url[i].s + len, d->url[i].len - len);
		extra_varint(&p->extra, node);
		if (span_equal(tail, name)) {
			extra_varint(&p->extra, 0);
			continue;
		}
		extra_varint(&p->extra, tail.len + 1);
		strbuf_add(&p->extra, tail.s, tail.len);
	}
	return 0;
}

static int put_headers(struct packer *p, const struct draft *d)
{
	extra_varint(&p->extra, d->header_count);
	for (unsigned int i = 0; i < d->header_count; i++) {
		struct span name, value;
		uint32_t node;
		int r = name_check_header(p->c, d->line, d->header[i], &name, &value);

		if (r < 0)
			return r;
		strbuf_reset(&p->header);
		strbuf_add(&p->header, name.s, name.len);
		strbuf_adds(&p->header, ": ");
		strbuf_add(&p->header, value.s, value.len);
		if (strbuf_error(&p->header))
			return strbuf_error(&p->header);
		r = strtree_intern(&p->m->strings, &p->m->text, p->seed, 0,
				   span_make(p->header.s, p->header.len), &node);
		if (r == -ENOSPC)
			return refuse(p->c, d->line,
				      "too many different headers and URLs (split the list)");
		if (r < 0)
			return r;
		extra_varint(&p->extra, node);
	}
	return 0;
}

static void put_text(struct strbuf *extra, struct span text, const char *before, const char *after)
{
	extra_varint(extra, strlen(before) + text.len + strlen(after));
	strbuf_adds(extra, before);
	strbuf_add(extra, text.s, text.len);
	strbuf_adds(extra, after);
}

static unsigned int extra_bits(const struct draft *d)
{
	bool sliced = d->slice.off != 0 || d->slice.end != SIZE_UNKNOWN;

	return (d->url_count > 1 ? EXTRA_URLS : 0u) | (d->checksum.algo ? EXTRA_CHECKSUM : 0u) |
	       (d->etag.s ? EXTRA_ETAG : 0u) | (d->id.s ? EXTRA_ID : 0u) |
	       (sliced ? EXTRA_SLICE : 0u) | (d->header_count ? EXTRA_HEADERS : 0u);
}

/* What few entries have, in the order of enum extra_bit. */
static int put_extra(struct packer *p, const struct draft *d, struct span name, uint32_t *ret_extra)
{
	unsigned int bits = extra_bits(d);
	int r = 0;

	*ret_extra = 0;
	if (!bits)
		return 0;
	strbuf_reset(&p->extra);
	strbuf_addc(&p->extra, (char)bits);
	if (bits & EXTRA_URLS)
		r = put_mirrors(p, d, name);
	if (bits & EXTRA_CHECKSUM) {
		strbuf_addc(&p->extra, (char)d->checksum.algo);
		strbuf_add(&p->extra, d->checksum.value, checksum_length(d->checksum.algo));
	}
	if (bits & EXTRA_ETAG) {
		bool quoted = memchr(d->etag.s, '"', d->etag.len);

		put_text(&p->extra, d->etag, quoted ? "" : "\"", quoted ? "" : "\"");
	}
	if (bits & EXTRA_ID)
		put_text(&p->extra, d->id, "", "");
	if (bits & EXTRA_SLICE) {
		extra_varint(&p->extra, d->slice.off);
		extra_varint(&p->extra, d->slice.end == SIZE_UNKNOWN ? 0 : range_len(d->slice));
	}
	if (r == 0 && bits & EXTRA_HEADERS)
		r = put_headers(p, d);
	if (r == 0)
		r = strbuf_error(&p->extra);
	if (r == 0)
		r = blob_add(&p->m->text, span_make(p->extra.s, p->extra.len), ret_extra);
	return r;
}

/* All of the row but its place in the tree; name is what URLs are compared with. */
int pack_row(struct packer *p, const struct draft *d, struct span name, struct row *row)
{
	struct span tail;
	size_t len;
	int r;

	row->size = d->size;
	row->mtime = d->mtime;
	row->mode = (uint16_t)d->mode;
	row->tail = TAIL_IS_NAME;
	r = intern_prefix(p, d->url[0], &row->prefix, &len);
	if (r < 0)
		return r;
	tail = span_make(d->url[0].s + len, d->url[0].len - len);
	if (!span_equal(tail, name))
		r = blob_add(&p->m->text, tail, &row->tail);
	return r < 0 ? r : put_extra(p, d, name, &row->extra);
}

/* ---- and out ---- */

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

int unpack_row(const struct manifest *m, const struct row *row, struct entry *e)
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
