/*
 * nodes.c - the table of nodes: by nodeid, by object, and the current one of an entry or directory
 *
 * Three chained hash tables of the same nodes. No lock of its own, no I/O: tree.c holds RANK_TREE.
 *
 * Always true:
 *   N1  every node is in the chain of its id; exactly the nodes that are not superseded are in a
 *       key chain, and of these the files in a content chain.
 *   N2  no two nodes in the key chains are of the same entry or directory.
 */
#include "fs/nodes.h"

#define BUCKETS_FIRST 64

/* ids are counted up, indices are dense: a multiplication spreads both (2^64 / golden ratio). */
static size_t bucket(const struct node_table *t, uint64_t value)
{
	return (size_t)((value * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (t->buckets - 1);
}

static size_t id_bucket(const struct node_table *t, uint64_t id)
{
	return bucket(t, id);
}

static size_t key_bucket(const struct node_table *t, bool directory, uint32_t index)
{
	return bucket(t, (uint64_t)index << 1 | directory);
}

int nodes_init(struct node_table *t)
{
	t->count = 0;
	t->buckets = BUCKETS_FIRST;
	t->ids = calloc(t->buckets, sizeof(*t->ids));
	t->keys = calloc(t->buckets, sizeof(*t->keys));
	t->contents = calloc(t->buckets, sizeof(*t->contents));
	if (t->ids && t->keys && t->contents)
		return 0;
	free(t->ids);
	free(t->keys);
	free(t->contents);
	return -ENOMEM;
}

void nodes_done(struct node_table *t)
{
	for (size_t i = 0; i < t->buckets; i++) {
		while (t->ids[i]) {
			struct node *n = t->ids[i];

			t->ids[i] = n->by_id;
			free(n);
		}
	}
	free(t->ids);
	free(t->keys);
	free(t->contents);
}

struct node *nodes_next(const struct node_table *t, const struct node *n)
{
	size_t i = 0;

	if (n) {
		if (n->by_id)
			return n->by_id;
		i = id_bucket(t, n->id) + 1;
	}
	for (; i < t->buckets; i++) {
		if (t->ids[i])
			return t->ids[i];
	}
	return NULL;
}

static void link_id(struct node_table *t, struct node *n)
{
	struct node **head = &t->ids[id_bucket(t, n->id)];

	n->by_id = *head;
	*head = n;
}

static void link_key(struct node_table *t, struct node *n)
{
	struct node **head = &t->keys[key_bucket(t, n->directory, n->index)];

	n->by_key = *head;
	*head = n;
	if (n->directory)
		return;
	head = &t->contents[bucket(t, n->facts.content)];
	n->by_content = *head;
	*head = n;
}

static void unlink_key(struct node_table *t, struct node *n)
{
	struct node **at = &t->keys[key_bucket(t, n->directory, n->index)];

	while (*at != n)
		at = &(*at)->by_key;
	*at = n->by_key;
	n->by_key = NULL;
	if (n->directory)
		return;
	at = &t->contents[bucket(t, n->facts.content)];
	while (*at != n)
		at = &(*at)->by_content;
	*at = n->by_content;
	n->by_content = NULL;
}

void nodes_rekey(struct node_table *t)
{
	memset(t->keys, 0, t->buckets * sizeof(*t->keys));
	memset(t->contents, 0, t->buckets * sizeof(*t->contents));
	for (struct node *n = nodes_next(t, NULL); n; n = nodes_next(t, n)) {
		n->by_key = NULL;
		n->by_content = NULL;
		if (!n->superseded)
			link_key(t, n);
	}
}

static void grow(struct node_table *t)
{
	size_t buckets = t->buckets;
	struct node **old = t->ids;
	struct node **ids = calloc(buckets * 2, sizeof(*ids));
	struct node **keys = calloc(buckets * 2, sizeof(*keys));
	struct node **contents = calloc(buckets * 2, sizeof(*contents));

	if (!ids || !keys || !contents) {
		free(ids);
		free(keys);
		free(contents);
		return;
	}
	free(t->keys);
	free(t->contents);
	t->ids = ids;
	t->keys = keys;
	t->contents = contents;
	t->buckets = buckets * 2;
	for (size_t i = 0; i < buckets; i++) {
		while (old[i]) {
			struct node *n = old[i];

			old[i] = n->by_id;
			link_id(t, n);
		}
	}
	free(old);
	nodes_rekey(t);
}

void nodes_add(struct node_table *t, struct node *n)
{
	if (t->count >= t->buckets)
		grow(t);
	link_id(t, n);
	if (!n->superseded)
		link_key(t, n);
	t->count++;
}

void nodes_remove(struct node_table *t, struct node *n)
{
	struct node **at = &t->ids[id_bucket(t, n->id)];

	if (!n->superseded)
		unlink_key(t, n);
	while (*at != n)
		at = &(*at)->by_id;
	*at = n->by_id;
	t->count--;
	free(n);
}

struct node *nodes_by_id(const struct node_table *t, uint64_t id)
{
	struct node *n = t->ids[id_bucket(t, id)];

	while (n && n->id != id)
		n = n->by_id;
	return n;
}

struct node *nodes_current(const struct node_table *t, bool directory, uint32_t index)
{
	struct node *n = t->keys[key_bucket(t, directory, index)];

	while (n && (n->directory != directory || n->index != index))
		n = n->by_key;
	return n;
}

struct node *nodes_of_content(const struct node_table *t, uint64_t content,
			      const struct node *after)
{
	struct node *n = after ? after->by_content : t->contents[bucket(t, content)];

	while (n && n->facts.content != content)
		n = n->by_content;
	return n;
}

void nodes_supersede(struct node_table *t, struct node *n)
{
	if (n->superseded)
		return;
	unlink_key(t, n);
	n->superseded = true;
}
