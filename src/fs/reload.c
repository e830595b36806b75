/*
 * reload.c - a tree takes an edited manifest over while it is in use
 *
 * One caller at a time (the reload command holds the mount's turn); all other calls of the tree go
 * on. Most of the work, comparing two manifests, is done without the lock between two short looks
 * at the nodes: a node that is made in between is superseded, which costs the kernel one more
 * look-up and nothing else.
 */
#include "fs/nodes.h"

#define NOT_LIVE UINT32_MAX	  /* no node when we looked */
#define GONE	 (UINT32_MAX - 1) /* a node, but its name is gone or leads to something else */

struct remap {
	struct manifest *was, *now;
	uint32_t *file;	    /* by old index: the new one */
	uint32_t *dir;	    /* the same; never NOT_LIVE: every directory is followed */
	uint64_t *dir_node; /* by old index: its nodeid, 0 none */
	uint32_t *queue;    /* old directories, parents before children */
};

static void remap_done(struct remap *m)
{
	free(m->file);
	free(m->dir);
	free(m->dir_node);
	free(m->queue);
	manifest_put(m->was);
}

static int remap_init(struct remap *m, struct manifest *was, struct manifest *now)
{
	size_t files = manifest_count(was);
	size_t dirs = manifest_dir_count(was);

	*m = (struct remap){
		.was = was,
		.now = now,
		.file = calloc(files + 1, sizeof(*m->file)),
		.dir = calloc(dirs, sizeof(*m->dir)),
		.dir_node = calloc(dirs, sizeof(*m->dir_node)),
		.queue = calloc(dirs, sizeof(*m->queue)),
	};
	if (!m->file || !m->dir || !m->dir_node || !m->queue)
		return -ENOMEM;
	for (size_t i = 0; i < files; i++)
		m->file[i] = NOT_LIVE;
	for (size_t i = 1; i < dirs; i++)
		m->dir[i] = GONE;
	m->dir[0] = 0; /* the root is the root */
	return 0;
}

/* Which files does the kernel know? Those are GONE until compare() finds them again. */
static void mark_live(struct tree *t, struct remap *m)
{
	mtx_lock(&t->lock);
	for (struct node *n = nodes_next(&t->nodes, NULL); n; n = nodes_next(&t->nodes, n)) {
		if (!n->superseded && !n->directory)
			m->file[n->index] = GONE;
	}
	mtx_unlock(&t->lock);
}

static void compare(struct remap *m, const struct tree_replace_ops *ops)
{
	size_t head = 0, tail = 1; /* the queue starts as the root alone */

	while (head < tail) {
		uint32_t dir = m->queue[head++];
		uint32_t children = manifest_dir_children(m->was, dir);

		for (uint32_t nth = 0; nth < children; nth++) {
			struct manifest_child was, now;

			manifest_child(m->was, dir, nth, &was);
			if (was.directory)
				m->queue[tail++] = was.index;
			if (m->dir[dir] == GONE ||
			    (!was.directory && m->file[was.index] == NOT_LIVE))
				continue;
			if (manifest_lookup(m->now, m->dir[dir], was.name, was.name_len, &now) <
				    0 ||
			    now.directory != was.directory)
				continue;
			if (was.directory)
				m->dir[was.index] = now.index;
			else if (ops->same(ops->ctx, m->was, was.index, m->now, now.index))
				m->file[was.index] = now.index;
		}
	}
}

static void apply(struct tree *t, struct remap *m)
{
	mtx_lock(&t->lock);
	for (struct node *n = nodes_next(&t->nodes, NULL); n; n = nodes_next(&t->nodes, n)) {
		uint32_t *to;

		if (n->superseded)
			continue;
		to = n->directory ? &m->dir[n->index] : &m->file[n->index];
		if (*to == NOT_LIVE) /* looked up while we compared */
			*to = GONE;
		if (n->directory)
			m->dir_node[n->index] = n->id;
		if (*to == GONE)
			nodes_supersede(&t->nodes, n);
		else
			n->index = *to;
	}
	t->manifest = manifest_get(m->now);
	nodes_rekey(&t->nodes);
	mtx_unlock(&t->lock);
	manifest_put(m->was); /* the tree's own reference */
}

static void tell_name(const struct tree_replace_ops *ops, uint64_t parent,
		      const struct manifest_child *c)
{
	struct tree_stale s = {.parent = parent};

	s.len = min_u64(c->name_len, sizeof(s.name) - 1);
	memcpy(s.name, c->name, s.len);
	ops->tell(ops->ctx, &s);
}

/* Names that lead elsewhere or nowhere now, and those that are new and may be remembered as absent.
 */
static void tell_dir(const struct remap *m, const struct tree_replace_ops *ops, uint32_t dir)
{
	uint32_t children = manifest_dir_children(m->was, dir);
	uint64_t node = m->dir_node[dir];
	struct manifest_child c, was;

	for (uint32_t nth = 0; nth < children; nth++) {
		manifest_child(m->was, dir, nth, &c);
		if (c.directory ? m->dir_node[c.index] && m->dir[c.index] == GONE
				: m->file[c.index] == GONE)
			tell_name(ops, node, &c);
	}
	if (m->dir[dir] == GONE)
		return;
	children = manifest_dir_children(m->now, m->dir[dir]);
	for (uint32_t nth = 0; nth < children; nth++) {
		manifest_child(m->now, m->dir[dir], nth, &c);
		if (manifest_lookup(m->was, dir, c.name, c.name_len, &was) < 0)
			tell_name(ops, node, &c);
	}
	ops->tell_dir(ops->ctx, node);
}

int tree_replace(struct tree *t, struct manifest *now, const struct tree_replace_ops *ops)
{
	struct manifest *was = tree_manifest(t);
	uint32_t dirs = manifest_dir_count(was);
	struct remap m;
	int r;

	r = remap_init(&m, was, now);
	if (r < 0)
		goto out;
	mark_live(t, &m);
	compare(&m, ops);
	apply(t, &m);
	for (uint32_t dir = 0; dir < dirs; dir++) {
		if (m.dir_node[dir])
			tell_dir(&m, ops, dir);
	}
out:
	remap_done(&m);
	return r;
}
