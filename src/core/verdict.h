/*
 * verdict.h - every way an answer, or the lack of one, can turn out, and what happens then
 *
 * One function judges responses (http_judge() in http.h), transports report the rest; this one
 * table says what follows. Names are shown in the log and in status.
 */
#ifndef CORE_VERDICT_H
#define CORE_VERDICT_H

#include "base/base.h"

enum verdict {
	/* good */
	VERDICT_PART,	  /* 206 that covers the start of the lease */
	VERDICT_WHOLE,	  /* 200: the whole body from 0 (no range was asked, or it was ignored) */
	VERDICT_EMPTY,	  /* the object has no byte at all */
	VERDICT_REDIRECT, /* 3xx with a Location: the next hop */
	/* the object is another one now */
	VERDICT_CHANGED, /* validator differs from the version's */
	VERDICT_SIZE,	 /* total differs from the manifest's; one that is not pinned is CHANGED */
	/* this source answers ranges wrongly */
	VERDICT_WRONG_RANGE,	  /* 206 of other bytes, or none of those asked */
	VERDICT_NO_CONTENT_RANGE, /* 206 without one that parses, or multipart */
	VERDICT_ENCODED,	  /* Content-Encoding although identity was asked */
	VERDICT_UNSATISFIABLE,	  /* 416 */
	VERDICT_NO_TOTAL,	  /* nothing that it answers tells the size */
	/* this URL says no */
	VERDICT_GONE,	   /* 404, 410 */
	VERDICT_DENIED,	   /* 401, 403, 407 */
	VERDICT_REFUSED,   /* any other 4xx, unexpected 1xx, 2xx, 3xx */
	VERDICT_ADDRESS,   /* the address policy forbids this hop */
	VERDICT_SCHEME,	   /* https to http, or a protocol we do not speak */
	VERDICT_REDIRECTS, /* too many, or a loop */
	VERDICT_HEADERS,   /* header block over its ceiling, or malformed */
	VERDICT_TLS,	   /* certificate not good, handshake refused */
	/* later perhaps */
	VERDICT_BUSY,	      /* 429, 503: bans the origin */
	VERDICT_SERVER,	      /* 408, 425, other 5xx */
	VERDICT_NAME,	      /* the host name does not resolve */
	VERDICT_CONNECT,      /* no connection in time, or refused */
	VERDICT_RESET,	      /* broke in the middle */
	VERDICT_SHORT,	      /* fewer bytes than promised */
	VERDICT_STALL,	      /* slower than the stall limit for its time */
	VERDICT_PROTOCOL,     /* not HTTP */
	VERDICT_DENIES_RANGE, /* 416 with a total in which the range lies */
	VERDICT_NO_RANGES,    /* only the whole body, which is not there yet */
	/* ours */
	VERDICT_CANCELLED, /* we ended it: cut, abort, shutdown */
	VERDICT_CACHE,	   /* the bytes could not be written (disk) */
	VERDICT_CHECKSUM,  /* content differs from its checksum */
	VERDICT_OFFLINE,   /* --offline: nothing was asked */
	VERDICT_INTERNAL,  /* no memory, library failure */
	VERDICT_COUNT
};

/* What the scheduler does about a (object, source) after a verdict. */
enum verdict_class {
	VERDICT_CLASS_GOOD,	 /* go on */
	VERDICT_CLASS_VERSION,	 /* ask for a new version; the lease's rest is nobody's */
	VERDICT_CLASS_SOURCE,	 /* not this source again for this object; next mirror, else EIO */
	VERDICT_CLASS_RERESOLVE, /* ask again without the resolved redirect, once; then SOURCE */
	VERDICT_CLASS_ORIGIN,	 /* back off: the whole origin is banned for a while */
	VERDICT_CLASS_RETRY,	 /* back off: this (object, source) only; next mirror meanwhile */
	VERDICT_CLASS_OURS,	 /* no fault of the source */
};

/* "part", "wrong-range", …: a word for status and log. */
const char *verdict_name(enum verdict v);
/* "the server sent other bytes than asked for": a sentence for a person. */
const char *verdict_text(enum verdict v);
enum verdict_class verdict_class(enum verdict v);

#endif
