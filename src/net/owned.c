/*
 * owned.c - copies of a caller's strings, all freed at once
 * Callers: shared.c for the settings, run.c for a request.
 */
#include "net/owned.h"

#include "base/base.h"

void owned_done(struct owned *o)
{
	for (size_t i = 0; i < o->count; i++)
		free(o->string[i]);
	free(o->string);
	free(o->list);
	*o = (struct owned){0};
}

int owned_copy(struct owned *o, const char *text, const char **ret)
{
	char **string, *copy;

	if (!text) {
		*ret = NULL;
		return 0;
	}
	string = reallocarray(o->string, o->count + 1, sizeof(*string));
	if (!string)
		return -ENOMEM;
	o->string = string;
	copy = strdup(text);
	if (!copy)
		return -ENOMEM;
	string[o->count++] = copy;
	*ret = copy;
	return 0;
}

int owned_list(struct owned *o, const char *const *texts, const char *const **ret)
{
	size_t n = 0;

	while (texts && texts[n])
		n++;
	o->list = calloc(n + 1, sizeof(*o->list));
	if (!o->list)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		if (owned_copy(o, texts[i], &o->list[i]) < 0)
			return -ENOMEM;
	}
	*ret = o->list;
	return 0;
}
