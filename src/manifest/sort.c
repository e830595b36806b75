/*
 * sort.c - puts the rows and directories of a manifest in order, once, when it is built
 * Callers: builder_finish(). Afterwards M1 to M3 of manifest.c hold.
 */
#include <assert.h>

#include "manifest/names.h"
#include "manifest/store.h"

/* A child with the eight bytes that tell most names apart: those behind what all its siblings
 * share. */
struct sort_item {
	uint64_t key;
	uint32_t ref;
};

struct sorter {
	struct manifest *m;
	/* The tree in its old numbering: as in struct manifest, with one more first. */
	uint32_t *first;
	uint32_t *child;
	struct sort_item *item; /* room for the largest directory */
	/* The tree in its new order. */
	struct row *row;
	struct dir *dir;
	uint32_t *new_child;
	uint32_t row_count;
	uint32_t dir_count;
	uint32_t child_count;
};

static struct span child_name(const struct manifest *m, uint32_t ref)
{
	uint32_t name = ref & CHILD_DIR ? m->dir[ref & ~CHILD_DIR].name : m->row[ref].name;

	return blob_get(&m->text, name);
}

static int span_compare(struct span a, struct span b)
{
	int order = memcmp(a.s, b.s, min_u64(a.len, b.len));

	return order ? order : (a.len > b.len) - (a.len < b.len);
}

static int item_compare(const void *pa, const void *pb, void *ctx)
{
	const struct sort_item *a = pa, *b = pb;
	const struct manifest *m = ctx;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return span_compare(child_name(m, a->ref), child_name(m, b->ref));
}

/* How many bytes all names of the n children begin with; *ret_sorted: they are in order already. */
static size_t common_prefix(const struct manifest *m, const uint32_t *child, uint32_t n,
			    bool *ret_sorted)
{
	struct span last = child_name(m, child[0]);
	size_t common = last.len;

	*ret_sorted = true;
	for (uint32_t i = 1; i < n; i++) {
		struct span name = child_name(m, child[i]);
		size_t same = 0;

		if (*ret_sorted && span_compare(last, name) > 0)
			*ret_sorted = false;
		while (same < common && same < name.len && name.s[same] == last.s[same])
			same++;
		common = same;
		last = name;
	}
	return common;
}

/* The next eight bytes after skip as a number that sorts like them; names have no NUL, so zeros
 * pad. */
static uint64_t sort_key(struct span name, size_t skip)
{
	uint64_t key = 0;

	for (size_t i = skip; i < skip + 8; i++)
		key = key << 8 | (i < name.len ? (unsigned char)name.s[i] : 0);
	return key;
}

static void sort_children(struct sorter *s, uint32_t *child, uint32_t n)
{
	bool sorted = true;
	size_t skip;

	if (n < 2)
		return;
	skip = common_prefix(s->m, child, n, &sorted);
	if (sorted)
		return;
	for (uint32_t i = 0; i < n; i++)
		s->item[i] =
			(struct sort_item){sort_key(child_name(s->m, child[i]), skip), child[i]};
	qsort_r(s->item, n, sizeof(*s->item), item_compare, s->m);
	for (uint32_t i = 0; i < n; i++)
		child[i] = s->item[i].ref;
}

/* Fill first and child in the old numbering. Returns the size of the largest directory. */
static uint32_t gather_children(struct sorter *s)
{
	const struct manifest *m = s->m;
	uint32_t *first = s->first;
	uint32_t largest = 0;

	/* Count into the place after next, so that filling moves first[d + 1] to where d's children
	 * end. */
	for (uint32_t i = 0; i < m->count; i++)
		first[m->row[i].dir + 2]++;
	for (uint32_t d = 1; d < m->dir_count; d++)
		first[m->dir[d].parent + 2]++;
	for (uint32_t d = 2; d < m->dir_count + 2; d++) {
		largest = (uint32_t)max_u64(largest, first[d]);
		first[d] += first[d - 1];
	}
	for (uint32_t d = 1; d < m->dir_count; d++)
		s->child[first[m->dir[d].parent + 1]++] = CHILD_DIR | d;
	for (uint32_t i = 0; i < m->count; i++)
		s->child[first[m->row[i].dir + 1]++] = i;
	return largest;
}

