/*
 * origin.h - the fault server: what its parts share
 *
 * A thread per connection; origin.c accepts, serve.c reads requests, answer.c decides what an
 * answer is, send.c sends it, control.c takes orders, stats.c counts and logs.
 */
#ifndef ORIGIN_ORIGIN_H
#define ORIGIN_ORIGIN_H

#include <bsd/sys/queue.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/base.h"
#include "base/strbuf.h"
#include "content.h"
#include "rule.h"

#define PORTS_MAX    8
#define HEAD_MAX     (64UL * 1024)
#define URL_TEXT_MAX 4096

/* ---- settings, changed at run time by the control port ---- */
struct settings {
	atomic_uint_fast64_t seed, delay_us, connect_delay_us, rate, total_rate;
	atomic_uint_fast64_t connections_per_client; /* 0: any number */
	atomic_bool busy;			     /* beyond it: 503 instead of a reset */
};

struct listener {
	int fd;
	uint16_t port;
	bool tls;
};

struct origin {
	struct settings set;
	struct rules *rules;
	struct stats *stats;
	struct signatures *signatures;
	SSL_CTX *ssl;		/* NULL: no TLS */
	struct in_addr address; /* it listens there */
	struct listener listener[PORTS_MAX];
	unsigned int listeners;
	atomic_uint_fast64_t connections; /* numbers them */
	atomic_uint_fast64_t released;	  /* grows with each order to end what stalls */
	pthread_mutex_t bucket;
	uint64_t bucket_next_ns; /* when the next byte under total_rate may go */
};

/* ---- a connection ---- */
struct conn {
	struct origin *o;
	int fd;
	SSL *ssl;
	uint64_t id;
	struct in_addr peer;
	const struct listener *listener;
	bool counted; /* among those of its client */
	bool reset;   /* end it with a RST */
	bool used;    /* a request was answered on it */
	char in[HEAD_MAX + 1];
	size_t have;
};

/* conn.c. Blocking; false when the client is gone. */
bool conn_start_tls(struct conn *c);
/* The number of bytes, 0 at the end or after an error. */
size_t conn_read(struct conn *c, void *buf, size_t len);
bool conn_write(struct conn *c, const void *buf, size_t len);
/* The client has closed it. Any thread, while there is an exchange on it. */
bool conn_left(const struct conn *c);
/* Wait until then (UINT64_MAX: until an order to release) unless the client leaves: false. */
bool conn_wait_until(struct conn *c, uint64_t until_us);
/* Bytes that were written and have not been taken by the client's kernel. */
uint64_t conn_unsent(struct conn *c);
void conn_close(struct conn *c);

/* tls.c: a CA and a certificate for that address and localhost, the CA written to ca_file. NULL:
 * failed, said. */
SSL_CTX *tls_make(const char *ca_file, struct in_addr address);

/* ---- a request and its answer ---- */
struct request {
	char method[16];
	char *path;  /* as sent, without the query */
	char *query; /* NULL: none */
	bool head, keep_alive;
	uint64_t body_length;
	/* NULL: not sent */
	const char *host, *range, *if_range, *if_none_match, *if_modified_since, *if_match;
	const char *accept_encoding, *authorization, *proxy_authorization, *cookie, *user_agent;
	const char *x_api; /* any header that a user may give, as a secret */
};

/* serve.c: the life of a connection; frees it. */
void *serve(void *conn);

/* What is counted and logged of one exchange. */
struct exchange {
	const struct conn *conn;
	const struct request *rq;
	struct path_stats *path;
	uint64_t began_us;
	uint64_t nth; /* request of this path since its rule was set */
	int status;
	uint64_t first, end;	    /* of the file, as the answer claims */
	uint64_t sent;		    /* body bytes */
	bool aborted;		    /* the client left before the end */
	atomic_bool over;	    /* its last bytes are on their way */
	LIST_ENTRY(exchange) entry; /* of those under way */
};

/* Where a body comes from and how it ends. */
enum body_end { BODY_WHOLE, BODY_SHORT, BODY_CLOSE, BODY_RESET, BODY_STALL };
struct body {
	struct content content; /* unused with fd or text */
	int fd;			/* -1: not from a file */
	const char *text;	/* NULL: not from memory */
	uint64_t first, end;
	uint64_t corrupt_off, corrupt_end;
	uint64_t rate; /* 0: none */
	bool chunked;
	uint64_t stop; /* after so many bytes: how */
	enum body_end how;
	uint64_t stall_us;
	const char *tail; /* sent behind it, NULL: nothing */
};

/* answer.c: answers; false when the connection must end. */
bool answer(struct conn *c, struct request *rq);
/* send.c: false when the connection must end; x->sent and x->aborted tell. */
bool send_body(struct conn *c, const struct body *b, struct exchange *x);
/* control.c: paths below /_ are orders and questions. */
bool control(struct conn *c, const struct request *rq, const char *body);
/* A rule or an order; 0 or -EINVAL with a sentence. */
int control_line(struct origin *o, char *line, char error[RULE_ERROR_MAX]);

/* signature.c: query strings that stop being good. */
struct signatures *signatures_new(void);
/* A number whose signature is good for so long and so often (0: without that limit). */
unsigned int signature_make(struct signatures *s, uint64_t for_us, uint64_t uses);
bool signature_use(struct signatures *s, const char *query);

/* ---- stats.c ---- */
struct stats *stats_new(int log_fd);
/*
 * Counts a request of path under that rule; sets x->path, x->nth, x->began_us. At once with it are
 * those under way whose client has neither all their bytes nor left: what a client can know.
 */
void stats_begin(struct stats *s, struct exchange *x, uint64_t rule_serial);
/* Counts and logs. */
void stats_end(struct stats *s, struct exchange *x);
void stats_connection(struct stats *s, bool made);
/* One more connection of that client: false when it would be above limit. */
bool stats_client_add(struct stats *s, struct in_addr peer, uint64_t limit);
void stats_client_remove(struct stats *s, struct in_addr peer);
/* JSON of everything, or of one path. */
void stats_json(struct stats *s, const char *path, struct strbuf *out);
void stats_reset(struct stats *s);

/* help.c */
extern const char help_text[];

/* Append s as a JSON string, with its quotes. */
void json_string(struct strbuf *b, const char *s);
/* HTTP's date. */
#define HTTP_DATE_MAX 40
const char *http_date(char buf[HTTP_DATE_MAX], int64_t t);

#endif
