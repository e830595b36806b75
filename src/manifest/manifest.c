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

#include "manifest/pack.h"
#include "manifest/store.h"

/* All strings of one entry at their largest, several times over: against our own mistakes. */
#define ENTRY_TEXT_MAX (4u << 20)

struct manifest *manifest_new(void)
{
	static atomic_uint_fast64_t made;
	struct manifest *m = calloc(1, sizeof(*m));

	if (m) {
		atomic_init(&m->refs, 1);
		m->serial = atomic_fetch_add(&made, 1);
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

bool manifest_newer(const struct manifest *m, const struct manifest *than)
{
	return m->serial > than->serial;
}

bool manifest_foreign(const struct manifest *m)
{
	return m->foreign;
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

int manifest_entry(const struct manifest *m, uint32_t index, struct entry *e)
{
	assert(index < m->count);
	return unpack_row(m, &m->row[index], e);
}

uint32_t manifest_dir_count(const struct manifest *m)
{
	return m->dir_count;
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
