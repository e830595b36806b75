/*
 * rule.c - what the origin shows under which path: reading and finding rules
 */
#include "rule.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/size.h"
#include "fault.h"

#define RULES_MAX	    1024
#define TOKENS_MAX	    64
#define LAST_MODIFIED_FIRST INT64_C(1600000000)

struct rules {
	pthread_mutex_t mutex;
	struct rule *rule[RULES_MAX]; /* in the order in which they were set */
	unsigned int count;
	uint64_t serial;
};

struct rules *rules_new(void)
{
	struct rules *rs = calloc(1, sizeof(*rs));

	if (rs)
		pthread_mutex_init(&rs->mutex, NULL);
	return rs;
}

void rule_put(struct rule *r)
{
	if (!r || atomic_fetch_sub(&r->refs, 1) != 1)
		return;
	free(r->pattern);
	free(r->content);
	free(r->file);
	free(r->etag_text);
	free(r->type);
	free(r->redirect);
	free(r->auth);
	for (unsigned int i = 0; i < r->headers; i++)
		free(r->header[i]);
	for (unsigned int i = 0; i < r->faults; i++)
		free(r->fault[i].text);
	free(r);
}

/* Cut line in place at blanks; quotes keep them. The number of tokens, or -EINVAL. */
static int split(char *line, char *token[TOKENS_MAX])
{
	int n = 0;
	char *out;

	for (;;) {
		char quote = '\0';

		line += strspn(line, " \t\r\n");
		if (!*line || *line == '#')
			return n;
		if (n == TOKENS_MAX)
			return -EINVAL;
		token[n++] = out = line;
		for (; *line && (quote || !strchr(" \t\r\n", *line)); line++) {
			if (quote ? *line == quote : *line == '\'' || *line == '"')
				quote = quote ? '\0' : *line;
			else
				*out++ = *line;
		}
		if (quote)
			return -EINVAL;
		if (*line)
			line++;
		*out = '\0';
	}
}

static int set_etag(struct rule *r, const char *value)
{
	static const char *const names[] = {"strong", "weak", "none"};

	for (unsigned int i = 0; i < ARRAY_SIZE(names); i++) {
		if (strcmp(value, names[i]) == 0) {
			r->etag = (enum etag_mode)i;
			return 0;
		}
	}
	r->etag = ETAG_GIVEN;
	r->etag_text = strdup(value);
	return r->etag_text ? 0 : -ENOMEM;
}

static int set_choice(const char *value, const char *const names[], unsigned int count,
		      unsigned int *ret)
{
	for (unsigned int i = 0; i < count; i++) {
		if (strcmp(value, names[i]) == 0) {
			*ret = i;
			return 0;
		}
	}
	return -EINVAL;
}

static int set_if_range(struct rule *r, const char *value)
{
	static const char *const names[] = {"honour", "ignore", "200"};
	unsigned int i;
	int e = set_choice(value, names, ARRAY_SIZE(names), &i);

	if (e == 0)
		r->if_range = (enum if_range_mode)i;
	return e;
}

static int set_ranges(struct rule *r, const char *value)
{
	static const char *const names[] = {"no", "yes"};
	unsigned int i;
	int e = set_choice(value, names, ARRAY_SIZE(names), &i);

	if (e == 0)
		r->ranges = i == 1;
	return e;
}

static int set_last_modified(struct rule *r, const char *value)
{
	uint64_t v;

	if (strcmp(value, "none") == 0) {
		r->last_modified = INT64_MIN;
		return 0;
	}
	if (parse_u64(value, INT64_MAX, &v) < 0)
		return -EINVAL;
	r->last_modified = (int64_t)v;
	return 0;
}

/* "5s" or "5s:3", or ":3": how long and how often a signature is good. */
static int set_sign(struct rule *r, char *value)
{
	char *uses = strchr(value, ':');

	if (uses) {
		*uses++ = '\0';
		if (parse_u64(uses, UINT64_MAX, &r->sign_uses) < 0)
			return -EINVAL;
	}
	return *value ? parse_duration(value, &r->sign_us) : 0;
}

static int set_code(const char *value, unsigned int *ret)
{
	uint64_t v;

	if (parse_u64(value, 999, &v) < 0 || v < 100)
		return -EINVAL;
	*ret = (unsigned int)v;
	return 0;
}

static int set_size(struct rule *r, const char *value)
{
	r->has_size = true;
	return parse_size(value, &r->size);
}

static int set_seed(struct rule *r, const char *value)
{
	r->has_seed = true;
	return parse_u64(value, UINT64_MAX, &r->seed);
}

static int set_text(char **ret, const char *value)
{
	free(*ret);
	*ret = strdup(value);
	return *ret ? 0 : -ENOMEM;
}

static int set_header(struct rule *r, const char *value)
{
	if (r->headers == RULE_HEADERS_MAX || !strchr(value, ':'))
		return -EINVAL;
	r->header[r->headers] = strdup(value);
	return r->header[r->headers++] ? 0 : -ENOMEM;
}

