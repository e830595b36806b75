/*
 * writer.c - bodies from the network threads to the cache
 *
 * The fetch threads add chunks and never block here; the writer's thread blocks on the disk in
 * their stead. What is queued is bounded by net's pool of chunks: with all of them here, transfers
 * wait for one. There are two writers, so that a demand's bytes do not stand behind bulk on a slow
 * disk.
 */
#include "engine/internal.h"

struct body {
	STAILQ_ENTRY(body) link;
	struct pull *pull;
	uint64_t off;
	struct chunk *chunk;
};

struct writer {
	struct mtx lock; /* RANK_QUEUE; guards all below but thread */
	struct cnd more;
	STAILQ_HEAD(, body) queue;
	bool stopping;
	pthread_t thread;
};

static void body_write(struct body *b)
{
	struct pull *p = b->pull;
	size_t len = b->chunk->len;
	bool awaited = version_awaited(p->version, range_of_length(b->off, len));
	int r, prio = atomic_load(&p->prio);

	if (prio == PRIO_FILL && !awaited)
		store_make_room(p->e->store, len);
	r = version_write(p->version, b->off, b->chunk->data, len, (uint16_t)p->source_url,
			  awaited || prio != PRIO_BACKFILL);
	if (r < 0) {
		atomic_store(&p->write_error, r);
		if (!awaited)
			atomic_fetch_add(&p->unkept, len);
	}
	chunk_free(b->chunk);
	/* After the readers' own messages, which version_write() posted: they are gone before the
	 * lease is. */
	pull_unpend(p);
	free(b);
}

static void *writer_main(void *arg)
{
	struct writer *k = arg;

	pthread_setname_np(pthread_self(), "writer");
	for (;;) {
		struct body *b;

		mtx_lock(&k->lock);
		while (STAILQ_EMPTY(&k->queue) && !k->stopping)
			cnd_wait(&k->more, &k->lock);
		b = STAILQ_FIRST(&k->queue);
		if (b)
			STAILQ_REMOVE_HEAD(&k->queue, link);
		mtx_unlock(&k->lock);
		if (!b)
			return NULL;
		body_write(b);
	}
}

int writer_new(struct writer **ret)
{
	struct writer *k = calloc(1, sizeof(*k));
	int r;

	if (!k)
		return -ENOMEM;
	mtx_init(&k->lock, RANK_QUEUE, "writer");
	cnd_init(&k->more);
	STAILQ_INIT(&k->queue);
	r = -pthread_create(&k->thread, NULL, writer_main, k);
	if (r < 0) {
		cnd_done(&k->more);
		mtx_done(&k->lock);
		free(k);
		return r;
	}
	*ret = k;
	return 0;
}

void writer_free(struct writer *k)
{
	if (!k)
		return;
	mtx_lock(&k->lock);
	k->stopping = true;
	cnd_signal(&k->more);
	mtx_unlock(&k->lock);
	pthread_join(k->thread, NULL);
	cnd_done(&k->more);
	mtx_done(&k->lock);
	free(k);
}

void writer_add(struct writer *k, struct pull *p, uint64_t off, struct chunk *chunk)
{
	struct body *b = malloc(sizeof(*b));

	if (!b) {
		/* The bytes stay a gap and are asked for again. */
		chunk_free(chunk);
		return;
	}
	*b = (struct body){.pull = p, .off = off, .chunk = chunk};
	atomic_fetch_add(&p->pending, 1);
	mtx_lock(&k->lock);
	STAILQ_INSERT_TAIL(&k->queue, b, link);
	cnd_signal(&k->more);
	mtx_unlock(&k->lock);
}
