/*
 * sweep.c - what a crash leaves behind: blocks nobody claims, files without a row, rows without an
 * object
 *
 * On the upkeep thread, in the background. Blocks are looked for in a version when it is loaded and
 * has more of them than its extents cover; the whole directory only after an owner that did not end
 * properly.
 */
#include <inttypes.h>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/log.h"
#include "store/store_priv.h"

/* ---- blocks ---- */

static bool is_unscrubbed(const struct version *v)
{
	return v->scrub && !v->loading;
}

/* Punch the gaps inside one allocated run. A claim keeps writers from each while that is done. */
static uint64_t scrub_run(struct store *s, struct version *v, struct backing *b, struct range data)
{
	struct claim c = {.punch = true};
	uint64_t bytes = 0;
	int r;

	for (uint64_t at = block_floor(data.off); at < data.end; at = c.range.end) {
		mtx_lock(&v->lock);
		/* To the end of the last block, since the map ends at the size. */
		r = claim_take_locked(v,
				      range_intersect((struct range){at, block_ceil(data.end)},
						      (struct range){0, extmap_size(v->map)}),
				      &c);
		mtx_unlock(&v->lock);
		if (r)
			break;
		trust_write_begin(v, b);
		r = backing_punch(&s->cache, b, c.range);
		trust_write_end(v, b);
		mtx_lock(&v->lock);
		claim_drop_locked(v, &c);
		mtx_unlock(&v->lock);
		if (r)
			break;
		bytes += range_len(c.range);
	}
	return bytes;
}

static void scrub(struct store *s, struct version *v)
{
	struct backing *b;
	struct range data;
	uint64_t bytes = 0, at = 0;

	mtx_lock(&v->lock);
	v->scrub = false;
	b = v->backing ? backing_get(v->backing) : NULL;
	mtx_unlock(&v->lock);
	while (b && backing_next_data(b, at, &data) == 0) {
		bytes += scrub_run(s, v, b, data);
		at = data.end;
	}
	backing_put(b);
	if (bytes)
		log_info("%" PRIu64 " bytes that were never recorded were given back", bytes);
}

void sweep_scrub(struct store *s)
{
	struct version **list = NULL;
	size_t count = 0;

	if (store_collect(s, is_unscrubbed, &list, &count))
		return;
	for (size_t i = 0; i < count; i++)
		scrub(s, list[i]);
	store_put_all(list, count);
}

/* ---- files and rows ---- */

struct name {
	uint64_t id, cookie;
	struct object_key key;
	uint64_t bytes;
	bool named, known;
};

struct names {
	struct name *item;
	size_t count, max;
	int error;
};

static void names_add(struct names *ns, const struct name *n)
{
	if (ns->count == ns->max) {
		size_t max = ns->max ? ns->max * 2 : 256;
		struct name *item = reallocarray(ns->item, max, sizeof(*item));

		if (!item) {
			ns->error = -ENOMEM;
			return;
		}
		ns->item = item;
		ns->max = max;
	}
	ns->item[ns->count++] = *n;
}

static int by_name(const void *va, const void *vb)
{
	const struct name *a = va, *b = vb;

	if (a->id != b->id)
		return a->id < b->id ? -1 : 1;
	return a->cookie < b->cookie ? -1 : a->cookie > b->cookie;
}

static struct name *names_find(struct names *ns, const struct name *like)
{
	return ns->count ? bsearch(like, ns->item, ns->count, sizeof(*like), by_name) : NULL;
}

static bool parse_name(const char *text, struct name *ret)
{
	char *end;

	*ret = (struct name){0};
	ret->id = strtoull(text, &end, 16);
	if (end == text || *end != '-' || strlen(end + 1) != 16)
		return false;
	text = end + 1;
	ret->cookie = strtoull(text, &end, 16);
	return *end == '\0';
}

