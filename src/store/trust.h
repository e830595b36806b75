/*
 * trust.h - has somebody else changed a backing file? For the files of the store alone
 *
 * Whoever reads the file looks before (under the version's lock), asks the file after, and gives
 * the bytes to nobody unless trust_holds_locked(). Whoever changes it puts trust_write_begin() and
 * _end() around the change.
 */
#ifndef STORE_TRUST_H
#define STORE_TRUST_H

#include <sys/stat.h>

#include "base/lock.h"
#include "store/cache.h"

struct version;

/* One of each version; its lock guards it. */
struct trust {
	struct timespec stamp; /* the file's ctime, when our last change of it was over … */
	uint64_t ino;	       /* … and which file that was */
	uint64_t writes;       /* changes of ours that began */
	uint64_t lost;	       /* how often all blocks became unverified */
	uint64_t holes;	       /* bytes by which its blocks are known to be too few */
	unsigned int writing;  /* changes of ours under way */
	bool mended;	       /* its length was: what is verified meanwhile is so too early */
	bool known;	       /* stamp is to be compared: none is under way */
};

/* One look at the file, on the stack. */
struct trust_look {
	uint64_t size; /* the length that we gave it, 0: none */
	uint64_t writes, lost;
	bool known, failed;
	bool damaged; /* trust_holds_locked() found it changed: the caller owes a trust_mend() */
	struct stat st;
};

void trust_look_locked(struct version *v, const struct backing *b, struct trust_look *ret);
/* After the read, without the lock. */
void trust_stat(struct backing *b, struct trust_look *l);
/*
 * Are bytes up to end, read between the two, those that the map speaks of? False: they are to be
 * read again; no block counts as verified since the look.
 */
bool trust_holds_locked(struct version *v, struct trust_look *l, uint64_t end);
/* Say it and give the file its length again. No lock held. */
void trust_mend(struct version *v, struct backing *b, const struct trust_look *l);

/* Around a write, a punch or a change of length. No lock held. */
void trust_write_begin(struct version *v, struct backing *b);
void trust_write_end(struct version *v, struct backing *b);
/* A file whose blocks are all unverified, as it is now. */
void trust_known_locked(struct version *v, const struct backing *b, const struct trust_look *l);

#endif
