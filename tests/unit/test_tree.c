/*
 * test_tree.c - names and nodes: one node a path, version and mode, and what an edited manifest
 * does to them
 */
#include "fs/tree.h"

#include "suite.h"

static const struct manifest_options plain = {.layout = LAYOUT_FLAT, .default_mtime = 7};

static struct manifest *load(const char *text)
{
	char error[MANIFEST_ERROR_MAX] = "";
	struct manifest *m;

	ck_assert_msg(manifest_parse(text, strlen(text), "test", &plain, &m, error) == 0, "%s",
		      error);
	return m;
}

static struct tree *tree_of(const char *text)
{
	struct manifest *m = load(text);
	struct tree *t;

	ck_assert_int_eq(tree_new(m, &t), 0);
	manifest_put(m);
	return t;
}

static int find(struct tree *t, uint64_t parent, const char *name, struct tree_name *ret)
{
	return tree_find(t, parent, name, strlen(name), ret);
}

/* Look parent/name up as the kernel does, with these facts; the node's id. */
static uint64_t enter(struct tree *t, uint64_t parent, const char *name, struct node_facts f)
{
	struct tree_name n;
	struct node_view v;
	uint64_t id;

	ck_assert_int_eq(find(t, parent, name, &n), 0);
	ck_assert_int_eq(tree_enter(t, &n, &f, &v), 0);
	id = v.id;
	node_view_done(&v);
	tree_name_done(&n);
	return id;
}

static uint64_t ino_of(struct tree *t, uint64_t parent, const char *name)
{
	struct tree_name n;
	uint64_t ino;

	ck_assert_int_eq(find(t, parent, name, &n), 0);
	ino = n.ino;
	tree_name_done(&n);
	return ino;
}

static bool superseded(struct tree *t, uint64_t id)
{
	struct node_view v;
	bool s;

	ck_assert_int_eq(tree_view(t, id, &v), 0);
	s = v.superseded;
	ck_assert(s == (v.name.manifest == NULL));
	node_view_done(&v);
	return s;
}

static const struct node_facts none;
static const struct node_facts v1 = {.generation = 1, .size = 10};
static const struct node_facts v2 = {.generation = 2, .size = 10};

#define TREE \
	"http://h/1\n out=a/x\n size=10\nhttp://h/2\n out=a/y\n size=20\nhttp://h/3\n out=z\n size=30\n"

START_TEST(names_are_found)
{
	struct tree *t = tree_of(TREE);
	struct tree_name n;
	uint64_t a;

	ck_assert_int_eq(find(t, TREE_ROOT, "z", &n), 0);
	ck_assert(!n.directory);
	ck_assert_uint_eq(manifest_size(n.manifest, n.index), 30);
	tree_name_done(&n);
	ck_assert_int_eq(find(t, TREE_ROOT, "x", &n), -ENOENT);
	ck_assert_int_eq(find(t, 77, "x", &n), -EINVAL);

	a = enter(t, TREE_ROOT, "a", none);
	ck_assert_int_eq(find(t, a, "y", &n), 0);
	tree_name_done(&n);
	ck_assert_int_eq(find(t, enter(t, TREE_ROOT, "z", v1), "y", &n), -ENOTDIR);
	tree_free(t);
}
END_TEST

START_TEST(numbers_come_from_the_path)
{
	struct tree *one = tree_of(TREE);
	struct tree *two =
		tree_of("http://other/9\n out=a/y\nhttp://other/8\n out=b\nhttp://o/1\n out=0/y\n");
	uint64_t ino = ino_of(one, enter(one, TREE_ROOT, "a", none), "y");

	ck_assert_uint_eq(ino, ino_of(two, enter(two, TREE_ROOT, "a", none), "y"));
	ck_assert_uint_ne(ino, ino_of(two, enter(two, TREE_ROOT, "0", none), "y"));
	ck_assert_uint_gt(ino, TREE_ROOT);
	tree_free(one);
	tree_free(two);
}
END_TEST

