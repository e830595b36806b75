/*
 * control.c - orders and questions to the running server
 *
 *   GET  /_stats            counts, in all and per path; /_stats?/path of one path
 *   POST /_ctl              lines: rules and orders (help.c)
 *
 * They are neither counted nor logged, and no limit or delay holds for them.
 */
#include <inttypes.h>

#include "base/size.h"
#include "origin.h"

#define REPLY_MAX (64UL * 1024 * 1024)

static int set_number(atomic_uint_fast64_t *to, const char *value,
		      int (*parse)(const char *, uint64_t *))
{
	uint64_t v = 0;
	int e = parse(value, &v);

	if (e == 0)
		atomic_store(to, v);
	return e;
}

static int parse_number(const char *s, uint64_t *ret)
{
	return parse_u64(s, UINT64_MAX, ret);
}

static int set(struct settings *s, const char *key, const char *value)
{
	if (strcmp(key, "seed") == 0)
		return set_number(&s->seed, value, parse_number);
	if (strcmp(key, "delay") == 0)
		return set_number(&s->delay_us, value, parse_duration);
	if (strcmp(key, "connect-delay") == 0)
		return set_number(&s->connect_delay_us, value, parse_duration);
	if (strcmp(key, "rate") == 0)
		return set_number(&s->rate, value, parse_size);
	if (strcmp(key, "total-rate") == 0)
		return set_number(&s->total_rate, value, parse_size);
	if (strcmp(key, "max-per-client") == 0)
		return set_number(&s->connections_per_client, value, parse_number);
	if (strcmp(key, "busy") == 0 &&
	    (strcmp(value, "503") == 0 || strcmp(value, "reset") == 0)) {
		atomic_store(&s->busy, strcmp(value, "503") == 0);
		return 0;
	}
	return -EINVAL;
}

static int set_all(struct settings *s, char *words, char error[RULE_ERROR_MAX])
{
	char *word;

	while ((word = strsep(&words, " \t\r")) != NULL) {
		char *value = word;
		char *key = strsep(&value, "=");

		if (!*key)
			continue;
		if (!value || set(s, key, value) < 0) {
			snprintf(error, RULE_ERROR_MAX, "set %s: not understood", key);
			return -EINVAL;
		}
	}
	return 0;
}

int control_line(struct origin *o, char *line, char error[RULE_ERROR_MAX])
{
	line += strspn(line, " \t");
	if (!*line || *line == '#')
		return 0;
	if (*line == '/')
		return rules_set(o->rules, line, error);
	if (strncmp(line, "set ", 4) == 0)
		return set_all(&o->set, line + 4, error);
	if (strcmp(line, "reset") == 0) {
		stats_reset(o->stats);
		return 0;
	}
	if (strcmp(line, "release") == 0) {
		atomic_fetch_add(&o->released, 1);
		return 0;
	}
	snprintf(error, RULE_ERROR_MAX, "%.100s: neither a rule nor an order", line);
	return -EINVAL;
}

static bool reply(struct conn *c, int status, const struct strbuf *body)
{
	char head[128];
	int n = snprintf(head, sizeof(head), "HTTP/1.1 %d %s\r\nContent-Length: %zu\r\n\r\n",
			 status, status == 200 ? "OK" : "Bad Request", body->len);

	return strbuf_error(body) == 0 && conn_write(c, head, (size_t)n) &&
	       conn_write(c, body->s, body->len);
}

bool control(struct conn *c, const struct request *rq, const char *text)
{
	char error[RULE_ERROR_MAX] = "no memory";
	char *copy = strdup(text), *rest = copy, *line;
	struct strbuf out;
	int status = 200;
	bool ok;

	strbuf_init(&out, REPLY_MAX);
	if (strcmp(rq->path, "/_stats") == 0) {
		stats_json(c->o->stats, rq->query, &out);
	} else if (copy) {
		while (status == 200 && (line = strsep(&rest, "\n")) != NULL) {
			if (control_line(c->o, line, error) < 0)
				status = 400;
		}
	} else {
		status = 400;
	}
	if (status != 200)
		strbuf_addf(&out, "%s\n", error);
	ok = reply(c, status, &out);
	strbuf_done(&out);
	free(copy);
	return ok;
}
