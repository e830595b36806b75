/*
 * rule.h - what the origin shows under which path, and how it misbehaves there
 *
 * A rule is one line: PATTERN KEY=VALUE...; the manual is in help.c. Rules are counted: a request
 * keeps the one it began with while the control port replaces it.
 */
#ifndef ORIGIN_RULE_H
#define ORIGIN_RULE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/base.h"

enum fault_kind {
	FAULT_SHORT,		/* the body ends early, the connection stays open */
	FAULT_CLOSE,		/* the body ends early, the connection ends with it */
	FAULT_RESET,		/* the same with a RST */
	FAULT_STALL,		/* nothing more comes, for a while or until the client leaves */
	FAULT_HANG,		/* the request is never answered */
	FAULT_DROP,		/* the connection ends instead of an answer */
	FAULT_DELAY,		/* before the first byte of the answer */
	FAULT_DRIP,		/* a rate for this response */
	FAULT_SHIFT,		/* 206 that starts elsewhere than asked */
	FAULT_ZERO,		/* 206 of bytes 0- whatever was asked */
	FAULT_NO_RANGE_HEADER,	/* 206 without Content-Range */
	FAULT_BAD_RANGE_HEADER, /* 206 with one that does not parse */
	FAULT_TOTAL,		/* 206 whose total is another */
	FAULT_STAR_TOTAL,	/* 206 whose total is "*" */
	FAULT_MULTIPART,	/* 206 as multipart/byteranges */
	FAULT_IGNORE_RANGE,	/* 200 with the whole body */
	FAULT_CHUNKED,		/* chunked, without a length */
	FAULT_UNSIZED,		/* neither: the end of the connection is the end of the body */
	FAULT_ENCODING,		/* a Content-Encoding, perhaps with the body of a file */
	FAULT_VERSION,		/* the content of another version */
	FAULT_ETAG,		/* another ETag of equal bytes */
	FAULT_STATUS,		/* an error page */
	FAULT_DATE,		/* a Date that is off */
	FAULT_CORRUPT,		/* wrong bytes under a right header */
	FAULT_ENDLESS_HEADER,
	FAULT_BIG_HEADER,
	FAULT_INTERIM, /* 1xx responses first */
	FAULT_GARBAGE, /* not HTTP */
	FAULT_NO_KEEP_ALIVE,
	FAULT_COUNT
};

/* When a fault applies: all that is given must hold. */
struct when {
	uint64_t first, last; /* requests of this path, counted from 1 since the rule was set */
	uint64_t every;	      /* each n-th of them; 0: all */
	double probability;   /* 1: always */
	uint64_t after_us, for_us; /* time since the rule was set */
	uint64_t off, end;	   /* the first byte asked for lies in [off, end) */
	bool ranged, encoded, head, get;
};

#define RETRY_NONE    0
#define RETRY_SECONDS 1
#define RETRY_DATE    2
#define RETRY_RESET   3 /* RateLimit-Reset */

struct fault {
	enum fault_kind kind;
	uint64_t amount; /* bytes, code, version; percent of the body when percent is set */
	bool percent;
	int64_t shift;
	uint64_t us, len;
	unsigned int retry;
	char *text; /* NULL: not given */
	struct when when;
};

enum etag_mode { ETAG_STRONG, ETAG_WEAK, ETAG_NONE, ETAG_GIVEN };
enum if_range_mode { IF_RANGE_HONOUR, IF_RANGE_IGNORE, IF_RANGE_ALWAYS_200 };

#define RULE_FAULTS_MAX	 32
#define RULE_HEADERS_MAX 16

struct rule {
	atomic_uint refs;
	char *pattern;
	bool prefix;
	uint64_t serial; /* another one whenever a rule is set */
	uint64_t set_us;

	uint64_t size;
	bool has_size;
	uint64_t seed, version;
	bool has_seed;
	char *content; /* path that the formula uses; NULL: the request's */
	char *file;    /* a file of the disk, or a directory below which the rest of the path is */
	enum etag_mode etag;
	char *etag_text;
	int64_t last_modified; /* INT64_MIN: none */
	bool ranges;	       /* false: always 200, as servers without them do */
	enum if_range_mode if_range;
	char *type;
	uint64_t delay_us, rate;
	char *redirect;
	unsigned int redirect_status;
	uint64_t sign_us, sign_uses; /* the redirect's target gets a signature that lasts so long */
	unsigned int
		signed_status; /* 0: no signature is needed; else what a bad one is answered with */
	char *auth;	       /* "user:password" */
	char *header[RULE_HEADERS_MAX];
	unsigned int headers;
	struct fault fault[RULE_FAULTS_MAX];
	unsigned int faults;
};

struct rules;
struct rules *rules_new(void);
/* Add a rule, or replace the one of the same pattern. 0 or -EINVAL with a sentence in error. */
#define RULE_ERROR_MAX 256
int rules_set(struct rules *rs, const char *line, char error[RULE_ERROR_MAX]);
/* The rule that was set last among those that match; a reference, or NULL. */
struct rule *rules_find(struct rules *rs, const char *path);
void rule_put(struct rule *r);

#endif
