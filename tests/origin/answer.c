/*
 * answer.c - what is answered to a request: the right answer first, then what the rule's faults
 * make of it
 */
#include <arpa/inet.h>
#include <inttypes.h>

#include "base/clock.h"
#include "base/size.h"
#include "fault.h"
#include "plan.h"

#define ANSWER_HEAD_MAX (256UL * 1024)

/* The first byte asked for, as conditions of faults see it; nothing is checked yet. */
static uint64_t asked_offset(const struct request *rq)
{
	char number[24];
	uint64_t off;
	const char *at = rq->range ? strchr(rq->range, '=') : NULL;

	if (!at)
		return 0;
	snprintf(number, sizeof(number), "%.*s", (int)strspn(at + 1, "0123456789"), at + 1);
	return parse_u64(number, UINT64_MAX, &off) == 0 ? off : 0;
}

static uint64_t luck(const struct plan *p, unsigned int which)
{
	unsigned char word[8];
	uint64_t ret;

	content_fill(content_make(atomic_load(&p->c->o->set.seed) ^ UINT64_C(0x6c75636b) ^ which,
				  p->rq->path, p->x.nth),
		     0, word, sizeof(word));
	memcpy(&ret, word, sizeof(ret));
	/* The formula's words are not evenly spread in their low bits: stir. */
	ret *= UINT64_C(0xbf58476d1ce4e5b9);
	return ret ^ (ret >> 32);
}

static void choose_faults(struct plan *p)
{
	struct occasion o = {
		.nth = p->x.nth,
		.since_us = clock_now_us() - p->rule->set_us,
		.off = asked_offset(p->rq),
		.ranged = p->rq->range != NULL,
		.encoded = p->rq->accept_encoding != NULL,
		.head = p->rq->head,
	};

	for (unsigned int i = 0; i < p->rule->faults; i++) {
		const struct fault *f = &p->rule->fault[i];

		o.luck = luck(p, i);
		if (fault_applies(f, &o))
			p->fault[f->kind] = f;
	}
}

/* ---- error pages and redirects ---- */

static void error_page(struct plan *p, int status)
{
	p->x.status = status;
	snprintf(p->text, sizeof(p->text),
		 "<html><body><h1>%d %s</h1><p>This is not the file you asked for.</body></html>\n",
		 status, head_reason(status));
	if (p->body.fd >= 0)
		close(p->body.fd);
	p->body = (struct body){.fd = -1, .text = p->text, .end = strlen(p->text)};
}

static void status_fault(struct plan *p, const struct fault *f)
{
	char date[HTTP_DATE_MAX];
	int64_t date_shift = p->fault[FAULT_DATE] ? p->fault[FAULT_DATE]->shift / 1000000 : 0;

	error_page(p, (int)f->amount);
	if (f->retry == RETRY_SECONDS)
		strbuf_addf(&p->head, "Retry-After: %" PRIu64 "\r\n", f->us / USEC_PER_SEC);
	else if (f->retry == RETRY_DATE)
		strbuf_addf(&p->head, "Retry-After: %s\r\n",
			    http_date(date, clock_wall_s() + date_shift +
						    (int64_t)(f->us / USEC_PER_SEC)));
	else if (f->retry == RETRY_RESET)
		strbuf_addf(&p->head, "RateLimit-Reset: %" PRIu64 "\r\n", f->us / USEC_PER_SEC);
	if (p->x.status == 416 && p->rule->has_size)
		strbuf_addf(&p->head, "Content-Range: bytes */%" PRIu64 "\r\n", p->rule->size);
}

/* "port2:/x" and "tls:/x" name this server's other listeners. */
static void add_location(struct plan *p, const char *to)
{
	const struct origin *o = p->c->o;
	char ip[INET_ADDRSTRLEN];

	for (unsigned int i = 0; i < o->listeners; i++) {
		char name[16];
		size_t n;

		snprintf(name, sizeof(name), "port%u:", i + 1);
		if (o->listener[i].tls)
			snprintf(name, sizeof(name), "tls:");
		n = strlen(name);
		if (strncmp(to, name, n) == 0) {
			strbuf_addf(&p->head, "Location: http%s://%s:%u%s",
				    o->listener[i].tls ? "s" : "",
				    inet_ntop(AF_INET, &o->address, ip, sizeof(ip)),
				    o->listener[i].port, to + n);
			return;
		}
	}
	strbuf_addf(&p->head, "Location: %s", to);
}

