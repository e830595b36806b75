/*
 * test_fetch_help.h - a server that says whatever a test wants, and a caller of fetch.h that writes
 * down what it is told
 */
#ifndef TEST_FETCH_HELP_H
#define TEST_FETCH_HELP_H

#include <check.h>
#include <pthread.h>

#include "net/fetch.h"

/* ---- the server: a thread for each connection, a function of the test's for each request ---- */

struct server;
struct conn;
/* request: its head, terminated. True: another request may follow on this connection. */
typedef bool (*serve_fn)(struct conn *c, const char *request, void *user);

/* On ip ("127.0.0.1"), any port. */
struct server *server_new(const char *ip, serve_fn serve, void *user);
void server_free(struct server *s);
/* "http://127.0.0.1:PORT/path", valid until the next 8 calls. */
const char *server_url(struct server *s, const char *path);
unsigned int server_port(struct server *s);
unsigned int server_requests(struct server *s);
unsigned int server_connections(struct server *s);
/* The head of the n-th request, "" if there was none. Valid until server_free(). */
const char *server_request(struct server *s, unsigned int n);

/* False: the peer is gone. */
bool conn_send(struct conn *c, const void *data, size_t len);
bool conn_say(struct conn *c, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Content of the formula for [off, end). */
bool conn_content(struct conn *c, uint64_t off, uint64_t end);
/* "HTTP/1.1 206 …" for [off, end) of total, with extra header lines (each with CRLF). */
bool conn_part(struct conn *c, uint64_t off, uint64_t end, uint64_t total, const char *extra);
/* The whole right answer to request for a resource of size total. */
bool conn_serve(struct conn *c, const char *request, uint64_t total);
/* Make the coming close a reset. */
void conn_reset(struct conn *c);
/* Wait until the peer closes or the server is freed; at most ms. */
void conn_idle(struct conn *c, unsigned int ms);
/* What a Range header asks for; {0, SIZE_UNKNOWN} without one. */
struct range request_range(const char *request);
/* Is there a header line that begins so? */
bool request_has(const char *request, const char *line);

unsigned char content_at(uint64_t off);

/* ---- the caller ---- */

struct caller {
	struct transfer_request rq;
	struct transfer_ops ops;
	atomic_uint_fast64_t end;
	pthread_mutex_t lock; /* guards all below */
	pthread_cond_t changed;
	/* what to do */
	enum transfer_answer answer;
	uint64_t end_on_whole; /* what a kept WHOLE makes of *end; 0: leave it */
	bool any_content;      /* it is not by the formula */
	bool keep_chunks;      /* do not give them back until caller_free_chunks() */
	struct range awaited;
	/* what happened */
	unsigned int connected, heads, bodies, ends;
	uint64_t connect_us, asked_us, answered_us;
	enum verdict head_verdict;
	struct http_use use;
	int64_t fresh_s;
	char resolved[2048];
	uint64_t first, next; /* bytes [first, next) came, checked against the formula */
	uint64_t progress;
	bool cut_block; /* the last chunk ended within a block: must be the end */
	bool wrong;	/* a byte, an order, a grid */
	char why[200];
	struct chunk *kept;
	struct transfer_result result;
	int status;
	struct transfer *transfer;
	struct fetch *fetch;
};

struct fetch_config config_default(void);
/* Range [off, end) of url, with everything else as usual; *end is end. */
void caller_init(struct caller *c, const char *url, uint64_t off, uint64_t end);
void caller_start(struct caller *c, struct fetch *f);
/* Fails the test after 20 s. */
void caller_wait(struct caller *c);
/* Until so many bytes were handed over. */
void caller_wait_bytes(struct caller *c, uint64_t bytes);
void caller_run(struct caller *c, struct fetch *f);
void caller_free_chunks(struct caller *c);
uint64_t caller_bytes(struct caller *c);
void caller_set_end(struct caller *c, uint64_t end);

void sleep_ms(unsigned int ms);

/* A shared and one instance for each test. */
extern struct fetch_shared *test_shared;
extern struct fetch *test_fetch;
void test_begin(const struct fetch_config *cfg); /* NULL: config_default() */
void test_end(void);

#define assert_verdict(c, v)                                              \
	ck_assert_msg((c)->result.verdict == (v), "%s instead of %s: %s", \
		      verdict_name((c)->result.verdict), verdict_name(v), (c)->result.detail)
#define assert_right(c) ck_assert_msg(!(c)->wrong, "%s", (c)->why)

int test_main(Suite *s);

#endif
