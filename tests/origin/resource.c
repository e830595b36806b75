/*
 * resource.c - the bytes, size, date and ETag behind a path: by the formula or from the disk
 */
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>

#include "plan.h"

#define VERSION_STEP_S 1000 /* a version's Last-Modified is so much later than the one before */

bool resource_open_file(struct plan *p, const char *path)
{
	struct stat st;

	p->body.fd = open(path, O_RDONLY | O_CLOEXEC);
	if (p->body.fd < 0 || fstat(p->body.fd, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	p->size = (uint64_t)st.st_size;
	p->last_modified = st.st_mtime;
	snprintf(p->etag, sizeof(p->etag), "\"%jx-%jx-%jx\"", (uintmax_t)st.st_ino,
		 (uintmax_t)st.st_size,
		 (uintmax_t)st.st_mtim.tv_sec * 1000000000 + (uintmax_t)st.st_mtim.tv_nsec);
	return true;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static void percent_decode(char *s)
{
	char *out = s;

	for (; *s; s++) {
		if (*s == '%' && hex_digit(s[1]) >= 0 && hex_digit(s[2]) >= 0) {
			*out++ = (char)(hex_digit(s[1]) << 4 | hex_digit(s[2]));
			s += 2;
		} else {
			*out++ = *s;
		}
	}
	*out = '\0';
}

static bool find_file(struct plan *p)
{
	const struct rule *r = p->rule;
	char path[URL_TEXT_MAX];

	if (!r->prefix)
		return resource_open_file(p, r->file);
	snprintf(path, sizeof(path), "%s/%s", r->file, p->rq->path + strlen(r->pattern));
	percent_decode(path);
	return resource_open_file(p, path);
}

static void find_content(struct plan *p)
{
	const struct rule *r = p->rule;
	uint64_t seed = r->has_seed ? r->seed : atomic_load(&p->c->o->set.seed);

	p->version = p->fault[FAULT_VERSION] ? p->fault[FAULT_VERSION]->amount : r->version;
	p->body.content = content_make(seed, r->content ? r->content : p->rq->path, p->version);
	p->size = r->size;
	p->last_modified = r->last_modified;
	if (p->last_modified != INT64_MIN)
		p->last_modified += (int64_t)p->version * VERSION_STEP_S;
	snprintf(p->etag, sizeof(p->etag), "\"%" PRIx64 "-%" PRIx64 "\"", p->body.content.base,
		 p->size);
}

static void choose_etag(struct plan *p)
{
	const struct rule *r = p->rule;
	const struct fault *f = p->fault[FAULT_ETAG];
	char strong[sizeof(p->etag)];

	memcpy(strong, p->etag, sizeof(strong));
	if (r->etag == ETAG_NONE)
		p->etag[0] = '\0';
	else if (r->etag == ETAG_GIVEN)
		snprintf(p->etag, sizeof(p->etag), "%s", r->etag_text);
	else if (r->etag == ETAG_WEAK)
		snprintf(p->etag, sizeof(p->etag), "W/%.100s", strong);
	if (f && strcmp(f->text, "W/") == 0)
		snprintf(p->etag, sizeof(p->etag), "W/%.100s", strong);
	else if (f && strcmp(f->text, "new") == 0)
		snprintf(p->etag, sizeof(p->etag), "\"%" PRIu64 "\"", p->x.nth);
	else if (f)
		snprintf(p->etag, sizeof(p->etag), "\"%.60s-%.*s\"", f->text,
			 (int)strlen(strong + 1) - 1, strong + 1);
}

bool resource_find(struct plan *p)
{
	if (p->rule->file)
		p->found = find_file(p);
	else if (p->rule->has_size) {
		find_content(p);
		p->found = true;
	}
	if (p->found)
		choose_etag(p);
	return p->found;
}
