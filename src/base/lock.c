/*
 * lock.c - mutexes with a rank, and conditions on the monotonic clock
 */
#include "base/lock.h"

#include <assert.h>
#include <errno.h>

#include "base/base.h"
#include "base/clock.h"

#ifdef RGETFS_DEBUG
/* Ranks this thread holds, in the order it took them; as many as there are ranks is enough. */
static _Thread_local const struct mtx *held[RANK_LOG + 1];
static _Thread_local unsigned int held_count;

static void rank_take(const struct mtx *m)
{
	for (unsigned int i = 0; i < held_count; i++) {
		if (held[i]->rank >= m->rank) {
			fprintf(stderr, "lock order: %s (%d) taken while holding %s (%d)\n",
				m->name, (int)m->rank, held[i]->name, (int)held[i]->rank);
			abort();
		}
	}
	assert(held_count < ARRAY_SIZE(held));
	held[held_count++] = m;
}

static void rank_drop(const struct mtx *m)
{
	for (unsigned int i = held_count; i-- > 0;) {
		if (held[i] == m) {
			held[i] = held[--held_count];
			return;
		}
	}
	fprintf(stderr, "lock order: %s released but not held\n", m->name);
	abort();
}
#else
static void rank_take(const struct mtx *m)
{
	(void)m;
}

static void rank_drop(const struct mtx *m)
{
	(void)m;
}
#endif

void mtx_init(struct mtx *m, enum lock_rank rank, const char *name)
{
	pthread_mutex_init(&m->mutex, NULL);
	m->rank = rank;
	m->name = name;
}

void mtx_done(struct mtx *m)
{
	pthread_mutex_destroy(&m->mutex);
}

/* The analysis cannot see through pthread; the contract is on the prototypes. */
LOCK_ATTR(no_thread_safety_analysis)
void mtx_lock(struct mtx *m)
{
	rank_take(m);
	pthread_mutex_lock(&m->mutex);
}

LOCK_ATTR(no_thread_safety_analysis)
void mtx_unlock(struct mtx *m)
{
	pthread_mutex_unlock(&m->mutex);
	rank_drop(m);
}

void cnd_init(struct cnd *c)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&c->cond, &attr);
	pthread_condattr_destroy(&attr);
}

void cnd_done(struct cnd *c)
{
	pthread_cond_destroy(&c->cond);
}

void cnd_signal(struct cnd *c)
{
	pthread_cond_signal(&c->cond);
}

void cnd_broadcast(struct cnd *c)
{
	pthread_cond_broadcast(&c->cond);
}

void cnd_wait(struct cnd *c, struct mtx *m)
{
	pthread_cond_wait(&c->cond, &m->mutex);
}

bool cnd_wait_until(struct cnd *c, struct mtx *m, uint64_t until_us)
{
	struct timespec ts = clock_timespec(until_us);

	return pthread_cond_timedwait(&c->cond, &m->mutex, &ts) != ETIMEDOUT;
}
