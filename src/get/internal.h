/*
 * internal.h - what the files of get share; nobody else includes it
 *
 *   get.c     whose turn it is, totals, what is told
 *   file.c    one file from its beginning to its end, on a thread of its own
 *   adopt.c   going on with what another downloader has begun; foreign.c reads what that left
 *   target.c  where it is on the disk
 *   saved.c   what was begun earlier
 *
 * Each file under way has a thread, which does for it what waits on the disk. There are more of
 * them than files may be fetched at once: while one is made durable the next one's place is ready.
 */
#ifndef GET_INTERNAL_H
#define GET_INTERNAL_H

#include <bsd/sys/queue.h>

#include "base/lock.h"
#include "get/get.h"
#include "get/target.h"

struct file {
	struct get *g;
	TAILQ_ENTRY(file) running_link; /* of get.running, while it runs */
	STAILQ_ENTRY(file) told_link;
	TAILQ_ENTRY(file) turn_link; /* of get.turns, while queued */

	/* get.lock */
	const char *path; /* the caller's, or own_path */
	char *own_path;	  /* after the server's word on the name; NULL */
	uint32_t index;
	enum get_state state;
	struct object *object; /* a reference, while it runs and has one */
	/* What its thread waits for in the engine: one of both, while it may be cancelled. */
	struct fill *fill;
	struct probe *probe;
	struct cnd changed; /* its thread waits for … */
	bool answered;	    /* done() was called, with … */
	int error;
	unsigned int answers; /* so many by now: is what was begun before still under way? */
	bool queued;	      /* waits for its turn */
	int named; /* what came of its name: 0, or why the bytes are not wanted any more */
	bool told, told_begin; /* is on get.told; its beginning was told */
	uint64_t began_us;
	struct get_info last; /* RUNNING: what is known without the object; then: all of it */

	/* Its thread's. */
	size_t own; /* of path, as in struct get_file */
	const struct entry *entry;
	bool unnamed; /* the server's word on its name may come with the first answer */
	struct target target;
	struct store *store;
	uint64_t tend_us; /* when the store begins to be tended; 0: not known yet; UINT64_MAX: is */
};

struct get {
	struct get_config cfg;
	struct engine *engine;
	struct manifest *manifest;
	struct file *file;
	size_t count;

	struct mtx lock; /* RANK_JOB; guards all below */
	TAILQ_HEAD(file_list, file) running;
	STAILQ_HEAD(told_list, file) told; /* those that get_next() is to tell of */
	size_t next;			   /* the first whose turn has not come */
	bool stopping;
	unsigned int fetching;		   /* files: at most max_files; the others … */
	TAILQ_HEAD(turn_list, file) turns; /* … wait, each ready to be fetched */
	struct get_totals ended;	   /* sums of those that have come to their end */
};

/* file.c. From its beginning to its end; f is GET_RUNNING. */
void file_fetch(struct file *f);
bool get_stopping(struct get *g); /* get.c */
/* What get_info.error is to say of f. */
void file_say(struct file *f, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Ask the server for size and date, unless they are known. 0, -EINTR (stopping) or -errno. */
int file_ask(struct file *f);
/*
 * adopt.c. What another downloader has left by the file's name becomes ours. 0, also when there is
 * nothing of the kind; else -errno, which f says, and all is as it was.
 */
int file_adopt(struct file *f);
/* What f waits for ends soon. Under get.lock. */
void file_cancel_locked(struct file *f);

#endif
