/*
 * extdb.c - objects, versions and extents as rows: the statements, and what a transaction does with
 * them
 *
 * Statements are prepared once. Rows of objects and versions carry a checksum over themselves,
 * since a flipped bit in a size would otherwise be believed; an extent's row needs none, because
 * its block sums prove the data or disprove it.
 */
#include <inttypes.h>
#include <xxhash.h>

#include "base/log.h"
#include "store/extdb_schema.h"

const char *const extdb_stmt_text[STMT_COUNT] = {
	[STMT_BEGIN] = "BEGIN IMMEDIATE",
	[STMT_COMMIT] = "COMMIT",
	[STMT_ROLLBACK] = "ROLLBACK",
	[STMT_PUT_OBJECT] =
		"INSERT INTO objects(key, size, mtime, validator, asked, version, sum) VALUES(?1, "
		"?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT(key) DO UPDATE SET size=?2, mtime=?3, "
		"validator=?4, asked=?5, version=?6, sum=?7",
	[STMT_PUT_VERSION] =
		"INSERT INTO versions(id, key, cookie, ino, size, bytes, validator, sum) VALUES("
		"?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT(id) DO UPDATE SET key=?2, cookie="
		"?3, ino=?4, size=?5, bytes=?6, validator=?7, sum=?8",
	[STMT_PUT_BYTES] = "UPDATE versions SET bytes=?2 WHERE id=?1",
	[STMT_PUT_EXTENT] =
		"INSERT INTO extents(version, block, count, source, atime, sums) VALUES(?1, ?2, "
		"?3, ?4, ?5, ?6)",
	[STMT_DEL_INSIDE] = "DELETE FROM extents WHERE version=?1 AND block>=?2 AND block<?3 AND "
			    "block+count<=?3",
	/* Starts before the end and is not inside: at most one on each side. ?4: EXTENT_BLOCKS_MAX
	   earlier. */
	[STMT_GET_ACROSS] =
		"SELECT id, block, count, source, atime, sums FROM extents WHERE version=?1 AND "
		"block>?4 AND block<?3 AND block+count>?2 ORDER BY block LIMIT 2",
	[STMT_DEL_EXTENT] = "DELETE FROM extents WHERE id=?1",
	[STMT_TOUCH] =
		"UPDATE extents SET atime=?4 WHERE version=?1 AND block>=?2 AND block<?3 AND atime<?4",
	[STMT_DEL_VERSION] = "DELETE FROM versions WHERE id=?1",
	[STMT_EACH_OBJECT] =
		"SELECT o.key, o.size, o.mtime, o.validator, o.asked, o.version, o.sum, v.id, "
		"v.key, v.cookie, v.ino, v.size, v.bytes, v.validator, v.sum FROM objects o LEFT "
		"JOIN versions v ON v.id=o.version ORDER BY o.key",
	[STMT_EACH_VERSION] =
		"SELECT v.id, v.key, v.cookie, v.ino, v.size, v.bytes, v.validator, v.sum, "
		"o.version FROM versions v LEFT JOIN objects o ON o.key=v.key ORDER BY v.id",
	[STMT_GET_VERSION] =
		"SELECT id, key, cookie, ino, size, bytes, validator, sum FROM versions WHERE "
		"id=?1",
	[STMT_EACH_EXTENT] =
		"SELECT block, count, source, atime, sums FROM extents WHERE version=?1 ORDER BY "
		"block",
	[STMT_EACH_OLDEST] =
		"SELECT e.atime, e.version, e.block, e.count, v.key FROM extents e CROSS JOIN "
		"versions v ON v.id=e.version ORDER BY e.atime, e.version, e.block",
	[STMT_MAX_VERSION] = "SELECT max(id) FROM versions",
	[STMT_GET_STATE] = "SELECT value FROM state WHERE name=?1",
	[STMT_SET_STATE] =
		"INSERT INTO state(name, value) VALUES(?1, ?2) ON CONFLICT(name) DO UPDATE SET "
		"value=?2",
};

int extdb_errno(int code)
{
	switch (code & 0xff) {
	case SQLITE_OK:
	case SQLITE_ROW:
	case SQLITE_DONE:
		return 0;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	case SQLITE_READONLY:
		return -EROFS;
	case SQLITE_PERM:
	case SQLITE_AUTH:
		return -EACCES;
	case SQLITE_IOERR:
	case SQLITE_CANTOPEN:
	case SQLITE_INTERRUPT:
		return -EIO;
	default:
		/* CORRUPT, NOTADB, FORMAT; a missing table or a broken constraint is damage as
		 * well. */
		return -EUCLEAN;
	}
}

