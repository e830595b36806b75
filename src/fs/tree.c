/*
 * tree.c - names and nodes: what the kernel calls by number, and what stands behind it
 * Callers: fsops (every request), its notifier, reload.
 *
 * Always true, under t->lock:
 *   T1  the root is node 1, is never superseded and never freed.
 *   T2  any other node has lookups > 0: the kernel may use its id at any time, and after the last
 *       FORGET it is gone. Ids are counted up and never used twice.
 *   T3  the index of a node that is not superseded is one of t->manifest.
 */
#include "fs/tree.h"

#include <xxhash.h>

#include "fs/nodes.h"

/*
 * From the path alone: each name is hashed with its directory's number as the seed. 0 means "none"
 * and 1 is the root's.
 */
static uint64_t child_ino(uint64_t parent_ino, const char *name, size_t len)
{
	uint64_t ino = XXH3_64bits_withSeed(name, len, parent_ino);

	return ino > TREE_ROOT ? ino : ino + 2;
}

int tree_new(struct manifest *m, struct tree **ret)
{
	struct tree *t = calloc(1, sizeof(*t));
	struct node *root = calloc(1, sizeof(*root));

	if (!t || !root || nodes_init(&t->nodes) < 0) {
		free(t);
		free(root);
		return -ENOMEM;
	}
	mtx_init(&t->lock, RANK_TREE, "tree");
	t->manifest = manifest_get(m);
	root->id = root->ino = root->parent = TREE_ROOT;
	root->lookups = 1;
	root->directory = true;
	nodes_add(&t->nodes, root);
	t->next_id = TREE_ROOT + 1;
	*ret = t;
	return 0;
}

void tree_free(struct tree *t)
{
	if (!t)
		return;
	nodes_done(&t->nodes);
	manifest_put(t->manifest);
	mtx_done(&t->lock);
	free(t);
}

struct manifest *tree_manifest(struct tree *t)
{
	struct manifest *m;

	mtx_lock(&t->lock);
	m = manifest_get(t->manifest);
	mtx_unlock(&t->lock);
	return m;
}

size_t tree_count(struct tree *t)
{
	size_t n;

	mtx_lock(&t->lock);
	n = t->nodes.count;
	mtx_unlock(&t->lock);
	return n;
}

void tree_name_done(struct tree_name *n)
{
	if (n->manifest)
		manifest_put(n->manifest);
	n->manifest = NULL;
}

void node_view_done(struct node_view *v)
{
	tree_name_done(&v->name);
}

static void name_fill(struct tree_name *n, struct manifest *m, const struct manifest_child *c)
{
	n->manifest = manifest_get(m);
	n->index = c->index;
	n->directory = c->directory;
	n->perm = c->directory ? 0 : manifest_mode(m, c->index);
}

int tree_find(struct tree *t, uint64_t parent, const char *name, size_t len, struct tree_name *ret)
{
	struct manifest_child child;
	struct node *dir;
	int r;

	mtx_lock(&t->lock);
	dir = nodes_by_id(&t->nodes, parent);
	if (!dir) {
		r = -EINVAL;
	} else if (!dir->directory) {
		r = -ENOTDIR;
	} else if (dir->superseded) {
		r = -ENOENT;
	} else {
		r = manifest_lookup(t->manifest, dir->index, name, len, &child);
		if (r == 0) {
			name_fill(ret, t->manifest, &child);
			ret->parent = parent;
			ret->ino = child_ino(dir->ino, name, len);
		}
	}
	mtx_unlock(&t->lock);
	return r;
}

void tree_child(const struct node_view *dir, uint32_t nth, struct tree_name *ret,
		struct manifest_child *ret_child)
{
	manifest_child(dir->name.manifest, dir->name.index, nth, ret_child);
	name_fill(ret, dir->name.manifest, ret_child);
	ret->parent = dir->id;
	ret->ino = child_ino(dir->name.ino, ret_child->name, ret_child->name_len);
}

static void view_fill_locked(struct tree *t, const struct node *n, struct node_view *ret)
	REQUIRES(t->lock)
{
	ret->id = n->id;
	ret->name = (struct tree_name){
		.manifest = n->superseded ? NULL : manifest_get(t->manifest),
		.parent = n->parent,
		.ino = n->ino,
		.index = n->index,
		.directory = n->directory,
		.perm = n->perm,
	};
	ret->facts = n->facts;
	ret->superseded = n->superseded;
}