/* Directory old becomes the next in the new order; room for its children follows those of the one
 * before. */
static uint32_t place_dir(struct sorter *s, uint32_t old, uint32_t new_parent)
{
	uint32_t id = s->dir_count++;

	s->dir[id] = (struct dir){new_parent, s->m->dir[old].name, s->child_count};
	s->child_count += s->first[old + 1] - s->first[old];
	return id;
}

static void place_row(struct sorter *s, struct row row, uint32_t new_dir)
{
	row.dir = new_dir;
	s->row[s->row_count++] = row;
}

/* Walk the tree in order of paths. */
static void place_all(struct sorter *s)
{
	struct {
		uint32_t old, id, at, end;
	} stack[NAME_DEPTH_MAX + 1], *top = stack;

	*top = (typeof(*top)){0, place_dir(s, 0, 0), s->first[0], s->first[1]};
	for (;;) {
		uint32_t ref, old, nth;

		if (top->at == top->end) {
			if (top == stack)
				return;
			top--;
			continue;
		}
		nth = top->at - s->first[top->old];
		ref = s->child[top->at++];
		if (!(ref & CHILD_DIR)) {
			s->new_child[s->dir[top->id].first + nth] = s->row_count;
			place_row(s, s->m->row[ref], top->id);
			continue;
		}
		old = ref & ~CHILD_DIR;
		s->new_child[s->dir[top->id].first + nth] = CHILD_DIR | s->dir_count;
		if (s->first[old] == s->first[old + 1])
			place_row(s,
				  (struct row){.name = s->m->dir[old].name,
					       .mtime = MANIFEST_NO_TIME,
					       .directory = true},
				  top->id);
		top[1] = (typeof(*top)){old, place_dir(s, old, top->id), s->first[old],
					s->first[old + 1]};
		top++;
	}
}

static uint32_t count_empty(const struct sorter *s)
{
	uint32_t n = 0;

	for (uint32_t d = 1; d < s->m->dir_count; d++)
		n += s->first[d] == s->first[d + 1];
	return n;
}

static void adopt(struct manifest *m, struct sorter *s)
{
	free(m->row);
	free(m->dir);
	m->row = s->row;
	m->dir = s->dir;
	m->child = s->new_child;
	m->count = s->row_count;
	m->dir[s->dir_count].first = s->child_count;
	s->row = NULL;
	s->dir = NULL;
	s->new_child = NULL;
}

int manifest_sort(struct manifest *m)
{
	size_t children = (size_t)m->count + m->dir_count - 1;
	struct sorter s = {.m = m};
	uint32_t largest;
	int r = -ENOMEM;

	s.first = calloc((size_t)m->dir_count + 2, sizeof(*s.first));
	s.child = calloc(children + 1, sizeof(*s.child));
	if (!s.first || !s.child)
		goto out;
	largest = gather_children(&s);
	s.item = malloc(((size_t)largest + 1) * sizeof(*s.item));
	if (!s.item)
		goto out;
	for (uint32_t d = 0; d < m->dir_count; d++)
		sort_children(&s, s.child + s.first[d], s.first[d + 1] - s.first[d]);

	free(s.item); /* before the next large block */
	s.item = NULL;
	s.row = malloc(((size_t)m->count + count_empty(&s) + 1) * sizeof(*s.row));
	s.dir = calloc((size_t)m->dir_count + 1, sizeof(*s.dir));
	s.new_child = calloc(children + 1, sizeof(*s.new_child));
	if (!s.row || !s.dir || !s.new_child)
		goto out;
	place_all(&s);
	assert(s.dir_count == m->dir_count && s.child_count == children);
	adopt(m, &s);
	r = 0;
out:
	free(s.first);
	free(s.child);
	free(s.item);
	free(s.row);
	free(s.dir);
	free(s.new_child);
	return r;
}
