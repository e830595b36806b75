/*
 * http.h - what we say in HTTP and whether we believe what is said back (RFC 9110, 9111, 9112)
 *
 * Pure: bytes in, struct out. Nothing here trusts a length, a number or a terminator of the other
 * side.
 */
#ifndef CORE_HTTP_H
#define CORE_HTTP_H

#include "core/range.h"
#include "core/validator.h"
#include "core/verdict.h"

#define HTTP_RANGE_TEXT_MAX 48
#define HTTP_DATE_TEXT_MAX  32
#define HTTP_LOCATION_MAX   8192
#define HTTP_NAME_MAX	    512			  /* of Content-Disposition's filename */
#define HTTP_DATE_MAX_S	    INT64_C(253402300799) /* the end of the year 9999 */
#define HTTP_RETRY_MAX_S    INT64_C(31536000)	  /* no wish to wait counts as more than a year */

/* "first-last" for CURLOPT_RANGE; an end of SIZE_UNKNOWN: "first-". The only "- 1" on an offset. */
int http_format_range(char *buf, size_t size, struct range want);
/* "bytes 0-9/10", a total of "*" is SIZE_UNKNOWN; an unsatisfied range "*" is an empty range. */
int http_parse_content_range(const char *value, size_t len, struct range *ret_range,
			     uint64_t *ret_total);
/* The three forms of RFC 9110 5.6.7. 0 or -EINVAL. */
int http_parse_date(const char *value, size_t len, int64_t *ret_s);
void http_format_date(char buf[HTTP_DATE_TEXT_MAX], int64_t s);
/*
 * The file name in a Content-Disposition, decoded to bytes without NUL; filename* goes before
 * filename. *rank: 0 at first, then what was found so far (a field may come in pieces); filename is
 * written only when something better was found.
 */
void http_disposition_filename(const char *value, size_t len, int *rank,
			       char filename[HTTP_NAME_MAX]);

/* One response, filled line by line; a new status line starts afresh (1xx, proxies). */
struct http_resp {
	int status;	/* 0: no status line yet */
	bool malformed; /* conflicting or unparsable framing: Content-Length twice, … */
	bool has_length;
	uint64_t length;	/* Content-Length */
	bool chunked;		/* the body itself tells where it ends */
	bool has_content_range; /* the header was there */
	bool content_range_ok;	/* … and parsed, in bytes */
	struct range range;	/* … to this */
	uint64_t total;		/* … of this; SIZE_UNKNOWN when "*" or absent */
	bool multipart;		/* Content-Type: multipart/byteranges */
	bool encoded;		/* a Content-Encoding other than identity */
	bool accept_ranges_none;
	bool has_validator_header;  /* ETag or Last-Modified was there */
	struct validator validator; /* its size is the object's, as far as this response tells */
	int64_t date;		    /* VALIDATOR_NO_TIME if absent */
	int64_t retry_after_s; /* from now, by the server's own Date; -1 none. Of 429 and 503 also
				* RateLimit-Reset. At most HTTP_RETRY_MAX_S */
	/* Seconds for which Cache-Control, Expires and Age let it be used again (RFC 9111 4.2),
	 * from now; 0: not at all; -1: they don't say. At most HTTP_RETRY_MAX_S */
	int64_t fresh_s;
	bool has_location;
	char location[HTTP_LOCATION_MAX];
	char filename[HTTP_NAME_MAX]; /* Content-Disposition, decoded but unsanitised; "" none */

	/* http.c's own: what the fields above are worked out from */
	struct {
		bool length_seen, etag_seen;
		bool ended; /* the empty line came: trailers change nothing */
		uint64_t length;
		int64_t retry_delay_s, retry_at_s;   /* Retry-After: seconds, or a date */
		int64_t reset_delay_s, reset_at_s;   /* RateLimit-Reset: seconds, or an epoch */
		bool no_reuse, expires_seen;	     /* no-store, no-cache; Expires */
		int64_t max_age_s, expires_s, age_s; /* -1; VALIDATOR_NO_TIME: no date; 0 */
		int filename_rank;
		int last_field; /* what a folded line goes on with */
	} own;
};
void http_resp_init(struct http_resp *r);
/*
 * One line as curl's header callback brings it, with or without CRLF. Never fails; bad ones mark r.
 * r may be judged after any line; trailers (behind the empty line) are ignored.
 */
void http_resp_line(struct http_resp *r, const char *line, size_t len);

/* What was asked and what we know. */
struct http_want {
	struct range range; /* of the object (slice offset already added); end SIZE_UNKNOWN: open */
	bool ranged;	    /* a Range header was sent */
	bool if_range;	    /* … with If-Range */
	uint64_t size;	    /* of the remote object, SIZE_UNKNOWN */
	bool size_pinned; /* … by the manifest: a difference is VERDICT_SIZE, never a new version */
	bool content_pinned; /* the manifest has a checksum (see validator_compare) */
	/*
	 * The origin's nodes are known to disagree on ETags: compare size and date only. Without it
	 * a differing ETag is CHANGED, also where size and date agree (VALIDATOR_FLIPPED), because
	 * one such answer does not tell a flip from a replacement: the caller asks again.
	 */
	bool ignore_etag;
	const struct validator *have; /* the version's, NULL for a first contact */
};

/* How to use the body, when the verdict is PART or WHOLE. */
struct http_use {
	uint64_t body_off; /* object offset of the body's first byte */
	uint64_t body_end; /* where the body promises to end; SIZE_UNKNOWN chunked without length */
	uint64_t total;	   /* size of the object as far as known */
	bool if_range_refused; /* 200 with our validator to If-Range: do not send it there again */
};
/*
 * Judge the final header block before one body byte is kept. *ret_use is written for PART and
 * WHOLE. A stored encoding (gzip) is kept only when its length is the known size of the object,
 * else ENCODED. WHOLE with a lease that starts after 0 is for the caller to decide: the body is
 * never placed at the asked offset.
 */
enum verdict http_judge(const struct http_want *want, const struct http_resp *resp,
			struct http_use *ret_use);
/*
 * A body that was judged WHOLE without a length, of which so many bytes came; ended: and no more,
 * as the server said. WHOLE: nothing is wrong so far.
 */
enum verdict http_judge_length(const struct http_want *want, const struct http_resp *resp,
			       uint64_t bytes, bool ended);

#endif
