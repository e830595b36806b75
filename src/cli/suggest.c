/*
 * suggest.c - the word that was meant, for one that was mistyped
 *
 * Letters that are missing, too many, wrong or swapped count one each; at most one in three of what
 * was typed may be so, and three in all.
 */
#include "cli/suggest.h"

void suggest_init(struct suggest *s, const char *word)
{
	size_t allowed = (strlen(word) + 1) / 3;

	*s = (struct suggest){
		.word = word,
		.distance = (allowed < 3 ? (unsigned int)allowed : 3) + 1,
	};
}

static unsigned int least(unsigned int a, unsigned int b)
{
	return a < b ? a : b;
}

/* Both shorter than SUGGEST_WORD_MAX. */
static unsigned int distance(const char *a, const char *b)
{
	unsigned int row[3][SUGGEST_WORD_MAX];
	unsigned int *before = row[0], *last = row[1], *now = row[2];
	size_t len = strlen(b);

	for (unsigned int j = 0; j <= len; j++)
		last[j] = j;
	for (unsigned int i = 1; a[i - 1]; i++) {
		unsigned int *spare = before;

		now[0] = i;
		for (unsigned int j = 1; j <= len; j++) {
			now[j] = least(last[j - 1] + (a[i - 1] != b[j - 1]),
				       least(last[j], now[j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				now[j] = least(now[j], before[j - 2] + 1);
		}
		before = last;
		last = now;
		now = spare;
	}
	return last[len];
}

void suggest_try(struct suggest *s, const char *word)
{
	unsigned int d;

	if (strlen(word) >= SUGGEST_WORD_MAX || strlen(s->word) >= SUGGEST_WORD_MAX)
		return;
	d = distance(s->word, word);
	/* Of two as near the longer: letters are left out more often than put in. */
	if (d < s->distance || (s->best && d == s->distance && strlen(word) > strlen(s->best))) {
		s->distance = d;
		s->best = word;
	}
}
