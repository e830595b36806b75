/*
 * chunk.c - the bounded memory that bodies are gathered in
 *
 * Callers: body.c takes (instance threads), writers give back (any thread).
 *
 * Always true, under p->lock:
 *   P1  in_use <= POOL_BULK + POOL_URGENT, and a transfer that is not urgent never makes it exceed
 *       POOL_BULK.
 *   P2  a client that was refused has waiting set until a chunk came back.
 */
#include "net/chunk.h"

#include <assert.h>

#include "net/shared.h"

void pool_init(struct pool *p)
{
	*p = (struct pool){0};
	mtx_init(&p->lock, RANK_POOL, "chunk pool");
	cnd_init(&p->woken);
	TAILQ_INIT(&p->clients);
}

static void chunk_release(struct chunk *c)
{
	free(c->data);
	free(c);
}

void pool_done(struct pool *p)
{
	assert(p->in_use == 0 && TAILQ_EMPTY(&p->clients));
	while (p->unused) {
		struct chunk *c = p->unused;

		p->unused = c->next;
		chunk_release(c);
	}
	cnd_done(&p->woken);
	mtx_done(&p->lock);
}

void pool_add_client(struct pool *p, struct pool_client *c)
{
	mtx_lock(&p->lock);
	c->waiting = false;
	c->waking = 0;
	TAILQ_INSERT_TAIL(&p->clients, c, link);
	mtx_unlock(&p->lock);
}

void pool_remove_client(struct pool *p, struct pool_client *c)
{
	mtx_lock(&p->lock);
	if (c->waiting)
		p->waiting--;
	c->waiting = false;
	while (c->waking > 0)
		cnd_wait(&p->woken, &p->lock);
	TAILQ_REMOVE(&p->clients, c, link);
	mtx_unlock(&p->lock);
}

static struct chunk *chunk_allocate(void)
{
	struct chunk *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	/* Page-aligned: what is written to the backing file from here needs no partial pages. */
	c->data = aligned_alloc(4096, CHUNK_SIZE);
	if (!c->data) {
		free(c);
		return NULL;
	}
	return c;
}

struct chunk *pool_get(struct pool *p, struct pool_client *c, bool urgent,
		       struct fetch_shared *owner)
{
	unsigned int ceiling = POOL_BULK + (urgent ? POOL_URGENT : 0);
	struct chunk *got = NULL;
	bool allowed;

	mtx_lock(&p->lock);
	allowed = p->in_use < ceiling;
	if (allowed) {
		p->in_use++;
		got = p->unused;
		if (got)
			p->unused = got->next;
	} else if (!c->waiting) {
		c->waiting = true;
		p->waiting++;
	}
	mtx_unlock(&p->lock);

	if (allowed && !got) {
		got = chunk_allocate();
		if (!got) { /* like an empty pool: what is in use comes back */
			mtx_lock(&p->lock);
			p->in_use--;
			if (!c->waiting) {
				c->waiting = true;
				p->waiting++;
			}
			mtx_unlock(&p->lock);
		}
	}
	if (got) {
		got->len = 0;
		got->next = NULL;
		got->shared = owner;
	}
	return got;
}

/* The next client to wake, with its waking raised, or NULL. */
static struct pool_client *pool_next_waiting_locked(struct pool *p) REQUIRES(p->lock);
static struct pool_client *pool_next_waiting_locked(struct pool *p)
{
	struct pool_client *c;

	if (p->waiting == 0)
		return NULL;
	for (c = TAILQ_FIRST(&p->clients); c; c = TAILQ_NEXT(c, link)) {
		if (c->waiting) {
			c->waiting = false;
			p->waiting--;
			c->waking++;
			return c;
		}
	}
	return NULL;
}

void chunk_free(struct chunk *c)
{
	struct pool *p;
	struct pool_client *client;

	if (!c)
		return;
	p = &c->shared->pool;
	mtx_lock(&p->lock);
	assert(p->in_use > 0);
	p->in_use--;
	c->next = p->unused;
	p->unused = c;
	/* All of them: the one chunk may be for a class that the first one does not have. */
	while ((client = pool_next_waiting_locked(p))) {
		mtx_unlock(&p->lock);
		client->wake(client);
		mtx_lock(&p->lock);
		if (--client->waking == 0)
			cnd_broadcast(&p->woken);
	}
	mtx_unlock(&p->lock);
}
