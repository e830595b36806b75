/*
 * upkeep.c - the one thread that changes what is durable: when it checkpoints, forgets, evicts,
 * sweeps
 *
 * One at a time, so that a checkpoint and a forgetting never meet. It sleeps until something is
 * asked of it: without new bytes there is no wake-up at all. A target that is not tended has no
 * such thread: most files of a list are complete before a first checkpoint would be due, and then
 * making it and handing over to it costs more than what it does. Whoever waits for a round there
 * does it.
 */
#include "base/clock.h"
#include "store/store_priv.h"

#define UPKEEP_TOUCH_US	  (30 * USEC_PER_SEC) /* atimes are written at most that often */
#define UPKEEP_RETRY_US	  (1 * USEC_PER_SEC)  /* after a checkpoint that failed */
#define UPKEEP_MANY	  512		      /* versions kept only for their atimes: flush early */
#define UPKEEP_LAST_TRIES 3

/* What needs no thread while nobody tends the store: it is done with the next round. */
#define WORK_UNTENDED (WORK_NEW | WORK_TOUCHED | WORK_GRAVES)

static void *upkeep_main(void *arg);

static bool upkeep_wanted_locked(const struct store *s) REQUIRES(s->lock)
{
	return s->by == UPKEEP_NOBODY && !s->stopping &&
	       (!s->untended || (s->work & ~(unsigned int)WORK_UNTENDED));
}

/* Under the lock, so that whoever ends it finds a thread or none. */
static int upkeep_start_locked(struct store *s) REQUIRES(s->lock)
{
	int r = -pthread_create(&s->upkeep, NULL, upkeep_main, s);

	if (!r)
		s->by = UPKEEP_THREAD;
	return r;
}

int upkeep_start(struct store *s)
{
	int r;

	mtx_lock(&s->lock);
	r = upkeep_start_locked(s);
	mtx_unlock(&s->lock);
	return r;
}

/* A failure is not told: what is asked for next tries again, and the end needs none. */
static void upkeep_wake_locked(struct store *s) REQUIRES(s->lock)
{
	if (upkeep_wanted_locked(s))
		upkeep_start_locked(s);
	else
		cnd_signal(&s->wake);
}

void store_tend(struct store *s)
{
	mtx_lock(&s->lock);
	s->untended = false;
	upkeep_wake_locked(s);
	mtx_unlock(&s->lock);
}

void store_poke(struct store *s, unsigned int work)
{
	uint64_t now = clock_now_us();
	bool wake;

	mtx_lock(&s->lock);
	wake = (work & ~s->work) != 0;
	/* It is to be over by then, so it begins as much earlier as the last one took. */
	if ((work & WORK_NEW) && !(s->work & WORK_NEW))
		s->due_us = max_u64(s->due_us,
				    add_sat_u64(now, s->cfg.checkpoint_us -
							     min_u64(s->checkpoint_took_us,
								     s->cfg.checkpoint_us / 2)));
	if ((work & WORK_TOUCHED) && !(s->work & WORK_TOUCHED))
		s->touch_due_us = now + UPKEEP_TOUCH_US;
	if ((work & WORK_TOUCHED) && s->version_count > UPKEEP_MANY && s->touch_due_us > now) {
		s->touch_due_us = now;
		wake = true;
	}
	s->work |= work;
	if (wake)
		upkeep_wake_locked(s);
	mtx_unlock(&s->lock);
}

/* What is due now; *ret_until: when to look again. */
static unsigned int upkeep_due_locked(struct store *s, uint64_t now, uint64_t *ret_until)
	REQUIRES(s->lock)
{
	unsigned int due = s->work & ~(unsigned int)(WORK_NEW | WORK_TOUCHED | WORK_EVICT);
	uint64_t until = UINT64_MAX;

	if (s->work & WORK_NOW)
		due |= WORK_NEW;
	if (s->work & WORK_NEW) {
		if (now >= s->due_us)
			due |= WORK_NEW;
		else
			until = min_u64(until, s->due_us);
	}
	if (s->work & WORK_TOUCHED) {
		if (now >= s->touch_due_us)
			due |= WORK_TOUCHED;
		else
			until = min_u64(until, s->touch_due_us);
	}
	if (s->work & WORK_EVICT) {
		if (now >= s->evict_not_before_us)
			due |= WORK_EVICT;
		else
			until = min_u64(until, s->evict_not_before_us);
	}
	*ret_until = until;
	return due;
}

