/*
 * inventory_check.c - is a cache that nobody uses what its database says?
 *
 * Reads only. What is found here is found by a mount as well, when it meets it; this finds all at
 * once.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <xxhash.h>

#include "store/cache.h"
#include "store/extdb.h"
#include "store/inventory.h"

struct checker {
	struct cache *cache;
	struct extdb *db;
	bool checksums;
	void (*say)(void *ctx, const char *text);
	void *ctx;
	struct inventory_report report;
	/* The version at hand. */
	struct version_row row;
	bool named;
	struct backing *b;
	uint64_t claimed, claimed_end, bad;
	struct version_row *list;
	bool *list_named;
	size_t count, max;
};

static void PRINTF_LIKE(2, 3) problem(struct checker *k, const char *fmt, ...)
{
	char text[INVENTORY_TEXT_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	k->report.problems++;
	if (k->say)
		k->say(k->ctx, text);
}

static int count_object(void *ctx, const struct extdb_object *o)
{
	struct checker *k = ctx;

	(void)o;
	k->report.objects++;
	return 0;
}

static int list_version(void *ctx, const struct version_row *v, bool named)
{
	struct checker *k = ctx;

	if (k->count == k->max) {
		size_t max = k->max ? k->max * 2 : 64;
		struct version_row *list = reallocarray(k->list, max, sizeof(*list));
		bool *list_named;

		if (!list)
			return -ENOMEM;
		k->list = list;
		list_named = reallocarray(k->list_named, max, sizeof(*list_named));
		if (!list_named)
			return -ENOMEM;
		k->list_named = list_named;
		k->max = max;
	}
	k->list[k->count] = *v;
	k->list_named[k->count++] = named;
	return 0;
}

/* First pass: what is claimed. */
static int claim_extent(void *ctx, const struct extent_row *e)
{
	struct checker *k = ctx;
	struct range r = range_intersect(range_of_length(e->block << BLOCK_SHIFT,
							 (uint64_t)e->count << BLOCK_SHIFT),
					 (struct range){0, k->row.size});

	if (range_blocks(r) != e->count) {
		problem(k, "version %" PRIu64 ": an extent reaches past its size", k->row.id);
		return 0;
	}
	k->report.extents++;
	k->claimed += range_len(r);
	k->claimed_end = max_u64(k->claimed_end, r.end);
	return 0;
}

/* Second pass: what is there. */
static int check_extent(void *ctx, const struct extent_row *e)
{
	struct checker *k = ctx;
	unsigned char *buf = malloc(BLOCK_SIZE);

	if (!buf)
		return -ENOMEM;
	for (uint32_t n = 0; n < e->count; n++) {
		struct range r =
			range_intersect(range_of_length((e->block + n) << BLOCK_SHIFT, BLOCK_SIZE),
					(struct range){0, k->row.size});
		size_t len = (size_t)range_len(r);

		if (range_empty(r))
			break;
		k->report.blocks_checked++;
		if (backing_read(k->b, r.off, buf, len) || XXH3_64bits(buf, len) != e->sums[n])
			k->bad++;
	}
	free(buf);
	return 0;
}

static int check_file(struct checker *k)
{
	uint64_t allocated = 0;
	int r;

	r = cache_attach(k->cache, k->row.id, k->row.cookie, k->row.ino, k->row.size,
			 k->claimed_end, &k->b);
	if (r == -ENOMEM)
		return r;
	if (r) {
		problem(k, "version %" PRIu64 ": its file of %" PRIu64 " bytes %s", k->row.id,
			k->claimed,
			r == -ESTALE   ? "is another one than was written"
			: r == -ENOENT ? "is missing"
				       : strerror(-r));
		return 0;
	}
	if (backing_allocated(k->b, &allocated) == 0)
		k->report.bytes_allocated += allocated;
	r = k->checksums ? extdb_each_extent(k->db, k->row.id, check_extent, k) : 0;
	if (!r && k->bad)
		problem(k, "version %" PRIu64 ": %" PRIu64 " blocks are not what was received",
			k->row.id, k->bad);
	k->report.blocks_bad += k->bad;
	backing_put(k->b);
	k->b = NULL;
	return r;
}

static int check_version(struct checker *k, size_t i)
{
	int r;

	k->row = k->list[i];
	k->claimed = k->claimed_end = k->bad = 0;
	k->report.versions++;
	if (!k->list_named[i])
		problem(k, "version %" PRIu64 ": no object names it (the next mount removes it)",
			k->row.id);
	r = extdb_each_extent(k->db, k->row.id, claim_extent, k);
	if (r)
		return r;
	if (k->claimed != k->row.bytes)
		problem(k,
			"version %" PRIu64 ": its extents cover %" PRIu64
			" bytes, its row says %" PRIu64,
			k->row.id, k->claimed, k->row.bytes);
	k->report.bytes_claimed += k->claimed;
	return check_file(k);
}

static int check_all(struct checker *k)
{
	uint64_t bad = 0;
	int r;

	r = extdb_check(k->db);
	if (!r)
		r = extdb_each_object(k->db, count_object, k, &bad);
	if (!r)
		r = extdb_each_version(k->db, list_version, k);
	if (!r && bad)
		problem(k, "%" PRIu64 " rows have a wrong checksum", bad);
	for (size_t i = 0; !r && i < k->count; i++)
		r = check_version(k, i);
	return r;
}

int inventory_check(const char *root, const char *name, bool checksums,
		    void (*say)(void *ctx, const char *text), void *ctx,
		    struct inventory_report *ret, char owner[INVENTORY_TEXT_MAX])
{
	struct checker k = {.checksums = checksums, .say = say, .ctx = ctx};
	struct stat st;
	struct cache c;
	char *path = NULL;
	int r;

	if (!*name || name[0] == '.' || strchr(name, '/'))
		return -ENOENT;
	if (asprintf(&path, "%s/%s", root, name) < 0)
		return -ENOMEM;
	/* Looked for first: taking the lock would make what is not there. */
	r = lstat(path, &st) < 0 ? -errno : S_ISDIR(st.st_mode) ? 0 : -ENOENT;
	if (!r)
		r = cache_open(&c, path, NULL, NULL, owner, INVENTORY_TEXT_MAX);
	free(path);
	if (r)
		return r;
	k.cache = &c;
	r = cache_resolve(&c);
	if (!r)
		r = extdb_open_readonly(c.dirfd, c.path, &k.db);
	if (!r)
		r = check_all(&k);
	if (r == -EUCLEAN) {
		problem(&k,
			"the database is damaged, of another program or of a newer rgetfs (the next mount "
			"moves it aside and starts cold)");
		r = 0;
	}
	extdb_close(k.db);
	cache_close(&c);
	free(k.list);
	free(k.list_named);
	if (!r)
		*ret = k.report;
	return r;
}
