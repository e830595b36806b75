/*
 * extdb_open.c - is this file our database, and of which version? Create, migrate or refuse it
 *
 * A file that is damaged, foreign or newer is never guessed at: -EUCLEAN, and the caller moves it
 * aside. Checked here: SQLite's header, application_id, user_version and the text of the schema. A
 * whole quick_check would read everything and is left to `rgetfs cache check`; damage deeper inside
 * shows as SQLITE_CORRUPT when it is met, and rows carry checksums of their own.
 */
#include <inttypes.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <xxhash.h>

#include "base/base.h"
#include "base/clock.h"
#include "base/log.h"
#include "store/extdb_schema.h"

/* sqlite_schema keeps these texts word for word, which is how a foreign schema is told. */
static const struct {
	const char *name;
	const char *text;
} schema[] = {
	{"extents",
	 "CREATE TABLE extents(id INTEGER PRIMARY KEY, version INTEGER NOT NULL REFERENCES "
	 "versions(id) ON DELETE CASCADE, block INTEGER NOT NULL, count INTEGER NOT NULL, "
	 "source INTEGER NOT NULL, atime INTEGER NOT NULL, sums BLOB NOT NULL, "
	 "UNIQUE(version, block)) STRICT"},
	{"extents_atime", "CREATE INDEX extents_atime ON extents(atime, version, block, count)"},
	{"objects",
	 "CREATE TABLE objects(key BLOB PRIMARY KEY, size INTEGER, mtime INTEGER, validator "
	 "TEXT NOT NULL, asked INTEGER NOT NULL, version INTEGER, sum INTEGER NOT NULL) "
	 "STRICT, WITHOUT ROWID"},
	{"state",
	 "CREATE TABLE state(name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT "
	 "ROWID"},
	{"versions",
	 "CREATE TABLE versions(id INTEGER PRIMARY KEY, key BLOB NOT NULL, cookie INTEGER "
	 "NOT NULL, ino INTEGER NOT NULL, size INTEGER, bytes INTEGER NOT NULL, validator "
	 "TEXT NOT NULL, sum INTEGER NOT NULL) STRICT"},
};

/*
 * migration[n] turns user_version n into n + 1, inside the transaction that also sets the number.
 * Version 0 is the empty file. Older releases' schemas become steps here; a database is never
 * rewritten otherwise.
 */
static int migrate_empty(sqlite3 *sql);
static int (*const migration[EXTDB_USER_VERSION])(sqlite3 *sql) = {migrate_empty};

static int extdb_exec(sqlite3 *sql, const char *text)
{
	return extdb_errno(sqlite3_exec(sql, text, NULL, NULL, NULL));
}

static int migrate_empty(sqlite3 *sql)
{
	/* Tables before the index and the reference to them. */
	static const size_t order[] = {4, 0, 1, 2, 3};
	char text[64];
	int r;

	_Static_assert(ARRAY_SIZE(order) == ARRAY_SIZE(schema), "create all of the schema");
	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		r = extdb_exec(sql, schema[order[i]].text);
		if (r)
			return r;
	}
	snprintf(text, sizeof(text), "PRAGMA application_id=%d", EXTDB_APPLICATION_ID);
	return extdb_exec(sql, text);
}

/* The number that a pragma or a count answers with. */
static int extdb_number(sqlite3 *sql, const char *text, int64_t *ret)
{
	sqlite3_stmt *stmt = NULL;
	int64_t value = 0;
	int code, r;

	r = extdb_errno(sqlite3_prepare_v2(sql, text, -1, &stmt, NULL));
	if (r)
		return r;
	code = sqlite3_step(stmt);
	if (code == SQLITE_ROW) {
		value = sqlite3_column_int64(stmt, 0);
		r = 0;
	} else {
		r = code == SQLITE_DONE ? -EUCLEAN : extdb_errno(code);
	}
	sqlite3_finalize(stmt);
	if (!r)
		*ret = value;
	return r;
}

