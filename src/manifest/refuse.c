/*
 * refuse.c - the one line that says why a manifest is refused
 */
#include "manifest/refuse.h"

#include <stdarg.h>

#include "manifest/manifest.h"

int refuse(struct complaint *c, uint32_t line, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (line)
		n = snprintf(c->text, MANIFEST_ERROR_MAX, "%.400s:%u: ", c->file, line);
	else
		n = snprintf(c->text, MANIFEST_ERROR_MAX, "%.400s: ", c->file);
	if (n < 0)
		return -EINVAL;
	va_start(ap, fmt);
	vsnprintf(c->text + n, (size_t)(MANIFEST_ERROR_MAX - n), fmt, ap);
	va_end(ap);
	return -EINVAL;
}

/* Append text to buf at n, which leaves room for max bytes of output. Returns the new n. */
static size_t quote_part(char *buf, size_t n, size_t max, struct span text)
{
	bool utf8 = span_is_utf8(text);
	size_t end = n + max;

	for (size_t i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.s[i];

		if (c < 0x20 || c == 0x7f || (c >= 0x80 && !utf8)) {
			if (n + 4 > end)
				break;
			n += (size_t)snprintf(buf + n, 5, "\\x%02x", c);
		} else {
			if (n + 1 > end)
				break;
			buf[n++] = (char)c;
		}
	}
	return n;
}

const char *quote(char buf[QUOTE_MAX], struct span text)
{
	/* Both ends tell names apart; a cut inside a UTF-8 character shows that character as \xNN.
	 */
	enum { WHOLE = QUOTE_MAX - 4, HEAD = 60, TAIL = 40 };
	size_t n = 0;

	buf[n++] = '"';
	if (text.len <= (span_is_utf8(text) && !span_has_control(text) ? WHOLE : WHOLE / 4)) {
		n = quote_part(buf, n, WHOLE, text);
	} else {
		size_t tail = text.len < TAIL / 4 ? text.len : TAIL / 4;

		n = quote_part(buf, n, HEAD, span_make(text.s, text.len < HEAD ? text.len : HEAD));
		n += (size_t)snprintf(buf + n, QUOTE_MAX - n, "…");
		n = quote_part(buf, n, TAIL, span_make(text.s + text.len - tail, tail));
	}
	buf[n++] = '"';
	buf[n] = '\0';
	return buf;
}