static void redirect(struct plan *p)
{
	const struct rule *r = p->rule;
	uint64_t hop = 0;

	error_page(p, (int)r->redirect_status);
	for (unsigned int i = 0; i < r->headers; i++)
		strbuf_addf(&p->head, "%s\r\n", r->header[i]);
	if (strcmp(r->redirect, "endless") == 0) {
		if (p->rq->query)
			parse_u64(p->rq->query, UINT32_MAX, &hop);
		strbuf_addf(&p->head, "Location: %s?%" PRIu64 "\r\n", p->rq->path, hop + 1);
		return;
	}
	add_location(p, r->redirect);
	if (r->sign_us || r->sign_uses)
		strbuf_addf(&p->head, "%csig=%u", strchr(r->redirect, '?') ? '&' : '?',
			    signature_make(p->c->o->signatures, r->sign_us, r->sign_uses));
	strbuf_adds(&p->head, "\r\n");
}

static int base64(const char *text, char *out, size_t size)
{
	size_t len = strlen(text);

	if (size < (len + 2) / 3 * 4 + 1)
		return -ENOBUFS;
	EVP_EncodeBlock((unsigned char *)out, (const unsigned char *)text, (int)len);
	return 0;
}

static bool authorised(const struct plan *p)
{
	char want[512] = "Basic ";
	const char *got = p->rq->authorization;

	if (!p->rule->auth)
		return true;
	return got && base64(p->rule->auth, want + 6, sizeof(want) - 6) == 0 &&
	       strcmp(got, want) == 0;
}

/* Whatever ends in an answer without the file. */
static bool refused(struct plan *p)
{
	const struct rule *r = p->rule;

	if (!r) {
		error_page(p, 404);
		return true;
	}
	if (p->fault[FAULT_STATUS]) {
		status_fault(p, p->fault[FAULT_STATUS]);
	} else if (!authorised(p)) {
		error_page(p, 401);
		strbuf_adds(&p->head, "WWW-Authenticate: Basic realm=\"origin\"\r\n");
	} else if (r->signed_status && !signature_use(p->c->o->signatures, p->rq->query)) {
		error_page(p, (int)r->signed_status);
	} else if (r->redirect) {
		redirect(p);
	} else if (strcmp(p->rq->method, "GET") != 0 && !p->rq->head) {
		error_page(p, 405);
	} else if (!resource_find(p)) {
		error_page(p, 404);
	} else {
		return false;
	}
	return true;
}

/* ---- the right answer ---- */

static bool precondition(struct plan *p)
{
	const struct request *rq = p->rq;
	char date[HTTP_DATE_MAX] = "";

	if (p->last_modified != INT64_MIN)
		http_date(date, p->last_modified);
	if (rq->if_match && !strstr(rq->if_match, "*") &&
	    (!p->etag[0] || !strstr(rq->if_match, p->etag))) {
		error_page(p, 412);
		return false;
	}
	if ((rq->if_none_match && p->etag[0] && strstr(rq->if_none_match, p->etag)) ||
	    (!rq->if_none_match && rq->if_modified_since && date[0] &&
	     strcmp(rq->if_modified_since, date) == 0)) {
		p->x.status = 304;
		p->body.first = p->body.end = 0;
		return false;
	}
	return true;
}

static bool if_range_holds(const struct plan *p)
{
	const char *given = p->rq->if_range;
	char date[HTTP_DATE_MAX];

	if (!given || p->rule->if_range == IF_RANGE_IGNORE)
		return true;
	if (p->rule->if_range == IF_RANGE_ALWAYS_200)
		return false;
	if (given[0] == '"')
		return strcmp(given, p->etag) == 0;
	return p->last_modified != INT64_MIN &&
	       strcmp(given, http_date(date, p->last_modified)) == 0;
}

