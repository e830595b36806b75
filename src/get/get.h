/*
 * get.h - files of a manifest into ordinary files: the engine, with a store for each target
 *
 * A target is the path that a file gets. Until it is all there it is PATH.part beside it, and what
 * is durable of that is known by a directory of its own below the state directory (saved.h), which
 * only comes to be when the first checkpoint does. PATH appears when every byte is durable and
 * proven as far as there is a checksum.
 *
 * One thread calls get_run(); any other may look and stop meanwhile.
 */
#ifndef GET_GET_H
#define GET_GET_H

#include "engine/engine.h"
#include "get/foreign.h"

#define GET_PART ".part"

#define GET_FILES_MAX 64
/* With those whose turn is next, and those that are being made durable. */
#define GET_RUNNING_MAX ((size_t)2 * GET_FILES_MAX)

struct get;

struct get_file {
	uint32_t index;	  /* of the manifest's entry */
	const char *path; /* absolute or against the working directory; its directory is made */
	size_t own;	  /* bytes of path that are the user's own words: links are followed in
			     directories there, and in none behind */
};

struct get_config {
	struct engine_config engine; /* of store only checkpoint_us and checkpoint_bytes count */
	const char *state_dir;	     /* $XDG_STATE_HOME/rgetfs */
	unsigned int max_files;	     /* that are fetched at once: 1 to GET_FILES_MAX */
	enum foreign_kind continue_from; /* what is there by a file's name may be such a part */
	bool content_disposition;	 /* the last component of a path is what the server says */
};

/* Strings of cfg, m and files (but not files itself) stay the caller's until get_free(). 0 or
 * -errno. */
int get_new(const struct get_config *cfg, struct manifest *m, const struct get_file *files,
	    size_t count, struct get **ret);
/*
 * Fetch all of them; returns when each is done or failed, or get_stop() was called and what came is
 * durable. 0, or -EINTR when it was stopped before the end.
 */
int get_run(struct get *g);
/* Any thread. Unfinished files keep what they have. */
void get_stop(struct get *g);
/* Not while get_run() runs. */
void get_free(struct get *g);

enum get_state {
	GET_WAITING, /* its turn has not come */
	GET_RUNNING,
	GET_DONE,
	GET_THERE, /* it was there already: right by checksum, or of the server's size and date */
	GET_FAILED,
	GET_STOPPED, /* begun, and get_stop() came */
	GET_STATE_COUNT
};
const char *get_state_name(enum get_state st);

struct get_info {
	const char *path; /* as it is by now; valid until get_free() */
	uint32_t index;	  /* of the manifest's entry */
	enum get_state state;
	uint64_t size;		 /* SIZE_UNKNOWN */
	uint64_t bytes, durable; /* that are here */
	uint64_t resumed;	 /* of them when we began */
	uint64_t fetched, discarded, requests, retries;
	uint64_t rate_bps;
	unsigned int connections;
	uint64_t took_us; /* since it began, or until it ended */
	/* FAILED: verdict, host and detail for a person, without the path; RUNNING: what it
	 * waits for */
	char error[256];
};
struct get_totals {
	uint64_t files, done, there, failed, running;
	uint64_t bytes_known; /* sizes of those whose size is known … */
	uint64_t unknown;     /* … and so many are not */
	uint64_t bytes, fetched, discarded, requests, retries;
	unsigned int connections;
};
void get_totals(struct get *g, struct get_totals *ret);
/* Those under way, in the order they began; returns how many of at most max. */
size_t get_running(struct get *g, struct get_info *ret, size_t max);
/*
 * Those that began, or came to an end, since the last call, in that order: false when there are no
 * more. *ret_began: it is about its beginning. One thread alone asks.
 */
bool get_next(struct get *g, struct get_info *ret, bool *ret_began);

#endif