static void upkeep_do(struct store *s, unsigned int due)
{
	int forget_error = 0, checkpoint_error = 0;
	uint64_t begun_us = 0;

	if (due & WORK_DAMAGED)
		sweep_damaged(s);
	if (due & WORK_SCRUB)
		sweep_scrub(s);
	if (due & WORK_CONDEMNED)
		forget_error = forget_condemned(s);
	if (due & WORK_EVICT)
		evict_run(s);
	if (due & WORK_GRAVES)
		forget_graves(s);
	if (due & WORK_SWEEP)
		sweep_run(s);
	if (due & (WORK_NEW | WORK_TOUCHED)) {
		begun_us = clock_now_us();
		checkpoint_error = checkpoint_run(s, due & WORK_TOUCHED);
		/* There is another, empty database now: what is in memory goes into that one. */
		if (checkpoint_error == -EUCLEAN) {
			sweep_damaged(s);
			checkpoint_error = checkpoint_run(s, false);
		}
	}
	mtx_lock(&s->lock);
	if (due & WORK_CONDEMNED)
		s->forget_error = forget_error;
	if (due & (WORK_NEW | WORK_TOUCHED)) {
		s->checkpoint_error = checkpoint_error;
		s->checkpoint_took_us = clock_now_us() - begun_us;
		s->due_us = 0;
		if (checkpoint_error) {
			s->work |= WORK_NEW;
			s->due_us = clock_now_us() + UPKEEP_RETRY_US;
		}
	}
	mtx_unlock(&s->lock);
}

/* One round, of what is due. */
static void upkeep_round_locked(struct store *s, unsigned int due) REQUIRES(s->lock)
{
	uint64_t round = s->asked;

	/* NOW belongs to the checkpoint it hurried. */
	s->work &= ~(due | (due & WORK_NEW ? (unsigned int)WORK_NOW : 0));
	mtx_unlock(&s->lock);
	upkeep_do(s, due);
	mtx_lock(&s->lock);
	s->answered = max_u64(s->answered, round);
	cnd_broadcast(&s->done);
}

/* In place of the thread that there is none of. */
static void upkeep_yourself_locked(struct store *s) REQUIRES(s->lock)
{
	uint64_t until;

	s->by = UPKEEP_CALLER;
	upkeep_round_locked(s, upkeep_due_locked(s, clock_now_us(), &until));
	s->by = UPKEEP_NOBODY;
	/* What was asked for meanwhile; and who waits has his turn. */
	upkeep_wake_locked(s);
	cnd_broadcast(&s->done);
}

void store_round(struct store *s, unsigned int work)
{
	uint64_t round;

	mtx_lock(&s->lock);
	round = ++s->asked;
	s->work |= work;
	cnd_signal(&s->wake);
	while (s->answered < round) {
		if (s->by == UPKEEP_NOBODY)
			upkeep_yourself_locked(s);
		else
			cnd_wait(&s->done, &s->lock);
	}
	mtx_unlock(&s->lock);
}

void store_hurry(struct store *s, uint64_t us)
{
	uint64_t until_us = clock_now_us() + us;
	uint64_t round;

	mtx_lock(&s->lock);
	round = ++s->asked;
	s->work |= WORK_NEW | WORK_NOW;
	upkeep_wake_locked(s);
	while (s->answered < round) {
		if (!cnd_wait_until(&s->done, &s->lock, until_us))
			break;
	}
	mtx_unlock(&s->lock);
}

/* Sleep until something is due, asked for, or the end; what is due. */
static unsigned int upkeep_wait_locked(struct store *s) REQUIRES(s->lock)
{
	unsigned int due;
	uint64_t until;

	while (!(due = upkeep_due_locked(s, clock_now_us(), &until)) && s->asked == s->answered &&
	       !s->stopping) {
		if (until == UINT64_MAX)
			cnd_wait(&s->wake, &s->lock);
		else
			cnd_wait_until(&s->wake, &s->lock, until);
	}
	return due;
}

/* Until the end. The last rounds: everything, atimes too, as long as there is something. */
static void upkeep_run_locked(struct store *s) REQUIRES(s->lock)
{
	unsigned int due, tries = 0;

	for (;;) {
		due = upkeep_wait_locked(s);
		if (s->stopping) {
			if ((s->work == 0 && tries > 0) || tries++ >= UPKEEP_LAST_TRIES)
				break;
			due = (s->work & ~(unsigned int)(WORK_EVICT | WORK_SWEEP)) | WORK_NEW |
			      WORK_TOUCHED;
			s->work = 0;
		}
		upkeep_round_locked(s, due);
	}
	s->answered = s->asked;
	cnd_broadcast(&s->done);
}

static void *upkeep_main(void *arg)
{
	struct store *s = arg;

	pthread_setname_np(pthread_self(), "rgetfs-store");
	mtx_lock(&s->lock);
	upkeep_run_locked(s);
	mtx_unlock(&s->lock);
	return NULL;
}

void upkeep_end(struct store *s)
{
	enum upkeep_by by;

	mtx_lock(&s->lock);
	s->stopping = true;
	cnd_signal(&s->wake);
	while (s->by == UPKEEP_CALLER)
		cnd_wait(&s->done, &s->lock);
	by = s->by;
	if (by == UPKEEP_NOBODY) {
		s->by = UPKEEP_CALLER;
		upkeep_run_locked(s);
		s->by = UPKEEP_NOBODY;
	}
	mtx_unlock(&s->lock);
	if (by == UPKEEP_THREAD)
		pthread_join(s->upkeep, NULL);
}
