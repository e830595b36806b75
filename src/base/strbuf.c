/*
 * strbuf.c - a string that grows, up to a maximum set at birth
 */
#include "base/strbuf.h"

#include <stdarg.h>

static char empty[1];

void strbuf_init(struct strbuf *b, size_t max)
{
	*b = (struct strbuf){.s = empty, .max = max};
}

void strbuf_done(struct strbuf *b)
{
	if (b->size)
		free(b->s);
	strbuf_init(b, b->max);
}

void strbuf_reset(struct strbuf *b)
{
	b->len = 0;
	b->error = 0;
	if (b->size)
		b->s[0] = '\0';
}

/* Room for len more and the terminator. */
static bool strbuf_room(struct strbuf *b, size_t len)
{
	size_t size = b->size ? b->size : 64;
	char *s;

	if (b->error)
		return false;
	if (len > b->max - b->len) {
		b->error = -ENOBUFS;
		return false;
	}
	if (b->len + len < b->size)
		return true;
	while (size <= b->len + len)
		size *= 2;
	s = realloc(b->size ? b->s : NULL, size);
	if (!s) {
		b->error = -ENOMEM;
		return false;
	}
	s[b->len] = '\0';
	b->s = s;
	b->size = size;
	return true;
}

void strbuf_add(struct strbuf *b, const void *data, size_t len)
{
	if (len == 0 || !strbuf_room(b, len))
		return;
	memcpy(b->s + b->len, data, len);
	b->len += len;
	b->s[b->len] = '\0';
}

void strbuf_adds(struct strbuf *b, const char *s)
{
	strbuf_add(b, s, strlen(s));
}

void strbuf_addc(struct strbuf *b, char c)
{
	strbuf_add(b, &c, 1);
}

void strbuf_addf(struct strbuf *b, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0) {
		b->error = -EINVAL;
		return;
	}
	if (n == 0 || !strbuf_room(b, (size_t)n))
		return;
	va_start(ap, fmt);
	vsnprintf(b->s + b->len, (size_t)n + 1, fmt, ap);
	va_end(ap);
	b->len += (size_t)n;
}

char *strbuf_detach(struct strbuf *b)
{
	char *s = NULL;

	if (!b->error && strbuf_room(b, 0)) {
		s = b->s;
		b->size = 0;
	}
	strbuf_done(b);
	return s;
}
