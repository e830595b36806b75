/*
 * suggest.h - the word that was meant, for one that was mistyped
 */
#ifndef CLI_SUGGEST_H
#define CLI_SUGGEST_H

#include "base/base.h"

#define SUGGEST_WORD_MAX 64

struct suggest {
	const char *word; /* as typed */
	const char *best; /* the nearest so far; NULL: none is near */
	unsigned int distance;
};

void suggest_init(struct suggest *s, const char *word);
/* word is borrowed. */
void suggest_try(struct suggest *s, const char *word);

#endif
