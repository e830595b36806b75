/*
 * upkeep.c - the one thread that changes what is durable: when it checkpoints, forgets, evicts,
 * sweeps
 *
 * One thread, so that a checkpoint and a forgetting never meet. It sleeps until something is asked
 * of it: without new bytes there is no wake-up at all.
 */
#include "base/clock.h"
#include "store/store_priv.h"

#define UPKEEP_TOUCH_US	  (30 * USEC_PER_SEC) /* atimes are written at most that often */
#define UPKEEP_RETRY_US	  (1 * USEC_PER_SEC)  /* after a checkpoint that failed */
#define UPKEEP_MANY	  512		      /* versions kept only for their atimes: flush early */
#define UPKEEP_LAST_TRIES 3

void store_poke(struct store *s, unsigned int work)
{
	uint64_t now = clock_now_us();
	bool wake;

	mtx_lock(&s->lock);
	wake = (work & ~s->work) != 0;
	if ((work & WORK_NEW) && !(s->work & WORK_NEW))
		s->due_us = max_u64(s->due_us, add_sat_u64(now, s->cfg.checkpoint_us));
	if ((work & WORK_TOUCHED) && !(s->work & WORK_TOUCHED))
		s->touch_due_us = now + UPKEEP_TOUCH_US;
	if ((work & WORK_TOUCHED) && s->version_count > UPKEEP_MANY && s->touch_due_us > now) {
		s->touch_due_us = now;
		wake = true;
	}
	s->work |= work;
	if (wake)
		cnd_signal(&s->wake);
	mtx_unlock(&s->lock);
}

void store_round(struct store *s, unsigned int work)
{
	uint64_t round;

	mtx_lock(&s->lock);
	round = ++s->asked;
	s->work |= work;
	cnd_signal(&s->wake);
	while (s->answered < round)
		cnd_wait(&s->done, &s->lock);
	mtx_unlock(&s->lock);
}

void store_hurry(struct store *s, uint64_t us)
{
	uint64_t until_us = clock_now_us() + us;
	uint64_t round;

	mtx_lock(&s->lock);
	round = ++s->asked;
	s->work |= WORK_NEW | WORK_NOW;
	cnd_signal(&s->wake);
	while (s->answered < round) {
		if (!cnd_wait_until(&s->done, &s->lock, until_us))
			break;
	}
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
		s->due_us = 0;
		if (checkpoint_error) {
			s->work |= WORK_NEW;
			s->due_us = clock_now_us() + UPKEEP_RETRY_US;
		}
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

void *upkeep_main(void *arg)
{
	struct store *s = arg;
	unsigned int due, tries = 0;
	uint64_t round;

	pthread_setname_np(pthread_self(), "rgetfs-store");
	mtx_lock(&s->lock);
	for (;;) {
		due = upkeep_wait_locked(s);
		if (s->stopping) {
			/* The last rounds: everything, atimes too, as long as there is something.
			 */
			if ((s->work == 0 && tries > 0) || tries++ >= UPKEEP_LAST_TRIES)
				break;
			due = (s->work & ~(unsigned int)(WORK_EVICT | WORK_SWEEP)) | WORK_NEW |
			      WORK_TOUCHED;
			s->work = 0;
		}
		round = s->asked;
		/* NOW belongs to the checkpoint it hurried. */
		s->work &= ~(due | (due & WORK_NEW ? (unsigned int)WORK_NOW : 0));
		mtx_unlock(&s->lock);
		upkeep_do(s, due);
		mtx_lock(&s->lock);
		s->answered = max_u64(s->answered, round);
		cnd_broadcast(&s->done);
	}
	s->answered = s->asked;
	cnd_broadcast(&s->done);
	mtx_unlock(&s->lock);
	return NULL;
}
