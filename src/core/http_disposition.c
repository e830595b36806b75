/*
 * http_disposition.c - the file name in a Content-Disposition (RFC 6266, RFC 8187)
 */
#include "core/http.h"

#include <ctype.h>
#include <strings.h>

/* A bounded output; a name that does not fit is no name. */
struct name {
	char s[HTTP_NAME_MAX];
	size_t len;
	bool bad;
};

static void name_add(struct name *n, unsigned char c)
{
	if (c == '\0' || n->len + 1 >= sizeof(n->s))
		n->bad = true;
	else
		n->s[n->len++] = (char)c;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* UTF-8''na%C3%AFve: charset, language, percent-encoded bytes. */
static void name_decode_extended(struct name *n, const char *s, const char *end)
{
	const char *quote = memchr(s, '\'', (size_t)(end - s));
	const char *second = quote ? memchr(quote + 1, '\'', (size_t)(end - quote - 1)) : NULL;
	bool latin1;

	if (!second) {
		n->bad = true;
		return;
	}
	latin1 = quote - s == 10 && strncasecmp(s, "ISO-8859-1", 10) == 0;
	if (!latin1 && !(quote - s == 5 && strncasecmp(s, "UTF-8", 5) == 0)) {
		n->bad = true;
		return;
	}
	for (s = second + 1; s < end; s++) {
		unsigned int c = (unsigned char)*s;

		if (*s == '%') {
			if (end - s < 3 || hex_digit(s[1]) < 0 || hex_digit(s[2]) < 0) {
				n->bad = true;
				return;
			}
			c = (unsigned int)(hex_digit(s[1]) * 16 + hex_digit(s[2]));
			s += 2;
		}
		if (latin1 && c >= 0x80) {
			name_add(n, (unsigned char)(0xc0 | c >> 6));
			c = 0x80 | (c & 0x3f);
		}
		name_add(n, (unsigned char)c);
	}
}

/* A quoted string from behind its first quote. Returns behind its last, or NULL: there is none. */
static const char *name_unquote(struct name *n, const char *s, const char *end)
{
	for (; s < end && *s != '"'; s++) {
		if (*s == '\\' && s + 1 < end)
			s++;
		name_add(n, (unsigned char)*s);
	}
	return s < end ? s + 1 : NULL;
}

static const char *skip_blanks(const char *s, const char *end)
{
	while (s < end && (*s == ' ' || *s == '\t'))
		s++;
	return s;
}

/* One "name=value" from s on. Returns behind it, at a ';' or the end; NULL: the rest can't be told
 * apart. */
static const char *read_parameter(const char *s, const char *end, int *rank,
				  char filename[HTTP_NAME_MAX])
{
	const char *key = s;
	struct name n = {.len = 0};
	size_t key_len;
	int new_rank;

	while (s < end && *s != '=' && *s != ';')
		s++;
	if (s == end || *s == ';')
		return s; /* "attachment" */
	key_len = (size_t)(s - key);
	while (key_len > 0 && (key[key_len - 1] == ' ' || key[key_len - 1] == '\t'))
		key_len--;
	new_rank = key_len == 9 && strncasecmp(key, "filename*", 9) == 0  ? 2
		   : key_len == 8 && strncasecmp(key, "filename", 8) == 0 ? 1
									  : 0;
	s = skip_blanks(s + 1, end);
	if (s < end && *s == '"') {
		s = name_unquote(&n, s + 1, end);
		if (!s)
			return NULL;
		n.bad |= new_rank == 2; /* the extended form is never quoted */
		s = skip_blanks(s, end);
	} else {
		const char *token = s;
		const char *token_end;

		while (s < end && *s != ';')
			s++;
		token_end = s;
		while (token_end > token && (token_end[-1] == ' ' || token_end[-1] == '\t'))
			token_end--;
		if (new_rank == 2) {
			name_decode_extended(&n, token, token_end);
		} else {
			for (; token < token_end; token++)
				name_add(&n, (unsigned char)*token);
		}
	}
	if (new_rank > *rank && !n.bad && n.len > 0) {
		memcpy(filename, n.s, n.len);
		filename[n.len] = '\0';
		*rank = new_rank;
	}
	return s;
}

void http_disposition_filename(const char *value, size_t len, int *rank,
			       char filename[HTTP_NAME_MAX])
{
	const char *s = value;
	const char *end = value + len;

	while (s < end) {
		s = skip_blanks(s, end);
		if (s < end && *s == ';') {
			s++;
			continue;
		}
		if (s < end)
			s = read_parameter(s, end, rank, filename);
		if (!s || (s < end && *s != ';'))
			return; /* no closing quote, or something behind it */
	}
}
