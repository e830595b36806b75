/*
 * record.h - what is remembered of each object, in memory: a tree by key
 *
 * Guarded by the store's lock. Records live until the store is closed.
 */
#ifndef STORE_RECORD_H
#define STORE_RECORD_H

#include <bsd/sys/queue.h>
#include <bsd/sys/tree.h>

#include "store/batch.h"

struct record {
	RB_ENTRY(record) node;
	TAILQ_ENTRY(record) link; /* of the dirty list, while dirty */
	struct object_key key;
	uint64_t size;
	int64_t mtime;
	int64_t asked_s;
	char *validator; /* text; NULL none */
	/* The current version. Not in memory: as the database has it. */
	struct version *version; /* in memory, not counted; NULL */
	uint64_t version_id;	 /* 0 none */
	uint64_t version_row; /* the id that the object's row names: one with a row of its own, or 0
			       */
	uint64_t version_size;
	uint64_t version_bytes;
	char *version_validator; /* text; NULL the same as validator */
	bool dirty;
};

RB_HEAD(record_tree, record);
RB_PROTOTYPE(record_tree, record, node, record_cmp)
TAILQ_HEAD(record_list, record);

struct records {
	struct record_tree tree;
	struct record_list dirty;
	size_t count;
};

void records_init(struct records *rs);
void records_done(struct records *rs);
struct record *records_find(struct records *rs, const struct object_key *key);
/* Found or made. NULL: no memory. */
struct record *records_make(struct records *rs, const struct object_key *key);
/* Its row is to be written. */
void records_mark(struct records *rs, struct record *rec);
/* … before those of others. */
void records_mark_first(struct records *rs, struct record *rec);
/* Replace a text by the validator's. 0 or -ENOMEM (nothing changed). */
int record_set_text(char **text, const struct validator *v);
/* The validator of the object, and of its current version. */
void record_validator(const struct record *rec, struct validator *ret);
void record_version_validator(const struct record *rec, struct validator *ret);
/* The current version is now id under validator, or none (0, NULL, NULL). 0 or -ENOMEM (unchanged).
 */
int record_set_version(struct record *rec, uint64_t id, struct version *v,
		       const struct validator *validator);
void record_row(const struct record *rec, struct object_row *ret);

#endif