int extdb_prepare(struct extdb *db)
{
	int r = 0;

	for (size_t i = 0; !r && i < STMT_COUNT; i++)
		r = extdb_errno(sqlite3_prepare_v3(db->sql, extdb_stmt_text[i], -1,
						   SQLITE_PREPARE_PERSISTENT, &db->stmt[i], NULL));
	return r;
}

/* Run a statement that answers no row, and make it ready for the next time. */
static int extdb_run(struct extdb *db, enum extdb_stmt id)
{
	sqlite3_stmt *stmt = db->stmt[id];
	int code = sqlite3_step(stmt);

	sqlite3_reset(stmt);
	sqlite3_clear_bindings(stmt);
	return code == SQLITE_ROW ? -EUCLEAN : extdb_errno(code);
}

/* ---- values: SIZE_UNKNOWN is NULL, other 64-bit numbers keep their bits ---- */

static void bind_size(sqlite3_stmt *stmt, int at, uint64_t size)
{
	if (size == SIZE_UNKNOWN)
		sqlite3_bind_null(stmt, at);
	else
		sqlite3_bind_int64(stmt, at, (sqlite3_int64)size);
}

static uint64_t column_size(sqlite3_stmt *stmt, int at)
{
	if (sqlite3_column_type(stmt, at) == SQLITE_NULL)
		return SIZE_UNKNOWN;
	return (uint64_t)sqlite3_column_int64(stmt, at);
}

static uint64_t column_u64(sqlite3_stmt *stmt, int at)
{
	return (uint64_t)sqlite3_column_int64(stmt, at);
}

static bool column_key(sqlite3_stmt *stmt, int at, struct object_key *ret)
{
	const void *blob = sqlite3_column_blob(stmt, at);

	if (!blob || sqlite3_column_bytes(stmt, at) != OBJECT_KEY_BYTES)
		return false;
	memcpy(ret->bytes, blob, OBJECT_KEY_BYTES);
	return true;
}

static bool column_validator(sqlite3_stmt *stmt, int at, char ret[VALIDATOR_TEXT_MAX])
{
	const char *text = (const char *)sqlite3_column_text(stmt, at);
	int len = sqlite3_column_bytes(stmt, at);

	if (!text || len >= VALIDATOR_TEXT_MAX)
		return false;
	memset(ret, 0, VALIDATOR_TEXT_MAX);
	memcpy(ret, text, (size_t)len);
	return true;
}

/* Over key, numbers and text. */
static uint64_t row_sum(const struct object_key *key, const uint64_t words[4],
			const char *validator)
{
	unsigned char buf[OBJECT_KEY_BYTES + 4 * sizeof(words[0]) + VALIDATOR_TEXT_MAX];
	size_t len = strnlen(validator, VALIDATOR_TEXT_MAX);

	memcpy(buf, key->bytes, OBJECT_KEY_BYTES);
	memcpy(buf + OBJECT_KEY_BYTES, words, 4 * sizeof(words[0]));
	memcpy(buf + OBJECT_KEY_BYTES + 4 * sizeof(words[0]), validator, len);
	return XXH3_64bits(buf, OBJECT_KEY_BYTES + 4 * sizeof(words[0]) + len);
}

static uint64_t object_sum(const struct object_row *row)
{
	uint64_t words[4] = {row->size, (uint64_t)row->mtime, (uint64_t)row->asked_s, row->version};

	return row_sum(&row->key, words, row->validator);
}

/* Without bytes, which is only a total and is summed up anew when the extents are loaded. */
static uint64_t version_sum(const struct version_row *row)
{
	uint64_t words[4] = {row->id, row->cookie, row->ino, row->size};

	return row_sum(&row->key, words, row->validator);
}

/* ---- changing ---- */

static int put_object(struct extdb *db, const struct object_row *row)
{
	sqlite3_stmt *stmt = db->stmt[STMT_PUT_OBJECT];

	sqlite3_bind_blob(stmt, 1, row->key.bytes, OBJECT_KEY_BYTES, SQLITE_STATIC);
	bind_size(stmt, 2, row->size);
	sqlite3_bind_int64(stmt, 3, row->mtime);
	sqlite3_bind_text(stmt, 4, row->validator, -1, SQLITE_STATIC);
	sqlite3_bind_int64(stmt, 5, row->asked_s);
	if (row->version)
		sqlite3_bind_int64(stmt, 6, (sqlite3_int64)row->version);
	sqlite3_bind_int64(stmt, 7, (sqlite3_int64)object_sum(row));
	return extdb_run(db, STMT_PUT_OBJECT);
}

