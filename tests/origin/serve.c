/*
 * serve.c - the life of one connection: read a request, have it answered, again
 */
#include <inttypes.h>
#include <strings.h>
#include <sys/socket.h>

#include "base/size.h"
#include "origin.h"

#define ORDER_MAX (1024UL * 1024)

/* Read until a whole header block is there. Its length, or 0 when the client is gone or talks
 * nonsense. */
static size_t read_head(struct conn *c)
{
	for (;;) {
		char *end;
		size_t n;

		c->in[c->have] = '\0';
		end = strstr(c->in, "\r\n\r\n");
		if (end)
			return (size_t)(end - c->in) + 4;
		if (c->have == HEAD_MAX)
			return 0;
		n = conn_read(c, c->in + c->have, HEAD_MAX - c->have);
		if (n == 0)
			return 0;
		c->have += n;
	}
}

static void take_field(struct request *rq, const char *name, const char *value)
{
	static const struct {
		const char *name;
		size_t offset;
	} fields[] = {
		{"Host", offsetof(struct request, host)},
		{"Range", offsetof(struct request, range)},
		{"If-Range", offsetof(struct request, if_range)},
		{"If-Match", offsetof(struct request, if_match)},
		{"If-None-Match", offsetof(struct request, if_none_match)},
		{"If-Modified-Since", offsetof(struct request, if_modified_since)},
		{"Accept-Encoding", offsetof(struct request, accept_encoding)},
		{"Authorization", offsetof(struct request, authorization)},
		{"Proxy-Authorization", offsetof(struct request, proxy_authorization)},
		{"Cookie", offsetof(struct request, cookie)},
		{"X-Api", offsetof(struct request, x_api)},
		{"User-Agent", offsetof(struct request, user_agent)},
	};

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		if (strcasecmp(name, fields[i].name) == 0)
			memcpy((char *)rq + fields[i].offset, &value, sizeof(value));
	}
	if (strcasecmp(name, "Content-Length") == 0 &&
	    parse_u64(value, ORDER_MAX, &rq->body_length) < 0)
		rq->body_length = UINT64_MAX;
	if (strcasecmp(name, "Connection") == 0) {
		if (strcasestr(value, "close"))
			rq->keep_alive = false;
		else if (strcasestr(value, "keep-alive"))
			rq->keep_alive = true;
	}
}

/* head is cut into strings, which rq points into. False: not HTTP. */
static bool parse_request(char *head, struct request *rq)
{
	char *line = strsep(&head, "\n");
	char *method = strsep(&line, " "), *target = strsep(&line, " ");
	char *scheme;

	*rq = (struct request){0};
	if (!line || strncmp(line, "HTTP/1.", 7) != 0)
		return false;
	snprintf(rq->method, sizeof(rq->method), "%s", method);
	rq->head = strcmp(method, "HEAD") == 0;
	rq->keep_alive = line[7] != '0';
	/* A proxy is asked for whole URLs: then the path is what follows the host. */
	scheme = strstr(target, "://");
	if (scheme && target[0] != '/') {
		char *slash = strchr(scheme + 3, '/');

		target = slash ? slash : strchr(target, '\0');
	}
	rq->path = strsep(&target, "?");
	rq->query = target;
	while ((line = strsep(&head, "\n")) != NULL) {
		char *name = strsep(&line, ":");

		if (!line)
			continue;
		line += strspn(line, " \t");
		line[strcspn(line, "\r")] = '\0';
		take_field(rq, name, line);
	}
	return true;
}

/* The body of an order; what was read beyond it stays for the next request. NULL: the client is
 * gone. */
static char *read_order(struct conn *c, const struct request *rq)
{
	char *body = rq->body_length <= ORDER_MAX ? malloc(rq->body_length + 1) : NULL;
	size_t have = min_u64(c->have, rq->body_length);

	if (!body)
		return NULL;
	memcpy(body, c->in, have);
	memmove(c->in, c->in + have, c->have - have);
	c->have -= have;
	while (have < rq->body_length) {
		size_t n = conn_read(c, body + have, rq->body_length - have);

		if (n == 0) {
			free(body);
			return NULL;
		}
		have += n;
	}
	body[have] = '\0';
	return body;
}

static bool answer_order(struct conn *c, const struct request *rq)
{
	char *body = read_order(c, rq);
	bool ok = body && control(c, rq, body);

	free(body);
	return ok;
}

static bool admit(struct conn *c)
{
	struct origin *o = c->o;
	static const char busy[] = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\n"
				   "Content-Length: 0\r\nConnection: close\r\n\r\n";

	if (c->counted)
		return true;
	c->counted =
		stats_client_add(o->stats, c->peer, atomic_load(&o->set.connections_per_client));
	if (c->counted)
		return true;
	if (atomic_load(&o->set.busy))
		conn_write(c, busy, sizeof(busy) - 1);
	else
		c->reset = true;
	return false;
}

static bool serve_request(struct conn *c)
{
	size_t len = read_head(c);
	struct request rq;
	char *head;
	bool ok;

	if (len == 0)
		return false;
	head = strndup(c->in, len - 4);
	memmove(c->in, c->in + len, c->have - len);
	c->have -= len;
	if (!head || !parse_request(head, &rq)) {
		free(head);
		return false;
	}
	if (strcmp(rq.path, "/_ctl") == 0 || strcmp(rq.path, "/_stats") == 0)
		ok = answer_order(c, &rq);
	else
		ok = admit(c) && answer(c, &rq);
	ok = ok && rq.keep_alive;
	free(head);
	return ok;
}

void *serve(void *arg)
{
	struct conn *c = arg;
	struct origin *o = c->o;

	stats_connection(o->stats, true);
	if (!c->listener->tls || conn_start_tls(c)) {
		while (serve_request(c))
			;
	}
	if (c->counted)
		stats_client_remove(o->stats, c->peer);
	stats_connection(o->stats, false);
	conn_close(c);
	return NULL;
}
