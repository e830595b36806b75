/*
 * select.c - which files of a mount a command is about
 * Callers: the handlers of fill, drop, verify and status, each on the thread of its connection.
 */
#include "daemon/select.h"

#include <limits.h>

#define DEPTH_MAX (PATH_MAX / 2) /* a path has no more components */

json_t *json_number(uint64_t n)
{
	return json_integer((json_int_t)min_u64(n, INT64_MAX));
}

json_t *json_text(const char *s)
{
	json_t *j = json_string(s);
	struct strbuf b;

	if (j)
		return j;
	strbuf_init(&b, 4 * strlen(s) + 1);
	for (; *s; s++) {
		if ((unsigned char)*s < 0x80)
			strbuf_addc(&b, *s);
		else
			strbuf_adds(&b, "\xef\xbf\xbd");
	}
	j = json_string(b.s);
	strbuf_done(&b);
	return j;
}

json_t *select_path(const struct manifest *m, uint32_t index)
{
	json_t *j = NULL;
	struct entry e;

	entry_init(&e);
	if (manifest_entry(m, index, &e) == 0)
		j = json_text(e.path);
	entry_done(&e);
	return j ? j : json_string("");
}

int select_failed(struct control_call *call, const char *path, const char *error)
{
	return control_progress(call, json_pack("{s:{s:o,s:o}}", "failed", "path", json_text(path),
						"error", json_text(error)));
}

static int add(struct selection *s, uint32_t index)
{
	if (s->count == s->room) {
		size_t room = s->room ? s->room * 2 : 64;
		struct selected *more = reallocarray(s->item, room, sizeof(*more));

		if (!more)
			return -ENOMEM;
		s->item = more;
		s->room = room;
	}
	s->item[s->count++] = (struct selected){.index = index};
	return 0;
}

static int add_directory(struct selection *s, uint32_t dir, unsigned int depth)
{
	uint32_t children = manifest_dir_children(s->manifest, dir);
	int r = depth > DEPTH_MAX ? -ELOOP : 0;

	for (uint32_t i = 0; i < children && r == 0; i++) {
		struct manifest_child child;

		manifest_child(s->manifest, dir, i, &child);
		r = child.directory ? add_directory(s, child.index, depth + 1)
				    : add(s, child.index);
	}
	return r;
}

/* 0 or -ENOENT. */
static int look_up(const struct manifest *m, const char *path, struct manifest_child *ret)
{
	struct manifest_child child = {.directory = true, .index = 0};
	int r = 0;

	while (r == 0 && *path) {
		size_t len = strcspn(path, "/");

		if (!child.directory)
			r = -ENOENT;
		else if (len > 0)
			r = manifest_lookup(m, child.index, path, len, &child);
		path += len;
		path += strspn(path, "/");
	}
	if (r == 0)
		*ret = child;
	return r;
}

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* In place. */
static void decode(char *s)
{
	char *out = s;

	while (*s) {
		if (s[0] == '%' && hex(s[1]) >= 0 && hex(s[2]) >= 0) {
			*out++ = (char)(hex(s[1]) << 4 | hex(s[2]));
			s += 3;
		} else {
			*out++ = *s++;
		}
	}
	*out = '\0';
}

static int add_path(struct selection *s, struct control_call *call, const char *encoded)
{
	struct manifest_child child;
	char *path = strdup(encoded);
	int r;

	if (!path)
		return -ENOMEM;
	decode(path);
	r = look_up(s->manifest, path, &child);
	if (r == 0) {
		r = child.directory ? add_directory(s, child.index, 0) : add(s, child.index);
	} else {
		s->missing++;
		r = select_failed(call, path, "no such file in the mount");
	}
	free(path);
	return r;
}

static int by_index(const void *a, const void *b)
{
	uint32_t x = ((const struct selected *)a)->index, y = ((const struct selected *)b)->index;

	return x < y ? -1 : x > y;
}

static void sort_unique(struct selection *s)
{
	size_t kept = 0;

	if (s->count < 2)
		return;
	qsort(s->item, s->count, sizeof(*s->item), by_index);
	for (size_t i = 1; i < s->count; i++) {
		if (s->item[i].index != s->item[kept].index)
			s->item[++kept] = s->item[i];
	}
	s->count = kept + 1;
}

int selection_init(struct selection *s, struct mount *mt, struct control_call *call,
		   const json_t *request)
{
	const json_t *paths = json_object_get(request, "paths");
	const json_t *one;
	size_t i;
	int r = 0;

	if (!json_is_array(paths))
		return control_explain(call, -EINVAL, "the request names no paths");
	*s = (struct selection){.manifest = fs_manifest(mount_fs(mt))};
	json_array_foreach(paths, i, one)
	{
		if (r == 0)
			r = json_is_string(one) ? add_path(s, call, json_string_value(one))
						: -EINVAL;
	}
	if (r < 0) {
		selection_done(s);
		return control_explain(call, r, "%s",
				       r == -EINVAL ? "a path is not text" : strerror(-r));
	}
	sort_unique(s);
	return 0;
}

void selection_done(struct selection *s)
{
	manifest_put(s->manifest);
	free(s->item);
	*s = (struct selection){0};
}