static int put_version(struct extdb *db, const struct version_row *row)
{
	sqlite3_stmt *stmt = db->stmt[STMT_PUT_VERSION];

	sqlite3_bind_int64(stmt, 1, (sqlite3_int64)row->id);
	sqlite3_bind_blob(stmt, 2, row->key.bytes, OBJECT_KEY_BYTES, SQLITE_STATIC);
	sqlite3_bind_int64(stmt, 3, (sqlite3_int64)row->cookie);
	sqlite3_bind_int64(stmt, 4, (sqlite3_int64)row->ino);
	bind_size(stmt, 5, row->size);
	sqlite3_bind_int64(stmt, 6, (sqlite3_int64)row->bytes);
	sqlite3_bind_text(stmt, 7, row->validator, -1, SQLITE_STATIC);
	sqlite3_bind_int64(stmt, 8, (sqlite3_int64)version_sum(row));
	return extdb_run(db, STMT_PUT_VERSION);
}

static int put_bytes(struct extdb *db, uint64_t version, uint64_t bytes)
{
	sqlite3_stmt *stmt = db->stmt[STMT_PUT_BYTES];

	sqlite3_bind_int64(stmt, 1, (sqlite3_int64)version);
	sqlite3_bind_int64(stmt, 2, (sqlite3_int64)bytes);
	return extdb_run(db, STMT_PUT_BYTES);
}

static int put_extent(struct extdb *db, const struct extent_row *e)
{
	sqlite3_stmt *stmt = db->stmt[STMT_PUT_EXTENT];

	sqlite3_bind_int64(stmt, 1, (sqlite3_int64)e->version);
	sqlite3_bind_int64(stmt, 2, (sqlite3_int64)e->block);
	sqlite3_bind_int64(stmt, 3, e->count);
	sqlite3_bind_int64(stmt, 4, e->source);
	sqlite3_bind_int64(stmt, 5, e->atime_s);
	sqlite3_bind_blob(stmt, 6, e->sums, (int)(e->count * sizeof(e->sums[0])), SQLITE_STATIC);
	return extdb_run(db, STMT_PUT_EXTENT);
}

/* One row that sticks out of the blocks to clear, with its own copy of the sums. */
struct across {
	sqlite3_int64 id;
	struct extent_row row;
	uint64_t sums[EXTENT_BLOCKS_MAX];
};

/* False: the row can't be true and is not worth keeping any part of. */
static bool across_read(sqlite3_stmt *stmt, uint64_t version, struct across *ret)
{
	const void *blob = sqlite3_column_blob(stmt, 5);
	int64_t count = sqlite3_column_int64(stmt, 2);

	ret->id = sqlite3_column_int64(stmt, 0);
	if (!blob || count < 1 || count > EXTENT_BLOCKS_MAX ||
	    sqlite3_column_bytes(stmt, 5) != count * (int64_t)sizeof(ret->sums[0]))
		return false;
	memcpy(ret->sums, blob, (size_t)count * sizeof(ret->sums[0]));
	ret->row = (struct extent_row){.version = version,
				       .block = column_u64(stmt, 1),
				       .count = (uint32_t)count,
				       .atime_s = (uint32_t)sqlite3_column_int64(stmt, 4),
				       .source = (uint16_t)sqlite3_column_int64(stmt, 3),
				       .sums = ret->sums};
	return true;
}

static int del_extent(struct extdb *db, sqlite3_int64 id)
{
	sqlite3_bind_int64(db->stmt[STMT_DEL_EXTENT], 1, id);
	return extdb_run(db, STMT_DEL_EXTENT);
}

/* Put back what of a deleted row lies outside [block, end). */
static int across_keep(struct extdb *db, const struct across *a, uint64_t block, uint64_t end)
{
	uint64_t row_end = a->row.block + a->row.count;
	struct extent_row part;
	int r = 0;

	if (a->row.block < block) {
		part = a->row;
		part.count = (uint32_t)(block - a->row.block);
		r = put_extent(db, &part);
	}
	if (!r && row_end > end) {
		part = a->row;
		part.block = end;
		part.count = (uint32_t)(row_end - end);
		part.sums = a->sums + (end - a->row.block);
		r = put_extent(db, &part);
	}
	return r;
}

