/*
 * nodes.h - the table of nodes: by nodeid, by object, and the current one of an entry or directory
 *
 * Only tree.c and its reload use it, under the tree's lock.
 */
#ifndef FS_NODES_H
#define FS_NODES_H

#include "base/lock.h"
#include "fs/tree.h"

struct node {
	struct node *by_id;	 /* next in its chain */
	struct node *by_key;	 /* the same, while it is current */
	struct node *by_content; /* the same, a file's */
	uint64_t id, ino;
	uint64_t parent; /* nodeid it was last found under */
	uint64_t lookups;
	struct node_facts facts;
	uint32_t index;
	uint16_t perm;
	bool directory;
	bool superseded;
};

struct node_table {
	struct node **ids, **keys, **contents; /* chains; each of size buckets */
	size_t buckets;			       /* a power of two */
	size_t count;
};

struct tree {
	struct mtx lock; /* RANK_TREE; guards all below */
	struct manifest *manifest;
	struct node_table nodes;
	uint64_t next_id;
};

/* 0 or -ENOMEM. */
int nodes_init(struct node_table *t);
void nodes_done(struct node_table *t);
/* Grows the table when it is full; if there is no memory for that, chains get longer. */
void nodes_add(struct node_table *t, struct node *n);
/* Out of its chains and freed. */
void nodes_remove(struct node_table *t, struct node *n);
struct node *nodes_by_id(const struct node_table *t, uint64_t id);
struct node *nodes_current(const struct node_table *t, bool directory, uint32_t index);
/* The next one after that (NULL: the first) of the current ones of content. */
struct node *nodes_of_content(const struct node_table *t, uint64_t content,
			      const struct node *after);
/* No longer the current one of its name; it stays in the table until the kernel forgets it. */
void nodes_supersede(struct node_table *t, struct node *n);
/* Enter every node that is not superseded by its (changed) index again. */
void nodes_rekey(struct node_table *t);
/* Nodes in no order: start with NULL. */
struct node *nodes_next(const struct node_table *t, const struct node *n);

#endif
