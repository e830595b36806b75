/*
 * fsops_xattr.c - extended attributes: where a file comes from and how much of it is here
 *
 * All are answered from memory. URLs are shown without user info and query values.
 */
#include "fs/fsops_int.h"

#include <inttypes.h>

#include "base/strbuf.h"
#include "core/url.h"

/* What the functions below may look at. */
struct xattr_source {
	struct fs *fs;
	struct entry entry;
	struct object_info info;
	const char *url; /* to be shown */
};

static void show_url(const struct xattr_source *s, struct strbuf *out)
{
	strbuf_adds(out, s->url);
}

static void show_state(const struct xattr_source *s, struct strbuf *out)
{
	strbuf_adds(out, object_state_name(object_shown_state(&s->info)));
}

static void show_cached(const struct xattr_source *s, struct strbuf *out)
{
	strbuf_addf(out, "%" PRIu64, s->info.bytes_cached);
}

static void show_durable(const struct xattr_source *s, struct strbuf *out)
{
	strbuf_addf(out, "%" PRIu64, s->info.bytes_durable);
}

static void show_validator(const struct xattr_source *s, struct strbuf *out)
{
	char text[VALIDATOR_TEXT_MAX];

	validator_format(&s->info.validator, text);
	strbuf_adds(out, text);
}

static void show_control(const struct xattr_source *s, struct strbuf *out)
{
	strbuf_adds(out, s->fs->cfg.control);
}

static const struct xattr {
	const char *name;
	bool root; /* of the root, not of files */
	void (*show)(const struct xattr_source *s, struct strbuf *out);
} xattrs[] = {
	{"user.rgetfs.url", false, show_url},
	{"user.rgetfs.state", false, show_state},
	{"user.rgetfs.cached", false, show_cached},
	{"user.rgetfs.durable", false, show_durable},
	{"user.rgetfs.validator", false, show_validator},
	{"user.xdg.origin.url", false, show_url},
	{"user.rgetfs.control", true, show_control},
};

static bool xattr_is_on(const struct xattr *x, const struct node_view *v)
{
	return x->root ? v->id == TREE_ROOT : !v->name.directory && !v->superseded;
}

static int value_of(struct fs *fs, const struct xattr *x, const struct node_view *v,
		    struct strbuf *out)
{
	struct xattr_source s = {.fs = fs};
	char url[URL_MAX] = "";
	int r = 0;

	entry_init(&s.entry);
	if (!x->root) {
		r = manifest_entry(v->name.manifest, v->name.index, &s.entry);
		if (r == 0) {
			r = engine_peek(fs->engine, v->name.manifest, v->name.index, &s.info);
			if (r == -ENOENT) /* nothing is known of it: shown as such */
				r = 0;
		}
		if (r == 0 && s.entry.url_count > 0)
			url_redact(s.entry.url[0], url, sizeof(url));
		s.url = url;
	}
	if (r == 0) {
		x->show(&s, out);
		r = strbuf_error(out);
	}
	entry_done(&s.entry);
	return r;
}

static void reply(fuse_req_t req, int r, const struct strbuf *out, size_t size)
{
	if (r < 0)
		fuse_reply_err(req, -r);
	else if (size == 0)
		fuse_reply_xattr(req, out->len);
	else if (out->len > size)
		fuse_reply_err(req, ERANGE);
	else
		fuse_reply_buf(req, out->s, out->len);
}

void fs_op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size)
{
	struct fs *fs = fs_of(req);
	struct node_view v;
	struct strbuf out;
	int r;

	r = tree_view(fs->tree, ino, &v);
	if (r < 0) {
		fuse_reply_err(req, -r);
		return;
	}
	strbuf_init(&out, 65536);
	r = -ENODATA;
	for (size_t i = 0; i < ARRAY_SIZE(xattrs); i++) {
		if (strcmp(xattrs[i].name, name) == 0 && xattr_is_on(&xattrs[i], &v))
			r = value_of(fs, &xattrs[i], &v, &out);
	}
	node_view_done(&v);
	reply(req, r, &out, size);
	strbuf_done(&out);
}

void fs_op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size)
{
	struct fs *fs = fs_of(req);
	struct node_view v;
	struct strbuf out;
	int r;

	r = tree_view(fs->tree, ino, &v);
	if (r < 0) {
		fuse_reply_err(req, -r);
		return;
	}
	strbuf_init(&out, 65536);
	for (size_t i = 0; i < ARRAY_SIZE(xattrs); i++) {
		if (xattr_is_on(&xattrs[i], &v))
			strbuf_add(&out, xattrs[i].name, strlen(xattrs[i].name) + 1);
	}
	node_view_done(&v);
	reply(req, strbuf_error(&out), &out, size);
	strbuf_done(&out);
}
