/*
 * task.h - how bytes are fetched: tasks with their sources and wants, and pulls, one for each lease
 *
 * A task is one version being fetched, a pull one transfer of it. The engine thread owns both;
 * what else may be touched, and by whom, is said at each. internal.h has the threads.
 */
#ifndef ENGINE_TASK_H
#define ENGINE_TASK_H

#include "engine/internal.h"

/* ---- tasks and wants (task.c), engine thread ---- */
struct source {
	struct origin *origin;
	unsigned int url;	    /* index in the entry */
	char *resolved;		    /* where its redirect led, while that works; NULL */
	uint64_t resolved_until_us; /* … and may be used; 0: until it has worked once */
	struct origin *at;	    /* of that, else its own: who is asked */
	bool no_total;	  /* its ranges don't tell the size: asked for all while that is unknown */
	bool no_if_range; /* answered If-Range with 200 and our own validator */
	uint64_t refused_us; /* when that was learned */
	/* Another ETag than ours, where nothing else differs: seen so often in a row, last at. */
	char flipped[ETAG_MAX];
	unsigned int flips;
	uint64_t flip_us;
	struct validator validator; /* its own for this version: mirrors may name equal bytes
				       differently. task.lock */
	int64_t validator_date; /* the server's, when it first told the validator's Last-Modified;
				   0 unknown. task.lock */
};

/* One version being fetched: the engine's side of a sched_task. Counted by its object and its
 * pulls. */
struct task {
	struct engine *e;
	struct store *store; /* the object's, also once closed */
	struct object *obj;  /* NULL once closed */
	unsigned int refs;
	TAILQ_ENTRY(task) link;
	struct sched_task *st;	 /* NULL once closed */
	struct version *version; /* NULL until bytes are wanted */
	struct entry entry;
	const char *headers[MANIFEST_HEADERS_MAX + 1];
	unsigned int source_count;
	struct source *source;
	atomic_bool whole; /* a whole body is under way; any thread */
	struct mtx lock;   /* RANK_TASK; guards main and each source's validator */
	int main;	   /* source whose validator is the version's, -1 while that has none */
	struct want_list wants; /* all */
	unsigned int want_count;
	unsigned int loading;	/* wants that wait for the version's extents to be loaded */
	struct pull_list pulls; /* running or being written */
	uint64_t refused_us;	/* when its sources refused, 0 not */
	uint64_t unwanted_us;	/* since when a whole body comes that nobody wants, 0 not */
};

/* The object's task, made if there is none; with its version when bytes are wanted. 0 or -ENOMEM.
 */
int task_open(struct object *o, bool with_version, struct task **ret);
void task_close(struct task *t);
void task_put(struct task *t);
/* o has other sources: its task ends, and what waits goes on with them. Not from within the sched.
 */
void task_renew(struct object *o, uint64_t now_us);
/* Hand wants to the sched whose version has been loaded. True: others still wait for that. */
bool task_admit(struct task *t, uint64_t now_us);
/* Where the redirect of source index leads, until until_us (see struct source); NULL: nowhere.
 * Takes url over. */
void task_resolve(struct task *t, unsigned int index, char *url, uint64_t until_us);
/* Once a second: redirects that may not be used any more. */
void hints_sweep(struct engine *e, uint64_t now_us);
/* The origin of url as the sched knows it, borrowed until the next origins_trim(); NULL: of none,
 * or no memory. Engine thread. */
struct origin *origin_enter(struct engine *e, const char *url);
/* Copy what the sched knows of o for other threads. Engine thread. */
void origin_publish(struct origin *o);
/* A host that is not there is waited for so long by those who don't wait for bytes of one file. */
#define REACH_US (3 * USEC_PER_SEC)
/* No source could be reached since before_us. */
bool task_unreached(const struct task *t, uint64_t before_us);
/* Somebody is told that t's sources can't be reached, if that is so; and was told so of late. */
void task_give_up(struct task *t, uint64_t now_us);
bool task_given_up(const struct task *t, uint64_t now_us);
/* A long ban is no reason not to look once whether a host is back: somebody begins to wait. */
void task_test(struct task *t, uint64_t now_us);
/* Ask for w (its kind, prio and range set). Failures come as want_failed(). */
void want_add(struct task *t, struct want *w, uint64_t now_us);
void want_remove(struct want *w, uint64_t now_us);
/* From the sched, or from here: w is out of its task; hand that on to whom it belongs. */
void want_satisfied(struct want *w);
void want_failed(struct want *w, enum verdict why);
/* What a reader or an order is told after a verdict. */
int verdict_errno(enum verdict v);
/* The source will not serve this object, ever: its last word. */
bool verdict_refuses(enum verdict v);
/* All of kind leave the task. */
void task_drop_wants(struct task *t, enum want_kind kind);