START_TEST(listing_and_lookup_agree)
{
	struct tree *t = tree_of(TREE);
	uint64_t a = enter(t, TREE_ROOT, "a", none);
	struct node_view dir;

	ck_assert_int_eq(tree_view(t, a, &dir), 0);
	ck_assert_uint_eq(manifest_dir_children(dir.name.manifest, dir.name.index), 2);
	for (uint32_t i = 0; i < 2; i++) {
		struct manifest_child c;
		struct tree_name n;
		char name[8] = "";

		tree_child(&dir, i, &n, &c);
		memcpy(name, c.name, c.name_len);
		ck_assert_uint_eq(n.ino, ino_of(t, a, name));
		ck_assert_uint_eq(n.parent, a);
		tree_name_done(&n);
	}
	node_view_done(&dir);
	tree_free(t);
}
END_TEST

START_TEST(nodes_live_while_looked_up)
{
	struct tree *t = tree_of(TREE);
	struct node_view v;
	uint64_t id;

	ck_assert_uint_eq(tree_count(t), 1);
	id = enter(t, TREE_ROOT, "z", v1);
	ck_assert_uint_eq(enter(t, TREE_ROOT, "z", v1), id);
	ck_assert_uint_eq(tree_count(t), 2);
	tree_forget(t, id, 1);
	ck_assert_int_eq(tree_view(t, id, &v), 0);
	node_view_done(&v);
	tree_forget(t, id, 1);
	ck_assert_int_eq(tree_view(t, id, &v), -EINVAL);
	ck_assert_uint_eq(tree_count(t), 1);
	/* An id is never used twice, and the root is never forgotten. */
	ck_assert_uint_ne(enter(t, TREE_ROOT, "z", v1), id);
	tree_forget(t, TREE_ROOT, 1000);
	ck_assert_int_eq(tree_view(t, TREE_ROOT, &v), 0);
	node_view_done(&v);
	tree_free(t);
}
END_TEST

START_TEST(another_version_is_another_node)
{
	struct tree *t = tree_of(TREE);
	struct node_facts direct = {.generation = 3, .size = 5, .mode = NODE_DIRECT};
	uint64_t first = enter(t, TREE_ROOT, "z", v1), second, third;
	uint64_t ino = ino_of(t, TREE_ROOT, "z");
	struct node_view v;
	struct tree_name n;

	second = enter(t, TREE_ROOT, "z", v2);
	ck_assert_uint_ne(first, second);
	ck_assert(superseded(t, first));
	ck_assert(!superseded(t, second));
	ck_assert_int_eq(tree_view(t, first, &v), 0);
	ck_assert_uint_eq(v.name.ino, ino);
	ck_assert_uint_eq(v.facts.generation, 1);
	node_view_done(&v);

	/* A late answer about the older version must not bring it back. */
	ck_assert_int_eq(find(t, TREE_ROOT, "z", &n), 0);
	ck_assert_int_eq(tree_enter(t, &n, &v1, &v), -EAGAIN);
	tree_name_done(&n);

	/* The mode belongs to the node; a growing size does not make another one. */
	third = enter(t, TREE_ROOT, "z", direct);
	direct.size = 500;
	ck_assert_uint_eq(enter(t, TREE_ROOT, "z", direct), third);
	direct.mode = NODE_CACHED;
	ck_assert_uint_ne(enter(t, TREE_ROOT, "z", direct), third);
	tree_free(t);
}
END_TEST

/* What tree_changed() tells of f, in no order; how many. */
static size_t change(struct tree *t, struct node_facts f, struct tree_stale *ret, size_t room)
{
	struct tree_stale *list;
	size_t count;

	ck_assert_int_eq(tree_changed(t, &f, &list, &count), 0);
	ck_assert_uint_le(count, room);
	memcpy(ret, list, count * sizeof(*list));
	free(list);
	return count;
}

