/*
 * sockets.h - the connections of one instance, by descriptor
 *
 * libcurl 7.88 tells the socket of a transfer only after its end, but we need it while it runs: to
 * clamp its receive window and to ask the kernel for its round trip. So what we open is noted, and
 * found again by the local port that libcurl names before each request. The instance's thread only.
 */
#ifndef NET_SOCKETS_H
#define NET_SOCKETS_H

#include "base/base.h"

struct sockets {
	int *fd;
	unsigned int count, size;
};

void sockets_done(struct sockets *s);
/* Again for the same number (libcurl had closed it without a word): nothing changes. 0 or -ENOMEM.
 */
int sockets_add(struct sockets *s, int fd);
/* True: it was there. */
bool sockets_remove(struct sockets *s, int fd);
/* -1: none is bound to it. */
int sockets_find(const struct sockets *s, const char *local_ip, int local_port);

/* The most the kernel may take in before it is read; UINT32_MAX: as it likes. Best effort. */
void socket_clamp(int fd, uint32_t bytes);
/* Smoothed round trip, 0 unknown. */
uint64_t socket_rtt_us(int fd);

#endif
