/*
 * validator.h - what proves that two responses are of one version
 *
 * Strong ETag, else Last-Modified with size, else size (RFC 9110 8.8). Plain values, copied freely.
 */
#ifndef CORE_VALIDATOR_H
#define CORE_VALIDATOR_H

#include "core/range.h"

#define ETAG_MAX 256 /* with quotes; a longer one is treated as none */

struct validator {
	char etag[ETAG_MAX];   /* as sent, with quotes and W/; "" none */
	int64_t last_modified; /* seconds since 1970; VALIDATOR_NO_TIME none */
	uint64_t size;	       /* SIZE_UNKNOWN none */
};
#define VALIDATOR_NO_TIME INT64_MIN
#define VALIDATOR_INIT \
	((struct validator){.last_modified = VALIDATOR_NO_TIME, .size = SIZE_UNKNOWN})

enum validator_strength { VALIDATOR_NONE, VALIDATOR_SIZE, VALIDATOR_TIME, VALIDATOR_STRONG };
enum validator_strength validator_strength(const struct validator *v);
bool validator_etag_strong(const char *etag); /* quoted, not W/ */

enum validator_match {
	VALIDATOR_SAME,	     /* proven equal as far as both can tell */
	VALIDATOR_DIFFERENT, /* proven different */
	VALIDATOR_FLIPPED,   /* ETags differ, size and Last-Modified are known and agree */
};
/*
 * have: the version's, got: a response's. pinned: a checksum in the manifest decides at the end, so
 * that only a differing size is DIFFERENT.
 */
enum validator_match validator_compare(const struct validator *have, const struct validator *got,
				       bool pinned);
/* 0, or -EINVAL (empty, too long, not printable ASCII): then v has the tag it had. */
int validator_set_etag(struct validator *v, const char *etag, size_t len);
/* Fill in what have lacks and got knows. */
void validator_learn(struct validator *have, const struct validator *got);

/* A line of printable text and back, for the database, xattr and manifest. */
#define VALIDATOR_TEXT_MAX (ETAG_MAX + 80)
void validator_format(const struct validator *v, char buf[VALIDATOR_TEXT_MAX]);
/* 0 or -EINVAL. */
int validator_parse(const char *text, struct validator *ret);

#endif
