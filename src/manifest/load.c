/*
 * load.c - from a file or a buffer to a manifest: reading, and telling which format it is
 * Callers: cli and daemon, before anything is mounted, and on reload.
 */
#include "manifest/format.h"

#define MANIFEST_BYTES_MAX ((size_t)1 << 30)
#define READ_SIZE_MIN	   ((size_t)64 << 10)

static bool starts_with(const char *data, size_t len, const char *bytes, size_t count)
{
	return len >= count && memcmp(data, bytes, count) == 0;
}

/* What people pass by mistake. 0, or refused. */
static int refuse_foreign(struct complaint *c, const char *data, size_t len)
{
	if (starts_with(data, len, "\x1f\x8b", 2))
		return refuse(c, 0, "compressed with gzip (unpack it first: gzip -d)");
	if (starts_with(data, len, "\xff\xfe", 2) || starts_with(data, len, "\xfe\xff", 2))
		return refuse(c, 0, "UTF-16 text (save it as UTF-8)");
	if (starts_with(data, len, "<", 1))
		return refuse(c, 0, "XML or HTML, not a manifest (give a list of URLs or JSON)");
	if (starts_with(data, len, "[", 1))
		return refuse(
			c, 0,
			"a JSON manifest starts with { (write {\"version\":1,\"entries\":[…]}, or one "
			"entry a line)");
	return 0;
}

static size_t skip_space(const char *data, size_t len)
{
	size_t n = 0;

	while (n < len && byte_is_space(data[n]))
		n++;
	return n;
}

int manifest_parse(const char *data, size_t len, const char *name,
		   const struct manifest_options *opt, struct manifest **ret,
		   char error[MANIFEST_ERROR_MAX])
{
	struct complaint c = {.file = name, .path_key = "out=NAME", .text = error};
	struct builder *b = NULL;
	size_t space;
	int r;

	error[0] = '\0';
	if (opt->path_key)
		c.path_key = opt->path_key;
	if (len > MANIFEST_BYTES_MAX)
		return refuse(&c, 0, "larger than 1 GiB (split it)");
	if (starts_with(data, len, "\xef\xbb\xbf",
			3)) { /* a byte order mark says nothing in UTF-8 */
		data += 3;
		len -= 3;
	}
	space = skip_space(data, len);
	r = refuse_foreign(&c, data + space, len - space);
	if (r < 0)
		return r;
	r = -ENOMEM;
	b = builder_new(&c, opt);
	if (!b)
		goto out;
	if (starts_with(data + space, len - space, "{", 1))
		r = format_json_parse(b, data, len);
	else
		r = format_text_parse(b, data, len);
	if (r == 0)
		r = builder_finish(b, ret);
out:
	if (r == -ENOMEM)
		refuse(&c, 0, "not enough memory for this manifest (split it)");
	builder_free(b);
	return r;
}

int manifest_read(int fd, char **ret, size_t *ret_len)
{
	size_t size = READ_SIZE_MIN;
	size_t len = 0;
	char *data = malloc(size);
	int r = -ENOMEM;

	while (data) {
		ssize_t n;

		if (len == size) {
			char *more = realloc(data, size * 2);

			if (!more)
				break;
			data = more;
			size *= 2;
		}
		n = read(fd, data + len, size - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			r = -errno;
			break;
		}
		if (n == 0) {
			*ret = data;
			*ret_len = len;
			return 0;
		}
		len += (size_t)n;
		if (len > MANIFEST_BYTES_MAX) {
			r = -EFBIG;
			break;
		}
	}
	free(data);
	return r;
}
