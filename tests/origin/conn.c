/*
 * conn.c - bytes to and from one client, in the clear or over TLS
 *
 * Entered by the connection's own thread alone. Sockets block; a wait polls for the client's
 * leaving, so that a stalled response ends with its reader.
 */
#include <linux/sockios.h>
#include <openssl/err.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "origin.h"

bool conn_start_tls(struct conn *c)
{
	c->ssl = SSL_new(c->o->ssl);
	return c->ssl && SSL_set_fd(c->ssl, c->fd) == 1 && SSL_accept(c->ssl) == 1;
}

size_t conn_read(struct conn *c, void *buf, size_t len)
{
	ssize_t n;

	if (c->ssl) {
		n = SSL_read(c->ssl, buf, (int)min_u64(len, INT32_MAX));
	} else {
		do {
			n = recv(c->fd, buf, len, 0);
		} while (n < 0 && errno == EINTR);
	}
	return n > 0 ? (size_t)n : 0;
}

bool conn_write(struct conn *c, const void *buf, size_t len)
{
	const char *at = buf;

	while (len) {
		ssize_t n;

		if (c->ssl)
			n = SSL_write(c->ssl, at, (int)min_u64(len, INT32_MAX));
		else
			n = send(c->fd, at, len, MSG_NOSIGNAL);
		if (n < 0 && !c->ssl && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		at += n;
		len -= (size_t)n;
	}
	return true;
}

bool conn_left(const struct conn *c)
{
	struct pollfd p = {.fd = c->fd, .events = POLLRDHUP};

	return poll(&p, 1, 0) > 0 && p.revents & (POLLRDHUP | POLLHUP | POLLERR);
}

bool conn_wait_until(struct conn *c, uint64_t until_us)
{
	uint64_t released = atomic_load(&c->o->released);

	for (;;) {
		struct pollfd p = {.fd = c->fd, .events = POLLRDHUP};
		uint64_t now = clock_now_us();
		/* Now and then look whether somebody gave the order to go on. */
		uint64_t us = min_u64(until_us > now ? until_us - now : 0, 100 * USEC_PER_MS);
		struct timespec ts = clock_timespec(us);

		if (us == 0 || atomic_load(&c->o->released) != released)
			return true;
		if (ppoll(&p, 1, &ts, NULL) > 0 && p.revents & (POLLRDHUP | POLLHUP | POLLERR))
			return false;
	}
}

uint64_t conn_unsent(struct conn *c)
{
	int n = 0;

	return ioctl(c->fd, SIOCOUTQ, &n) == 0 && n > 0 ? (uint64_t)n : 0;
}

void conn_close(struct conn *c)
{
	struct linger rst = {.l_onoff = 1, .l_linger = 0};

	if (c->reset)
		setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &rst, sizeof(rst));
	else if (c->ssl)
		SSL_shutdown(c->ssl);
	SSL_free(c->ssl);
	close(c->fd);
	free(c);
}
