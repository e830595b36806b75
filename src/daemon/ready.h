/*
 * ready.h - go to the background, and let the foreground wait until it worked
 */
#ifndef DAEMON_READY_H
#define DAEMON_READY_H

#include "base/base.h"

struct ready {
	int fd; /* to the waiting parent; -1: there is none */
};

/*
 * Fork. In the child: returns 0 and *ret is the way to the parent. In the parent: waits, prints the
 * child's error if it sends one, and returns 1 with the exit status in *ret_status (0: ready_ok()
 * was called; then still to be confirmed by whoever can see). -errno: no fork. Before any thread is
 * started.
 */
int ready_fork(struct ready *ret, int *ret_status);
/* "rgetfs: " and the line, to the parent or to stderr. Once, instead of ready_ok(). */
void ready_fail(struct ready *r, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* It works: the parent may return. Standard streams go to /dev/null when there is a parent. */
void ready_ok(struct ready *r);

#endif