static int clear_blocks(struct extdb *db, uint64_t version, uint64_t block, uint64_t end)
{
	sqlite3_stmt *stmt = db->stmt[STMT_DEL_INSIDE];
	struct across *across;
	bool good[2] = {false, false};
	int count = 0, code, r;

	sqlite3_bind_int64(stmt, 1, (sqlite3_int64)version);
	sqlite3_bind_int64(stmt, 2, (sqlite3_int64)block);
	sqlite3_bind_int64(stmt, 3, (sqlite3_int64)end);
	r = extdb_run(db, STMT_DEL_INSIDE);
	if (r)
		return r;

	across = malloc(2 * sizeof(*across));
	if (!across)
		return -ENOMEM;
	stmt = db->stmt[STMT_GET_ACROSS];
	sqlite3_bind_int64(stmt, 1, (sqlite3_int64)version);
	sqlite3_bind_int64(stmt, 2, (sqlite3_int64)block);
	sqlite3_bind_int64(stmt, 3, (sqlite3_int64)end);
	sqlite3_bind_int64(stmt, 4, (sqlite3_int64)block - EXTENT_BLOCKS_MAX);
	while (count < 2 && (code = sqlite3_step(stmt)) == SQLITE_ROW) {
		good[count] = across_read(stmt, version, &across[count]);
		count++;
	}
	r = count < 2 ? extdb_errno(code) : 0;
	sqlite3_reset(stmt);
	for (int i = 0; !r && i < count; i++)
		r = del_extent(db, across[i].id);
	for (int i = 0; !r && i < count; i++)
		r = good[i] ? across_keep(db, &across[i], block, end) : 0;
	free(across);
	return r;
}

static int touch_blocks(struct extdb *db, const struct batch_step *step)
{
	sqlite3_stmt *stmt = db->stmt[STMT_TOUCH];

	sqlite3_bind_int64(stmt, 1, (sqlite3_int64)step->u.extent.version);
	sqlite3_bind_int64(stmt, 2, (sqlite3_int64)step->u.extent.block);
	sqlite3_bind_int64(stmt, 3, (sqlite3_int64)step->end_block);
	sqlite3_bind_int64(stmt, 4, step->u.extent.atime_s);
	return extdb_run(db, STMT_TOUCH);
}

static int apply_step(struct extdb *db, const struct batch_step *step)
{
	const struct extent_row *e = &step->u.extent;
	int r;

	switch (step->kind) {
	case BATCH_OBJECT:
		return put_object(db, &step->u.object);
	case BATCH_VERSION:
		return put_version(db, &step->u.version);
	case BATCH_BYTES:
		return put_bytes(db, step->u.version.id, step->u.version.bytes);
	case BATCH_EXTENT:
		r = clear_blocks(db, e->version, e->block, e->block + e->count);
		return r ? r : put_extent(db, e);
	case BATCH_CLEAR:
		return clear_blocks(db, e->version, e->block, step->end_block);
	case BATCH_TOUCH:
		return touch_blocks(db, step);
	case BATCH_DELETE:
		sqlite3_bind_int64(db->stmt[STMT_DEL_VERSION], 1, (sqlite3_int64)step->u.id);
		return extdb_run(db, STMT_DEL_VERSION);
	case BATCH_KIND_COUNT:
		break;
	}
	return -EINVAL;
}

static int apply_once(struct extdb *db, const struct batch *b)
{
	const struct batch_step *step;
	int r;

	r = extdb_run(db, STMT_BEGIN);
	if (r)
		return r;
	if (db->unmarked)
		r = extdb_set_clean(db, false);
	STAILQ_FOREACH (step, &b->steps, link) {
		if (!r)
			r = apply_step(db, step);
	}
	if (!r)
		r = extdb_run(db, STMT_COMMIT);
	if (!r)
		db->unmarked = false;
	/* After some errors SQLite has rolled back by itself. */
	if (r && !sqlite3_get_autocommit(db->sql))
		extdb_run(db, STMT_ROLLBACK);
	return r;
}

static int truncate_log(struct extdb *db)
{
	return extdb_errno(
		sqlite3_wal_checkpoint_v2(db->sql, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL));
}

/* A quota that is used up is as good as a full disk. */
static bool lacks_room(const struct extdb *db, int error)
{
	return error == -ENOSPC || (error == -EIO && sqlite3_system_errno(db->sql) == EDQUOT);
}

