/*
 * keys.h - the words a manifest may use, and the nearest one to a word it may not
 */
#ifndef MANIFEST_KEYS_H
#define MANIFEST_KEYS_H

#include "manifest/strings.h"

#define KEYS_ARIA2_COUNT 106
#define KEYS_LENGTH_MAX	 64

/* The index of one of aria2's keys that mean nothing here, or -1. */
int keys_aria2_find(struct span key);
const char *keys_aria2_name(unsigned int index);

/* The index of key in names, or -1. */
int keys_find(const char *const *names, size_t count, struct span key);
/* The one of names (and of aria2's) that key was probably meant to be. */
const char *keys_nearest(const char *const *names, size_t count, bool aria2, struct span key);

#endif
