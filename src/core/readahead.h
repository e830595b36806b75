/*
 * readahead.h - what to fetch beyond what a reader asked for
 *
 * One struct readahead per open file, embedded by its handle. Pure. Up to READAHEAD_CURSORS
 * sequential readers are told apart; after a few random misses nothing beyond the asked blocks is
 * fetched.
 */
#ifndef CORE_READAHEAD_H
#define CORE_READAHEAD_H

#include "core/range.h"

#define READAHEAD_CURSORS 4

struct readahead_cursor {
	uint64_t next;	  /* where the reader is expected to go on */
	uint64_t ahead;	  /* fetched or asked for up to here */
	uint64_t window;  /* bytes kept ahead of next; 0: none yet */
	uint64_t run;	  /* bytes read in this run */
	uint64_t skipped; /* bytes it passed over */
	uint64_t used;	  /* order of last use; 0: cursor not in use */
	unsigned int reads;
	bool missed; /* something of this run was not in the cache */
	bool bold;   /* began at 0 with a full kernel read-ahead: a whole-file reader */
};

struct readahead {
	struct readahead_cursor cursor[READAHEAD_CURSORS];
	uint64_t clock; /* counts reads */
	unsigned int random_misses;
};

/* How large a window may get: a bandwidth-delay product's worth, and what memory or disk allow. */
struct readahead_limit {
	uint64_t rate_bps;   /* measured for the origin, 0 unknown */
	uint64_t ttfb_us;    /* 0 unknown */
	uint64_t window_max; /* hard bound in bytes */
};

void readahead_init(struct readahead *ra);
/*
 * A reader asks for r of a file of size bytes; hit: all of it was in the cache. *ret_window: what
 * to want with PRIO_WINDOW besides (block-aligned, behind r, may be empty).
 */
void readahead_read(struct readahead *ra, struct range r, uint64_t size, bool hit,
		    const struct readahead_limit *limit, struct range *ret_window);

#endif