int extdb_apply(struct extdb *db, const struct batch *b, bool truncate)
{
	bool given = false;
	int r = b->error;

	if (!r && b->count > 0) {
		r = apply_once(db, b);
		given = lacks_room(db, r);
		/* On a full disk the log itself holds some of the room that is missing. */
		if (given) {
			extdb_reserve(db, false);
			truncate_log(db);
			r = apply_once(db, b);
		}
	}
	if (!r && (truncate || given)) {
		int error = truncate_log(db);

		if (lacks_room(db, error) && !given) {
			given = true;
			extdb_reserve(db, false);
			error = truncate_log(db);
		}
		/* Unasked, it was only for the room. */
		r = truncate ? error : 0;
	}
	if (given)
		extdb_reserve(db, true);
	return r;
}

/* ---- asking ---- */

static bool version_read_row(sqlite3_stmt *stmt, int at, struct version_row *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->id = column_u64(stmt, at);
	ret->cookie = column_u64(stmt, at + 2);
	ret->ino = column_u64(stmt, at + 3);
	ret->size = column_size(stmt, at + 4);
	ret->bytes = column_u64(stmt, at + 5);
	return column_key(stmt, at + 1, &ret->key) &&
	       column_validator(stmt, at + 6, ret->validator) &&
	       column_u64(stmt, at + 7) == version_sum(ret);
}

static bool object_read_row(sqlite3_stmt *stmt, struct object_row *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->size = column_size(stmt, 1);
	ret->mtime = sqlite3_column_int64(stmt, 2);
	ret->asked_s = sqlite3_column_int64(stmt, 4);
	ret->version = column_u64(stmt, 5);
	return column_key(stmt, 0, &ret->key) && column_validator(stmt, 3, ret->validator) &&
	       column_u64(stmt, 6) == object_sum(ret);
}

/* End of a walk: what the callback said, else what SQLite said. */
static int walk_end(sqlite3_stmt *stmt, int code, int said)
{
	sqlite3_reset(stmt);
	sqlite3_clear_bindings(stmt);
	return said ? said : extdb_errno(code);
}

int extdb_each_object(struct extdb *db, int (*fn)(void *ctx, const struct extdb_object *o),
		      void *ctx, uint64_t *ret_bad)
{
	sqlite3_stmt *stmt = db->stmt[STMT_EACH_OBJECT];
	struct extdb_object o;
	uint64_t bad = 0;
	int code, r = 0;

	while (!r && (code = sqlite3_step(stmt)) == SQLITE_ROW) {
		if (!object_read_row(stmt, &o.row)) {
			bad++;
			continue;
		}
		if (sqlite3_column_type(stmt, 7) == SQLITE_NULL)
			memset(&o.version, 0, sizeof(o.version));
		else if (!version_read_row(stmt, 7, &o.version) ||
			 memcmp(&o.version.key, &o.row.key, sizeof(o.row.key)) != 0) {
			memset(&o.version, 0, sizeof(o.version));
			bad++;
		}
		r = fn(ctx, &o);
	}
	r = walk_end(stmt, code, r);
	if (!r)
		*ret_bad = bad;
	return r;
}

int extdb_each_version(struct extdb *db,
		       int (*fn)(void *ctx, const struct version_row *v, bool named), void *ctx)
{
	sqlite3_stmt *stmt = db->stmt[STMT_EACH_VERSION];
	struct version_row row;
	int code, r = 0;

	while (!r && (code = sqlite3_step(stmt)) == SQLITE_ROW) {
		bool good = version_read_row(stmt, 0, &row);

		r = fn(ctx, &row, good && column_u64(stmt, 8) == row.id);
	}
	return walk_end(stmt, code, r);
}

int extdb_get_version(struct extdb *db, uint64_t id, struct version_row *ret)
{
	sqlite3_stmt *stmt = db->stmt[STMT_GET_VERSION];
	struct version_row row;
	int code, r = -ENOENT;

	sqlite3_bind_int64(stmt, 1, (sqlite3_int64)id);
	code = sqlite3_step(stmt);
	if (code == SQLITE_ROW)
		r = version_read_row(stmt, 0, &row) ? 0 : -ENOENT;
	else if (code != SQLITE_DONE)
		r = extdb_errno(code);
	sqlite3_reset(stmt);
	if (!r)
		*ret = row;
	return r;
}

