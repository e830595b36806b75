/*
 * draft.h - one entry while its keys are read, the same for every format
 *
 * A draft borrows: its spans point into the text or the JSON value they came from, which has to
 * live until builder_add().
 */
#ifndef MANIFEST_DRAFT_H
#define MANIFEST_DRAFT_H

#include "manifest/manifest.h"
#include "manifest/refuse.h"

enum key {
	KEY_OUT,
	KEY_DIR,
	KEY_SIZE,
	KEY_MTIME,
	KEY_CHECKSUM,
	KEY_HEADER,
	KEY_ETAG,
	KEY_ID,
	KEY_MODE,
	KEY_RANGE,
	KEY_COUNT
};

#define ID_MAX 1024

struct draft {
	uint32_t line;		      /* where the entry starts */
	uint32_t key_line[KEY_COUNT]; /* where each was given, 0: not */
	struct span out;	      /* a JSON path too; not given: named by its URL */
	struct span dir;
	struct span etag; /* perhaps without its quotes */
	struct span id;
	unsigned int url_count;
	unsigned int header_count;
	unsigned int mode;
	bool directory; /* out names an empty directory */
	uint64_t size;
	int64_t mtime;
	struct range slice;
	struct checksum checksum;
	/* These are not cleared between entries, only counted. */
	struct span url[MANIFEST_URLS_MAX];
	struct span header[MANIFEST_HEADERS_MAX];
};

void draft_init(struct draft *d, uint32_t line);
/* One more mirror; one that is there already is dropped. 0, or refused. */
int draft_add_url(struct complaint *c, uint32_t line, struct draft *d, struct span url);
/* Set key from its text. 0, or refused: not valid, or given before. */
int draft_set(struct complaint *c, uint32_t line, struct draft *d, enum key key, struct span value);
/* The same for a number that needs no parsing. */
int draft_set_size(struct complaint *c, uint32_t line, struct draft *d, uint64_t size);
int draft_set_mtime(struct complaint *c, uint32_t line, struct draft *d, int64_t mtime);
/* All keys are in: do they go together? Fills in the size of a slice. 0, or refused. */
int draft_close(struct complaint *c, struct draft *d);

/* Whole seconds since 1970, RFC 3339 or one of HTTP's dates. 0 or -EINVAL. */
int draft_parse_time(const char *text, int64_t *ret_s);

#endif
