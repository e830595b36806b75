/*
 * strings.h - many strings in few bytes: one block that grows, and a tree of shared prefixes
 *
 * For one thread while it is built; read-only and shared afterwards. What is found by content while
 * building (struct hash_index) is freed when the manifest is done.
 */
#ifndef MANIFEST_STRINGS_H
#define MANIFEST_STRINGS_H

#include "base/strbuf.h"

/* Bytes of somebody else, not terminated. s is NULL for "not given". */
struct span {
	const char *s;
	size_t len;
};

static inline struct span span_make(const char *s, size_t len)
{
	return (struct span){s, len};
}

static inline bool span_equal(struct span a, struct span b)
{
	return a.len == b.len && memcmp(a.s, b.s, a.len) == 0;
}

/* What JSON and line ends call white space. */
static inline bool byte_is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Any byte below space, or DEL. */
bool span_has_control(struct span text);
bool span_is_utf8(struct span text);

/* ---- varints: 7 bits a byte, low first ---- */
#define VARINT_MAX 10
size_t varint_put(uint8_t out[VARINT_MAX], uint64_t value);
uint64_t varint_get(const uint8_t **at);

/* ---- one block of bytes; offset 0 is never a string ---- */
struct blob {
	uint8_t *data;
	uint32_t len;
	uint32_t size;
};

/* Append length and bytes. 0 and *ret_off, -ENOMEM, or -EFBIG past 4 GiB. */
int blob_add(struct blob *b, struct span text, uint32_t *ret_off);
struct span blob_get(const struct blob *b, uint32_t off);
/* Give back what growing took too much. */
void blob_trim(struct blob *b);
void blob_done(struct blob *b);

/* ---- what has this hash? ---- */
#define HASH_NONE UINT32_MAX
struct hash_slot {
	uint32_t hash;
	uint32_t ref; /* HASH_NONE: free */
};
struct hash_index {
	struct hash_slot *slot;
	uint32_t mask;
	uint32_t used;
};

/* The hash of text beneath parent; seed is drawn anew for each manifest, so that nobody can plan
 * collisions. */
uint32_t hash_of(uint64_t seed, uint32_t parent, struct span text);
/* The next candidate with that hash, or HASH_NONE; *pos starts as the hash. */
uint32_t hash_next(const struct hash_index *h, uint32_t hash, uint32_t *pos);
/* 0 or -ENOMEM. ref is not HASH_NONE and not in it. */
int hash_add(struct hash_index *h, uint32_t hash, uint32_t ref);
void hash_done(struct hash_index *h);

/* ---- strings that continue other strings ---- */
#define STRTREE_DEPTH_MAX 32
#define STRTREE_NODES_MAX UINT32_C(16777216)
struct strtree_node {
	uint32_t parent;
	uint32_t text; /* in the blob */
};
/* Node 0 is the empty string. */
struct strtree {
	struct strtree_node *node;
	uint32_t count;
	uint32_t size;
	struct hash_index index;
};

/*
 * The node for text beneath parent, made when it is not there. 0, -ENOMEM, -EFBIG, or -ENOSPC:
 * there are STRTREE_NODES_MAX already (the caller keeps the text elsewhere).
 */
int strtree_intern(struct strtree *t, struct blob *b, uint64_t seed, uint32_t parent,
		   struct span text, uint32_t *ret_node);
/* Append the whole string of node to out. It is at most STRTREE_DEPTH_MAX deep. */
void strtree_append(const struct strtree *t, const struct blob *b, uint32_t node,
		    struct strbuf *out);
/* No more strtree_intern() after this. */
void strtree_freeze(struct strtree *t);
void strtree_done(struct strtree *t);

#endif
