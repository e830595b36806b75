/*
 * run.h - one transfer under way: everything about it that lives on its instance's thread
 *
 * Internal to net. fetch.c makes it from a request and calls it; no lock anywhere in here, because
 * only the instance's thread touches it. Split by question: run.c    where is it in its life, which
 * timers run, how does it end hop.c    which URL is asked next, and with which credentials easy.c
 * how one hop is put to libcurl policy.c may this hop be connected to that address head.c   is the
 * answer believed body.c   which bytes are handed on, and when failure.c what libcurl's error codes
 * mean
 */
#ifndef NET_RUN_H
#define NET_RUN_H

#include <bsd/sys/queue.h>
#include <curl/curl.h>

#include "core/url.h"
#include "net/fetch.h"
#include "net/shared.h"
#include "net/sockets.h"

#define HEADER_BYTES_MAX ((size_t)64 * 1024)
#define HEADER_LINES_MAX 256
/* So much of a body that nobody wants is read to keep its connection, for so long. */
#define DRAIN_BYTES    (UINT64_C(64) * 1024)
#define DRAIN_LAST     (UINT64_C(256) * 1024) /* … where only the end of a lease was cut off */
#define DRAIN_US       UINT64_C(500000)
#define STALL_RATE_BPS 1024
#define PROGRESS_US    UINT64_C(10000)

/*
 * The path of a run, drawn by who moves it:
 *   ASKING    hop_begin(): a request is on its way, no final header yet; a redirect comes back here
 *   BODY      head.c: judged good and kept; bytes go into chunks
 *   DRAINING  head.c, body.c: what still comes is dropped, so that the connection can be used again
 *   OVER      run_end(): end() was called; nobody may touch it but run_free()
 */
enum run_phase { RUN_ASKING, RUN_BODY, RUN_DRAINING, RUN_OVER };

/* Why reading is paused; libcurl is told when the set becomes empty or not. */
enum run_pause {
	PAUSE_HOLD = 1, /* fetch_hold() */
	PAUSE_POOL = 2, /* no chunk */
	PAUSE_RATE = 4, /* the limiters are in debt */
};

struct transfer;
struct instance;

struct run {
	TAILQ_ENTRY(run) link; /* of the instance's */
	struct instance *inst;
	struct transfer *transfer;  /* the caller's handle, for fetch.c */
	struct transfer_request rq; /* its strings are in owned */
	struct owned owned;
	enum run_phase phase;

	/* ---- hops (hop.c) ---- */
	struct url_origin home;	  /* of the manifest's URL */
	char *user, *password;	  /* of the manifest's URL, NULL none */
	char *url;		  /* of this hop, without user info */
	struct url_origin origin; /* of this hop */
	char **seen;		  /* URLs asked in this chain */
	unsigned int seen_count;
	unsigned int redirects;
	int64_t fresh_s;  /* of the redirects of this chain, the shortest; -1: they don't say */
	bool on_resolved; /* this hop is rq.resolved; when it fails so, the manifest's URL is asked
			   */
	bool ask_home;	  /* … which is to be done next */
	bool first_hop;	  /* not a redirect's target: the caller's own URL */
	enum addr_scope scope;	      /* of the address this hop is on, once connected */
	enum addr_scope scope_before; /* … the hop before */
	bool proxied;
	unsigned int sockets_tried;
	int opened[8]; /* of this hop, until it is known which is used */
	unsigned int opened_count;
	int fd; /* of this hop's connection, -1 none */
	bool address_refused;

	/* ---- libcurl (easy.c) ---- */
	CURL *easy; /* NULL between hops */
	struct curl_slist *header_list;
	char *errbuf;	     /* CURL_ERROR_SIZE */
	unsigned int pauses; /* of enum run_pause */
	bool paused_in_curl;

	/* ---- the answer (head.c) ---- */
	struct http_want want; /* rq.want as really sent */
	struct http_resp *resp;
	struct http_use use;
	bool judged; /* the final header block is over */
	size_t header_bytes;
	unsigned int header_lines;
	char status_line[80]; /* printable */
	enum verdict good;    /* PART or WHOLE, once head() kept it */
	enum verdict outcome; /* how it will end; VERDICT_COUNT: not decided */
	const char *detail;   /* why, where status line and libcurl don't tell; a literal or NULL */

	/* ---- the body (body.c); wire offsets ---- */
	uint64_t at;	     /* next byte to come from the response */
	uint64_t from;	     /* the first one that is wanted */
	uint64_t pos;	     /* before it all were handed to body() */
	struct chunk *chunk; /* being filled, NULL none */
	uint64_t chunk_off;
	uint64_t chunk_first_us;
	size_t replay; /* bytes of the paused piece that are taken already */
	uint64_t drain_left;
	uint64_t bytes_received, bytes_discarded;
	uint64_t body_bytes; /* see transfer_result */

