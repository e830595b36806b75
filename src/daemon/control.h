/*
 * control.h - the control socket of a mount: commands in, answers out
 *
 * A Unix stream socket in a directory of ours alone; who connects must have the daemon's user or be
 * root. One JSON object a line:
 *
 *   -> {"command":"fill","paths":["a","b/c"]}
 *   <- {"progress":{…}}                            any number of times
 *   <- {"ok":true,"result":{…}}                    or
 *   <- {"ok":false,"error":"what is wrong","errno":5}
 *
 * Several requests may follow on one connection. It is closed when the client does, or as the very
 * last act of a daemon that ends: who waits for that knows that the last checkpoint is over.
 *
 * Each connection has a thread of its own, so that a handler may take its time; it must look at
 * control_cancelled() at least every 200 ms while it waits. Whoever comes when there is no room, or
 * no descriptor, hears so at once (EBUSY) and is hung up on; long commands leave room for the
 * others.
 */
#ifndef DAEMON_CONTROL_H
#define DAEMON_CONTROL_H

#include <jansson.h>

#include "base/base.h"

#define CONTROL_REQUEST_MAX	(1u << 20)
#define CONTROL_CONNECTIONS_MAX 32
#define CONTROL_SHORT_KEPT	4   /* of them, for commands that don't take their time */
#define CONTROL_PATH_MAX	108 /* sun_path */

/* ---- the daemon's side ---- */

struct control;
struct control_call;

/*
 * A command. request: the whole object. 0 and *ret_result (a new reference, NULL for {}), or
 * -errno; control_explain() gives the words. Runs on the connection's thread with no lock held.
 */
typedef int (*control_handler)(void *ctx, struct control_call *call, const json_t *request,
			       json_t **ret_result);

/* Binds dir/PID.sock and removes what a dead daemon with this PID left. 0 or -errno. */
int control_new(struct control **ret);
const char *control_path(const struct control *c);
/* Before control_start(). name is borrowed. 0 or -ENOMEM. */
int control_register(struct control *c, const char *name, control_handler fn, void *ctx);
/* The same for a command that lasts as long as its work does. */
int control_register_long(struct control *c, const char *name, control_handler fn, void *ctx);
/* Before control_start(): connections at once, from 2 * CONTROL_SHORT_KEPT to
 * CONTROL_CONNECTIONS_MAX. */
void control_set_max(struct control *c, unsigned int max);
/* Starts its thread. 0 or -errno. */
int control_start(struct control *c);
/* No further requests; handlers that run are cancelled and waited for. Connections stay open. */
void control_stop(struct control *c);
/* Removes the socket, closes connections. NULL is fine. */
void control_free(struct control *c);

/* The client is gone, or the daemon ends: give up. */
bool control_cancelled(struct control_call *call);
/* Send a progress line (takes the reference). 0 or -EPIPE: as good as cancelled. */
int control_progress(struct control_call *call, json_t *progress);
/* Words for the error that the handler is about to return; returns error. */
int control_explain(struct control_call *call, int error, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* ---- the client's side ---- */

#define CONTROL_ERROR_MAX 512

#define CONTROL_SILENT "the daemon does not answer (rgetfs unmount --force frees the mount)"

struct control_client {
	int fd;
	char path[CONTROL_PATH_MAX];
	bool refused; /* it had too many commands at once, and perhaps hung up */
	char *buf;    /* what has come of the next line */
	size_t len, room;
};

/* The mount at mountpoint (its root's extended attribute tells the socket). 0, or -errno and a
 * line; -ETIMEDOUT: its daemon does not answer, which is known after 10 s. */
int control_connect(const char *mountpoint, struct control_client *ret,
		    char error[CONTROL_ERROR_MAX]);
/*
 * The same of several mounts at once: begin with all, then connect to each; until_us (of
 * control_patience()) is their common end. Each that was begun must be connected to.
 */
struct control_question {
	pid_t pid;
	int fd, error;
};
void control_question_begin(struct control_question *q, const char *mountpoint);
int control_question_connect(struct control_question *q, const char *mountpoint, uint64_t until_us,
			     struct control_client *ret, char error[CONTROL_ERROR_MAX]);
/* When a daemon that is asked now should have answered. */
uint64_t control_patience(void);
/* A socket by its path. -ECONNREFUSED or -ENOENT: its daemon is dead. */
int control_connect_path(const char *path, struct control_client *ret);
void control_disconnect(struct control_client *c);
/*
 * Ask (takes the reference of request) and wait for the answer; progress() is called for each such
 * line and may be NULL. 0 and *ret_result (a new reference), or -errno and a line in error. A
 * command may take as long as it likes, a daemon may not: one that says nothing for 10 s, and then
 * not even to another connection, is -ETIMEDOUT.
 */
int control_call(struct control_client *c, json_t *request,
		 void (*progress)(void *ctx, const json_t *line), void *ctx, json_t **ret_result,
		 char error[CONTROL_ERROR_MAX]);
/* Wait until the daemon has ended, at most timeout_ms. 0 or -ETIMEDOUT. */
int control_wait_end(struct control_client *c, int timeout_ms);
/*
 * Every daemon of this user that answers: fn with a connection that is closed afterwards. All are
 * asked at once and have 10 s together; *ret_silent is how many did not answer. Sockets of dead
 * ones are removed. Stops when fn returns other than 0 and returns that. 0, or -errno of the
 * directory.
 */
int control_each(int (*fn)(void *ctx, struct control_client *c), void *ctx,
		 unsigned int *ret_silent);

#endif