/* One range in decimal; 0, -EINVAL (to be ignored), -ERANGE (nothing of it exists). */
static int parse_range(const char *text, uint64_t size, uint64_t *ret_first, uint64_t *ret_end)
{
	char spec[64];
	char *dash;
	uint64_t first, last;

	if (strncmp(text, "bytes=", 6) != 0 || strlen(text) >= sizeof(spec))
		return -EINVAL;
	snprintf(spec, sizeof(spec), "%s", text + 6);
	dash = strchr(spec, '-');
	if (!dash)
		return -EINVAL;
	*dash++ = '\0';
	if (!spec[0]) { /* the last so many bytes */
		if (parse_u64(dash, UINT64_MAX, &last) < 0)
			return -EINVAL;
		if (last == 0 || size == 0)
			return -ERANGE;
		*ret_first = size - min_u64(last, size);
		*ret_end = size;
		return 0;
	}
	if (parse_u64(spec, UINT64_MAX, &first) < 0)
		return -EINVAL;
	last = UINT64_MAX - 1;
	if (*dash && (parse_u64(dash, UINT64_MAX - 1, &last) < 0 || last < first))
		return -EINVAL;
	if (first >= size)
		return -ERANGE;
	*ret_first = first;
	*ret_end = min_u64(last + 1, size);
	return 0;
}

static void choose_range(struct plan *p)
{
	const struct request *rq = p->rq;
	int e = -EINVAL;

	p->x.status = 200;
	p->body.first = 0;
	p->body.end = p->size;
	if (!rq->range || !p->rule->ranges || p->fault[FAULT_IGNORE_RANGE] || !if_range_holds(p))
		return;
	e = parse_range(rq->range, p->size, &p->body.first, &p->body.end);
	if (e == 0) {
		p->x.status = 206;
		p->partial = true;
	} else if (e == -ERANGE) {
		error_page(p, 416);
		strbuf_addf(&p->head, "Content-Range: bytes */%" PRIu64 "\r\n", p->size);
	}
}

/* ---- and what becomes of it ---- */

static void shift_range(struct plan *p)
{
	int64_t by = p->fault[FAULT_SHIFT] ? p->fault[FAULT_SHIFT]->shift : 0;

	if (p->fault[FAULT_ZERO]) {
		p->body.first = 0;
	} else if (by < 0) {
		p->body.first -= min_u64(p->body.first, (uint64_t)-by);
	} else if (by > 0) {
		p->body.first = min_u64(p->body.first + (uint64_t)by, p->size - 1);
		p->body.end =
			min_u64(max_u64(p->body.end, p->body.first + 1) + (uint64_t)by, p->size);
	}
}

static void add_content_range(struct plan *p)
{
	const struct fault *bad = p->fault[FAULT_BAD_RANGE_HEADER];
	char total[32];

	if (p->fault[FAULT_NO_RANGE_HEADER])
		return;
	if (bad) {
		strbuf_addf(&p->head, "Content-Range: %s\r\n",
			    bad->text ? bad->text : "bytes twelve-thirteen/many");
		return;
	}
	snprintf(total, sizeof(total), "%" PRIu64, p->size + (uint64_t)p->total_shift);
	strbuf_addf(&p->head, "Content-Range: bytes %" PRIu64 "-%" PRIu64 "/%s\r\n", p->body.first,
		    p->body.end - 1, p->fault[FAULT_STAR_TOTAL] ? "*" : total);
}

static void set_end(struct plan *p)
{
	static const struct {
		enum fault_kind kind;
		enum body_end how;
	} ends[] = {{FAULT_SHORT, BODY_SHORT},
		    {FAULT_CLOSE, BODY_CLOSE},
		    {FAULT_RESET, BODY_RESET},
		    {FAULT_STALL, BODY_STALL}};
	uint64_t len = p->body.end - p->body.first;

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		const struct fault *f = p->fault[ends[i].kind];

		if (!f)
			continue;
		p->body.how = ends[i].how;
		p->body.stop = f->percent ? len / 100 * f->amount + len % 100 * f->amount / 100
					  : f->amount;
		p->body.stall_us = f->us;
	}
}

