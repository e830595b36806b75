/*
 * write_json.c - entries as the JSON document that manifest_parse() reads back equal
 * Callers: cli (rgetfs index).
 */
#include <inttypes.h>

#include "manifest/manifest.h"
#include "manifest/strings.h"

#define ENTRY_TEXT_MAX (8u << 20)

/* In quotes; s is UTF-8 without control bytes, as every string of an entry but its path is. */
static void put_string(struct strbuf *out, const char *s)
{
	strbuf_addc(out, '"');
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			strbuf_addc(out, '\\');
		strbuf_addc(out, *s);
	}
	strbuf_addc(out, '"');
}

/* A path that is not UTF-8 is no JSON string: percent-encoded, under a key of its own. */
static void put_path(struct strbuf *out, const struct entry *e)
{
	if (span_is_utf8(span_make(e->path, strlen(e->path)))) {
		strbuf_adds(out, "{\"path\":");
		put_string(out, e->path);
	} else {
		strbuf_adds(out, "{\"path_encoded\":\"");
		for (const char *s = e->path; *s; s++) {
			if ((unsigned char)*s >= 0x80 || strchr("%\"\\", *s))
				strbuf_addf(out, "%%%02X", (unsigned char)*s);
			else
				strbuf_addc(out, *s);
		}
		strbuf_addc(out, '"');
	}
	if (!e->directory)
		return;
	out->s[--out->len] =
		'\0'; /* the closing quote goes behind the slash that makes it a directory */
	strbuf_adds(out, "/\"");
}

static void put_list(struct strbuf *out, const char *key, const char *const *list,
		     unsigned int count)
{
	strbuf_addf(out, ",\"%s\":[", key);
	for (unsigned int i = 0; i < count; i++) {
		if (i)
			strbuf_addc(out, ',');
		put_string(out, list[i]);
	}
	strbuf_addc(out, ']');
}

static void put_field(struct strbuf *out, const char *key, const char *value)
{
	strbuf_addf(out, ",\"%s\":", key);
	put_string(out, value);
}

static void put_checksum(struct strbuf *out, const struct checksum *sum)
{
	strbuf_addf(out, ",\"checksum\":\"%s=", checksum_name(sum->algo));
	for (size_t i = 0; i < checksum_length(sum->algo); i++)
		strbuf_addf(out, "%02x", sum->value[i]);
	strbuf_addc(out, '"');
}

static void put_slice(struct strbuf *out, struct range slice)
{
	strbuf_addf(out, ",\"range\":\"%" PRIu64 "-", slice.off);
	if (slice.end != SIZE_UNKNOWN)
		strbuf_addf(out, "%" PRIu64, slice.end - 1);
	strbuf_addc(out, '"');
}

static void put_entry(struct strbuf *out, const struct entry *e)
{
	put_path(out, e);
	if (e->url_count == 1)
		put_field(out, "url", e->url[0]);
	else if (e->url_count > 1)
		put_list(out, "urls", e->url, e->url_count);
	if (!e->directory && e->size != SIZE_UNKNOWN)
		strbuf_addf(out, ",\"size\":%" PRIu64, e->size);
	if (e->mtime != MANIFEST_NO_TIME)
		strbuf_addf(out, ",\"mtime\":%" PRId64, e->mtime);
	if (e->checksum.algo)
		put_checksum(out, &e->checksum);
	if (e->etag)
		put_field(out, "etag", e->etag);
	if (e->id)
		put_field(out, "id", e->id);
	if (e->mode)
		strbuf_addf(out, ",\"mode\":\"%04o\"", e->mode);
	if (e->slice.off != 0 || e->slice.end != SIZE_UNKNOWN)
		put_slice(out, e->slice);
	if (e->header_count)
		put_list(out, "headers", e->header, e->header_count);
	strbuf_addc(out, '}');
}

static int write_all(FILE *f, const char *text, size_t len)
{
	errno = 0;
	if (fwrite(text, 1, len, f) == len)
		return 0;
	return errno ? -errno : -EIO;
}

int manifest_write_json_begin(FILE *f)
{
	static const char head[] = "{\"version\":1,\"entries\":[";

	return write_all(f, head, strlen(head));
}

int manifest_write_json_entry(FILE *f, const struct entry *e, bool first)
{
	struct strbuf out;
	int r;

	strbuf_init(&out, ENTRY_TEXT_MAX);
	strbuf_adds(&out, first ? "\n" : ",\n");
	put_entry(&out, e);
	r = strbuf_error(&out);
	if (r == 0)
		r = write_all(f, out.s, out.len);
	strbuf_done(&out);
	return r;
}

int manifest_write_json_end(FILE *f)
{
	static const char tail[] = "\n]}\n";
	int r = write_all(f, tail, strlen(tail));

	errno = 0;
	if (r == 0 && fflush(f) != 0)
		r = errno ? -errno : -EIO;
	return r;
}
