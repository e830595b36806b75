/*
 * strings.c - many strings in few bytes: one block that grows, and a tree of shared prefixes
 * Callers: builder (fills), manifest (reads). Nothing here locks.
 */
#include "manifest/strings.h"

#include <assert.h>

#include <xxhash.h>

#define BLOB_SIZE_MIN  4096
#define HASH_SLOTS_MIN 64
#define NODES_MIN      64

bool span_has_control(struct span text)
{
	for (size_t i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.s[i];

		if (c < 0x20 || c == 0x7f)
			return true;
	}
	return false;
}

/* RFC 3629: no overlong forms, no surrogates, nothing past U+10FFFF. */
bool span_is_utf8(struct span text)
{
	const unsigned char *s = (const unsigned char *)text.s;
	const unsigned char *end = s + text.len;

	while (s < end) {
		unsigned int more;
		uint32_t code, least;

		if (*s < 0x80) {
			s++;
			continue;
		}
		if ((*s & 0xe0) == 0xc0)
			more = 1, code = *s & 0x1f, least = 0x80;
		else if ((*s & 0xf0) == 0xe0)
			more = 2, code = *s & 0x0f, least = 0x800;
		else if ((*s & 0xf8) == 0xf0)
			more = 3, code = *s & 0x07, least = 0x10000;
		else
			return false;
		if ((size_t)(end - s) <= more)
			return false;
		for (s++; more > 0; more--, s++) {
			if ((*s & 0xc0) != 0x80)
				return false;
			code = code << 6 | (*s & 0x3f);
		}
		if (code < least || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
			return false;
	}
	return true;
}

size_t varint_put(uint8_t out[VARINT_MAX], uint64_t value)
{
	size_t n = 0;

	for (; value >= 0x80; value >>= 7)
		out[n++] = (uint8_t)(value | 0x80);
	out[n++] = (uint8_t)value;
	return n;
}

uint64_t varint_get(const uint8_t **at)
{
	uint64_t value = 0;
	unsigned int shift = 0;

	for (; **at & 0x80; (*at)++, shift += 7)
		value |= (uint64_t)(**at & 0x7f) << shift;
	value |= (uint64_t) * *at << shift;
	(*at)++;
	return value;
}

static int blob_room(struct blob *b, size_t more)
{
	uint64_t want = (uint64_t)b->len + more;
	uint64_t size = b->size ? b->size : BLOB_SIZE_MIN;
	uint8_t *data;

	if (want <= b->size)
		return 0;
	if (want > UINT32_MAX)
		return -EFBIG;
	while (size < want)
		size += size / 2;
	size = min_u64(size, UINT32_MAX);
	data = realloc(b->data, size);
	if (!data)
		return -ENOMEM;
	b->data = data;
	b->size = (uint32_t)size;
	return 0;
}

int blob_add(struct blob *b, struct span text, uint32_t *ret_off)
{
	int r = blob_room(b, 1 + VARINT_MAX + text.len);

	if (r < 0)
		return r;
	if (b->len == 0)
		b->data[b->len++] = 0;
	*ret_off = b->len;
	b->len += (uint32_t)varint_put(b->data + b->len, text.len);
	if (text.len)
		memcpy(b->data + b->len, text.s, text.len);
	b->len += (uint32_t)text.len;
	return 0;
}

struct span blob_get(const struct blob *b, uint32_t off)
{
	const uint8_t *at = b->data + off;
	size_t len = varint_get(&at);

	return span_make((const char *)at, len);
}

void blob_trim(struct blob *b)
{
	uint8_t *data = b->len ? realloc(b->data, b->len) : NULL;

	if (data) {
		b->data = data;
		b->size = b->len;
	}
}

void blob_done(struct blob *b)
{
	free(b->data);
	*b = (struct blob){0};
}

uint32_t hash_of(uint64_t seed, uint32_t parent, struct span text)
{
	uint64_t hash = XXH3_64bits_withSeed(text.s, text.len,
					     seed ^ parent * UINT64_C(0x9e3779b97f4a7c15));

	return (uint32_t)(hash ^ hash >> 32);
}

uint32_t hash_next(const struct hash_index *h, uint32_t hash, uint32_t *pos)
{
	if (!h->slot)
		return HASH_NONE;
	for (;;) {
		const struct hash_slot *slot = &h->slot[*pos & h->mask];

		if (slot->ref == HASH_NONE)
			return HASH_NONE;
		(*pos)++;
		if (slot->hash == hash)
			return slot->ref;
	}
}

static void hash_place(struct hash_index *h, struct hash_slot slot)
{
	uint32_t pos = slot.hash;

	while (h->slot[pos & h->mask].ref != HASH_NONE)
		pos++;
	h->slot[pos & h->mask] = slot;
}

/* Twice the slots; a third of them stays free, so that runs stay short. */
static int hash_grow(struct hash_index *h)
{
	size_t old_count = h->slot ? (size_t)h->mask + 1 : 0;
	size_t count = old_count ? old_count * 2 : HASH_SLOTS_MIN;
	struct hash_slot *old = h->slot;

	h->slot = malloc(count * sizeof(*h->slot));
	if (!h->slot) {
		h->slot = old;
		return -ENOMEM;
	}
	memset(h->slot, 0xff, count * sizeof(*h->slot));
	h->mask = (uint32_t)(count - 1);
	for (size_t i = 0; i < old_count; i++) {
		if (old[i].ref != HASH_NONE)
			hash_place(h, old[i]);
	}
	free(old);
	return 0;
}

int hash_add(struct hash_index *h, uint32_t hash, uint32_t ref)
{
	int r;

	assert(ref != HASH_NONE);
	if (!h->slot || h->used >= h->mask / 3 * 2) {
		r = hash_grow(h);
		if (r < 0)
			return r;
	}
	hash_place(h, (struct hash_slot){hash, ref});
	h->used++;
	return 0;
}

void hash_done(struct hash_index *h)
{
	free(h->slot);
	*h = (struct hash_index){0};
}

static int strtree_room(struct strtree *t)
{
	uint32_t size = t->size ? t->size + t->size / 2 : NODES_MIN;
	struct strtree_node *node;

	if (t->count < t->size)
		return 0;
	node = realloc(t->node, size * sizeof(*node));
	if (!node)
		return -ENOMEM;
	t->node = node;
	t->size = size;
	if (t->count == 0)
		t->node[t->count++] = (struct strtree_node){0};
	return 0;
}

int strtree_intern(struct strtree *t, struct blob *b, uint64_t seed, uint32_t parent,
		   struct span text, uint32_t *ret_node)
{
	uint32_t hash = hash_of(seed, parent, text);
	uint32_t pos = hash;
	uint32_t ref, off;
	int r;

	while ((ref = hash_next(&t->index, hash, &pos)) != HASH_NONE) {
		if (t->node[ref].parent == parent &&
		    span_equal(blob_get(b, t->node[ref].text), text)) {
			*ret_node = ref;
			return 0;
		}
	}
	if (t->count >= STRTREE_NODES_MAX)
		return -ENOSPC;
	r = strtree_room(t);
	if (r == 0)
		r = blob_add(b, text, &off);
	if (r == 0)
		r = hash_add(&t->index, hash, t->count);
	if (r < 0)
		return r;
	t->node[t->count] = (struct strtree_node){.parent = parent, .text = off};
	*ret_node = t->count++;
	return 0;
}

void strtree_append(const struct strtree *t, const struct blob *b, uint32_t node,
		    struct strbuf *out)
{
	uint32_t chain[STRTREE_DEPTH_MAX];
	unsigned int depth = 0;

	for (; node; node = t->node[node].parent) {
		assert(depth < STRTREE_DEPTH_MAX);
		chain[depth++] = node;
	}
	while (depth > 0) {
		struct span text = blob_get(b, t->node[chain[--depth]].text);

		strbuf_add(out, text.s, text.len);
	}
}

void strtree_freeze(struct strtree *t)
{
	struct strtree_node *node = t->count ? realloc(t->node, t->count * sizeof(*node)) : NULL;

	hash_done(&t->index);
	if (node) {
		t->node = node;
		t->size = t->count;
	}
}

void strtree_done(struct strtree *t)
{
	hash_done(&t->index);
	free(t->node);
	*t = (struct strtree){0};
}
