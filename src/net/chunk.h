/*
 * chunk.h - the bounded memory that bodies are gathered in (struct chunk itself is in fetch.h)
 *
 * One pool for all instances: POOL_BULK chunks for everybody and POOL_URGENT more that only urgent
 * transfers get, so that a demand never waits for a writer that bulk keeps busy. Memory is
 * allocated when first needed and kept.
 */
#ifndef NET_CHUNK_H
#define NET_CHUNK_H

#include <bsd/sys/queue.h>

#include "base/lock.h"
#include "net/fetch.h"

#define POOL_BULK   64
#define POOL_URGENT 16

/* Somebody who is told when a chunk came back; embedded by an instance. */
struct pool_client {
	void (*wake)(struct pool_client *c); /* any thread, no lock held */
	TAILQ_ENTRY(pool_client) link;
	bool waiting;	     /* the next chunk_free() wakes it */
	unsigned int waking; /* threads that are inside wake() */
};
TAILQ_HEAD(pool_clients, pool_client);

struct pool {
	struct mtx lock; /* RANK_POOL; guards all below */
	struct chunk *unused;
	unsigned int in_use;
	unsigned int waiting; /* clients with waiting set */
	struct pool_clients clients;
	struct cnd woken; /* some client's waking became 0 */
};

void pool_init(struct pool *p);
/* Every chunk must be back, every client removed. */
void pool_done(struct pool *p);
void pool_add_client(struct pool *p, struct pool_client *c);
/* After it returns wake() runs on no thread. May wait for a wake() under way. */
void pool_remove_client(struct pool *p, struct pool_client *c);
/*
 * An empty chunk, or NULL: none is to be had now. Then c is woken when one is; ask again.
 * Takes p->lock.
 */
struct chunk *pool_get(struct pool *p, struct pool_client *c, bool urgent,
		       struct fetch_shared *owner);

#endif