static int set_fault(struct rule *r, char *value)
{
	int e;

	if (r->faults == RULE_FAULTS_MAX)
		return -EINVAL;
	e = fault_parse(value, &r->fault[r->faults]);
	if (e == 0)
		r->faults++;
	return e;
}

static int set_key(struct rule *r, const char *key, char *value)
{
	if (strcmp(key, "size") == 0)
		return set_size(r, value);
	if (strcmp(key, "seed") == 0)
		return set_seed(r, value);
	if (strcmp(key, "version") == 0)
		return parse_u64(value, UINT64_MAX, &r->version);
	if (strcmp(key, "content") == 0)
		return set_text(&r->content, value);
	if (strcmp(key, "file") == 0 || strcmp(key, "dir") == 0)
		return set_text(&r->file, value);
	if (strcmp(key, "etag") == 0)
		return set_etag(r, value);
	if (strcmp(key, "last-modified") == 0)
		return set_last_modified(r, value);
	if (strcmp(key, "ranges") == 0)
		return set_ranges(r, value);
	if (strcmp(key, "if-range") == 0)
		return set_if_range(r, value);
	if (strcmp(key, "type") == 0)
		return set_text(&r->type, value);
	if (strcmp(key, "delay") == 0)
		return parse_duration(value, &r->delay_us);
	if (strcmp(key, "rate") == 0)
		return parse_size(value, &r->rate);
	if (strcmp(key, "redirect") == 0)
		return set_text(&r->redirect, value);
	if (strcmp(key, "status") == 0)
		return set_code(value, &r->redirect_status);
	if (strcmp(key, "sign") == 0)
		return set_sign(r, value);
	if (strcmp(key, "signed") == 0)
		return set_code(value, &r->signed_status);
	if (strcmp(key, "auth") == 0)
		return set_text(&r->auth, value);
	if (strcmp(key, "header") == 0)
		return set_header(r, value);
	if (strcmp(key, "fault") == 0)
		return set_fault(r, value);
	return -ENOENT;
}

static int rule_parse(char *line, struct rule *r, char error[RULE_ERROR_MAX])
{
	char *token[TOKENS_MAX];
	int n = split(line, token);
	size_t len;

	if (n < 1 || token[0][0] != '/') {
		snprintf(error, RULE_ERROR_MAX, "a rule begins with a path");
		return -EINVAL;
	}
	r->pattern = strdup(token[0]);
	if (!r->pattern)
		return -ENOMEM;
	len = strlen(r->pattern);
	r->prefix = r->pattern[len - 1] == '*';
	if (r->prefix)
		r->pattern[len - 1] = '\0';
	for (int i = 1; i < n; i++) {
		char *value = strchr(token[i], '=');
		char whole[RULE_ERROR_MAX / 2];
		int e;

		snprintf(whole, sizeof(whole), "%s", token[i]);
		if (value)
			*value++ = '\0';
		e = value ? set_key(r, token[i], value) : -EINVAL;
		if (e < 0) {
			snprintf(error, RULE_ERROR_MAX, "%s: %s", whole,
				 e == -ENOENT ? "no such key" : "not understood");
			return -EINVAL;
		}
	}
	return 0;
}

int rules_set(struct rules *rs, const char *line, char error[RULE_ERROR_MAX])
{
	struct rule *r = calloc(1, sizeof(*r)), *old = NULL;
	char *copy = strdup(line);
	int e = -ENOMEM;

	if (!r || !copy)
		goto out;
	r->refs = 1;
	r->ranges = true;
	r->redirect_status = 302;
	r->last_modified = LAST_MODIFIED_FIRST;
	r->set_us = clock_now_us();
	e = rule_parse(copy, r, error);
	if (e < 0)
		goto out;

	pthread_mutex_lock(&rs->mutex);
	for (unsigned int i = 0; i < rs->count && !old; i++) {
		if (strcmp(rs->rule[i]->pattern, r->pattern) == 0 &&
		    rs->rule[i]->prefix == r->prefix) {
			old = rs->rule[i];
			memmove(&rs->rule[i], &rs->rule[i + 1],
				(rs->count - i - 1) * sizeof(struct rule *));
			rs->count--;
		}
	}
	if (rs->count == RULES_MAX) {
		snprintf(error, RULE_ERROR_MAX, "more than %d rules", RULES_MAX);
		e = -EINVAL;
	} else {
		r->serial = ++rs->serial;
		rs->rule[rs->count++] = r;
		r = NULL;
	}
	pthread_mutex_unlock(&rs->mutex);
out:
	rule_put(r);
	rule_put(old);
	free(copy);
	return e;
}

static bool rule_matches(const struct rule *r, const char *path)
{
	return r->prefix ? strncmp(path, r->pattern, strlen(r->pattern)) == 0
			 : strcmp(path, r->pattern) == 0;
}

struct rule *rules_find(struct rules *rs, const char *path)
{
	struct rule *found = NULL;

	pthread_mutex_lock(&rs->mutex);
	for (unsigned int i = rs->count; i-- > 0 && !found;) {
		if (rule_matches(rs->rule[i], path)) {
			found = rs->rule[i];
			atomic_fetch_add(&found->refs, 1);
		}
	}
	pthread_mutex_unlock(&rs->mutex);
	return found;
}