/* Does a node with facts a go on under b? The size of a direct one grows, and nothing else may
 * differ. */
static bool facts_equal(const struct node_facts *a, const struct node_facts *b)
{
	return a->generation == b->generation && a->mode == b->mode &&
	       (a->mode == NODE_DIRECT || a->size == b->size);
}

static struct node *node_new_locked(struct tree *t, const struct tree_name *name,
				    const struct node_facts *f) REQUIRES(t->lock)
{
	struct node *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	n->id = t->next_id++;
	n->ino = name->ino;
	n->index = name->index;
	n->directory = name->directory;
	n->perm = (uint16_t)name->perm;
	n->facts = *f;
	nodes_add(&t->nodes, n);
	return n;
}

int tree_enter(struct tree *t, const struct tree_name *name, const struct node_facts *f,
	       struct node_view *ret)
{
	struct node *n;
	int r = -EAGAIN;

	mtx_lock(&t->lock);
	if (name->manifest != t->manifest)
		goto out;
	n = nodes_current(&t->nodes, name->directory, name->index);
	if (n && !facts_equal(&n->facts, f)) {
		if (n->facts.generation > f->generation)
			goto out;
		nodes_supersede(&t->nodes, n);
		n = NULL;
	}
	if (!n)
		n = node_new_locked(t, name, f);
	if (!n) {
		r = -ENOMEM;
		goto out;
	}
	n->parent = name->parent;
	n->lookups++;
	view_fill_locked(t, n, ret);
	r = 0;
out:
	mtx_unlock(&t->lock);
	return r;
}

void tree_forget(struct tree *t, uint64_t id, uint64_t count)
{
	struct node *n;

	mtx_lock(&t->lock);
	n = id == TREE_ROOT ? NULL : nodes_by_id(&t->nodes, id);
	if (n) {
		n->lookups -= min_u64(n->lookups, count);
		if (n->lookups == 0)
			nodes_remove(&t->nodes, n);
	}
	mtx_unlock(&t->lock);
}

int tree_view(struct tree *t, uint64_t id, struct node_view *ret)
{
	const struct node *n;

	mtx_lock(&t->lock);
	n = nodes_by_id(&t->nodes, id);
	if (n)
		view_fill_locked(t, n, ret);
	mtx_unlock(&t->lock);
	return n ? 0 : -EINVAL;
}

void tree_supersede(struct tree *t, uint64_t id)
{
	struct node *n;

	mtx_lock(&t->lock);
	n = id == TREE_ROOT ? NULL : nodes_by_id(&t->nodes, id);
	if (n)
		nodes_supersede(&t->nodes, n);
	mtx_unlock(&t->lock);
}

/* What the kernel has of n, which is current. 0 or -ENOMEM. */
static int stale_fill_locked(struct tree *t, const struct node *n, struct tree_stale *ret)
	REQUIRES(t->lock)
{
	const char *name;
	struct entry e;
	int r;

	entry_init(&e);
	r = manifest_entry(t->manifest, n->index, &e);
	if (r == 0) {
		name = strrchr(e.path, '/');
		name = name ? name + 1 : e.path;
		ret->parent = n->parent;
		ret->node = n->id;
		ret->len = strnlen(name, sizeof(ret->name) - 1);
		memcpy(ret->name, name, ret->len);
	}
	entry_done(&e);
	return r;
}

int tree_changed(struct tree *t, const struct node_facts *f, struct tree_stale **ret,
		 size_t *ret_count)
{
	struct node *n, *next;
	struct tree_stale *list;
	size_t room = 0, count = 0;
	int r = -ENOMEM;

	mtx_lock(&t->lock);
	for (n = nodes_of_content(&t->nodes, f->content, NULL); n;
	     n = nodes_of_content(&t->nodes, f->content, n))
		room++;
	list = calloc(room + 1, sizeof(*list));
	if (!list)
		goto out;
	for (n = nodes_of_content(&t->nodes, f->content, NULL); n; n = next) {
		next = nodes_of_content(&t->nodes, f->content, n);
		r = stale_fill_locked(t, n, &list[count]);
		if (r < 0)
			goto out;
		list[count].changed = !facts_equal(&n->facts, f);
		if (list[count++].changed)
			nodes_supersede(&t->nodes, n);
	}
	*ret = list;
	*ret_count = count;
	list = NULL;
	r = 0;
out:
	mtx_unlock(&t->lock);
	free(list);
	return r;
}
