/*
 * sockets.c - the connections of one instance, by descriptor
 * Callers: easy.c, from libcurl's callbacks.
 */
#include "net/sockets.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

/*
 * What the fastest path may have in flight: 4 GiB/s. From NEAR_BUFFER_MAX on (1.4 ms) the kernel's
 * own growth is left alone, since a fixed buffer would be the limit of a far connection.
 */
#define NEAR_BYTES_PER_US UINT64_C(4295)
#define NEAR_BUFFER_MIN	  (UINT64_C(256) << 10)
#define NEAR_BUFFER_MAX	  (UINT64_C(6) << 20)

void sockets_done(struct sockets *s)
{
	free(s->one);
	*s = (struct sockets){0};
}

int sockets_add(struct sockets *s, int fd)
{
	for (unsigned int i = 0; i < s->count; i++) {
		if (s->one[i].fd == fd) {
			s->one[i].port = 0;
			return 0;
		}
	}
	if (s->count == s->size) {
		unsigned int size = s->size ? 2 * s->size : 16;
		struct socket *grown = reallocarray(s->one, size, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		s->one = grown;
		s->size = size;
	}
	s->one[s->count++] = (struct socket){.fd = fd};
	return 0;
}

bool sockets_remove(struct sockets *s, int fd)
{
	for (unsigned int i = 0; i < s->count; i++) {
		if (s->one[i].fd == fd) {
			s->one[i] = s->one[--s->count];
			return true;
		}
	}
	return false;
}

static bool is_bound_to(int fd, const char *ip, int port)
{
	struct sockaddr_storage a = {0};
	const struct sockaddr_in *in = (const struct sockaddr_in *)&a;
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&a;
	char text[INET6_ADDRSTRLEN];
	socklen_t len = sizeof(a);

	if (getsockname(fd, (struct sockaddr *)&a, &len) < 0)
		return false;
	if (a.ss_family == AF_INET)
		return ntohs(in->sin_port) == port &&
		       inet_ntop(AF_INET, &in->sin_addr, text, sizeof(text)) &&
		       strcmp(text, ip) == 0;
	if (a.ss_family == AF_INET6)
		return ntohs(in6->sin6_port) == port &&
		       inet_ntop(AF_INET6, &in6->sin6_addr, text, sizeof(text)) &&
		       strcmp(text, ip) == 0;
	return false;
}

int sockets_find(struct sockets *s, const char *local_ip, int local_port)
{
	/* Asking the kernel for each of many connections cost more than the request. */
	for (unsigned int i = 0; i < s->count; i++) {
		if (s->one[i].port == local_port && is_bound_to(s->one[i].fd, local_ip, local_port))
			return s->one[i].fd;
	}
	for (unsigned int i = 0; i < s->count; i++) {
		if (s->one[i].port == local_port ||
		    !is_bound_to(s->one[i].fd, local_ip, local_port))
			continue;
		s->one[i].port = local_port;
		return s->one[i].fd;
	}
	return -1;
}

void socket_bound(int fd)
{
	uint64_t in_flight = socket_rtt_us(fd) * NEAR_BYTES_PER_US;
	int value;

	if (fd < 0 || in_flight >= NEAR_BUFFER_MAX)
		return;
	value = (int)max_u64(in_flight, NEAR_BUFFER_MIN);
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &value, sizeof(value));
}

uint64_t socket_rtt_us(int fd)
{
	struct tcp_info info = {0};
	socklen_t len = sizeof(info);

	if (fd < 0 || getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) < 0)
		return 0;
	return info.tcpi_rtt;
}
