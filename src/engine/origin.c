/*
 * origin.c - one struct for each scheme, host and port that objects come from
 *
 * Any thread finds them; there are few, so a list will do until somebody mounts thousands of hosts.
 */
#include "base/clock.h"
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

struct origin *origin_enter(struct engine *e, const char *url)
{
	struct origin *o = origin_get(e, url);

	if (o && !o->sched)
		o->sched = sched_origin_get(e->sched, o->key);
	return o && o->sched ? o : NULL;
}

void origin_publish(struct origin *o)
{
	struct sched_origin_info info;

	sched_origin_info(o->sched, &info);
	atomic_store(&o->rate_bps, info.rate_bps);
	atomic_store(&o->ttfb_us, info.ttfb_us);
	atomic_store(&o->banned_until_us, info.banned_until_us);
	atomic_store(&o->bans, info.bans);
	atomic_store(&o->connections, info.running);
}

static size_t origins_list_locked(struct engine *e, struct origin **list, size_t room)
	REQUIRES(e->lock)
{
	struct origin *o;
	size_t count = 0;

	LIST_FOREACH (o, &e->origins, link) {
		if (list && count < room)
			list[count] = o;
		count++;
	}
	return count;
}

/* They are never freed while the engine lives: a list of them made under the lock stays good. */
int engine_each_origin(struct engine *e, void (*fn)(void *ctx, const struct engine_origin *o),
		       void *ctx)
{
	uint64_t now_us = clock_now_us();
	struct origin **list;
	size_t count;

	mtx_lock(&e->lock);
	count = origins_list_locked(e, NULL, 0);
	mtx_unlock(&e->lock);
	list = calloc(count + 1, sizeof(struct origin *));
	if (!list)
		return -ENOMEM;
	mtx_lock(&e->lock);
	count = min_u64(origins_list_locked(e, list, count), count);
	mtx_unlock(&e->lock);
	for (size_t i = 0; i < count; i++) {
		uint64_t until = atomic_load(&list[i]->banned_until_us);
		const struct engine_origin info = {
			.name = list[i]->key,
			.banned_for_us = until > now_us ? until - now_us : 0,
			.bans = atomic_load(&list[i]->bans),
			.connections = atomic_load(&list[i]->connections),
			.no_ranges = atomic_load(&list[i]->no_ranges),
			.rate_bps = atomic_load(&list[i]->rate_bps),
			.ttfb_us = atomic_load(&list[i]->ttfb_us),
		};

		fn(ctx, &info);
	}
	free(list);
	return 0;
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