/* Exactly our tables and indexes, word for word? 0, -EUCLEAN or another -errno. */
static int extdb_check_schema(sqlite3 *sql)
{
	sqlite3_stmt *stmt = NULL;
	size_t n = 0;
	int code, r;

	r = extdb_errno(
		sqlite3_prepare_v2(sql,
				   "SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND "
				   "name NOT LIKE 'sqlite_%' ORDER BY name",
				   -1, &stmt, NULL));
	if (r)
		return r;
	while ((code = sqlite3_step(stmt)) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(stmt, 0);
		const char *text = (const char *)sqlite3_column_text(stmt, 1);

		if (n >= ARRAY_SIZE(schema) || !name || !text ||
		    strcmp(name, schema[n].name) != 0 || strcmp(text, schema[n].text) != 0) {
			code = SQLITE_CORRUPT;
			break;
		}
		n++;
	}
	sqlite3_finalize(stmt);
	if (code != SQLITE_DONE)
		return extdb_errno(code);
	return n == ARRAY_SIZE(schema) ? 0 : -EUCLEAN;
}

/* Bring the file to EXTDB_USER_VERSION, or say what it is. */
static int extdb_adopt(sqlite3 *sql, bool readonly)
{
	int64_t app, version, tables;
	char text[64];
	int r;

	r = extdb_number(sql, "PRAGMA application_id", &app);
	if (!r)
		r = extdb_number(sql, "PRAGMA user_version", &version);
	if (!r)
		r = extdb_number(sql, "SELECT count(*) FROM sqlite_schema", &tables);
	if (r)
		return r;
	if (tables > 0 || app != 0 || version != 0) {
		if (app != EXTDB_APPLICATION_ID || version < 1 || version > EXTDB_USER_VERSION)
			return -EUCLEAN;
	}
	if (version < EXTDB_USER_VERSION) {
		if (readonly)
			return -EUCLEAN;
		r = extdb_exec(sql, "BEGIN IMMEDIATE");
		for (; !r && version < EXTDB_USER_VERSION; version++)
			r = migration[version](sql);
		snprintf(text, sizeof(text), "PRAGMA user_version=%d", EXTDB_USER_VERSION);
		if (!r)
			r = extdb_exec(sql, text);
		if (!r)
			r = extdb_exec(sql, "COMMIT");
		if (r) {
			extdb_exec(sql, "ROLLBACK");
			return r;
		}
	}
	return extdb_check_schema(sql);
}

static int extdb_configure(sqlite3 *sql, bool exclusive)
{
	int r;

	/* Before the first access: in this mode the log's index lives in memory, not in a shared
	 * mapping. */
	r = exclusive ? extdb_exec(sql, "PRAGMA locking_mode=EXCLUSIVE") : 0;
	if (!r)
		r = extdb_exec(sql, "PRAGMA journal_mode=WAL");
	if (!r)
		r = extdb_exec(sql, "PRAGMA synchronous=FULL");
	if (!r)
		r = extdb_exec(sql, "PRAGMA foreign_keys=ON");
	if (!r)
		r = extdb_exec(sql, "PRAGMA wal_autocheckpoint=256"); /* pages: 1 MiB */
	if (!r)
		r = extdb_exec(sql, "PRAGMA journal_size_limit=1048576");
	if (!r)
		r = extdb_exec(sql, "PRAGMA cell_size_check=ON");
	if (!r)
		r = extdb_exec(sql, "PRAGMA trusted_schema=OFF");
	/* The process may be confined to the cache directory. */
	if (!r)
		r = extdb_exec(sql, "PRAGMA temp_store=MEMORY");
	return r;
}

/* A regular file of ours, 0600, before SQLite sees it: it would follow a link and use the umask. */
static int extdb_make_file(int dirfd, bool create)
{
	int flags = O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | (create ? O_CREAT : 0);
	struct stat st;
	int fd, r = 0;

	fd = openat(dirfd, EXTDB_NAME, flags, 0600);
	if (fd < 0)
		return errno == ELOOP ? -EUCLEAN : -errno;
	if (fstat(fd, &st) < 0)
		r = -errno;
	else if (!S_ISREG(st.st_mode))
		r = -EUCLEAN;
	if (!r && (st.st_mode & 077) && fchmod(fd, 0600) < 0)
		r = -errno;
	close(fd);
	return r;
}

