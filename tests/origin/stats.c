/*
 * stats.c - counts per path and in all, the request log, and who has how many connections
 */
#include <arpa/inet.h>
#include <inttypes.h>

#include "base/clock.h"
#include "origin.h"

#define BUCKETS	     65536
#define CLIENTS_MAX  64
#define JSON_MAX     (64UL * 1024 * 1024)
#define LOG_LINE_MAX (2 * HEAD_MAX)

struct counts {
	uint64_t requests, bytes, active, aborted;
	uint64_t peak; /* most at once, see stats_begin() */
};

struct path_stats {
	struct path_stats *next;
	uint64_t rule_serial; /* of the rule that nth counts under */
	uint64_t nth;
	struct counts n;
	char path[];
};

struct stats {
	pthread_mutex_t mutex;
	struct path_stats *bucket[BUCKETS];
	struct counts n;
	LIST_HEAD(, exchange) under_way;
	uint64_t connections_made, connections_open;
	struct {
		struct in_addr peer;
		uint64_t connections;
	} client[CLIENTS_MAX];
	int log_fd; /* -1: none */
	uint64_t start_us;
};

struct stats *stats_new(int log_fd)
{
	struct stats *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	pthread_mutex_init(&s->mutex, NULL);
	s->log_fd = log_fd;
	s->start_us = clock_now_us();
	return s;
}

static unsigned int bucket_of(const char *path)
{
	uint64_t h = UINT64_C(14695981039346656037);

	for (; *path; path++)
		h = (h ^ (unsigned char)*path) * UINT64_C(1099511628211);
	return (unsigned int)(h % BUCKETS);
}

/* Under the mutex. NULL: never asked for (or no memory, with make). */
static struct path_stats *find_path(struct stats *s, const char *path, bool make)
{
	struct path_stats **head = &s->bucket[bucket_of(path)], *p;
	size_t len = strlen(path) + 1;

	for (p = *head; p; p = p->next) {
		if (strcmp(p->path, path) == 0)
			return p;
	}
	p = make ? calloc(1, sizeof(*p) + len) : NULL;
	if (p) {
		memcpy(p->path, path, len);
		p->next = *head;
		*head = p;
	}
	return p;
}

static void count_begin(struct counts *n)
{
	n->requests++;
	n->active++;
}

/* Under the mutex, with x among them; path NULL: of all paths. */
static void count_peak(struct stats *s, struct counts *n, const struct path_stats *path)
{
	const struct exchange *x;
	uint64_t now = 0;

	if (n->active <= n->peak)
		return;
	LIST_FOREACH (x, &s->under_way, entry)
		now += (!path || x->path == path) && !atomic_load(&x->over) && !conn_left(x->conn);
	n->peak = max_u64(n->peak, now);
}

static void count_end(struct counts *n, const struct exchange *x)
{
	n->active--;
	n->bytes += x->sent;
	n->aborted += x->aborted;
}

void stats_begin(struct stats *s, struct exchange *x, uint64_t rule_serial)
{
	struct path_stats *p;

	x->began_us = clock_now_us();
	pthread_mutex_lock(&s->mutex);
	count_begin(&s->n);
	p = find_path(s, x->rq->path, true);
	if (p) {
		if (p->rule_serial != rule_serial)
			p->nth = 0;
		p->rule_serial = rule_serial;
		count_begin(&p->n);
		x->nth = ++p->nth;
	}
	x->path = p;
	LIST_INSERT_HEAD(&s->under_way, x, entry);
	count_peak(s, &s->n, NULL);
	if (p)
		count_peak(s, &p->n, p);
	pthread_mutex_unlock(&s->mutex);
}

void json_string(struct strbuf *b, const char *s)
{
	strbuf_addc(b, '"');
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			strbuf_addf(b, "\\%c", *s);
		else if ((unsigned char)*s < 0x20 || (unsigned char)*s >= 0x7f)
			strbuf_addf(b, "\\u%04x", (unsigned char)*s);
		else
			strbuf_addc(b, *s);
	}
	strbuf_addc(b, '"');
}

static void json_field(struct strbuf *b, const char *name, const char *value)
{
	if (!value)
		return;
	strbuf_addf(b, ",\"%s\":", name);
	json_string(b, value);
}

