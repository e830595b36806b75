/*
 * origin.c - one struct for each scheme, host and port that objects come from
 *
 * Any thread finds them; there are few, so a list will do until somebody mounts thousands of hosts.
 */
#include "core/url.h"
#include "engine/internal.h"

#define ORIGIN_KEY_MAX (URL_HOST_MAX + 32)

static struct origin *origin_find_locked(struct engine *e, const char *key) REQUIRES(e->lock)
{
	struct origin *o;

	LIST_FOREACH (o, &e->origins, link) {
		if (strcmp(o->key, key) == 0)
			return o;
	}
	return NULL;
}

struct origin *origin_get(struct engine *e, const char *url)
{
	struct url_origin parts;
	struct origin *o, *made;
	char key[ORIGIN_KEY_MAX];

	if (url_origin(url, &parts) < 0)
		return NULL;
	snprintf(key, sizeof(key), "%s://%s:%u", parts.scheme, parts.host,
		 (unsigned int)parts.port);

	mtx_lock(&e->lock);
	o = origin_find_locked(e, key);
	mtx_unlock(&e->lock);
	if (o)
		return o;

	made = calloc(1, sizeof(*made) + strlen(key) + 1);
	if (!made)
		return NULL;
	memcpy(made->key, key, strlen(key) + 1);
	mtx_lock(&e->lock);
	o = origin_find_locked(e, key);
	if (!o) {
		LIST_INSERT_HEAD(&e->origins, made, link);
		o = made;
		made = NULL;
	}
	mtx_unlock(&e->lock);
	free(made);
	return o;
}

void origins_done(struct engine *e)
{
	struct origin *o;

	mtx_lock(&e->lock);
	while ((o = LIST_FIRST(&e->origins)) != NULL) {
		LIST_REMOVE(o, link);
		free(o);
	}
	mtx_unlock(&e->lock);
}
