/*
 * sockets.h - the connections of one instance, by descriptor
 *
 * libcurl 7.88 tells the socket of a transfer only after its end, but we need it while it runs: to
 * bound its receive buffer and to ask the kernel for its round trip. So what we open is noted, and
 * found again by the local port that libcurl names before each request. The instance's thread only.
 */
#ifndef NET_SOCKETS_H
#define NET_SOCKETS_H

#include "base/base.h"

struct socket {
	int fd;
	int port; /* that it was last found by, 0: not yet; looked at first, never believed */
};

struct sockets {
	struct socket *one;
	unsigned int count, size;
};

void sockets_done(struct sockets *s);
/* Again for the same number (libcurl had closed it without a word): nothing changes. 0 or -ENOMEM.
 */
int sockets_add(struct sockets *s, int fd);
/* True: it was there. */
bool sockets_remove(struct sockets *s, int fd);
/* -1: none is bound to it. */
int sockets_find(struct sockets *s, const char *local_ip, int local_port);

/*
 * A connection to a near peer: keep its receive buffer from growing to the megabytes that a path
 * with no delay does not need, so that a held transfer stops filling it soon (a clamp set
 * beforehand does not last: the kernel lifts it with each growth). Best effort.
 */
void socket_bound(int fd);
/* Smoothed round trip, 0 unknown. */
uint64_t socket_rtt_us(int fd);

#endif