/* ---- what outlives the last close (learned.c), engine thread ---- */
/* t is about to be closed: keep what its sources have told, for the next task of its object. */
void learned_keep(struct task *t);
/* A task of entry begins: first which URL the version is known by, then, in the sched, the rest. */
void learned_recall_main(struct object *o, const struct entry *entry);
void learned_recall(struct task *t);
/* o has another version. */
void learned_forget(struct object *o);
/* Of o, which is about to be freed, or which somebody opens: what of it was read. */
void learned_keep_reads(struct object *o);
void learned_recall_reads(struct object *o);
/* Nothing of o counts as read any more. */
void learned_forget_reads(struct object *o);
void learned_done(struct engine *e);

/* ---- pulls: one lease being fetched (pull.c; lease.c and answer.c, on the engine thread) ---- */
struct pull {
	LIST_ENTRY(pull) link; /* task.pulls */
	struct engine *e;
	struct lease *lease;	 /* engine thread */
	struct task *task;	 /* reference, engine thread; whole is anybody's */
	struct version *version; /* reference; NULL for a probe */
	unsigned int source;	 /* index in task.source */
	unsigned int source_url; /* index of its URL: what the extents remember as their source */
	enum lane lane;		 /* of fetch */
	struct fetch *fetch;
	struct transfer *transfer; /* engine thread; NULL: could not begin */
	uint64_t slice_off;
	uint64_t slice_end; /* SIZE_UNKNOWN */
	uint64_t size;	    /* of the object when it began, SIZE_UNKNOWN */
	bool probe, ranged, asked_all, used_resolved, pinned, ignore_etag, demand;
	uint64_t started_us;
	bool ended;	    /* engine thread: the sched knows that it is over */
	bool probe_changed; /* engine thread: its answer is not of the version that was opened
			       meanwhile */
	bool whole_lease;   /* engine thread: the sched agreed that the lease is the whole object */

	/* Behind the last byte to keep, object offsets: follows lease->end, but head() may set it
	 * to the size. */
	atomic_uint_fast64_t end;
	atomic_bool whole;	  /* head() took the answer as the whole body */
	atomic_uint_fast64_t pos; /* object offset */
	atomic_bool progress_posted;
	atomic_uint pending; /* chunks not yet written, and one for the transfer itself */
	atomic_int write_error;
	atomic_int prio;	     /* enum prio: the lease's, as when it was last looked at */
	atomic_uint_fast64_t unkept; /* bytes that neither the cache nor a reader got */

	/* written by the fetch thread before it posts, read by the engine thread afterwards */
	uint64_t connect_us, asked_us;
	enum verdict answer;
	struct http_use use;
	struct validator got;
	int64_t date;	      /* the server's, VALIDATOR_NO_TIME */
	bool answered;	      /* head() was called and the answer is of our version */
	bool mismatch;	      /* … is not, or its body is not */
	bool untrue;	      /* its body was kept, and was not the object */
	bool no_total;	      /* … is, but nobody knows the size, and it does not tell */
	bool ask_again;	      /* only If-Range was refused: the range may be had without it */
	uint64_t total;	      /* of the object, as answered */
	uint64_t stream_size; /* … as known at the end of a stream without length; else SIZE_UNKNOWN
			       */
	char *resolved;
	char *filename;		    /* of the answer, for the object; NULL */
	uint64_t resolved_until_us; /* in the past: not again */
	char *asked;		    /* the URL whose verdict result is; NULL none */
	bool connected;
	struct transfer_result result;
	struct chunk *tail; /* last, partial block of a stream without length: kept until its end is
			       sure */
	uint64_t tail_off;
	uint64_t counted; /* bytes already in the object's counters */
	struct msg answered_msg, progress_msg, ended_msg, written_msg;
};
extern const struct transfer_ops pull_ops;
extern const struct sched_ops engine_sched_ops;
/* One chunk (or the transfer itself) less to wait for; the last posts written_msg. Any thread. */
void pull_unpend(struct pull *p);
/* Engine thread, as all below. */
void pull_cancel(struct pull *p, bool at_once);
/* Bytes that came count for its object, once each. */
void pull_count(struct pull *p, uint64_t bytes);
void pull_answered(struct engine *e, struct msg *m);
void pull_progressed(struct engine *e, struct msg *m);
void pull_ended(struct engine *e, struct msg *m);
void pull_written(struct engine *e, struct msg *m);
/* Tell the sched how far t's transfers are now, before it decides where a demand comes soonest. */
void pulls_report(struct task *t, uint64_t now_us);
/* Once a second: end whole bodies that nobody wants any more. */
void wholes_sweep(struct engine *e, uint64_t now_us);
/* Report leases that could not be started. True: there were some. */
bool leases_bury(struct engine *e, uint64_t now_us);

/* ---- the log (tell.c) ---- */
void tell_lease(const struct pull *p, const char *what);
void tell_ended(const struct pull *p, enum verdict v, uint64_t pos);
/* A bad verdict, which o->error explains: once, until an answer is good or another one bad. */
void tell_verdict(struct object *o, const struct pull *p, enum verdict v);
/* o has no ranges: once for each. */
void tell_no_ranges(struct origin *o);
void tell_sched(const struct sched_stats *was, const struct sched_stats *is);

#endif