int extdb_each_extent(struct extdb *db, uint64_t version,
		      int (*fn)(void *ctx, const struct extent_row *e), void *ctx)
{
	sqlite3_stmt *stmt = db->stmt[STMT_EACH_EXTENT];
	const int64_t last = (int64_t)(UINT64_MAX >> 1 >> BLOCK_SHIFT);
	int64_t next = 0;
	int code, r = 0;

	sqlite3_bind_int64(stmt, 1, (sqlite3_int64)version);
	while (!r && (code = sqlite3_step(stmt)) == SQLITE_ROW) {
		int64_t block = sqlite3_column_int64(stmt, 0),
			count = sqlite3_column_int64(stmt, 1);
		const void *blob = sqlite3_column_blob(stmt, 4);
		uint64_t sums[EXTENT_BLOCKS_MAX];
		struct extent_row e;

		if (block < next || count < 1 || count > EXTENT_BLOCKS_MAX ||
		    block > last - count || !blob ||
		    sqlite3_column_bytes(stmt, 4) != count * (int64_t)sizeof(sums[0]))
			continue;
		next = block + count;
		memcpy(sums, blob, (size_t)count * sizeof(sums[0])); /* a blob is not aligned */
		e = (struct extent_row){.version = version,
					.block = (uint64_t)block,
					.count = (uint32_t)count,
					.atime_s = (uint32_t)sqlite3_column_int64(stmt, 3),
					.source = (uint16_t)sqlite3_column_int64(stmt, 2),
					.sums = sums};
		r = fn(ctx, &e);
	}
	return walk_end(stmt, code, r);
}

int extdb_each_oldest(struct extdb *db,
		      int (*fn)(void *ctx, const struct object_key *key,
				const struct extent_row *e),
		      void *ctx)
{
	sqlite3_stmt *stmt = db->stmt[STMT_EACH_OLDEST];
	struct object_key key;
	int code, r = 0;

	while (!r && (code = sqlite3_step(stmt)) == SQLITE_ROW) {
		struct extent_row e = {.version = column_u64(stmt, 1),
				       .block = column_u64(stmt, 2),
				       .count = (uint32_t)sqlite3_column_int64(stmt, 3),
				       .atime_s = (uint32_t)sqlite3_column_int64(stmt, 0)};

		if (column_key(stmt, 4, &key))
			r = fn(ctx, &key, &e);
	}
	return walk_end(stmt, code, r);
}

int extdb_max_version(struct extdb *db, uint64_t *ret)
{
	sqlite3_stmt *stmt = db->stmt[STMT_MAX_VERSION];
	uint64_t max = 0;
	int code = sqlite3_step(stmt);

	if (code == SQLITE_ROW)
		max = column_u64(stmt, 0);
	sqlite3_reset(stmt);
	if (code != SQLITE_ROW)
		return code == SQLITE_DONE ? -EUCLEAN : extdb_errno(code);
	*ret = max;
	return 0;
}

/* ---- the one flag, and the check ---- */

int extdb_get_clean(struct extdb *db, bool *ret)
{
	sqlite3_stmt *stmt = db->stmt[STMT_GET_STATE];
	bool clean = false;
	int code;

	sqlite3_bind_text(stmt, 1, "clean", -1, SQLITE_STATIC);
	code = sqlite3_step(stmt);
	if (code == SQLITE_ROW)
		clean = sqlite3_column_int64(stmt, 0) == 1;
	sqlite3_reset(stmt);
	if (code != SQLITE_ROW && code != SQLITE_DONE)
		return extdb_errno(code);
	*ret = clean;
	return 0;
}

int extdb_set_clean(struct extdb *db, bool clean)
{
	sqlite3_stmt *stmt = db->stmt[STMT_SET_STATE];

	sqlite3_bind_text(stmt, 1, "clean", -1, SQLITE_STATIC);
	sqlite3_bind_int64(stmt, 2, clean);
	return extdb_run(db, STMT_SET_STATE);
}

int extdb_set_open(struct extdb *db)
{
	int r = extdb_set_clean(db, false);

	db->unmarked = r == -ENOSPC;
	return db->unmarked ? 0 : r;
}

int extdb_check(struct extdb *db)
{
	sqlite3_stmt *stmt = NULL;
	const char *text;
	int code, r;

	r = extdb_errno(sqlite3_prepare_v2(db->sql, "PRAGMA quick_check(1)", -1, &stmt, NULL));
	if (r)
		return r;
	code = sqlite3_step(stmt);
	text = code == SQLITE_ROW ? (const char *)sqlite3_column_text(stmt, 0) : NULL;
	r = text && strcmp(text, "ok") == 0 ? 0 : code == SQLITE_ROW ? -EUCLEAN : extdb_errno(code);
	sqlite3_finalize(stmt);
	return r;
}
