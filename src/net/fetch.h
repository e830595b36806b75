/*
 * fetch.h - HTTP transfers on threads of their own
 *
 * An instance owns one curl multi and one thread; libcurl is used nowhere else.
 * There are at least two: one for demands, whose connections no bulk transfer delays, and one for
 * bulk. Commands may come from any thread; callbacks run on the instance's thread and must not
 * block.
 */
#ifndef NET_FETCH_H
#define NET_FETCH_H

#include <stdatomic.h>

#include "core/http.h"
#include "core/range.h"
#include "core/verdict.h"

/* What all instances share; made once, after the last fork. */
struct fetch_config {
	const char *user_agent;
	const char *const
		*headers; /* for every request to a manifest's own origin; NULL-terminated */
	const char *proxy, *cacert, *cert, *key, *netrc_file, *cookie_jar; /* NULL: not given */
	bool netrc, insecure;
	uint64_t connect_timeout_us;
	uint64_t stall_timeout_us; /* below 1 KiB/s on average for so long: VERDICT_STALL */
	uint64_t limit_rate_bps;   /* everything; 0: none */
	uint64_t fill_rate_bps;	   /* transfers with fill set; 0: none */
	unsigned int max_connections;
	unsigned int max_redirects; /* 10 */
};
struct fetch_shared;
int fetch_shared_new(const struct fetch_config *cfg, struct fetch_shared **ret);
void fetch_shared_free(struct fetch_shared *sh);

struct fetch;
/* name: of the thread ("demand", "bulk"). 0 or -errno. */
int fetch_new(struct fetch_shared *sh, const char *name, struct fetch **ret);
/* Cancels what runs (each gets its end), joins the thread. */
void fetch_free(struct fetch *f);

struct transfer;
struct chunk;

/* How a transfer went, for end(). */
struct transfer_result {
	enum verdict verdict;	  /* PART, WHOLE or EMPTY: it is all there */
	int http_status;	  /* of the last response, 0 none */
	uint64_t pos;		  /* wire offset up to which bytes were handed to body() */
	uint64_t bytes_received;  /* body bytes that came over the wire, of all hops */
	uint64_t bytes_discarded; /* … and were not handed on */
	/* SIZE or CHANGED after head(), when a whole body turned out not to be the object: so much
	 * of it came. */
	uint64_t body_bytes;
	uint64_t retry_after_us; /* the server's wish, 0 none */
	unsigned int redirects;
	const char
		*url; /* that was asked last, whose verdict it is; NULL none. Until end() returns */
	char detail[160]; /* for a person: status line or libcurl's words; no secrets */
};

enum transfer_answer { TRANSFER_KEEP, TRANSFER_DROP };

struct transfer_ops {
	/*
	 * Once, before head: the TCP handshake took connect_us (0: the connection was reused), and
	 * the request went out at asked_us (monotonic), with TLS if any behind it.
	 */
	void (*connected)(void *user, uint64_t connect_us, uint64_t asked_us);
	/*
	 * The final header, judged: PART or WHOLE (anything else goes straight to end()). resolved:
	 * the URL that answered when there was a redirect, else NULL; fresh_s: for so many seconds
	 * the redirects to it may be used again (see http_resp). KEEP, or DROP to end with
	 * CANCELLED. Not called for a probe whose answer was 416 with a total or an empty object:
	 * end() tells.
	 */
	enum transfer_answer (*head)(void *user, enum verdict v, const struct http_use *use,
				     const struct http_resp *resp, const char *resolved,
				     int64_t fresh_s);
	/*
	 * Whole blocks of the object, in order: wire offset, bytes. Ownership of chunk passes; give
	 * it back by chunk_free() on any thread. Called as soon as a block is whole when awaited()
	 * says so, else when CHUNK_SIZE has gathered, at the end, and at the latest FLUSH_US after
	 * its first byte.
	 */
	void (*body)(void *user, uint64_t off, struct chunk *chunk);
	/* Does somebody wait for bytes in r? */
	bool (*awaited)(void *user, struct range r);
	/* Progress: bytes before pos were received (pos may lie inside a block). At most every 10
	 * ms. */
	void (*progress)(void *user, uint64_t pos);
	/* Last call; resp may be NULL (no answer). The transfer is freed after it. */
	void (*end)(void *user, const struct transfer_result *res, const struct http_resp *resp);
};

struct transfer_request {
	const char *url;      /* the manifest's */
	const char *resolved; /* a redirect's target that worked before, or NULL */
	const char *const
		*headers;      /* of the entry, NULL-terminated or NULL; manifest's origin only */
	struct range range;    /* on the wire; end SIZE_UNKNOWN: to the end */
	bool ranged;	       /* send Range (false: plain GET of all) */
	bool probe;	       /* the body is not kept */
	bool if_range;	       /* send If-Range when the validator is strong enough */
	bool fill;	       /* counts against fill_rate_bps */
	bool foreign;	       /* url is a stranger's: it may not reach what is not public */
	bool urgent;	       /* a demand: takes from the limited rates before others */
	struct http_want want; /* for the judge; its have points to validator below or is NULL */
	struct validator validator;
	/*
	 * The server's Date when it sent the validator, VALIDATOR_NO_TIME unknown: only a
	 * Last-Modified that was a minute old by then is strong enough for If-Range (RFC
	 * 9110 8.8.2.2). 0 counts as unknown, too.
	 */
	int64_t validator_date;
	uint64_t grid; /* blocks are cut at wire offsets grid + n * BLOCK_SIZE (slice start) */
	/* Behind the last wire byte that is wanted; shrinks while it runs; outlives the transfer.
	 */
	const atomic_uint_fast64_t *end;
	uint64_t end_add; /* added to *end to make it a wire offset (slice start) */
	const struct transfer_ops *ops;
	void *user;
};
/*
 * The request is copied. *ret is written before any callback can run, and is valid until
 * FETCH_LINGER_US after end(). 0 or -ENOMEM, -ESHUTDOWN. Any thread.
 */
int fetch_start(struct fetch *f, const struct transfer_request *rq, struct transfer **ret);
/*
 * End it: CANCELLED, connection closed unless it is nearly done and at_once is false. From any
 * thread; idempotent, and the second may be the one that is at once. These three may cross end() on
 * their way: within FETCH_LINGER_US after it they do nothing.
 */
#define FETCH_LINGER_US UINT64_C(30000000)
void fetch_cancel(struct fetch *f, struct transfer *t, bool at_once);
/* Stop reading, or go on. What the kernel has promised to take in still comes: see socket_bound().
 */
void fetch_hold(struct fetch *f, struct transfer *t, bool hold);
/* *end became smaller: close early where the rest of the response is not worth reading. */
void fetch_shrunk(struct fetch *f, struct transfer *t);

/* ---- memory for bodies: a bounded pool; a transfer that finds it empty waits ---- */
#define CHUNK_SIZE ((size_t)256 * 1024)
#define FLUSH_US   UINT64_C(200000)
struct chunk {
	size_t len;
	unsigned char *data; /* CHUNK_SIZE bytes */
	struct chunk *next;  /* the owner's */
	struct fetch_shared *shared;
};
void chunk_free(struct chunk *c);

struct fetch_stats {
	uint64_t requests, redirects, connections_made, bytes_received, bytes_discarded;
	unsigned int connections_now;
};
void fetch_stats(struct fetch_shared *sh, struct fetch_stats *ret);

#endif
