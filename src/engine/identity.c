/*
 * identity.c - by what name the cache knows an object
 *
 * A re-signed link, another user name or a reordered mirror must not lose the cache; another
 * content must never share it. So: the manifest's own name for the content, else its checksum, else
 * the first URL with everything that may change the bytes. Each kind hashes under a tag of its own.
 * Any thread.
 */
#include <inttypes.h>

#include "core/url.h"
#include "engine/internal.h"
#include "store/digest.h"

static void add_slice(struct strbuf *b, const struct entry *entry)
{
	if (entry->slice.off > 0 || entry->slice.end != SIZE_UNKNOWN)
		strbuf_addf(b, "slice %" PRIu64 " %" PRIu64, entry->slice.off, entry->slice.end);
}

static int add_url(struct strbuf *b, const struct entry *entry)
{
	char *url = url_without_userinfo(entry->url[0]);

	if (!url)
		return -ENOMEM;
	strbuf_adds(b, "url");
	strbuf_add(b, url, strlen(url) + 1);
	free(url);
	for (unsigned int i = 0; i < entry->header_count; i++) {
		if (header_names_content(entry->header[i]))
			strbuf_add(b, entry->header[i], strlen(entry->header[i]) + 1);
	}
	return 0;
}

int identity_key(const struct entry *entry, struct object_key *ret)
{
	struct strbuf b;
	uint8_t digest[32];
	int r = 0;

	strbuf_init(&b, (size_t)1 << 20);
	if (entry->id) {
		strbuf_adds(&b, "id");
		strbuf_add(&b, entry->id, strlen(entry->id) + 1);
		add_slice(&b, entry);
	} else if (entry->checksum.algo != CHECKSUM_NONE) {
		strbuf_addf(&b, "checksum %s ", checksum_name(entry->checksum.algo));
		strbuf_add(&b, entry->checksum.value, checksum_length(entry->checksum.algo));
	} else if (entry->url_count > 0) {
		r = add_url(&b, entry);
		add_slice(&b, entry);
	}
	if (r == 0)
		r = strbuf_error(&b);
	if (r == 0)
		r = digest_sha256(b.s, b.len, digest);
	if (r == 0)
		memcpy(ret->bytes, digest, sizeof(ret->bytes));
	strbuf_done(&b);
	return r;
}
