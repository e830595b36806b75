/*
 * window_clamp.c - does TCP_WINDOW_CLAMP stop a sender that we have stopped reading from?
 *
 * Assumed by src/net of a held transfer: anybody may clamp a connected socket; then the kernel
 * takes in no more than it had promised already, and what it holds all but stops growing; and when
 * the clamp is lifted, reading goes on. exit 1 if it is not so.
 *
 * Not assumed, because it is not so: that a clamp set beforehand bounds what is held. The kernel
 * lifts it by itself each time it enlarges the receive buffer of a reader that keeps up. Behind a
 * link of 8 MiB/s with a queue of 100 ms it promises some 1.5 bandwidth-delay products, clamped at
 * the hold 1.2; on loopback up to all of tcp_rmem, which takes milliseconds to arrive.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/base.h"
#include "base/clock.h"

#define MIB (UINT64_C(1) << 20)
/* What probes of a closed window bring in a quarter of a second. */
#define TRICKLE (64 * 1024)

static void *send_for_ever(void *user)
{
	static char buf[1 << 20];
	int fd = *(int *)user;

	while (send(fd, buf, sizeof(buf), MSG_NOSIGNAL) > 0)
		;
	return NULL;
}

static int queued(int fd)
{
	int n = 0;

	return ioctl(fd, FIONREAD, &n) < 0 ? -1 : n;
}

static void clamp(int fd, int value)
{
	if (setsockopt(fd, IPPROTO_TCP, TCP_WINDOW_CLAMP, &value, sizeof(value)) < 0) {
		perror("TCP_WINDOW_CLAMP");
		exit(1);
	}
}

/* MiB/s of reading bytes. */
static uint64_t read_bytes(int fd, uint64_t bytes)
{
	static char buf[512 * 1024];
	uint64_t begun = clock_now_us(), left = bytes;

	while (left > 0) {
		ssize_t n = recv(fd, buf, sizeof(buf), 0);

		if (n <= 0)
			exit(2);
		left -= min_u64((uint64_t)n, left);
	}
	return bytes / MIB * USEC_PER_SEC / max_u64(clock_now_us() - begun, 1);
}

static int connected_pair(int *ret_peer)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(a);
	int listener = socket(AF_INET, SOCK_STREAM, 0), fd = socket(AF_INET, SOCK_STREAM, 0);

	if (bind(listener, (struct sockaddr *)&a, sizeof(a)) < 0 || listen(listener, 1) < 0 ||
	    getsockname(listener, (struct sockaddr *)&a, &len) < 0 ||
	    connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0)
		exit(2);
	*ret_peer = accept(listener, NULL, NULL);
	close(listener);
	return fd;
}

int main(void)
{
	pthread_t sender;
	int peer, fd = connected_pair(&peer), held = 0, later = 0;
	uint64_t before, after;

	pthread_create(&sender, NULL, send_for_ever, &peer);
	before = read_bytes(fd, 256 * MIB);
	clamp(fd, 1024);
	for (unsigned int tries = 0; tries < 40; tries++) {
		held = queued(fd);
		poll(NULL, 0, 250);
		later = queued(fd);
		if (later - held <= TRICKLE)
			break;
	}
	clamp(fd, INT32_MAX / 2);
	after = read_bytes(fd, 256 * MIB);
	printf("held %d KiB, a quarter of a second later %d; MiB/s before %llu, after %llu\n",
	       held / 1024, later / 1024, (unsigned long long)before, (unsigned long long)after);
	close(fd);
	pthread_join(sender, NULL);
	close(peer);
	return later - held <= TRICKLE ? 0 : 1;
}
