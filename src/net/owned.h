/*
 * owned.h - copies of a caller's strings, all freed at once
 */
#ifndef NET_OWNED_H
#define NET_OWNED_H

#include <stddef.h>

struct owned {
	char **string;
	const char **list; /* the array that owned_list() made */
	size_t count;
};

/* Zero-filled is empty. */
void owned_done(struct owned *o);
/* *ret is a copy of text, or NULL for NULL. 0 or -ENOMEM. */
int owned_copy(struct owned *o, const char *text, const char **ret);
/* The same for a NULL-terminated array (NULL: an empty one); once for each struct owned. */
int owned_list(struct owned *o, const char *const *texts, const char *const **ret);

#endif
