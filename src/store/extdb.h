/*
 * extdb.h - the database of one cache directory: objects, versions, extents; the only user of
 * SQLite
 *
 * Called by one thread at a time (the database thread; store_open() before that thread starts).
 * Blocks on the disk. Errors: -EUCLEAN is damage, a foreign or a newer file (move it aside, start
 * cold); -ENOSPC, -EIO, -ENOMEM, … leave the database as it was before the call.
 *
 * There is no URL, header or secret in it: objects are known by a 16-byte key.
 */
#ifndef STORE_EXTDB_H
#define STORE_EXTDB_H

#include "store/batch.h"

#define EXTDB_NAME "extents.db"
/*
 * A file beside it that only holds room on the disk: given up for as long as it takes to commit
 * where others have filled the disk, so that what is cached can be forgotten even there.
 */
#define EXTDB_RESERVE_NAME  EXTDB_NAME "-reserve"
#define EXTDB_RESERVE_BYTES (UINT64_C(512) << 10) /* 128 pages of its log */

struct extdb;

/*
 * Open or create EXTDB_NAME in the directory (dirfd and its real path name the same one).
 * exclusive: no shared memory file; nobody else can open it meanwhile. 0 or -errno.
 */
int extdb_open(int dirfd, const char *dir, bool exclusive, struct extdb **ret);
/* The same, for looking at only: never creates, never changes. */
int extdb_open_readonly(int dirfd, const char *dir, struct extdb **ret);
void extdb_close(struct extdb *db);
/* Rename the database and what belongs to it to NAME.bad-TIMESTAMP. db must be closed. 0 or -errno.
 */
int extdb_move_aside(int dirfd, const char *reason);

/*
 * One transaction, durable when it returns 0. truncate: older states are gone from the write-ahead
 * log as well, so that not even a torn log brings them back.
 */
int extdb_apply(struct extdb *db, const struct batch *b, bool truncate);

/* Callbacks return 0 to go on, else the walk ends with what they returned. */
struct extdb_object {
	struct object_row row;
	struct version_row version; /* id 0: none */
};
/* In the order of keys. Rows whose own checksum is wrong are left out and counted. */
int extdb_each_object(struct extdb *db, int (*fn)(void *ctx, const struct extdb_object *o),
		      void *ctx, uint64_t *ret_bad);
/* Every version, those that no object names included (named false). */
int extdb_each_version(struct extdb *db,
		       int (*fn)(void *ctx, const struct version_row *v, bool named), void *ctx);
/* 0 or -ENOENT. */
int extdb_get_version(struct extdb *db, uint64_t id, struct version_row *ret);
/* In the order of blocks; rows that can't be true (length, overlap) are left out. */
int extdb_each_extent(struct extdb *db, uint64_t version,
		      int (*fn)(void *ctx, const struct extent_row *e), void *ctx);
/* Least recently read first; e->sums is NULL. key is the version's object. */
int extdb_each_oldest(struct extdb *db,
		      int (*fn)(void *ctx, const struct object_key *key,
				const struct extent_row *e),
		      void *ctx);
/* The largest version id ever given out and recorded. */
int extdb_max_version(struct extdb *db, uint64_t *ret);

/* Whether the last owner ended by closing; setting it is a transaction of its own. */
int extdb_get_clean(struct extdb *db, bool *ret);
int extdb_set_clean(struct extdb *db, bool clean);
/*
 * Not closed yet. On a full disk that is written with the first transaction that finds room, and 0:
 * what is known can be served without writing. A crash before it leaves at most a file that no row
 * names, which the next open that was not clean clears up.
 */
int extdb_set_open(struct extdb *db);
/* SQLite's own full check: reads everything. 0 or -EUCLEAN. */
int extdb_check(struct extdb *db);

#endif
