/*
 * response.h - a response from its text, for tests
 */
#ifndef TESTS_UNIT_RESPONSE_H
#define TESTS_UNIT_RESPONSE_H

#include "core/http.h"

/* Lines end in "\n"; each goes through http_resp_line() with CRLF, as curl brings it, and an empty
 * one ends them. */
static inline void response_read(struct http_resp *r, const char *text)
{
	char line[20000];

	http_resp_init(r);
	while (*text) {
		size_t len = strcspn(text, "\n");

		memcpy(line, text, len);
		memcpy(line + len, "\r\n", 2);
		http_resp_line(r, line, len + 2);
		text += len + (text[len] == '\n');
	}
	http_resp_line(r, "\r\n", 2);
}

#endif
