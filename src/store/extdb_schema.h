/*
 * extdb_schema.h - the text of the schema and its version; extdb.c and extdb_open.c share it
 */
#ifndef STORE_EXTDB_SCHEMA_H
#define STORE_EXTDB_SCHEMA_H

#include <sqlite3.h>

#include "store/extdb.h"

#define EXTDB_APPLICATION_ID 0x72676673 /* "rgfs" */
#define EXTDB_USER_VERSION   1

enum extdb_stmt {
	STMT_BEGIN,
	STMT_COMMIT,
	STMT_ROLLBACK,
	STMT_PUT_OBJECT,
	STMT_PUT_VERSION,
	STMT_PUT_BYTES,
	STMT_PUT_EXTENT,
	STMT_DEL_INSIDE,
	STMT_GET_ACROSS,
	STMT_DEL_EXTENT,
	STMT_TOUCH,
	STMT_DEL_VERSION,
	STMT_EACH_OBJECT,
	STMT_EACH_VERSION,
	STMT_GET_VERSION,
	STMT_EACH_EXTENT,
	STMT_EACH_OLDEST,
	STMT_MAX_VERSION,
	STMT_GET_STATE,
	STMT_SET_STATE,
	STMT_COUNT
};

struct extdb {
	sqlite3 *sql;
	int reserve; /* its descriptor; -1: none */
	sqlite3_stmt *stmt[STMT_COUNT];
	bool unmarked; /* extdb_set_open() could not write; the next transaction does */
};

extern const char *const extdb_stmt_text[STMT_COUNT];

/* What SQLite said, as a negative errno: damage is -EUCLEAN. */
int extdb_errno(int sqlite_code);
/* Take the reserve's room on the disk, or give it up. */
void extdb_reserve(struct extdb *db, bool take);
/* Prepare every statement. 0 or -errno. */
int extdb_prepare(struct extdb *db);

#endif