static void encode(struct plan *p)
{
	const char *colon, *text = p->fault[FAULT_ENCODING]->text;
	int64_t keep = p->last_modified;
	char etag[sizeof(p->etag)];

	colon = text ? strchr(text, ':') : NULL;
	strbuf_addf(&p->head, "Content-Encoding: %.*s\r\n", text ? (int)strcspn(text, ":") : 4,
		    text ? text : "gzip");
	if (!colon)
		return;
	memcpy(etag, p->etag, sizeof(etag));
	if (p->body.fd >= 0)
		close(p->body.fd);
	if (!resource_open_file(p, colon + 1))
		fprintf(stderr, "origin: %s: %s\n", colon + 1, strerror(errno));
	memcpy(p->etag, etag, sizeof(etag));
	p->last_modified = keep;
}

static void misbehave(struct plan *p)
{
	const struct fault *corrupt = p->fault[FAULT_CORRUPT];
	const struct fault *drip = p->fault[FAULT_DRIP];

	if (p->partial) {
		shift_range(p);
		if (p->fault[FAULT_TOTAL])
			p->total_shift = p->fault[FAULT_TOTAL]->shift;
		if (p->fault[FAULT_MULTIPART])
			p->body.tail = MULTIPART_TAIL;
		else
			add_content_range(p);
	}
	if (corrupt) {
		p->body.corrupt_off = corrupt->amount;
		p->body.corrupt_end = add_sat_u64(corrupt->amount, corrupt->len);
	}
	p->body.rate = drip ? drip->amount : p->rule->rate;
	p->body.chunked = p->fault[FAULT_CHUNKED] != NULL;
	set_end(p);
}

/* ---- sending ---- */

static bool wait_first(struct plan *p)
{
	struct settings *s = &p->c->o->set;
	uint64_t us = p->rule && p->rule->delay_us ? p->rule->delay_us : atomic_load(&s->delay_us);

	if (!p->c->used)
		us += atomic_load(&s->connect_delay_us);
	p->c->used = true;
	if (p->fault[FAULT_DELAY])
		us = p->fault[FAULT_DELAY]->us;
	if (p->fault[FAULT_HANG])
		us = p->fault[FAULT_HANG]->us ? p->fault[FAULT_HANG]->us : UINT64_MAX;
	return us == 0 || conn_wait_until(p->c, add_sat_u64(p->x.began_us, us));
}

static void decide(struct plan *p)
{
	if (refused(p))
		return;
	if (p->fault[FAULT_ENCODING])
		encode(p);
	if (!precondition(p))
		return;
	choose_range(p);
	if (p->x.status == 200 || p->x.status == 206)
		misbehave(p);
}

static bool carry_out(struct plan *p)
{
	bool body = !p->rq->head && p->x.status != 304;

	if (!wait_first(p)) {
		p->x.aborted = true;
		return false;
	}
	if (p->fault[FAULT_DROP])
		return false;
	p->x.first = p->body.first;
	p->x.end = p->body.end;
	if (!head_send(p)) {
		p->x.aborted = !p->fault[FAULT_GARBAGE];
		return false;
	}
	return !body || send_body(p->c, &p->body, &p->x);
}

bool answer(struct conn *c, struct request *rq)
{
	struct plan p = {.c = c, .rq = rq, .body.fd = -1};
	bool ok;

	strbuf_init(&p.head, ANSWER_HEAD_MAX);
	p.x.conn = c;
	p.x.rq = rq;
	p.rule = rules_find(c->o->rules, rq->path);
	stats_begin(c->o->stats, &p.x, p.rule ? p.rule->serial : 0);
	if (p.rule)
		choose_faults(&p);
	decide(&p);
	ok = carry_out(&p);
	stats_end(c->o->stats, &p.x);
	if (p.body.fd >= 0)
		close(p.body.fd);
	rule_put(p.rule);
	strbuf_done(&p.head);
	return ok;
}
