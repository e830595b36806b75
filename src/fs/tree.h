/*
 * tree.h - names and nodes: what the kernel calls by number, and what stands behind it
 *
 * Knows manifests, not FUSE. A node exists only while the kernel holds look-ups of it, so that 10^6
 * entries nobody looked at cost nothing here. Any thread may call; each call takes the tree's lock
 * (RANK_TREE) for a short time and never sleeps otherwise.
 *
 *   node       a nodeid: one path, one version (generation) and one mode of reading, for its whole
 * life superseded a node whose name leads elsewhere by now (new version, removed from the
 * manifest). What has it open goes on; an open of it is ESTALE; nothing else is special about it
 *   ino        st_ino: made from the path alone, so that it survives remounts and edits
 */
#ifndef FS_TREE_H
#define FS_TREE_H

#include "manifest/manifest.h"

struct tree;

#define TREE_ROOT UINT64_C(1) /* nodeid and ino of the root */

/* How the kernel reads a node. It follows from the nodeid alone, never from the present state. */
enum node_mode {
	NODE_CACHED, /* through the page cache; the size is known */
	NODE_DIRECT, /* direct I/O: the server gives no length, the size is what has come so far */
};

/* What a node shows, fixed when it is made (the size of a NODE_DIRECT grows). */
struct node_facts {
	uint64_t content;    /* of which object it is, by whatever name; 0 for directories */
	uint64_t generation; /* of the object, 0 for directories */
	uint64_t size;
	int64_t mtime;
	enum node_mode mode;
};

/* A name of the current manifest. Holds a reference to it: tree_name_done(). */
struct tree_name {
	struct manifest *manifest;
	uint64_t parent; /* nodeid of the directory it was found in */
	uint64_t ino;
	uint32_t index; /* of the entry, or of the directory */
	bool directory;
	unsigned int perm; /* the manifest's mode, 0: not given */
};

/* A node as it was when asked. Holds a reference to the manifest unless superseded:
 * node_view_done(). */
struct node_view {
	uint64_t id;
	struct tree_name name; /* of a superseded one: manifest is NULL, index means nothing */
	struct node_facts facts;
	bool superseded;
};

/* Takes a reference to m. 0 or -ENOMEM. */
int tree_new(struct manifest *m, struct tree **ret);
/* With all its nodes, whatever look-ups the kernel still counts. NULL is fine. */
void tree_free(struct tree *t);
/* The current manifest, one more reference. */
struct manifest *tree_manifest(struct tree *t);
/* Nodes in memory, the root among them. */
size_t tree_count(struct tree *t);

/* 0, -ENOENT (also below what is superseded), -ENOTDIR, or -EINVAL: no such nodeid. */
int tree_find(struct tree *t, uint64_t parent, const char *name, size_t len, struct tree_name *ret);
/* The nth child of an open directory, in the manifest it was opened with (not superseded). Takes no
 * lock. */
void tree_child(const struct node_view *dir, uint32_t nth, struct tree_name *ret,
		struct manifest_child *ret_child);
void tree_name_done(struct tree_name *n);

/*
 * The kernel is about to be given the node of n with these facts: one more look-up is counted on
 * it. The node is made if there is none; one with other facts is superseded first. -EAGAIN: the
 * manifest was replaced, or the node is of a later generation than f (ask again for both); -ENOMEM.
 */
int tree_enter(struct tree *t, const struct tree_name *n, const struct node_facts *f,
	       struct node_view *ret);
/* The kernel forgets count look-ups of id. */
void tree_forget(struct tree *t, uint64_t id, uint64_t count);
/* 0 or -EINVAL: no such nodeid. */
int tree_view(struct tree *t, uint64_t id, struct node_view *ret);
void node_view_done(struct node_view *v);

/* A name the kernel knows and should forget: notify_inval_entry(parent, name). */
struct tree_stale {
	uint64_t parent;
	uint64_t node;	/* what the name led to; 0: nothing */
	bool changed;	/* that had other facts, and is superseded */
	char name[256]; /* terminated */
	size_t len;
};

/*
 * The object of f->content has these facts now: nodes that have others are superseded. 0 and what
 * the kernel has of it, by every name, to be freed; -ENOMEM: each is superseded when it is opened.
 */
int tree_changed(struct tree *t, const struct node_facts *f, struct tree_stale **ret,
		 size_t *ret_count);
/* An open found the object at another version: id is superseded from now on. */
void tree_supersede(struct tree *t, uint64_t id);

/*
 * Take m over (a reference is taken). Nodes of a name that is in both and that same() calls
 * unchanged live on; others are superseded. tell() is called afterwards, without the lock, for each
 * name the kernel may know wrongly, then tell_dir() for each directory whose listing it may have
 * kept. 0 or -ENOMEM (nothing changed).
 */
struct tree_replace_ops {
	bool (*same)(void *ctx, struct manifest *was, uint32_t was_index, struct manifest *now,
		     uint32_t now_index);
	void (*tell)(void *ctx, const struct tree_stale *stale);
	void (*tell_dir)(void *ctx, uint64_t id);
	void *ctx;
};
int tree_replace(struct tree *t, struct manifest *m, const struct tree_replace_ops *ops);

#endif
