/*
 * head.c - status line and header fields, honest or not
 */
#include <inttypes.h>

#include "base/clock.h"
#include "plan.h"

#define ANSWER_HEAD_MAX (256UL * 1024)
#define JUNK_LINE	(16UL * 1024)

const char *http_date(char buf[HTTP_DATE_MAX], int64_t t)
{
	time_t tt = t;
	struct tm tm;

	gmtime_r(&tt, &tm);
	strftime(buf, HTTP_DATE_MAX, "%a, %d %b %Y %H:%M:%S GMT", &tm);
	return buf;
}

const char *head_reason(int status)
{
	switch (status) {
	case 200:
		return "OK";
	case 206:
		return "Partial Content";
	case 302:
		return "Found";
	case 304:
		return "Not Modified";
	case 401:
		return "Unauthorized";
	case 403:
		return "Forbidden";
	case 404:
		return "Not Found";
	case 412:
		return "Precondition Failed";
	case 416:
		return "Range Not Satisfiable";
	case 429:
		return "Too Many Requests";
	case 503:
		return "Service Unavailable";
	}
	return "Status";
}

static void usual_fields(struct plan *p)
{
	char date[HTTP_DATE_MAX];
	int64_t off = p->fault[FAULT_DATE] ? p->fault[FAULT_DATE]->shift / 1000000 : 0;

	strbuf_addf(&p->head, "Date: %s\r\nServer: origin\r\n",
		    http_date(date, clock_wall_s() + off));
	if (!p->found || !p->rule)
		return;
	if (p->rule->ranges && (p->x.status == 200 || p->x.status == 206))
		strbuf_adds(&p->head, "Accept-Ranges: bytes\r\n");
	if (p->etag[0])
		strbuf_addf(&p->head, "ETag: %s\r\n", p->etag);
	if (p->last_modified != INT64_MIN)
		strbuf_addf(&p->head, "Last-Modified: %s\r\n", http_date(date, p->last_modified));
	for (unsigned int i = 0; i < p->rule->headers; i++)
		strbuf_addf(&p->head, "%s\r\n", p->rule->header[i]);
}

static void body_fields(struct plan *p)
{
	const char *type = p->rule && p->rule->type ? p->rule->type : "application/octet-stream";
	uint64_t len = p->body.end - p->body.first;

	if (p->x.status == 304)
		return;
	if (p->body.tail) {
		struct strbuf part;

		strbuf_init(&part, 1024);
		strbuf_addf(&part,
			    "--" BOUNDARY "\r\nContent-Type: %s\r\nContent-Range: bytes %" PRIu64
			    "-%" PRIu64 "/%" PRIu64 "\r\n\r\n",
			    type, p->body.first, p->body.end - 1, p->size);
		strbuf_addf(&p->head,
			    "Content-Type: multipart/byteranges; boundary=" BOUNDARY
			    "\r\nContent-Length: %" PRIu64 "\r\n\r\n%s",
			    len + part.len + strlen(p->body.tail), part.s);
		strbuf_done(&part);
		return;
	}
	strbuf_addf(&p->head, "Content-Type: %s\r\n", p->body.text ? "text/html" : type);
	if (p->body.chunked)
		strbuf_adds(&p->head, "Transfer-Encoding: chunked\r\n");
	else if (!p->fault[FAULT_UNSIZED])
		strbuf_addf(&p->head, "Content-Length: %" PRIu64 "\r\n", len);
}

/* Header lines without end, or so many bytes of them. False: the client had enough, or it was
 * endless. */
static bool send_junk_fields(struct conn *c, uint64_t bytes)
{
	char line[JUNK_LINE];

	for (uint64_t sent = 0; sent < bytes; sent += sizeof(line)) {
		int n = snprintf(line, sizeof(line), "X-Junk-%020" PRIu64 ": ", sent);

		memset(line + n, 'x', sizeof(line) - (size_t)n);
		line[sizeof(line) - 2] = '\r';
		line[sizeof(line) - 1] = '\n';
		if (!conn_write(c, line, sizeof(line)))
			return false;
	}
	return true;
}

static bool send_interim(struct conn *c, uint64_t n)
{
	static const char text[] = "HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n"
				   "ETag: \"early\"\r\n\r\n";

	for (; n; n--) {
		if (!conn_write(c, text, sizeof(text) - 1))
			return false;
	}
	return true;
}

bool head_send(struct plan *p)
{
	struct conn *c = p->c;
	char line[64];
	int n = snprintf(line, sizeof(line), "HTTP/1.1 %d %s\r\n", p->x.status,
			 head_reason(p->x.status));
	struct strbuf all;
	bool ok;

	if (p->fault[FAULT_GARBAGE]) {
		conn_write(c, "\x16\x03\x01 this is not HTTP\r\n\r\n", 25);
		return false;
	}
	if (p->fault[FAULT_INTERIM] &&
	    !send_interim(c, max_u64(p->fault[FAULT_INTERIM]->amount, 1)))
		return false;
	usual_fields(p);
	if (p->fault[FAULT_NO_KEEP_ALIVE] || p->fault[FAULT_UNSIZED])
		p->rq->keep_alive = false;
	if (!p->rq->keep_alive)
		strbuf_adds(&p->head, "Connection: close\r\n");
	body_fields(p);
	if (!p->body.tail)
		strbuf_adds(&p->head, "\r\n");
	if (p->fault[FAULT_ENDLESS_HEADER] || p->fault[FAULT_BIG_HEADER]) {
		uint64_t junk = p->fault[FAULT_ENDLESS_HEADER] ? UINT64_MAX
							       : p->fault[FAULT_BIG_HEADER]->amount;

		if (!conn_write(c, line, (size_t)n) || !send_junk_fields(c, junk))
			return false;
		n = 0;
	}
	strbuf_init(&all, ANSWER_HEAD_MAX);
	strbuf_add(&all, line, (size_t)n);
	strbuf_add(&all, p->head.s, p->head.len);
	ok = strbuf_error(&all) == 0 && conn_write(c, all.s, all.len);
	strbuf_done(&all);
	return ok;
}
