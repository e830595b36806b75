/*
 * writer.c - bodies from the network threads to the cache
 *
 * The fetch threads add chunks and never block here; the writer's thread blocks on the disk in
 * their stead. What is queued is bounded by net's pool of chunks: with all of them here, transfers
 * wait for one. There are two writers, so that a demand's bytes do not stand behind bulk on a slow
 * disk. A body whose version takes no writes yet is put aside until it does, and those of other
 * versions go on.
 */
#include "engine/internal.h"
#include "engine/task.h"

struct body {
	STAILQ_ENTRY(body) link;
	struct write_turn turn;
	struct writer *writer;
	struct pull *pull;
	uint64_t off;
	struct chunk *chunk;
};

struct writer {
	struct mtx lock; /* RANK_QUEUE; guards all below but thread */
	struct cnd more;
	STAILQ_HEAD(bodies, body) queue;
	struct bodies again; /* those whose turn has come; first of all */
	int aside;	     /* bodies that wait for their turn */
	bool stopping;
	pthread_t thread;
};

static void body_ready(struct write_turn *t)
{
	struct body *b = container_of(t, struct body, turn);
	struct writer *k = b->writer;

	mtx_lock(&k->lock);
	k->aside--;
	STAILQ_INSERT_TAIL(&k->again, b, link);
	cnd_signal(&k->more);
	mtx_unlock(&k->lock);
}

static void body_write(struct writer *k, struct body *b)
{
	struct pull *p = b->pull;
	size_t len = b->chunk->len;
	bool awaited = version_awaited(p->version, range_of_length(b->off, len));
	int r, prio = atomic_load(&p->prio);

	if ((prio == PRIO_FILL || prio == PRIO_WINDOW) && !awaited)
		store_make_room(p->task->store, len);
	r = version_write(p->version, b->off, b->chunk->data, len, (uint16_t)p->source_url,
			  awaited || prio != PRIO_BACKFILL, &b->turn);
	if (r == -EAGAIN) {
		/* Its turn may have come already: then this makes 0 of -1. */
		mtx_lock(&k->lock);
		k->aside++;
		mtx_unlock(&k->lock);
		return;
	}
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

/* NULL: there will be none any more. */
static struct body *body_next(struct writer *k)
{
	struct bodies *from;
	struct body *b;

	mtx_lock(&k->lock);
	while (STAILQ_EMPTY(&k->again) && STAILQ_EMPTY(&k->queue) && (!k->stopping || k->aside))
		cnd_wait(&k->more, &k->lock);
	from = STAILQ_EMPTY(&k->again) ? &k->queue : &k->again;
	b = STAILQ_FIRST(from);
	if (b)
		STAILQ_REMOVE_HEAD(from, link);
	mtx_unlock(&k->lock);
	return b;
}

static void *writer_main(void *arg)
{
	struct writer *k = arg;
	struct body *b;

	pthread_setname_np(pthread_self(), "writer");
	while ((b = body_next(k)) != NULL)
		body_write(k, b);
	return NULL;
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
	STAILQ_INIT(&k->again);
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
	*b = (struct body){
		.turn.ready = body_ready, .writer = k, .pull = p, .off = off, .chunk = chunk};
	atomic_fetch_add(&p->pending, 1);
	mtx_lock(&k->lock);
	STAILQ_INSERT_TAIL(&k->queue, b, link);
	cnd_signal(&k->more);
	mtx_unlock(&k->lock);
}
