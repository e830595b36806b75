/*
 * contents.c - do entries that are one object agree?
 *
 * By what the engine takes for one (its identity.c): an id and a slice, a checksum, or a URL
 * without its user, with slice and headers but for those that tell who asks. Of entries with one id
 * or checksum each may be asked for by the URL of any, and with what belongs to that; of one URL
 * whoever is looked at first would decide whose credentials are sent.
 * Callers: builder.c, for each row.
 */
#include "manifest/contents.h"

#include "manifest/pack.h"

enum named_by { BY_ID, BY_CHECKSUM, BY_URL };
static const char *const name_of[] = {[BY_ID] = "id", [BY_CHECKSUM] = "checksum", [BY_URL] = "URL"};

/* Names of headers that tell who asks, not what is asked for. All others may change the answer. */
static const char *const who_asks[] = {"auth",	  "cookie",    "token",	     "key",    "secret",
				       "session", "signature", "user-agent", "referer"};

static bool names_content(struct span header)
{
	const char *colon = memchr(header.s, ':', header.len);
	size_t len = colon ? (size_t)(colon - header.s) : header.len;
	char name[64];

	if (len >= sizeof(name))
		return true;
	memcpy(name, header.s, len);
	name[len] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(who_asks); i++) {
		if (strcasestr(name, who_asks[i]))
			return false;
	}
	return true;
}

bool header_names_content(const char *header)
{
	return names_content(span_make(header, strlen(header)));
}

void contents_init(struct contents *k, const struct manifest *m, uint64_t seed, struct complaint *c)
{
	*k = (struct contents){.m = m, .seed = seed, .c = c};
	entry_init(&k->other);
}

void contents_done(struct contents *k)
{
	hash_done(&k->ids);
	hash_done(&k->checksums);
	hash_done(&k->urls);
	entry_done(&k->other);
}

/* ---- URLs without their user ---- */

/* "https://" and "host/path" of "https://user:password@host/path". */
static void cut_user(struct span url, struct span *ret_head, struct span *ret_tail)
{
	const char *slashes = memmem(url.s, url.len, "://", 3);
	const char *from = slashes ? slashes + 3 : url.s, *end = url.s + url.len, *stop, *at;

	for (stop = from; stop < end && !strchr("/?#", *stop); stop++)
		;
	at = memrchr(from, '@', (size_t)(stop - from));
	*ret_head = span_make(url.s, (size_t)(from - url.s));
	from = at ? at + 1 : from;
	*ret_tail = span_make(from, (size_t)(end - from));
}

static bool same_url(const struct draft *d, const struct entry *e)
{
	struct span head[2], tail[2];

	cut_user(d->url[0], &head[0], &tail[0]);
	cut_user(span_make(e->url[0], strlen(e->url[0])), &head[1], &tail[1]);
	return span_equal(head[0], head[1]) && span_equal(tail[0], tail[1]);
}

static bool same_header(struct span a, const char *b)
{
	return span_equal(a, span_make(b, strlen(b)));
}

/* Those that are no part of the identity are left out. */
static bool same_representation(const struct draft *d, const struct entry *e)
{
	unsigned int i = 0, n = 0;

	for (;; i++, n++) {
		while (i < d->header_count && !names_content(d->header[i]))
			i++;
		while (n < e->header_count && !header_names_content(e->header[n]))
			n++;
		if (i == d->header_count || n == e->header_count)
			return i == d->header_count && n == e->header_count;
		if (!same_header(d->header[i], e->header[n]))
			return false;
	}
}

static bool same_asker(const struct draft *d, const struct entry *e)
{
	if (!same_header(d->url[0], e->url[0]) || d->header_count != e->header_count)
		return false;
	for (unsigned int i = 0; i < d->header_count; i++) {
		if (!same_header(d->header[i], e->header[i]))
			return false;
	}
	return true;
}

/* ---- contents ---- */

static bool same_slice(const struct draft *d, const struct entry *e)
{
	return d->slice.off == e->slice.off && d->slice.end == e->slice.end;
}