	/* ---- timers (run.c); monotonic µs ---- */
	uint64_t begun_us;	/* this hop */
	uint64_t asked_us;	/* its request went out; 0 not yet. Pauses do not move it */
	uint64_t paused_us;	/* since when pauses is not empty */
	uint64_t rate_until_us; /* PAUSE_RATE ends */
	uint64_t drain_until_us;
	uint64_t stall_us;	      /* since then … */
	uint64_t stall_bytes;	      /* … so many came */
	uint64_t progress_us;	      /* last progress() */
	uint64_t rate_us, rate_bytes; /* start of the window that measures */
	uint64_t rate_bps;	      /* … this */
};
TAILQ_HEAD(run_list, run);

/* What a run needs of its instance (fetch.c). */
struct instance {
	struct fetch_shared *shared;
	CURLM *multi;
	struct pool_client pool_client;
	struct sockets sockets;
	atomic_bool pool_woken; /* a chunk came back: try those that wait for one */
};

/* This hop; else ftp, ftps or sftp, which libcurl alone speaks. */
static inline bool run_is_http(const struct run *r)
{
	return strcmp(r->origin.scheme, "http") == 0 || strcmp(r->origin.scheme, "https") == 0;
}

/* ---- run.c ---- */
/* Copies rq. 0 or -ENOMEM. On any thread. */
int run_new(const struct transfer_request *rq, struct run **ret);
/* On any thread; it must not be in a multi. */
void run_free(struct run *r);
/* On the instance's thread from here on. Each may end the run: then phase is RUN_OVER, end() was
 * called. */
void run_start(struct run *r);
/* libcurl is done with this hop. */
void run_hop_done(struct run *r, CURLcode code);
void run_cancel(struct run *r, bool at_once);
void run_hold(struct run *r, bool hold);
/* The lease's end has moved to the front. */
void run_shrunk(struct run *r);
/* Timers; chunks_came: one that waits for a chunk tries again. Returns when to call it again at the
 * latest. */
uint64_t run_tick(struct run *r, bool chunks_came, uint64_t now_us);
/* Remove what is left of the hop and end it so; not from within a callback of libcurl. */
void run_end(struct run *r, enum verdict v);
void run_pause(struct run *r, enum run_pause why, uint64_t now_us);
void run_unpause(struct run *r, enum run_pause why, uint64_t now_us);
/* So many bytes of a kept response are worth reading only to keep the connection. */
uint64_t run_worth_draining(const struct run *r);
/*
 * From now on drop what comes. rest: what is still to come, UINT64_MAX unknown. False: that is more
 * than at_most; the caller breaks off.
 */
bool run_drain(struct run *r, uint64_t rest, uint64_t at_most, uint64_t now_us);

/* ---- hop.c ---- */
int hop_init(struct run *r);
void hop_done(struct run *r);
/* Begin with the resolved URL, if there is one, else with the manifest's. VERDICT_PART: under way.
 */
enum verdict hop_first(struct run *r);
/* After a redirect, or after a resolved URL that has died. VERDICT_PART: under way. */
enum verdict hop_next(struct run *r);
/* Does v on the resolved URL only mean that the manifest's has to be asked again? */
bool hop_resolved_died(const struct run *r, enum verdict v, int status);
bool hop_is_home(const struct run *r);

/* ---- easy.c ---- */
/* 0: in the multi. proxy: "" for none. */
int easy_begin(struct run *r, const char *proxy);
void easy_end(struct run *r);

/* ---- policy.c ---- */
bool policy_allows(const struct run *r, enum addr_scope scope);
/* The scope of a host name as far as its text tells: literals and localhost; else ADDR_PUBLIC. */
enum addr_scope policy_scope_of_name(const char *host);
enum addr_scope policy_scope_of_ip(const char *ip);
void policy_grant(struct fetch_shared *sh, const struct url_origin *home,
		  const struct url_origin *target);
bool policy_granted(struct fetch_shared *sh, const struct url_origin *home,
		    const struct url_origin *target);

/* ---- head.c ---- */
size_t head_on_line(char *data, size_t size, size_t count, void *user);
/* For protocols without headers, at the first body byte or the end. False: break off. */
bool head_synthesise(struct run *r);
void head_begin(struct run *r);

/* ---- body.c ---- */
size_t body_on_data(char *data, size_t size, size_t count, void *user);
/* Behind the last wire byte that is wanted now; SIZE_UNKNOWN. */
uint64_t body_limit(const struct run *r);
/* The lease's end may have moved to before what has come. True: nothing more is wanted. */
bool body_check_end(struct run *r);
/* The server has ended it: is that not the end of the object? Then the outcome is decided. */
bool body_ended_wrong(struct run *r);
/* No more will come: hand on what is whole, drop the rest. complete: as the server said. True: all
 * is there. */
bool body_close(struct run *r, bool complete);
/* Whole blocks that waited too long or that somebody waits for. Returns when to ask again. */
uint64_t body_flush_due(struct run *r, uint64_t now_us);

/* ---- failure.c ---- */
enum verdict failure_verdict(const struct run *r, CURLcode code);
void failure_detail(const struct run *r, CURLcode code, enum verdict v, char *buf, size_t size);

/* ---- proxy.c ---- */
/*
 * The proxy for a hop to o, by the setting, else by the environment as curl reads it (http_proxy,
 * https_proxy, all_proxy, no_proxy). "": none. Borrowed.
 */
const char *proxy_for(const char *setting, const struct url_origin *o);

#endif
