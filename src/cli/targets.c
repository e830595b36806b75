/*
 * targets.c - the files that a command names, by the mount that they lie in
 * Callers: fill, drop, verify.
 */
#include "cli/targets.h"

#include <assert.h>

#include "base/strbuf.h"
#include "daemon/control.h"
#include "daemon/mounts.h"
#include "daemon/paths.h"

#define REQUEST_BYTES (CONTROL_REQUEST_MAX / 2) /* of paths; the rest is for quotes and escapes */
#define ENCODED_MAX   ((size_t)3 * PATH_MAX)

static void encode(struct strbuf *out, const char *path)
{
	for (; *path; path++) {
		unsigned char c = (unsigned char)*path;

		if (c >= 0x80 || c < 0x20 || c == '%')
			strbuf_addf(out, "%%%02X", c);
		else
			strbuf_addc(out, *path);
	}
}

/*
 * The mount that path lies in, and the path in it (malloc'ed). The last component is not looked up,
 * unless it might be a link into a mount.
 */
static int find(const char *path, struct mount_entry *ret, char **ret_full)
{
	char *full = NULL;
	int r = mounts_resolve(path, &full);

	if (r == 0) {
		r = mounts_of(full, ret);
		if (r == -ENOENT) {
			free(full);
			full = realpath(path, NULL);
			r = full ? mounts_of(full, ret) : -errno;
			if (r == -ENOENT && full)
				r = -EXDEV;
		}
	}
	if (r < 0) {
		free(full);
		return r;
	}
	*ret_full = full;
	return 0;
}

static struct target *target_of(struct targets *t, const char *point, size_t bytes)
{
	struct target *more;

	for (size_t i = 0; i < t->count; i++) {
		if (strcmp(t->list[i].point, point) == 0 &&
		    t->list[i].bytes + bytes <= REQUEST_BYTES)
			return &t->list[i];
	}
	more = reallocarray(t->list, t->count + 1, sizeof(*more));
	if (!more)
		return NULL;
	t->list = more;
	more += t->count;
	*more = (struct target){.point = strdup(point), .paths = json_array()};
	t->count++;
	return more->point && more->paths ? more : NULL;
}

static int add(struct targets *t, const char *point, const char *inside)
{
	struct target *target;
	struct strbuf encoded;
	int r;

	strbuf_init(&encoded, ENCODED_MAX);
	encode(&encoded, inside);
	r = strbuf_error(&encoded);
	if (r == 0) {
		size_t bytes = encoded.len + 3; /* quotes and comma */

		for (const char *c = encoded.s; *c; c++)
			bytes += *c == '"' || *c == '\\'; /* escaped in JSON */
		target = target_of(t, point, bytes);
		r = target ? json_array_append_new(target->paths, json_string(encoded.s)) : -1;
		if (r == 0)
			target->bytes += bytes;
		else
			r = -ENOMEM;
	}
	strbuf_done(&encoded);
	return r;
}

/*
 * Nothing in a mount whose daemon hangs can be looked up without hanging too: ask it first, once a
 * mount. *asked is the mountpoint that answered last. False: it was said.
 */
static bool answers(const char *path, char **asked)
{
	char error[CONTROL_ERROR_MAX];
	char *full = path_absolute(path);
	struct control_client c;
	struct mount_entry m;
	int r = 0;

	if (!full || mounts_of(full, &m) < 0) {
		free(full);
		return true;
	}
	if (!*asked || strcmp(*asked, m.point) != 0) {
		r = control_connect(m.point, &c, error);
		if (r == -ETIMEDOUT)
			fprintf(stderr, "rgetfs: %s\n", error);
		if (r == 0) {
			control_disconnect(&c);
			free(*asked);
			*asked = strdup(m.point);
		}
	}
	mount_entry_done(&m);
	free(full);
	return r != -ETIMEDOUT;
}

static void say(const char *path, int error)
{
	if (error == -EXDEV)
		fprintf(stderr, "rgetfs: %s: not in a mount of rgetfs (rgetfs status lists them)\n",
			path);
	else if (error == -ENOTCONN)
		fprintf(stderr,
			"rgetfs: %s: the daemon of this mount is dead (rgetfs unmount frees its "
			"mountpoint)\n",
			path);
	else
		fprintf(stderr, "rgetfs: %s: %s\n", path, strerror(-error));
}

int targets_init(struct targets *t, int argc, char **argv)
{
	char *asked = NULL;
	int r = 0;

	*t = (struct targets){0};
	for (int i = 0; i < argc && r == 0; i++) {
		struct mount_entry m = {0};
		const char *inside;
		char *full = NULL;

		if (!answers(argv[i], &asked)) {
			t->failed++;
			continue;
		}
		r = find(argv[i], &m, &full);
		if (r < 0) {
			say(argv[i], r);
			t->failed++;
			r = 0;
			continue;
		}
		assert(m.point); /* found: it has one */
		inside = full + strlen(m.point);
		r = add(t, m.point, inside + strspn(inside, "/"));
		mount_entry_done(&m);
		free(full);
	}
	free(asked);
	if (r < 0)
		targets_done(t);
	return r;
}

void targets_done(struct targets *t)
{
	for (size_t i = 0; i < t->count; i++) {
		free(t->list[i].point);
		json_decref(t->list[i].paths);
	}
	free(t->list);
	*t = (struct targets){0};
}
