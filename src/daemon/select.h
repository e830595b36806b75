/*
 * select.h - which files of a mount a command is about
 *
 * The client names them in "paths", below the mountpoint ("" is the root), as bytes that are
 * percent-encoded where JSON could not hold them; a directory stands for everything in it.
 */
#ifndef DAEMON_SELECT_H
#define DAEMON_SELECT_H

#include "daemon/mount.h"

struct selected {
	uint32_t index;	       /* of the entry */
	uint64_t size, cached; /* free for the command's own book-keeping; 0 at first */
};

struct selection {
	struct manifest *manifest; /* reference */
	struct selected *item;	   /* each entry once, in the manifest's order */
	size_t count, room;
	uint64_t missing; /* paths that do not exist: the client has been told */
};

/*
 * What request names. Of a path that does not exist the client hears at once ({"failed":…}); the
 * others are taken. 0, or -errno with words; then nothing is to be freed.
 */
int selection_init(struct selection *s, struct mount *mt, struct control_call *call,
		   const json_t *request);
void selection_done(struct selection *s);

/* Tell the client that one file failed, as progress {"failed":{"path":…,"error":…}}. 0 or -EPIPE.
 */
int select_failed(struct control_call *call, const char *path, const char *error);
/* The path of an entry as JSON text; a new reference. */
json_t *select_path(const struct manifest *m, uint32_t index);
/* Bytes that are no UTF-8 can't stand in JSON: each is shown as U+FFFD. A new reference. */
json_t *json_text(const char *s);
json_t *json_number(uint64_t n);

#endif