static bool same_content(const struct draft *d, const struct entry *e, enum named_by by)
{
	switch (by) {
	case BY_ID:
		return e->id && same_slice(d, e) &&
		       span_equal(d->id, span_make(e->id, strlen(e->id)));
	case BY_CHECKSUM:
		return checksum_equal(&d->checksum, &e->checksum);
	case BY_URL:
		return same_slice(d, e) && same_url(d, e) && same_representation(d, e);
	}
	return false;
}

/* What of e, which is of the content that d names, can't be true together with d; NULL: nothing. */
static const char *contradiction(const struct draft *d, const struct entry *e, enum named_by by)
{
	if (d->size != SIZE_UNKNOWN && e->size != SIZE_UNKNOWN && d->size != e->size)
		return "another size";
	if (d->checksum.algo != CHECKSUM_NONE && e->checksum.algo != CHECKSUM_NONE &&
	    !checksum_equal(&d->checksum, &e->checksum))
		return "another checksum";
	return by == BY_URL && !same_asker(d, e) ? "other credentials or headers" : NULL;
}

static int agree(struct contents *k, const struct draft *d, struct span path, uint32_t line,
		 enum named_by by)
{
	const struct entry *e = &k->other;
	const char *what = contradiction(d, e, by);
	char mine[QUOTE_MAX], other[QUOTE_MAX];

	if (!what)
		return 0;
	return refuse(k->c, d->line, "%s has the %s of %s on line %u, but %s (%s)",
		      quote(mine, path), name_of[by],
		      quote(other, span_make(e->path, strlen(e->path))), line, what,
		      by == BY_ID	  ? "give each content an id of its own"
		      : by == BY_CHECKSUM ? "correct one of them"
					  : "give each an id of its own");
}

/*
 * d enters the table if it tells what those before it with that name do not: that there is one, its
 * size, its checksum.
 */
static int add(struct contents *k, const struct draft *d, struct span path,
	       const uint32_t *row_line, struct hash_index *index, uint32_t hash, enum named_by by)
{
	bool known = false, size = d->size == SIZE_UNKNOWN;
	bool checksum = d->checksum.algo == CHECKSUM_NONE;
	uint32_t pos = hash, ref;

	while ((ref = hash_next(index, hash, &pos)) != HASH_NONE) {
		int r = unpack_row(k->m, &k->m->row[ref], &k->other);

		if (r < 0)
			return r;
		if (!same_content(d, &k->other, by))
			continue;
		r = agree(k, d, path, row_line[ref], by);
		if (r < 0)
			return r;
		known = true;
		size |= k->other.size != SIZE_UNKNOWN;
		checksum |= k->other.checksum.algo != CHECKSUM_NONE;
	}
	return known && size && checksum ? 0 : hash_add(index, hash, k->m->count);
}

int contents_add(struct contents *k, const struct draft *d, struct span path,
		 const uint32_t *row_line)
{
	struct span head, tail;
	uint32_t hash;
	int r = 0;

	if (d->id.s)
		r = add(k, d, path, row_line, &k->ids,
			hash_of(k->seed, (uint32_t)(d->slice.off ^ d->slice.off >> 32), d->id),
			BY_ID);
	if (r == 0 && d->checksum.algo != CHECKSUM_NONE) {
		tail = span_make((const char *)d->checksum.value,
				 checksum_length(d->checksum.algo));
		r = add(k, d, path, row_line, &k->checksums, hash_of(k->seed, 0, tail),
			BY_CHECKSUM);
	}
	if (r == 0 && !d->id.s && d->checksum.algo == CHECKSUM_NONE) {
		cut_user(d->url[0], &head, &tail);
		hash = hash_of(k->seed, hash_of(k->seed, (uint32_t)d->slice.off, head), tail);
		for (unsigned int i = 0; i < d->header_count; i++) {
			if (names_content(d->header[i]))
				hash = hash_of(k->seed, hash, d->header[i]);
		}
		r = add(k, d, path, row_line, &k->urls, hash, BY_URL);
	}
	return r;
}