START_TEST(a_change_names_what_to_forget)
{
	struct node_facts one = {.content = 7, .generation = 1, .size = 10}, two = one, other = one;
	struct tree *t = tree_of(TREE);
	uint64_t a = enter(t, TREE_ROOT, "a", none);
	uint64_t x = enter(t, a, "x", one), z = enter(t, TREE_ROOT, "z", one), y;
	struct tree_stale s[3];

	other.content = 8;
	two.generation = 2;
	y = enter(t, a, "y", other);
	ck_assert_uint_eq(change(t, one, s, 3), 2);
	ck_assert(!s[0].changed && !s[1].changed);
	ck_assert_uint_eq(s[0].node + s[1].node, x + z);
	ck_assert_uint_eq(change(t, two, s, 3), 2);
	ck_assert(s[0].changed && s[1].changed);
	for (int i = 0; i < 2; i++) {
		bool is_x = s[i].node == x;

		ck_assert_uint_eq(s[i].parent, is_x ? a : TREE_ROOT);
		ck_assert_str_eq(s[i].name, is_x ? "x" : "z");
		ck_assert_uint_eq(s[i].len, 1);
	}
	ck_assert(superseded(t, x) && superseded(t, z) && !superseded(t, y));
	ck_assert_uint_eq(change(t, two, s, 3), 0); /* said already */
	ck_assert_uint_eq(enter(t, a, "y", other), y);
	tree_free(t);
}
END_TEST

/* ---- an edited manifest ---- */

struct told {
	char text[1024];
};

static bool same_url(void *ctx, struct manifest *was, uint32_t was_index, struct manifest *now,
		     uint32_t now_index)
{
	struct entry a, b;
	bool same;

	(void)ctx;
	entry_init(&a);
	entry_init(&b);
	ck_assert_int_eq(manifest_entry(was, was_index, &a), 0);
	ck_assert_int_eq(manifest_entry(now, now_index, &b), 0);
	same = strcmp(a.url[0], b.url[0]) == 0 && a.size == b.size;
	entry_done(&a);
	entry_done(&b);
	return same;
}

static void tell(void *ctx, const struct tree_stale *s)
{
	struct told *told = ctx;
	size_t len = strlen(told->text);

	snprintf(told->text + len, sizeof(told->text) - len, "%d/%s ", (int)s->parent, s->name);
}

static void tell_dir(void *ctx, uint64_t id)
{
	struct told *told = ctx;
	size_t len = strlen(told->text);

	snprintf(told->text + len, sizeof(told->text) - len, "%d/ ", (int)id);
}

static void replace(struct tree *t, const char *text, struct told *told)
{
	const struct tree_replace_ops ops = {same_url, tell, tell_dir, told};
	struct manifest *m = load(text);

	told->text[0] = '\0';
	ck_assert_int_eq(tree_replace(t, m, &ops), 0);
	manifest_put(m);
}

START_TEST(an_edited_manifest_keeps_what_is_the_same)
{
	struct tree *t = tree_of(TREE);
	uint64_t a = enter(t, TREE_ROOT, "a", none); /* 2 */
	uint64_t x = enter(t, a, "x", v1), y = enter(t, a, "y", v1);
	uint64_t z = enter(t, TREE_ROOT, "z", v1);
	struct told told;
	struct tree_name n;
	struct node_view v;

	/* New names before the old ones move every index; y gets another URL, z goes. */
	replace(t,
		"http://h/0\n out=0/first\nhttp://h/1\n out=a/x\n size=10\nhttp://h/22\n out=a/y\n size=20\n"
		"http://h/5\n out=a/new\n",
		&told);
	ck_assert_str_eq(told.text, "1/z 1/0 1/ 2/y 2/new 2/ ");
	ck_assert(!superseded(t, a));
	ck_assert(!superseded(t, x));
	ck_assert(superseded(t, y));
	ck_assert(superseded(t, z));
	ck_assert_uint_eq(enter(t, TREE_ROOT, "a", none), a);
	ck_assert_uint_eq(enter(t, a, "x", v1), x);
	ck_assert_uint_ne(enter(t, a, "y", v1), y);
	ck_assert_int_eq(find(t, TREE_ROOT, "z", &n), -ENOENT);

	/* The node's index is one of the new manifest. */
	ck_assert_int_eq(tree_view(t, x, &v), 0);
	ck_assert_uint_eq(manifest_size(v.name.manifest, v.name.index), 10);
	node_view_done(&v);
	tree_free(t);
}
END_TEST

