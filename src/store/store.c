/*
 * store.c - one manifest's cache: opening and closing, and which versions are in memory
 *
 * Lock order: the store's before a version's. A version's last reference is given back under the
 * store's lock, so that whoever finds it in the table finds it alive.
 */
#include <inttypes.h>
#include <fcntl.h>

#include "base/clock.h"
#include "base/log.h"
#include "store/store_priv.h"

/* ---- opening ---- */

static int load_object(void *ctx, const struct extdb_object *o)
{
	struct store *s = ctx;
	struct record *rec = records_make(&s->records, &o->row.key);

	if (!rec)
		return -ENOMEM;
	rec->size = o->row.size;
	rec->mtime = o->row.mtime;
	rec->asked_s = o->row.asked_s;
	rec->validator = strdup(o->row.validator);
	if (!rec->validator)
		return -ENOMEM;
	if (!o->version.id)
		return 0;
	rec->version_id = rec->version_row = o->version.id;
	rec->version_size = o->version.size;
	rec->version_bytes = o->version.bytes;
	if (strcmp(o->version.validator, o->row.validator) != 0) {
		rec->version_validator = strdup(o->version.validator);
		if (!rec->version_validator)
			return -ENOMEM;
	}
	s->used += space_len(s, o->version.bytes);
	atomic_fetch_add(&s->cached, o->version.bytes);
	atomic_fetch_add(&s->durable, o->version.bytes);
	return 0;
}

/* Everything read at start. -EUCLEAN: damage. */
static int load_all(struct store *s, struct extdb *db, bool *ret_clean)
{
	uint64_t bad = 0, max = 0;
	int r;

	r = extdb_each_object(db, load_object, s, &bad);
	if (!r)
		r = extdb_max_version(db, &max);
	if (!r)
		r = extdb_get_clean(db, ret_clean);
	if (!r)
		r = extdb_set_open(db);
	s->next_id = max_u64(s->next_id, max + 1);
	if (!r && bad)
		log_warn("cache database: %" PRIu64 " rows with a wrong checksum are ignored", bad);
	return r;
}

static int open_database(struct store *s, struct extdb **ret, bool *ret_clean)
{
	struct extdb *db = NULL;
	int r;

	for (int attempt = 0;; attempt++) {
		/* Nobody shares it: and a log's index in memory can't be cut off under us, which
		 * would be SIGBUS. */
		r = extdb_open(s->cache.dirfd, s->cache.path, true, &db);
		if (!r)
			r = load_all(s, db, ret_clean);
		if (!r)
			break;
		extdb_close(db);
		db = NULL;
		if (r != -EUCLEAN || attempt > 0 || !TAILQ_EMPTY(&s->versions))
			return r;
		r = extdb_move_aside(s->cache.dirfd,
				     "is damaged, of another program or of a newer rgetfs");
		if (r)
			return r;
		records_done(&s->records);
		s->used = 0;
		atomic_store(&s->cached, 0);
		atomic_store(&s->durable, 0);
		*ret_clean = false;
	}
	*ret = db;
	return 0;
}

static void on_damage(void *ctx)
{
	store_poke(ctx, WORK_DAMAGED);
}

static int start_db(struct store *s, bool *ret_clean)
{
	struct extdb *db = NULL;
	int r = cache_resolve(&s->cache);

	if (!r)
		r = open_database(s, &db, ret_clean);
	if (r)
		return r;
	r = dbthread_start(&s->db, db, s->cache.dirfd, s->cache.path, true, on_damage, s);
	if (r)
		extdb_close(db);
	s->has_db = r == 0;
	return r;
}

int store_need_db(struct store *s)
{
	bool clean;
	int r = 0;

	if (s->has_db)
		return 0;
	if (s->target.begins)
		r = s->target.begins(s->target.ctx, s->cache.dirfd);
	/* Its name and theirs, before a row counts: the checkpoint has synced them without. */
	if (!r)
		r = start_db(s, &clean);
	if (r)
		return r;
	r = cache_sync_dir(&s->cache);
	if (r) {
		/* The next checkpoint tries both again. */
		dbthread_stop(&s->db);
		s->has_db = false;
	}
	return r;
}

int store_apply(struct store *s, const struct batch *b, bool truncate)
{
	return s->has_db ? dbthread_apply(&s->db, b, truncate) : b->error;
}

