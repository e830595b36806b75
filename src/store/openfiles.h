/*
 * openfiles.h - which backing files have a descriptor just now
 *
 * More files are in use than there may be descriptors: each file that is open in the mount has a
 * backing file, and one that was read is kept for a while after its last close. So a descriptor is
 * lent: backing_use() opens the file again where it was closed, and the least recently used ones
 * are closed beyond max. One with unsynced bytes never is: who would tell of a failed sync?
 *
 * Any thread. Opens and closes files, so never under a lock.
 */
#ifndef STORE_OPENFILES_H
#define STORE_OPENFILES_H

#include <bsd/sys/queue.h>

#include "base/lock.h"

struct backing;
struct cache;

/* The part of a backing file that is guarded by its cache's openfiles.lock. */
struct openfile {
	int fd; /* -1: closed, until it is used again */
	unsigned int users;
	uint64_t writes; /* that have ended */
	uint64_t synced; /* as many of them as a sync has covered */
	bool idle;	 /* on the list: may be closed */
	bool unsynced;	 /* counted as that */
	TAILQ_ENTRY(backing) link;
};

struct openfiles {
	struct mtx lock;		     /* RANK_POOL; guards all below, and each openfile */
	TAILQ_HEAD(idle_list, backing) idle; /* least recently used first */
	unsigned int open;
	unsigned int unsynced; /* of them */
	unsigned int max;      /* 0: no bound; it may be passed by as many as there are threads */
};
void openfiles_init(struct openfiles *o);
void openfiles_done(struct openfiles *o);
/* Room for one more that is to be made: others were closed. 0, or -EMFILE: all hold unsynced bytes.
 */
int openfiles_room(struct openfiles *o);
/* Is b (NULL: a new one) to be written only after a checkpoint has let others go? */
bool openfiles_crowded(struct openfiles *o, const struct backing *b);
/* b is new and has fd, which is b's from now on; closed with it by openfiles_remove(). */
void openfiles_add(struct openfiles *o, struct backing *b, int fd);
void openfiles_remove(struct openfiles *o, struct backing *b);

/* Its descriptor, until backing_unuse(). -ENOENT: there is no such file any more, or another one by
 * that name; -errno: it can't be opened again. */
int backing_use(struct backing *b);
void backing_unuse(struct backing *b);
/* The same after bytes or a length were written. */
void backing_unuse_written(struct backing *b);
/* As backing_use(); everything whose writing has ended by now is told by *ret_mark. */
int backing_sync_begin(struct backing *b, uint64_t *ret_mark);
/* synced: the sync has succeeded. */
void backing_sync_end(struct backing *b, uint64_t mark, bool synced);

#endif
