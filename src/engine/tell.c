/*
 * tell.c - what the log says of leases and of what became of them
 *
 * Callers: lease.c and answer.c, on the engine thread, under no lock. Objects are shown by their
 * path and sources by scheme, host and port: no URL, so no secret either.
 */
#include "base/clock.h"
#include "engine/internal.h"
#include "engine/task.h"

void tell_lease(const struct pull *p, const char *what)
{
	const struct lease *l = p->lease;
	uint64_t end = atomic_load(&l->end);
	char until[24] = "its end";

	if (end != SIZE_UNKNOWN)
		snprintf(until, sizeof(until), "%" PRIu64, end);
	log_debug("%s: %s %s %s, %" PRIu64 " to %s, from %s", p->task->entry.path,
		  prio_name(l->prio), l->probe ? "probe" : "lease", what, l->off, until,
		  p->task->source[p->source].origin->key);
}

void tell_ended(const struct pull *p, enum verdict v, uint64_t pos)
{
	log_debug("%s: %s %s ended, %" PRIu64 " to %" PRIu64 ", from %s: %s%s%s, %" PRIu64
		  " bytes, %" PRIu64 " in vain, %" PRIu64 " ms",
		  p->task->entry.path, prio_name(p->lease->prio), p->probe ? "probe" : "lease",
		  p->lease->off, pos, p->task->source[p->source].origin->key, verdict_name(v),
		  p->result.detail[0] ? ", " : "", p->result.detail, p->result.bytes_received,
		  p->result.bytes_discarded, (clock_now_us() - p->started_us) / USEC_PER_MS);
}

/* What mends itself is no warning. */
static enum log_level verdict_level(enum verdict v)
{
	switch (verdict_class(v)) {
	case VERDICT_CLASS_VERSION:
	case VERDICT_CLASS_ORIGIN:
	case VERDICT_CLASS_RETRY:
		return LOG_LEVEL_INFO;
	case VERDICT_CLASS_GOOD:
	case VERDICT_CLASS_SOURCE:
	case VERDICT_CLASS_RERESOLVE:
	case VERDICT_CLASS_OURS:
		break;
	}
	return LOG_LEVEL_WARN;
}

/* Once for each file that was replaced; of what else is bad a few lines for each server. */
static bool verdict_passes(const struct object *o, struct origin *from, enum verdict v,
			   uint64_t *ret_dropped)
{
	*ret_dropped = 0;
	if (v == VERDICT_CHANGED)
		return o->changes == 0;
	return o->told != v && log_limit_pass(&from->told[v], clock_now_us(), ret_dropped);
}

void tell_verdict(struct object *o, const struct pull *p, enum verdict v)
{
	struct origin *from = p->task->source[p->source].origin;
	uint64_t dropped;

	if (!o->error || !verdict_passes(o, from, v, &dropped))
		return;
	o->told = v;
	if (dropped)
		log_line(verdict_level(v), "%s: %s (and %" PRIu64 " more files of this server)",
			 p->task->entry.path, o->error, dropped);
	else
		log_line(verdict_level(v), "%s: %s", p->task->entry.path, o->error);
}

void tell_no_ranges(struct origin *o)
{
	if (!o->told_no_ranges)
		log_info("%s: does not support ranges: files come whole, from their start", o->key);
	o->told_no_ranges = true;
}

void tell_sched(const struct sched_stats *was, const struct sched_stats *is)
{
	if (is->cuts == was->cuts && is->steals == was->steals && is->hedges == was->hedges &&
	    is->holds == was->holds)
		return;
	log_debug("cuts %" PRIu64 ", of these steals %" PRIu64 "; hedges %" PRIu64
		  "; holds %" PRIu64,
		  is->cuts, is->steals, is->hedges, is->holds);
}
