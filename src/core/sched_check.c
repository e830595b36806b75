/*
 * sched_check.c - abort unless the invariants of sched.h hold
 * Callers: tests, after each step; O(everything).
 */
#include "core/sched_internal.h"

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "sched: %s\n", what);
	abort();
}

static void check_leases(const struct sched_task *t)
{
	const struct lease_priv *l, *other;
	uint64_t before = 0;

	TAILQ_FOREACH (l, &t->leases, task_entry) {
		uint64_t end = lease_end(l);

		must(l->pub.off >= before, "leases out of order");
		before = l->pub.off;
		must(l->pub.off % BLOCK_SIZE == 0, "S2: lease starts inside a block");
		must(end % BLOCK_SIZE == 0 || end == t->size || end == SIZE_UNKNOWN,
		     "S2: lease ends inside a block");
		must(l->pub.off <= end, "lease with a negative length");
		must(!l->hedge && !l->pub.probe, "a hedge or probe covers nothing");
		/* A whole body starts from 0 again, over what draining and cancelled ones have. */
		for (other = TAILQ_NEXT(l, task_entry); other;
		     other = TAILQ_NEXT(other, task_entry)) {
			if (l->was_whole || other->was_whole || l->cancelled || other->cancelled)
				continue;
			must(end <= other->pub.off || other->pub.off == lease_end(other),
			     "S1: leases overlap");
		}
	}
}

static void check_wants(const struct sched_task *t)
{
	const struct sched_want *w;

	for (int p = 0; p < PRIO_COUNT; p++) {
		unsigned int n = 0;

		TAILQ_FOREACH (w, &t->pending[p], entry) {
			must(w->pending && (int)w->prio == p && w->task == t,
			     "want in a wrong list");
			n++;
		}
		TAILQ_FOREACH (w, &t->covered[p], entry) {
			must(!w->pending && (int)w->prio == p && w->task == t,
			     "want in a wrong list");
			n++;
		}
		must(n == t->want_count[p], "wants miscounted");
	}
}

static unsigned int check_origin(const struct sched *s, const struct sched_origin *o)
{
	const struct lease_priv *l;
	unsigned int running = 0, tests = 0;

	TAILQ_FOREACH (l, &o->leases, origin_entry) {
		must(l->state == LEASE_RUNNING, "ended lease at an origin");
		running++;
		tests += !l->via && o->banned_until_us && l->start_us >= o->banned_until_us;
	}
	must(running + o->away == o->running, "running leases of an origin miscounted");
	must(o->running - o->guests <= s->cfg.max_per_origin,
	     "S3: more leases than the ceiling of an origin");
	must(tests <= 1, "S5: more than one test request");
	return running;
}

void sched_check(const struct sched *s)
{
	const struct sched_origin *o;
	const struct sched_task *t;
	unsigned int running = 0;

	TAILQ_FOREACH (t, &s->tasks, all_entry) {
		check_leases(t);
		check_wants(t);
	}
	TAILQ_FOREACH (o, &s->origins, all_entry)
		running += check_origin(s, o);
	must(running == s->running_count, "running leases miscounted");
	must(running <= s->cfg.max_connections, "S3: more leases than the ceiling");
}
