/*
 * batch.h - what one transaction of the database shall change, as a list of steps
 *
 * Built by checkpoint and forget under the version's lock, applied by the database thread. Rows are
 * copies, so that the maps may change meanwhile. One owner at a time; no lock.
 */
#ifndef STORE_BATCH_H
#define STORE_BATCH_H

#include <bsd/sys/queue.h>

#include "core/extmap.h"
#include "core/validator.h"
#include "store/store.h"

struct object_row {
	struct object_key key;
	uint64_t size;	  /* SIZE_UNKNOWN */
	int64_t mtime;	  /* VALIDATOR_NO_TIME */
	int64_t asked_s;  /* 0 never */
	uint64_t version; /* 0 none */
	char validator[VALIDATOR_TEXT_MAX];
};

struct version_row {
	uint64_t id;
	struct object_key key;
	uint64_t cookie; /* part of the backing file's name */
	uint64_t ino;	 /* … and its inode */
	uint64_t size;	 /* SIZE_UNKNOWN */
	uint64_t bytes;	 /* covered by its extents' rows, after this transaction */
	char validator[VALIDATOR_TEXT_MAX];
};

struct extent_row {
	uint64_t version;
	uint64_t block;
	uint32_t count; /* of blocks: 1 to EXTENT_BLOCKS_MAX */
	uint32_t atime_s;
	uint16_t source;
	const uint64_t *sums;
};

enum batch_kind {
	BATCH_OBJECT,  /* insert or replace */
	BATCH_VERSION, /* insert or replace */
	BATCH_BYTES,   /* the version's bytes column alone */
	BATCH_EXTENT,  /* replaces what rows say about these blocks */
	BATCH_CLEAR,   /* no row covers these blocks any more */
	BATCH_TOUCH,   /* rows that start in these blocks were read at atime_s */
	BATCH_DELETE,  /* the version and all its extents */
	BATCH_KIND_COUNT
};

struct batch_step {
	STAILQ_ENTRY(batch_step) link;
	enum batch_kind kind;
	union {
		struct object_row object;
		struct version_row version;
		struct extent_row extent; /* EXTENT, and without sums CLEAR (count unused), TOUCH */
		uint64_t id;		  /* DELETE */
	} u;
	uint64_t end_block; /* CLEAR, TOUCH: behind the last */
};

struct batch {
	STAILQ_HEAD(batch_steps, batch_step) steps;
	size_t count;
	int error; /* -ENOMEM sticks; then the batch is not to be applied */
};

void batch_init(struct batch *b);
void batch_done(struct batch *b);

void batch_object(struct batch *b, const struct object_row *row);
void batch_version(struct batch *b, const struct version_row *row);
void batch_bytes(struct batch *b, uint64_t version, uint64_t bytes);
void batch_extent(struct batch *b, uint64_t version, const struct extent *e);
void batch_clear(struct batch *b, uint64_t version, struct range r);
void batch_touch(struct batch *b, uint64_t version, struct range r, uint32_t atime_s);
void batch_delete(struct batch *b, uint64_t version);

#endif
