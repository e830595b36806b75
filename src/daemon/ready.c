/*
 * ready.c - go to the background, and let the foreground wait until it worked
 *
 * One pipe. The child writes "+" when it is ready, or "-" and a line. An end without either means
 * that it died, which the parent says as well.
 */
#include "daemon/ready.h"

#include <fcntl.h>
#include <stdarg.h>

#define TEXT_MAX 2048

static int wait_for(int fd)
{
	char text[TEXT_MAX];
	size_t len = 0;
	ssize_t n;

	do {
		n = read(fd, text + len, sizeof(text) - 1 - len);
		if (n > 0)
			len += (size_t)n;
	} while ((n > 0 && len < sizeof(text) - 1) || (n < 0 && errno == EINTR));
	text[len] = '\0';
	if (text[0] == '+')
		return 0;
	fprintf(stderr, "rgetfs: %s\n",
		text[0] == '-' ? text + 1
			       : "the background process ended before it was ready (-f shows why)");
	return 1;
}

int ready_fork(struct ready *ret, int *ret_status)
{
	int fds[2];
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	pid = fork();
	if (pid < 0) {
		int r = -errno;

		close(fds[0]);
		close(fds[1]);
		return r;
	}
	if (pid > 0) {
		close(fds[1]);
		*ret_status = wait_for(fds[0]);
		close(fds[0]);
		return 1;
	}
	close(fds[0]);
	ret->fd = fds[1];
	return 0;
}

static void tell(struct ready *r, const char *text)
{
	size_t len = strlen(text);

	while (len > 0) {
		ssize_t n = write(r->fd, text, len);

		if (n < 0 && errno != EINTR)
			break; /* the parent is gone; nobody is left to be told */
		if (n > 0) {
			text += n;
			len -= (size_t)n;
		}
	}
	close(r->fd);
	r->fd = -1;
}

void ready_fail(struct ready *r, const char *fmt, ...)
{
	char text[TEXT_MAX] = "-";
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text + 1, sizeof(text) - 1, fmt, ap);
	va_end(ap);
	if (r->fd < 0)
		fprintf(stderr, "rgetfs: %s\n", text + 1);
	else
		tell(r, text);
}

void ready_ok(struct ready *r)
{
	int null;

	if (r->fd < 0)
		return;
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null >= 0) {
		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
		if (null > STDERR_FILENO)
			close(null);
	}
	tell(r, "+");
}