START_TEST(a_directory_that_goes_takes_its_files)
{
	struct tree *t = tree_of(TREE);
	uint64_t a = enter(t, TREE_ROOT, "a", none);
	uint64_t x = enter(t, a, "x", v1);
	struct told told;
	struct tree_name n;

	replace(t, "http://h/3\n out=z\n size=30\nhttp://h/9\n out=a\n", &told);
	ck_assert(superseded(t, a));
	ck_assert(superseded(t, x));
	ck_assert_int_eq(find(t, a, "x", &n), -ENOENT);
	ck_assert_int_eq(find(t, TREE_ROOT, "a", &n), 0);
	ck_assert(!n.directory);
	tree_name_done(&n);
	ck_assert_str_eq(told.text, "1/a 1/ 2/x ");
	tree_free(t);
}
END_TEST

START_TEST(a_name_of_the_old_manifest_is_asked_again)
{
	struct tree *t = tree_of(TREE);
	struct tree_name n;
	struct node_view v;
	struct told told;

	ck_assert_int_eq(find(t, TREE_ROOT, "z", &n), 0);
	replace(t, TREE "http://h/4\n out=0\n", &told);
	ck_assert_int_eq(tree_enter(t, &n, &v1, &v), -EAGAIN);
	tree_name_done(&n);
	ck_assert_uint_eq(tree_count(t), 1);
	tree_free(t);
}
END_TEST

START_TEST(many_nodes)
{
	enum { COUNT = 20000 };
	struct strbuf text;
	struct tree *t;
	uint64_t *id = calloc(COUNT, sizeof(*id));
	struct told told;
	char name[32];

	ck_assert_ptr_nonnull(id);
	strbuf_init(&text, 64u << 20);
	for (int i = 0; i < COUNT; i++)
		strbuf_addf(&text, "http://h/%d\n out=d%d/f%d\n", i, i % 100, i);
	t = tree_of(text.s);
	for (int i = 0; i < COUNT; i++) {
		uint64_t dir;

		snprintf(name, sizeof(name), "d%d", i % 100);
		dir = enter(t, TREE_ROOT, name, none);
		snprintf(name, sizeof(name), "f%d", i);
		id[i] = enter(t, dir, name, v1);
	}
	ck_assert_uint_eq(tree_count(t), 1 + 100 + COUNT);
	strbuf_adds(&text, "http://h/more\n out=0\n");
	replace(t, text.s, &told);
	for (int i = 0; i < COUNT; i++) {
		ck_assert(!superseded(t, id[i]));
		tree_forget(t, id[i], 1);
	}
	ck_assert_uint_eq(tree_count(t), 1 + 100);
	tree_free(t);
	strbuf_done(&text);
	free(id);
}
END_TEST

static void fill(TCase *tc)
{
	tcase_add_test(tc, names_are_found);
	tcase_add_test(tc, numbers_come_from_the_path);
	tcase_add_test(tc, listing_and_lookup_agree);
	tcase_add_test(tc, nodes_live_while_looked_up);
	tcase_add_test(tc, another_version_is_another_node);
	tcase_add_test(tc, a_change_names_what_to_forget);
	tcase_add_test(tc, an_edited_manifest_keeps_what_is_the_same);
	tcase_add_test(tc, a_directory_that_goes_takes_its_files);
	tcase_add_test(tc, a_name_of_the_old_manifest_is_asked_again);
	tcase_add_test(tc, many_nodes);
}

int main(void)
{
	return suite_run("tree", fill);
}
