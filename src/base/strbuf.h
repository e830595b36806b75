/*
 * strbuf.h - a string that grows, up to a maximum set at birth
 *
 * An append that fails (no memory: -ENOMEM, past the maximum: -ENOBUFS) sticks: later appends do
 * nothing and strbuf_error() tells, so that a run of appends is checked once. s is always
 * terminated.
 */
#ifndef BASE_STRBUF_H
#define BASE_STRBUF_H

#include <stddef.h>

#include "base/base.h"

struct strbuf {
	char *s;     /* never NULL */
	size_t len;  /* without the terminator; there may be NULs inside */
	size_t size; /* allocated, 0 while s is the shared empty string */
	size_t max;  /* len never gets larger */
	int error;
};

void strbuf_init(struct strbuf *b, size_t max);
/* Frees; the strbuf may be used again, empty. */
void strbuf_done(struct strbuf *b);
/* Empties, keeps the memory, forgets the error. */
void strbuf_reset(struct strbuf *b);
void strbuf_add(struct strbuf *b, const void *data, size_t len);
void strbuf_adds(struct strbuf *b, const char *s);
void strbuf_addc(struct strbuf *b, char c);
void strbuf_addf(struct strbuf *b, const char *fmt, ...) PRINTF_LIKE(2, 3);
static inline int strbuf_error(const struct strbuf *b)
{
	return b->error;
}
/* The string, now the caller's to free(); NULL after an error or without memory. Empties b. */
char *strbuf_detach(struct strbuf *b);

#endif
