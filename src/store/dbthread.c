/*
 * dbthread.c - the one thread that uses the database, and its queue of jobs
 */
#include "store/dbthread.h"

#include "base/log.h"

static void dbthread_repair(struct dbthread *t)
{
	int r;

	extdb_close(t->db);
	t->db = NULL;
	r = extdb_move_aside(t->dirfd, "is damaged");
	if (!r)
		r = extdb_open(t->dirfd, t->dir, t->exclusive, &t->db);
	if (!r)
		r = extdb_set_open(t->db);
	if (r)
		log_error(
			"cache database: a new one can't be made: %s (nothing new will be remembered)",
			strerror(-r));
	t->damaged(t->ctx);
}

static void *dbthread_main(void *arg)
{
	struct dbthread *t = arg;
	struct dbjob *job;
	int r;

	pthread_setname_np(pthread_self(), "rgetfs-db");
	mtx_lock(&t->lock);
	for (;;) {
		while (STAILQ_EMPTY(&t->queue) && !t->stopping)
			cnd_wait(&t->wake, &t->lock);
		job = STAILQ_FIRST(&t->queue);
		if (!job)
			break;
		STAILQ_REMOVE_HEAD(&t->queue, link);
		mtx_unlock(&t->lock);

		r = t->db ? job->run(job, t->db) : -EIO;
		if (r == -EUCLEAN)
			dbthread_repair(t);
		if (job->finish) {
			job->finish(job, r);
			mtx_lock(&t->lock);
			continue;
		}
		mtx_lock(&t->lock);
		job->result = r;
		job->done = true;
		cnd_broadcast(&t->ended);
	}
	mtx_unlock(&t->lock);
	return NULL;
}

int dbthread_start(struct dbthread *t, struct extdb *db, int dirfd, const char *dir, bool exclusive,
		   void (*damaged)(void *ctx), void *ctx)
{
	int r;

	*t = (struct dbthread){.dirfd = dirfd,
			       .dir = dir,
			       .exclusive = exclusive,
			       .damaged = damaged,
			       .ctx = ctx,
			       .db = db};
	mtx_init(&t->lock, RANK_QUEUE, "dbthread");
	cnd_init(&t->wake);
	cnd_init(&t->ended);
	STAILQ_INIT(&t->queue);
	r = -pthread_create(&t->thread, NULL, dbthread_main, t);
	if (r) {
		cnd_done(&t->ended);
		cnd_done(&t->wake);
		mtx_done(&t->lock);
	}
	return r;
}

void dbthread_stop(struct dbthread *t)
{
	mtx_lock(&t->lock);
	t->stopping = true;
	cnd_broadcast(&t->wake);
	mtx_unlock(&t->lock);
	pthread_join(t->thread, NULL);
	extdb_close(t->db);
	cnd_done(&t->ended);
	cnd_done(&t->wake);
	mtx_done(&t->lock);
}

void dbthread_post(struct dbthread *t, struct dbjob *job)
{
	job->done = false;
	mtx_lock(&t->lock);
	STAILQ_INSERT_TAIL(&t->queue, job, link);
	cnd_signal(&t->wake);
	mtx_unlock(&t->lock);
}

int dbthread_run(struct dbthread *t, struct dbjob *job)
{
	dbthread_post(t, job);
	mtx_lock(&t->lock);
	while (!job->done)
		cnd_wait(&t->ended, &t->lock);
	mtx_unlock(&t->lock);
	return job->result;
}

struct apply_job {
	struct dbjob job;
	const struct batch *batch;
	bool truncate;
};

static int apply_run(struct dbjob *job, struct extdb *db)
{
	struct apply_job *a = container_of(job, struct apply_job, job);

	return extdb_apply(db, a->batch, a->truncate);
}

int dbthread_apply(struct dbthread *t, const struct batch *b, bool truncate)
{
	struct apply_job a = {.job.run = apply_run, .batch = b, .truncate = truncate};

	return b->error ? b->error : dbthread_run(t, &a.job);
}