/* A target that was begun by an earlier process. */
static bool has_rows(const struct store *s)
{
	return faccessat(s->cache.dirfd, EXTDB_NAME, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* The threads that a target has too: it syncs one file, and nobody helps with that. */
static int start_threads(struct store *s)
{
	int r = syncpool_start(&s->sync, s->cache.part ? 0 : SYNCPOOL_THREADS);

	if (r)
		return r;
	s->untended = s->target.untended && !s->has_db;
	r = s->untended ? 0 : upkeep_start(s);
	if (r)
		syncpool_stop(&s->sync);
	return r;
}

static struct store *store_new(const struct store_config *cfg)
{
	struct store *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	mtx_init(&s->lock, RANK_STORE, "store");
	cnd_init(&s->wake);
	cnd_init(&s->done);
	records_init(&s->records);
	TAILQ_INIT(&s->versions);
	TAILQ_INIT(&s->graves);
	s->cfg = *cfg;
	s->cfg.dir = s->cfg.description = NULL; /* the caller's */
	if (cfg->target)
		s->target = *cfg->target;
	s->target.part = NULL;
	s->cfg.target = NULL;
	s->checkpoint_took_us = cfg->checkpoint_us / 8; /* the first one: nobody knows */
	return s;
}

static void store_free(struct store *s)
{
	records_done(&s->records);
	cache_close(&s->cache);
	cnd_done(&s->done);
	cnd_done(&s->wake);
	mtx_done(&s->lock);
	free(s);
}

int store_open(const struct store_config *cfg, struct store **ret, char owner[STORE_OWNER_MAX])
{
	bool clean = true;
	struct store *s;
	int r;

	s = store_new(cfg);
	if (!s)
		return -ENOMEM;
	r = cache_open(&s->cache, cfg->dir, cfg->target, cfg->description ? cfg->description : "",
		       owner, STORE_OWNER_MAX);
	if (r)
		goto out;
	s->cache.open.max = cfg->files_max;
	if (s->cache.network)
		log_warn("the cache %s is on a network file system: slower, and as safe as that is",
			 s->cache.path);
	s->next_id = 1;
	if (!s->cache.part || has_rows(s))
		r = start_db(s, &clean);
	else if (cache_part_foreign(&s->cache))
		r = -EEXIST; /* where there is a database, its rows tell */
	if (r)
		goto out;
	if (cfg->cache_size != UINT64_MAX && s->used > cfg->cache_size - cfg->cache_size / 256) {
		s->evict_wanted = s->used - (cfg->cache_size - cfg->cache_size / 256);
		s->work |= WORK_EVICT;
	}
	if (!clean)
		s->work |= WORK_SWEEP;
	r = start_threads(s);
	if (r)
		goto out;
	*ret = s;
	return 0;
out:
	if (s->has_db)
		dbthread_stop(&s->db);
	store_free(s);
	return r;
}

static int clean_run(struct dbjob *job, struct extdb *db)
{
	struct batch none;
	int r;

	(void)job;
	batch_init(&none);
	r = extdb_set_clean(db, true);
	return r ? r : extdb_apply(db, &none, true);
}

/* After a last checkpoint that failed: versions that only the store itself still holds. */
static void abandon(struct store *s)
{
	struct version *v, *next;

	TAILQ_FOREACH_SAFE (v, &s->versions, link, next) {
		unsigned int own = (unsigned int)__builtin_popcount(v->holds);

		if (atomic_load(&v->refs) != own)
			continue;
		TAILQ_REMOVE(&s->versions, v, link);
		s->version_count--;
		version_free(v);
	}
	while ((v = TAILQ_FIRST(&s->graves)) != NULL) {
		TAILQ_REMOVE(&s->graves, v, link);
		version_free(v);
	}
}

int store_stop(struct store *s)
{
	struct dbjob clean = {.run = clean_run};
	int r, error;

	if (s->cache.part)
		target_wait_unused(s);
	upkeep_end(s);
	r = s->checkpoint_error;
	syncpool_stop(&s->sync);
	if (s->has_db && !r && TAILQ_EMPTY(&s->versions)) {
		error = dbthread_run(&s->db, &clean);
		if (error)
			log_debug("the database was not marked as closed: %s", strerror(-error));
	}
	if (s->has_db)
		dbthread_stop(&s->db);
	s->has_db = false;
	return r;
}

void store_end(struct store *s)
{
	abandon(s);
	/* Left to whoever uses them rather than freed under him. */
	if (!TAILQ_EMPTY(&s->versions))
		log_warn("a store is closed with %zu versions in use", s->version_count);
	else
		store_free(s);
}

int store_close(struct store *s)
{
	int r = store_stop(s);

	store_end(s);
	return r;
}

/* ---- versions in memory ---- */

int store_collect(struct store *s, bool (*want)(const struct version *v), struct version ***ret,
		  size_t *ret_count)
{
	struct version **list;
	struct version *v;
	size_t count = 0;
	bool take;

	mtx_lock(&s->lock);
	list = calloc(s->version_count + 1, sizeof(struct version *));
	if (list) {
		TAILQ_FOREACH (v, &s->versions, link) {
			mtx_lock(&v->lock);
			take = want(v);
			mtx_unlock(&v->lock);
			if (take)
				list[count++] = version_get(v);
		}
	}
	mtx_unlock(&s->lock);
	if (!list)
		return -ENOMEM;
	*ret = list;
	*ret_count = count;
	return 0;
}

void store_put_all(struct version **list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		version_put(list[i]);
	free(list);
}

/* The record takes over what the version knew. v has no reference left. */
static void record_version_locked(struct store *s, struct version *v)
{
	struct record *rec = v->rec;

	rec->version = NULL;
	if (extmap_bytes(v->map) == 0 && !v->file_error) {
		/* An emptied version leaves no file behind; the next one starts afresh. */
		if (rec->version_row)
			records_mark(&s->records, rec);
		record_set_version(rec, 0, NULL, NULL);
		return;
	}
	if (v->file_error)
		return;
	rec->version_size = extmap_size(v->map);
	rec->version_bytes = v->durable_bytes;
	/* Without memory the older text stays, which is another spelling of the same version. */
	record_set_text(&rec->version_validator, &v->validator);
}

void store_release(struct version *v)
{
	struct store *s = v->store;
	bool dead;

	mtx_lock(&s->lock);
	if (atomic_fetch_sub(&v->refs, 1) != 1) {
		mtx_unlock(&s->lock);
		return;
	}
	TAILQ_REMOVE(&s->versions, v, link);
	s->version_count--;
	dead = v->rec->version != v || (extmap_bytes(v->map) == 0 && !v->file_error);
	if (v->rec->version == v)
		record_version_locked(s, v);
	dead = dead && (v->has_row || v->backing);
	if (dead) {
		TAILQ_INSERT_TAIL(&s->graves, v, link);
		s->work |= WORK_GRAVES;
		cnd_signal(&s->wake);
	}
	s->freeing += !dead;
	mtx_unlock(&s->lock);
	if (dead)
		return;
	version_free(v);
	mtx_lock(&s->lock);
	s->freeing--;
	mtx_unlock(&s->lock);
}

/* Bring the recorded version into memory. *ret has two references: the caller's, and one for
 * loading. */
static int revive_locked(struct store *s, struct record *rec, struct version **ret)
	REQUIRES(s->lock)
{
	struct validator validator;
	struct version *v;

	record_version_validator(rec, &validator);
	v = version_new(s, rec, rec->version_id, &validator, rec->version_size);
	if (!v)
		return -ENOMEM;
	v->loading = true;
	v->durable_bytes = rec->version_bytes;
	version_get(v);
	rec->version = v;
	TAILQ_INSERT_TAIL(&s->versions, v, link);
	s->version_count++;
	*ret = v;
	return 0;
}

/* Start to load it; without memory it is given up, as if its rows could not be read. */
static int load_revived(struct version *v)
{
	int r = version_load(v);

	if (!r)
		return 0;
	mtx_lock(&v->lock);
	v->loading = false;
	v->has_row = true;
	v->file_error = r;
	cnd_broadcast(&v->changed);
	mtx_unlock(&v->lock);
	version_admit(v);
	/* Whoever found it in the table meanwhile and parked. */
	version_fail(v, (struct range){0, UINT64_MAX}, r);
	version_put(v);
	version_put(v);
	return r;
}

int store_version_by_id(struct store *s, const struct object_key *key, uint64_t id,
			struct version **ret)
{
	struct version *v = NULL;
	struct record *rec;
	bool load = false;
	int r = -ENOENT;

	mtx_lock(&s->lock);
	rec = records_find(&s->records, key);
	if (rec && rec->version_id && (rec->version_id == id || id == 0)) {
		if (rec->version) {
			v = version_get(rec->version);
			r = 0;
		} else {
			r = revive_locked(s, rec, &v);
			load = r == 0;
		}
	}
	mtx_unlock(&s->lock);
	if (load)
		r = load_revived(v);
	if (!r)
		*ret = v;
	return r;
}

static bool same_version_locked(const struct record *rec, const struct validator *got,
				uint64_t size)

{
	struct validator have;
	uint64_t had = rec->version_size;

	record_version_validator(rec, &have);
	if (rec->version) {
		mtx_lock(&rec->version->lock);
		have = rec->version->validator;
		had = extmap_size(rec->version->map);
		mtx_unlock(&rec->version->lock);
	}
	if (size != SIZE_UNKNOWN && had != SIZE_UNKNOWN && size != had)
		return false;
	return validator_compare(&have, got, false) != VALIDATOR_DIFFERENT;
}

/*
 * A new version becomes the object's. The old one: in memory it goes to *ret_old (the caller closes
 * and puts it), otherwise straight to the graves.
 */
static int supersede_locked(struct store *s, struct record *rec, const struct validator *validator,
			    uint64_t size, struct version **ret_old, struct version **ret)
	REQUIRES(s->lock)
{
	struct version *v, *old = rec->version, *grave = NULL;
	uint64_t old_bytes = rec->version_bytes, old_id = rec->version_id;
	bool had_row = rec->version_row != 0;
	int r;

	v = version_new(s, rec, s->next_id, validator, size);
	if (v && !old && old_id)
		grave = version_new(s, rec, old_id, NULL, SIZE_UNKNOWN);
	r = !v || (!old && old_id && !grave) ? -ENOMEM
					     : record_set_version(rec, s->next_id, v, validator);
	if (r) {
		version_free(v);
		version_free(grave);
		return r;
	}
	s->next_id++;
	TAILQ_INSERT_TAIL(&s->versions, v, link);
	s->version_count++;
	if (had_row)
		records_mark(&s->records, rec);
	if (grave) {
		grave->has_row = true;
		grave->durable_bytes = old_bytes;
		TAILQ_INSERT_TAIL(&s->graves, grave, link);
		s->work |= WORK_GRAVES;
		cnd_signal(&s->wake);
	}
	*ret_old = old ? version_get(old) : NULL;
	*ret = v;
	return 0;
}

int store_version_open(struct store *s, const struct object_key *key,
		       const struct validator *validator, uint64_t size, bool new_version,
		       struct version **ret)
{
	struct version *v = NULL, *old = NULL;
	struct record *rec;
	bool load = false, touched;
	int r = 0;

	mtx_lock(&s->lock);
	rec = records_make(&s->records, key);
	if (!rec)
		r = -ENOMEM;
	else if (!rec->version_id || new_version || !same_version_locked(rec, validator, size))
		r = supersede_locked(s, rec, validator, size, &old, &v);
	else if (rec->version)
		v = version_get(rec->version);
	else
		r = revive_locked(s, rec, &v), load = r == 0;
	mtx_unlock(&s->lock);
	if (load)
		r = load_revived(v);
	if (old) {
		mtx_lock(&old->lock);
		old->closed = true;
		/* Its atimes matter to nobody: do not keep its blocks for them. */
		touched = version_unhold_locked(old, HOLD_TOUCHED);
		mtx_unlock(&old->lock);
		if (touched)
			version_put(old);
		version_put(old);
		store_poke(s, WORK_NEW);
	}
	if (r)
		return r;
	version_learn(v, validator);
	*ret = v;
	return 0;
}

/* ---- records ---- */

int store_lookup(struct store *s, const struct object_key *key, struct store_record *ret)
{
	struct record *rec;
	uint64_t size;

	mtx_lock(&s->lock);
	rec = records_find(&s->records, key);
	if (rec) {
		*ret = (struct store_record){.size = rec->size,
					     .mtime = rec->mtime,
					     .asked_s = rec->asked_s,
					     .bytes_cached = rec->version_bytes,
					     .bytes_durable = rec->version_bytes,
					     .version_id = rec->version_id};
		record_validator(rec, &ret->validator);
		size = rec->version_size;
		if (rec->version) {
			mtx_lock(&rec->version->lock);
			if (!rec->version->loading) {
				ret->bytes_cached = extmap_bytes(rec->version->map);
				ret->bytes_durable = rec->version->durable_bytes;
			}
			size = extmap_size(rec->version->map);
			mtx_unlock(&rec->version->lock);
		}
		ret->complete =
			rec->version_id && size != SIZE_UNKNOWN && ret->bytes_cached == size;
	}
	mtx_unlock(&s->lock);
	return rec ? 0 : -ENOENT;
}

bool store_empty(struct store *s)
{
	bool empty;

	mtx_lock(&s->lock);
	empty = s->records.count == 0;
	mtx_unlock(&s->lock);
	return empty;
}

int store_remember(struct store *s, const struct object_key *key, const struct store_record *rec)
{
	struct record *r;
	int error = 0;

	mtx_lock(&s->lock);
	r = records_make(&s->records, key);
	if (!r) {
		error = -ENOMEM;
	} else {
		/* The version keeps the validator that it came with. */
		if (r->version_id && !r->version_validator && r->validator) {
			r->version_validator = strdup(r->validator);
			error = r->version_validator ? 0 : -ENOMEM;
		}
		if (!error)
			error = record_set_text(&r->validator, &rec->validator);
	}
	if (!error) {
		r->size = rec->size;
		r->mtime = rec->mtime;
		r->asked_s = rec->asked_s;
		records_mark(&s->records, r);
	}
	mtx_unlock(&s->lock);
	if (!error)
		store_poke(s, WORK_NEW);
	return error;
}
