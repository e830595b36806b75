/*
 * origin.c - one struct for each scheme, host and port that objects come from
 *
 * Any thread finds them; there are few, so a list will do until somebody mounts thousands of hosts.
 * Objects and tasks hold references; of the others ORIGINS_MAX are remembered, with what is known
 * of them.
 */
#include "base/clock.h"
#include "core/url.h"
#include "engine/internal.h"
#include "engine/task.h"

#define ORIGIN_KEY_MAX (URL_HOST_MAX + 32)
#define ORIGINS_MAX    256

static struct origin *origin_find_locked(struct engine *e, const char *key) REQUIRES(e->lock)
{
	struct origin *o;

	TAILQ_FOREACH (o, &e->origins, link) {
		if (strcmp(o->key, key) != 0)
			continue;
		TAILQ_REMOVE(&e->origins, o, link);
		TAILQ_INSERT_TAIL(&e->origins, o, link);
		return o;
	}
	return NULL;
}

static struct origin *origin_new(const char *key)
{
	struct origin *o = calloc(1, sizeof(*o) + strlen(key) + 1);

	if (o)
		memcpy(o->key, key, strlen(key) + 1);
	return o;
}

struct origin *origin_get(struct engine *e, const char *url)
{
	struct url_origin parts;
	struct origin *o, *made = NULL;
	char key[ORIGIN_KEY_MAX];

	if (url_origin(url, &parts) < 0)
		return NULL;
	snprintf(key, sizeof(key), "%s://%s:%u", parts.scheme, parts.host,
		 (unsigned int)parts.port);

	for (;;) {
		mtx_lock(&e->lock);
		o = origin_find_locked(e, key);
		if (!o && made) {
			TAILQ_INSERT_TAIL(&e->origins, made, link);
			e->origin_count++;
			o = made;
			made = NULL;
		}
		if (o)
			o->refs++;
		mtx_unlock(&e->lock);
		if (o)
			break;
		made = origin_new(key);
		if (!made)
			return NULL;
	}
	free(made);
	return o;
}

struct origin *origin_ref(struct engine *e, struct origin *o)
{
	mtx_lock(&e->lock);
	o->refs++;
	mtx_unlock(&e->lock);
	return o;
}

void origin_put(struct engine *e, struct origin *o)
{
	if (!o)
		return;
	mtx_lock(&e->lock);
	o->refs--;
	mtx_unlock(&e->lock);
}

struct origin *origin_enter(struct engine *e, const char *url)
{
	struct origin *o = origin_get(e, url);

	if (o && !o->sched)
		o->sched = sched_origin_get(e->sched, o->key);
	origin_put(e, o);
	return o && o->sched ? o : NULL;
}

void origins_trim(struct engine *e, uint64_t now_us)
{
	struct origin *o, *tmp;

	mtx_lock(&e->lock);
	TAILQ_FOREACH_SAFE (o, &e->origins, link, tmp) {
		if (e->origin_count <= ORIGINS_MAX)
			break;
		if (o->refs || (o->sched && !sched_origin_drop(e->sched, o->sched, now_us)))
			continue;
		TAILQ_REMOVE(&e->origins, o, link);
		e->origin_count--;
		free(o);
	}
	mtx_unlock(&e->lock);
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

/* Up to room of them, each a reference. */
static size_t origins_list_locked(struct engine *e, struct origin **list, size_t room)
	REQUIRES(e->lock)
{
	struct origin *o;
	size_t count = 0;

	TAILQ_FOREACH (o, &e->origins, link) {
		if (list && count < room) {
			list[count] = o;
			o->refs++;
		}
		count++;
	}
	return count;
}

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
		origin_put(e, list[i]);
	}
	free(list);
	return 0;
}

void origins_done(struct engine *e)
{
	struct origin *o;

	mtx_lock(&e->lock);
	while ((o = TAILQ_FIRST(&e->origins)) != NULL) {
		TAILQ_REMOVE(&e->origins, o, link);
		free(o);
	}
	mtx_unlock(&e->lock);
}