static void log_exchange(struct stats *s, const struct exchange *x)
{
	const struct request *rq = x->rq;
	uint64_t now = clock_now_us();
	struct strbuf b;

	strbuf_init(&b, LOG_LINE_MAX);
	strbuf_addf(&b, "{\"time\":%.6f,\"took\":%.6f,\"conn\":%" PRIu64 ",\"port\":%u",
		    (double)(x->began_us - s->start_us) / 1e6, (double)(now - x->began_us) / 1e6,
		    x->conn->id, x->conn->listener->port);
	json_field(&b, "method", rq->method);
	json_field(&b, "path", rq->path);
	json_field(&b, "query", rq->query);
	json_field(&b, "host", rq->host);
	json_field(&b, "range", rq->range);
	json_field(&b, "if_range", rq->if_range);
	json_field(&b, "if_none_match", rq->if_none_match);
	json_field(&b, "if_match", rq->if_match);
	json_field(&b, "if_modified_since", rq->if_modified_since);
	json_field(&b, "accept_encoding", rq->accept_encoding);
	json_field(&b, "authorization", rq->authorization);
	json_field(&b, "proxy_authorization", rq->proxy_authorization);
	json_field(&b, "cookie", rq->cookie);
	json_field(&b, "x_api", rq->x_api);
	json_field(&b, "user_agent", rq->user_agent);
	strbuf_addf(&b,
		    ",\"nth\":%" PRIu64 ",\"status\":%d,\"first\":%" PRIu64 ",\"end\":%" PRIu64
		    ",\"sent\":%" PRIu64 ",\"aborted\":%s}\n",
		    x->nth, x->status, x->first, x->end, x->sent, x->aborted ? "true" : "false");
	/* One write per line: lines of several threads never mix in an O_APPEND file. */
	if (strbuf_error(&b) == 0 && write(s->log_fd, b.s, b.len) < 0)
		fprintf(stderr, "origin: the log can't be written: %s\n", strerror(errno));
	strbuf_done(&b);
}

void stats_end(struct stats *s, struct exchange *x)
{
	/* Logged before it counts as ended: who waits for active 0 finds the line. */
	if (s->log_fd >= 0)
		log_exchange(s, x);
	pthread_mutex_lock(&s->mutex);
	LIST_REMOVE(x, entry);
	count_end(&s->n, x);
	if (x->path)
		count_end(&x->path->n, x);
	pthread_mutex_unlock(&s->mutex);
}

void stats_connection(struct stats *s, bool made)
{
	pthread_mutex_lock(&s->mutex);
	if (made) {
		s->connections_made++;
		s->connections_open++;
	} else {
		s->connections_open--;
	}
	pthread_mutex_unlock(&s->mutex);
}

bool stats_client_add(struct stats *s, struct in_addr peer, uint64_t limit)
{
	bool ok = true;
	unsigned int free_slot = CLIENTS_MAX, i;

	pthread_mutex_lock(&s->mutex);
	for (i = 0; i < CLIENTS_MAX; i++) {
		if (s->client[i].connections && s->client[i].peer.s_addr == peer.s_addr)
			break;
		if (!s->client[i].connections)
			free_slot = i;
	}
	if (i == CLIENTS_MAX)
		i = free_slot;
	if (i < CLIENTS_MAX) {
		s->client[i].peer = peer;
		ok = limit == 0 || s->client[i].connections < limit;
		s->client[i].connections += ok;
	}
	pthread_mutex_unlock(&s->mutex);
	return ok;
}

void stats_client_remove(struct stats *s, struct in_addr peer)
{
	pthread_mutex_lock(&s->mutex);
	for (unsigned int i = 0; i < CLIENTS_MAX; i++) {
		if (s->client[i].connections && s->client[i].peer.s_addr == peer.s_addr) {
			s->client[i].connections--;
			break;
		}
	}
	pthread_mutex_unlock(&s->mutex);
}

static void json_counts(struct strbuf *b, const struct counts *n)
{
	strbuf_addf(b,
		    "\"requests\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"active\":%" PRIu64
		    ",\"peak\":%" PRIu64 ",\"aborted\":%" PRIu64,
		    n->requests, n->bytes, n->active, n->peak, n->aborted);
}

static void json_paths(struct stats *s, struct strbuf *out)
{
	const char *comma = "";

	strbuf_adds(out, ",\"paths\":{");
	for (unsigned int i = 0; i < BUCKETS; i++) {
		for (struct path_stats *p = s->bucket[i]; p; p = p->next) {
			if (p->n.requests == 0)
				continue;
			strbuf_adds(out, comma);
			json_string(out, p->path);
			strbuf_adds(out, ":{");
			json_counts(out, &p->n);
			strbuf_adds(out, "}");
			comma = ",";
		}
	}
	strbuf_adds(out, "}");
}

void stats_json(struct stats *s, const char *path, struct strbuf *out)
{
	pthread_mutex_lock(&s->mutex);
	strbuf_adds(out, "{");
	if (path) {
		struct path_stats *p = find_path(s, path, false);
		struct counts none = {0};

		json_counts(out, p ? &p->n : &none);
	} else {
		json_counts(out, &s->n);
		strbuf_addf(out, ",\"connections\":%" PRIu64 ",\"open\":%" PRIu64,
			    s->connections_made, s->connections_open);
		json_paths(s, out);
	}
	strbuf_adds(out, "}\n");
	pthread_mutex_unlock(&s->mutex);
}

void stats_reset(struct stats *s)
{
	pthread_mutex_lock(&s->mutex);
	s->n = (struct counts){.active = s->n.active};
	count_peak(s, &s->n, NULL);
	s->connections_made = 0;
	for (unsigned int i = 0; i < BUCKETS; i++) {
		for (struct path_stats *p = s->bucket[i]; p; p = p->next) {
			p->n = (struct counts){.active = p->n.active};
			count_peak(s, &p->n, p);
		}
	}
	pthread_mutex_unlock(&s->mutex);
}