static int extdb_reserve_open(int dirfd)
{
	int fd = openat(dirfd, EXTDB_RESERVE_NAME, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		log_debug("the cache database has no reserve: %s", strerror(errno));
	return fd;
}

void extdb_reserve(struct extdb *db, bool take)
{
	if (db->reserve < 0)
		return;
	/* It is a help, not a need: without it a full disk is just full. */
	if (take ? fallocate(db->reserve, 0, 0, (off_t)EXTDB_RESERVE_BYTES)
		 : ftruncate(db->reserve, 0))
		log_debug("the reserve of the cache database: %s", strerror(errno));
}

static int extdb_open_as(int dirfd, const char *dir, bool readonly, bool exclusive,
			 struct extdb **ret)
{
	struct extdb *db = NULL;
	char *path = NULL;
	int r;

	r = extdb_make_file(dirfd, !readonly);
	if (r)
		return r;
	db = calloc(1, sizeof(*db));
	if (db)
		db->reserve = readonly ? -1 : extdb_reserve_open(dirfd);
	if (!db || asprintf(&path, "%s/%s", dir, EXTDB_NAME) < 0) {
		r = -ENOMEM;
		path = NULL;
		goto out;
	}
	/* A read-only look at a log still needs its index file, hence READWRITE with query_only. */
	r = extdb_errno(
		sqlite3_open_v2(path, &db->sql,
				SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW,
				NULL));
	if (r)
		goto out;
	sqlite3_busy_timeout(db->sql, 5000);
	r = extdb_configure(db->sql, exclusive);
	if (!r)
		r = extdb_adopt(db->sql, readonly);
	if (!r && readonly)
		r = extdb_exec(db->sql, "PRAGMA query_only=ON");
	if (!r)
		r = extdb_prepare(db);
	if (r)
		goto out;
	extdb_reserve(db, true);
	*ret = db;
	db = NULL;
out:
	free(path);
	extdb_close(db);
	return r;
}

int extdb_open(int dirfd, const char *dir, bool exclusive, struct extdb **ret)
{
	return extdb_open_as(dirfd, dir, false, exclusive, ret);
}

int extdb_open_readonly(int dirfd, const char *dir, struct extdb **ret)
{
	return extdb_open_as(dirfd, dir, true, false, ret);
}

void extdb_close(struct extdb *db)
{
	if (!db)
		return;
	for (size_t i = 0; i < STMT_COUNT; i++)
		sqlite3_finalize(db->stmt[i]);
	sqlite3_close(db->sql);
	if (db->reserve >= 0)
		close(db->reserve);
	free(db);
}

int extdb_move_aside(int dirfd, const char *reason)
{
	static const char *const suffix[] = {"", "-wal", "-shm", "-journal"};
	char from[64], to[128];
	int64_t now = clock_wall_s();
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(suffix); i++) {
		snprintf(from, sizeof(from), "%s%s", EXTDB_NAME, suffix[i]);
		snprintf(to, sizeof(to), "%s.bad-%" PRId64 "%s", EXTDB_NAME, now, suffix[i]);
		/* A second time within one second must not overwrite the first evidence. */
		for (int n = 1; n < 100 && faccessat(dirfd, to, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
		     n++)
			snprintf(to, sizeof(to), "%s.bad-%" PRId64 "-%d%s", EXTDB_NAME, now, n,
				 suffix[i]);
		if (renameat(dirfd, from, dirfd, to) < 0 && errno != ENOENT)
			r = -errno;
	}
	if (fsync(dirfd) < 0 && !r)
		r = -errno;
	log_error("cache database %s: it was moved aside as %s.bad-%" PRId64
		  ", the cache starts cold",
		  reason, EXTDB_NAME, now);
	return r;
}