static void list_files(struct store *s, struct names *ns)
{
	int fd = openat(s->cache.filesfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *de;
	struct name n;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((de = readdir(dir)) != NULL) {
		if (parse_name(de->d_name, &n))
			names_add(ns, &n);
	}
	closedir(dir);
}

static int list_row(void *ctx, const struct version_row *v, bool named)
{
	struct names *ns = ctx;

	names_add(ns, &(struct name){.id = v->id,
				     .cookie = v->cookie,
				     .key = v->key,
				     .bytes = v->bytes,
				     .named = named});
	return ns->error;
}

struct rows_job {
	struct dbjob job;
	struct names *ns;
};

static int rows_run(struct dbjob *job, struct extdb *db)
{
	return extdb_each_version(db, list_row, container_of(job, struct rows_job, job)->ns);
}

/* Versions in memory have files that no row may tell of yet. */
static void list_memory(struct store *s, struct names *ns)
{
	struct version *v;

	mtx_lock(&s->lock);
	TAILQ_FOREACH (v, &s->versions, link) {
		mtx_lock(&v->lock);
		names_add(ns, &(struct name){.id = v->id, .cookie = v->cookie, .known = true});
		mtx_unlock(&v->lock);
	}
	mtx_unlock(&s->lock);
}

static void unlink_strangers(struct store *s, const struct names *files, struct names *known)
{
	size_t count = 0;

	for (size_t i = 0; i < files->count; i++) {
		const struct name *n = &files->item[i];

		if (!names_find(known, n) && cache_unlink(&s->cache, n->id, n->cookie) == 0)
			count++;
	}
	if (count)
		log_info("removed what a crash left in the cache: %zu %s", count,
			 count == 1 ? "file" : "files");
}

/* Versions that no object names and nobody holds: an interrupted change of version. */
static void delete_unnamed(struct store *s, const struct names *rows, struct names *memory)
{
	struct batch b;

	batch_init(&b);
	for (size_t i = 0; i < rows->count; i++) {
		const struct name *n = &rows->item[i];

		if (n->named || names_find(memory, n))
			continue;
		batch_delete(&b, n->id);
		cache_unlink(&s->cache, n->id, n->cookie);
	}
	if (b.count > 0 && store_apply(s, &b, false))
		log_warn("rows of versions that no object names can't be removed now");
	batch_done(&b);
}

/* Load, and by that scrub, what has more blocks than are claimed of it. */
static void scrub_unclaimed(struct store *s, const struct names *rows)
{
	char name[64];
	struct stat st;
	struct version *v;

	for (size_t i = 0; i < rows->count; i++) {
		const struct name *n = &rows->item[i];

		snprintf(name, sizeof(name), "%" PRIx64 "-%016" PRIx64, n->id, n->cookie);
		if (!n->named || fstatat(s->cache.filesfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    (uint64_t)st.st_blocks * 512 <= space_len(s, n->bytes) + 2 * s->cache.fs_block)
			continue;
		if (store_version_by_id(s, &n->key, n->id, &v))
			continue;
		version_wait_loaded(v);
		sweep_scrub(s);
		version_put(v);
	}
}

void sweep_run(struct store *s)
{
	struct names files = {0}, rows = {0}, memory = {0}, known = {0};
	struct rows_job job = {.job.run = rows_run, .ns = &rows};

	/* What else is in a target's directory is the user's. */
	if (s->cache.part)
		return;

	/* In this order: a file made meanwhile is not listed, one that got its row meanwhile is
	 * known. */
	list_files(s, &files);
	list_memory(s, &memory);
	if (dbthread_run(&s->db, &job.job) == 0 && !files.error && !memory.error) {
		for (size_t i = 0; i < rows.count; i++)
			names_add(&known, &rows.item[i]);
		for (size_t i = 0; i < memory.count; i++)
			names_add(&known, &memory.item[i]);
		if (known.count > 0)
			qsort(known.item, known.count, sizeof(*known.item), by_name);
		if (memory.count > 0)
			qsort(memory.item, memory.count, sizeof(*memory.item), by_name);
		if (!known.error) {
			unlink_strangers(s, &files, &known);
			delete_unnamed(s, &rows, &memory);
			scrub_unclaimed(s, &rows);
		}
	}
	free(files.item);
	free(rows.item);
	free(memory.item);
	free(known.item);
}

/* ---- a replaced database ---- */

/* Everything that v has in memory is to be recorded anew. False: no memory for all of it. */
static bool renew(struct store *s, struct version *v)
{
	struct extent x;
	uint64_t fresh = 0;
	bool all = true;

	mtx_lock(&v->lock);
	v->has_row = false;
	atomic_fetch_sub(&s->durable, v->durable_bytes);
	v->durable_bytes = 0;
	for (uint64_t at = 0; !v->closed && !extmap_next(v->map, at, &x); at = x.range.end) {
		if (x.evicting || rangeset_contains(&v->dirty, x.range))
			continue;
		fresh -= v->dirty.bytes + v->syncing.bytes;
		if (rangeset_remove(&v->syncing, x.range) || rangeset_add(&v->dirty, x.range))
			all = false;
		fresh += v->dirty.bytes + v->syncing.bytes;
	}
	if (v->dirty.bytes > 0)
		version_hold_locked(v, HOLD_DIRTY);
	mtx_unlock(&v->lock);
	atomic_fetch_add(&s->dirty_bytes, fresh);
	return all;
}

void sweep_damaged(struct store *s)
{
	struct version *v;
	struct record *rec;
	uint64_t gone = 0;
	bool all = true;

	mtx_lock(&s->lock);
	RB_FOREACH (rec, record_tree, &s->records.tree) {
		rec->version_row = 0;
		records_mark(&s->records, rec);
		if (rec->version || !rec->version_id)
			continue;
		gone += rec->version_bytes;
		s->used -= min_u64(s->used, space_len(s, rec->version_bytes));
		record_set_version(rec, 0, NULL, NULL);
	}
	TAILQ_FOREACH (v, &s->versions, link)
		all &= renew(s, v);
	mtx_unlock(&s->lock);
	atomic_fetch_sub(&s->cached, gone);
	atomic_fetch_sub(&s->durable, gone);
	if (!all)
		log_warn("no memory to record all of the cache anew");
	if (gone)
		log_warn("%" PRIu64
			 " cached bytes of files that are not in use are forgotten with it",
			 gone);
	store_poke(s, WORK_NEW | WORK_NOW | WORK_SWEEP);
}
