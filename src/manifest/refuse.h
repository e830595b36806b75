/*
 * refuse.h - the one line that says why a manifest is refused
 */
#ifndef MANIFEST_REFUSE_H
#define MANIFEST_REFUSE_H

#include "manifest/strings.h"

/* Where refusals of one manifest go. */
struct complaint {
	const char *file;     /* what the user calls the manifest */
	const char *path_key; /* how its format gives an entry a name: "out=NAME" */
	char *text;	      /* MANIFEST_ERROR_MAX bytes */
};

/* "FILE:LINE: …" (line 0: "FILE: …") into the complaint. Returns -EINVAL, to be returned. */
int refuse(struct complaint *c, uint32_t line, const char *fmt, ...) PRINTF_LIKE(3, 4);

#define QUOTE_MAX 120
/* text in quotes for a message: bytes that are not printable ASCII or UTF-8 as \xNN, its middle
 * cut. Returns buf. */
const char *quote(char buf[QUOTE_MAX], struct span text);

#endif
