/*
 * worker.c - a thread for work that may block: checkpoints, digests
 *
 * The engine thread adds work and hears of its end by message; the work is embedded in what it is
 * about. The thread comes with the first of it: most downloads have none.
 */
#include "engine/internal.h"

struct worker {
	struct mtx lock; /* RANK_QUEUE; guards all below but what says otherwise */
	struct cnd more;
	STAILQ_HEAD(, work) queue;
	bool stopping;
	struct engine *e; /* never changes */
	pthread_t thread; /* engine thread, and after its end */
	bool started;	  /* the same */
};

static void work_done(struct engine *e, struct msg *m)
{
	struct work *w = container_of(m, struct work, msg);

	e->works--;
	w->done(e, w);
}

static void *worker_main(void *arg)
{
	struct worker *k = arg;

	pthread_setname_np(pthread_self(), "engine-work");
	for (;;) {
		struct work *w;

		mtx_lock(&k->lock);
		while (STAILQ_EMPTY(&k->queue) && !k->stopping)
			cnd_wait(&k->more, &k->lock);
		w = STAILQ_FIRST(&k->queue);
		if (w)
			STAILQ_REMOVE_HEAD(&k->queue, link);
		mtx_unlock(&k->lock);
		if (!w)
			return NULL;
		w->run(k->e, w);
		engine_post(k->e, &w->msg, work_done);
	}
}

int worker_new(struct engine *e, struct worker **ret)
{
	struct worker *k = calloc(1, sizeof(*k));

	if (!k)
		return -ENOMEM;
	mtx_init(&k->lock, RANK_QUEUE, "engine worker");
	cnd_init(&k->more);
	STAILQ_INIT(&k->queue);
	k->e = e;
	*ret = k;
	return 0;
}

void worker_free(struct worker *k)
{
	if (!k)
		return;
	mtx_lock(&k->lock);
	k->stopping = true;
	cnd_signal(&k->more);
	mtx_unlock(&k->lock);
	if (k->started)
		pthread_join(k->thread, NULL);
	cnd_done(&k->more);
	mtx_done(&k->lock);
	free(k);
}

void worker_add(struct worker *k, struct work *w)
{
	k->e->works++;
	if (!k->started)
		k->started = pthread_create(&k->thread, NULL, worker_main, k) == 0;
	if (!k->started) {
		/* Others wait meanwhile, but it is done. */
		w->run(k->e, w);
		engine_post(k->e, &w->msg, work_done);
		return;
	}
	mtx_lock(&k->lock);
	STAILQ_INSERT_TAIL(&k->queue, w, link);
	cnd_signal(&k->more);
	mtx_unlock(&k->lock);
}
