/*
 * orders.h - what users ask a mount to do with files: fill, drop, verify
 *
 * Requests {"command":"fill","paths":[…],"wait":true}, "drop", "verify" with "paths" (select.h).
 * While one runs, the client hears
 * {"files","files_done","files_failed","bytes","bytes_done","sizes_unknown","active":[…]} every now
 * and then, and {"failed":{"path","error"}} once for each file that failed.
 */
#ifndef DAEMON_ORDERS_H
#define DAEMON_ORDERS_H

#include <bsd/sys/queue.h>

#include "base/lock.h"
#include "daemon/mount.h"

struct orders;

/* Registers the commands. 0 or -ENOMEM. */
int orders_new(struct mount *mt, struct control *c, struct orders **ret);
/* Nothing new is begun, what runs is cancelled. Returns at once; any thread. */
void orders_quit(struct orders *od);
/* After orders_quit() and control_stop(), before engine_free(): waits for what nobody waits for.
 * NULL is fine. */
void orders_free(struct orders *od);

/* ---- among the handlers ---- */

struct mount *orders_mount(struct orders *od);
/* Quitting, or the client is gone (call may be NULL). */
bool orders_over(struct orders *od, struct control_call *call);

/* How far an order is. */
struct order_progress {
	uint64_t files, files_done, files_failed;
	uint64_t bytes, bytes_done;
	uint64_t sizes_unknown;
	uint64_t next_us; /* when the client should hear of it again */
};
#define ORDER_PROGRESS_US UINT64_C(200000)
/* The line for the client; active (the reference is taken) may be NULL. */
json_t *order_progress_json(const struct order_progress *p, json_t *active);

int order_fill(void *ctx, struct control_call *call, const json_t *request, json_t **ret_result);
int order_drop(void *ctx, struct control_call *call, const json_t *request, json_t **ret_result);
int order_verify(void *ctx, struct control_call *call, const json_t *request, json_t **ret_result);

/* handle_fill.c: fills that nobody waits for, each on a thread. */
struct fill_job;
LIST_HEAD(fill_jobs, fill_job);
/* Those of sel that any fill has not begun with are not begun; what it has begun is the engine's to
 * end. */
struct selection;
void fill_jobs_drop(struct orders *od, const struct selection *sel);
/* The list of them, and of all that run; guarded by orders_lock(). */
struct fill_jobs *orders_jobs_locked(struct orders *od);
struct fill_jobs *orders_running_locked(struct orders *od);
struct mtx *orders_lock(struct orders *od);
/* Join and free. */
void fill_job_free(struct fill_job *job);

#endif
