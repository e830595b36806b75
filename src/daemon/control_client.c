/*
 * control_client.c - the other side of the control socket: commands that talk to a mount
 *
 * Used by src/cli alone, in processes of one thread.
 */
#include "daemon/control.h"

#include <dirent.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/xattr.h>

#include "daemon/paths.h"

#define LINE_BYTES_MAX (UINT64_C(1) << 30) /* a status of 10^6 files is some 300 MB */

int control_connect_path(const char *path, struct control_client *ret)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd;

	if (strlen(path) >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	memcpy(addr.sun_path, path, strlen(path) + 1);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0) {
		int r = -errno;

		close(fd);
		return r;
	}
	*ret = (struct control_client){.fd = fd};
	return 0;
}

int control_connect(const char *mountpoint, struct control_client *ret,
		    char error[CONTROL_ERROR_MAX])
{
	char path[CONTROL_PATH_MAX];
	ssize_t n = getxattr(mountpoint, "user.rgetfs.control", path, sizeof(path) - 1);
	int r;

	if (n < 0) {
		r = -errno;
		if (r == -ENOTCONN)
			snprintf(
				error, CONTROL_ERROR_MAX,
				"%s: the daemon of this mount is dead (rgetfs unmount %s frees it)",
				mountpoint, mountpoint);
		else if (r == -ENODATA || r == -EOPNOTSUPP)
			snprintf(error, CONTROL_ERROR_MAX, "%s: not a mountpoint of rgetfs",
				 mountpoint);
		else
			snprintf(error, CONTROL_ERROR_MAX, "%s: %s", mountpoint, strerror(-r));
		return r;
	}
	path[n] = '\0';
	r = control_connect_path(path, ret);
	if (r < 0)
		snprintf(error, CONTROL_ERROR_MAX, "%s: its control socket %s does not answer: %s",
			 mountpoint, path, strerror(-r));
	return r;
}

void control_disconnect(struct control_client *c)
{
	if (c->fd >= 0)
		close(c->fd);
	free(c->buf);
	*c = (struct control_client){.fd = -1};
}

void control_patience(struct control_client *c, unsigned int seconds)
{
	const struct timeval tv = {.tv_sec = (time_t)seconds};

	setsockopt(c->fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
}

static const char *call_words(int error)
{
	if (error == -EPIPE)
		return "the daemon ended before it answered";
	if (error == -EAGAIN)
		return "the daemon does not answer (rgetfs unmount --force frees the mount)";
	return strerror(-error);
}

static int send_request(int fd, const json_t *request)
{
	char *text = json_dumps(request, JSON_COMPACT);
	size_t len, done = 0;
	int r = 0;

	if (!text)
		return -ENOMEM;
	len = strlen(text);
	text[len++] = '\n'; /* in the place of the terminator */
	while (r == 0 && done < len) {
		ssize_t n = send(fd, text + done, len - done, MSG_NOSIGNAL);

		if (n >= 0)
			done += (size_t)n;
		else if (errno != EINTR)
			r = -errno;
	}
	free(text);
	return r;
}

static int more_room(struct control_client *c)
{
	size_t room = c->room ? c->room * 2 : 65536;
	char *buf;

	if (room > LINE_BYTES_MAX)
		return -EMSGSIZE;
	buf = realloc(c->buf, room);
	if (!buf)
		return -ENOMEM;
	c->buf = buf;
	c->room = room;
	return 0;
}

/* The next line as JSON (a new reference). 0, -EPIPE (the daemon has ended), -EPROTO, … */
static int next_line(struct control_client *c, json_t **ret)
{
	size_t looked = 0;

	for (;;) {
		char *nl = c->len > looked ? memchr(c->buf + looked, '\n', c->len - looked) : NULL;
		ssize_t n;
		int r;

		if (nl) {
			size_t len = (size_t)(nl - c->buf);

			*ret = json_loadb(c->buf, len, 0, NULL);
			c->len -= len + 1;
			memmove(c->buf, nl + 1, c->len);
			return *ret ? 0 : -EPROTO;
		}
		looked = c->len;
		if (c->len == c->room) {
			r = more_room(c);
			if (r < 0)
				return r;
		}
		n = recv(c->fd, c->buf + c->len, c->room - c->len, 0);
		if (n == 0)
			return -EPIPE;
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0)
			c->len += (size_t)n;
	}
}

/* The last line of a call. */
static int take_answer(json_t *line, json_t **ret_result, char error[CONTROL_ERROR_MAX])
{
	const char *words;
	json_int_t code;

	if (json_is_true(json_object_get(line, "ok"))) {
		*ret_result = json_incref(json_object_get(line, "result"));
		return 0;
	}
	words = json_string_value(json_object_get(line, "error"));
	code = json_integer_value(json_object_get(line, "errno"));
	snprintf(error, CONTROL_ERROR_MAX, "%s", words ? words : "the daemon gives no reason");
	return code > 0 && code < 4096 ? -(int)code : -EIO;
}

int control_call(struct control_client *c, json_t *request,
		 void (*progress)(void *ctx, const json_t *line), void *ctx, json_t **ret_result,
		 char error[CONTROL_ERROR_MAX])
{
	int r = request ? send_request(c->fd, request) : -ENOMEM;

	json_decref(request);
	while (r == 0) {
		json_t *line = NULL, *step;

		r = next_line(c, &line);
		if (r < 0)
			break;
		step = json_object_get(line, "progress");
		if (!step) {
			r = take_answer(line, ret_result, error);
			json_decref(line);
			return r;
		}
		if (progress)
			progress(ctx, step);
		json_decref(line);
	}
	snprintf(error, CONTROL_ERROR_MAX, "%s", call_words(r));
	return r;
}

int control_wait_end(struct control_client *c, int timeout_ms)
{
	struct pollfd p = {.fd = c->fd, .events = POLLIN};
	char byte;
	int n;

	do
		n = poll(&p, 1, timeout_ms);
	while (n < 0 && errno == EINTR);
	return n > 0 && recv(c->fd, &byte, 1, 0) <= 0 ? 0 : -ETIMEDOUT;
}

int control_each(int (*fn)(void *ctx, struct control_client *c), void *ctx)
{
	char dir[CONTROL_PATH_MAX], path[CONTROL_PATH_MAX + 256];
	struct dirent *d;
	DIR *list;
	int r;

	r = control_dir(dir, sizeof(dir));
	if (r < 0)
		return r;
	list = opendir(dir);
	if (!list)
		return -errno;
	while (r == 0 && (d = readdir(list))) {
		size_t len = strlen(d->d_name);
		struct control_client c;
		int failed;

		if (len < 6 || strcmp(d->d_name + len - 5, ".sock") != 0)
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, d->d_name);
		failed = control_connect_path(path, &c);
		if (failed == -ECONNREFUSED)
			unlink(path); /* a dead daemon's */
		if (failed)
			continue;
		r = fn(ctx, &c);
		control_disconnect(&c);
	}
	closedir(list);
	return r;
}
