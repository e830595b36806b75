/*
 * control_client.c - the other side of the control socket: commands that talk to a mount
 *
 * Used by src/cli alone, in processes of one thread. Nothing here waits for ever on a daemon that
 * hangs: its mountpoint is asked by a child that may be left behind, and while an answer takes its
 * time the daemon must say that it is alive.
 */
#include "daemon/control.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#include "base/clock.h"
#include "daemon/mounts.h"
#include "daemon/paths.h"

#define PATIENCE_S     10 /* for anything that takes no time */
#define BACKLOG_S      1  /* to get into a full one, of many daemons */
#define DAEMONS_MAX    256
#define GONE_POLL_MS   50
#define LINE_BYTES_MAX (UINT64_C(1) << 30) /* a status of 10^6 files is some 300 MB */

/* Each send and each line of an answer, and connecting (a full backlog). 0: for ever. */
static void set_timeouts(int fd, unsigned int seconds)
{
	const struct timeval tv = {.tv_sec = (time_t)seconds};

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
}

static int connect_within(const char *path, unsigned int seconds, struct control_client *ret)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd;

	if (strlen(path) >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	memcpy(addr.sun_path, path, strlen(path) + 1);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	set_timeouts(fd, seconds);
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0) {
		int r = -errno;

		close(fd);
		return r;
	}
	*ret = (struct control_client){.fd = fd};
	memcpy(ret->path, path, strlen(path) + 1);
	return 0;
}

int control_connect_path(const char *path, struct control_client *ret)
{
	return connect_within(path, PATIENCE_S, ret);
}

/* poll()'s; one that is over looks at what is there. */
static int ms_until(uint64_t until_us)
{
	uint64_t now_us = clock_now_us();

	return until_us <= now_us ? 0 : (int)((until_us - now_us + USEC_PER_MS - 1) / USEC_PER_MS);
}

struct answer {
	int error;
	char path[CONTROL_PATH_MAX];
};

/* The child's: who asks a daemon that hangs can't even be killed. */
static void ask_mountpoint(const char *mountpoint, int fd)
{
	struct answer answer = {0};
	ssize_t n =
		getxattr(mountpoint, "user.rgetfs.control", answer.path, sizeof(answer.path) - 1);

	answer.error = n < 0 ? errno : 0;
	_exit(write(fd, &answer, sizeof(answer)) == (ssize_t)sizeof(answer) ? 0 : 1);
}

void control_question_begin(struct control_question *q, const char *mountpoint)
{
	int fds[2];

	*q = (struct control_question){.fd = -1};
	if (pipe2(fds, O_CLOEXEC) < 0) {
		q->error = -errno;
		return;
	}
	q->pid = fork();
	if (q->pid == 0)
		ask_mountpoint(mountpoint, fds[1]);
	if (q->pid < 0)
		q->error = -errno;
	close(fds[1]);
	q->fd = fds[0];
}

/* Where is the socket? 0, -ETIMEDOUT (it hangs), -errno. */
static int question_end(struct control_question *q, uint64_t until_us, char path[CONTROL_PATH_MAX])
{
	struct pollfd p = {.fd = q->fd, .events = POLLIN};
	struct answer answer = {0};
	int n = 0, r = q->error ? q->error : -ETIMEDOUT;

	if (q->pid > 0) {
		do
			n = poll(&p, 1, ms_until(until_us));
		while (n < 0 && errno == EINTR);
	}
	if (n > 0) {
		r = read(q->fd, &answer, sizeof(answer)) == (ssize_t)sizeof(answer) ? -answer.error
										    : -EIO;
		memcpy(path, answer.path, sizeof(answer.path));
	}
	if (q->fd >= 0)
		close(q->fd);
	if (q->pid > 0 && n <= 0)
		kill(q->pid, SIGKILL);
	if (q->pid > 0)
		waitpid(q->pid, NULL, n > 0 ? 0 : WNOHANG);
	return r;
}

/* Refused because the mount is another user's? */
static bool say_owner(const char *mountpoint, int r, char error[CONTROL_ERROR_MAX])
{
	struct mount_entry m;
	char user[64];

	if ((r != -EACCES && r != -EPERM) || mounts_at(mountpoint, &m) < 0)
		return false;
	if (m.uid != geteuid())
		snprintf(error, CONTROL_ERROR_MAX, "%s: mounted by %s (only they and root may ask)",
			 mountpoint, mount_entry_user(&m, user, sizeof(user)));
	r = m.uid != geteuid();
	mount_entry_done(&m);
	return r;
}

uint64_t control_patience(void)
{
	return clock_now_us() + PATIENCE_S * USEC_PER_SEC;
}

int control_connect(const char *mountpoint, struct control_client *ret,
		    char error[CONTROL_ERROR_MAX])
{
	struct control_question q;

	control_question_begin(&q, mountpoint);
	return control_question_connect(&q, mountpoint, control_patience(), ret, error);
}

int control_question_connect(struct control_question *q, const char *mountpoint, uint64_t until_us,
			     struct control_client *ret, char error[CONTROL_ERROR_MAX])
{
	char path[CONTROL_PATH_MAX];
	int r = question_end(q, until_us, path);

	if (r < 0) {
		if (say_owner(mountpoint, r, error))
			return r;
		if (r == -ENOTCONN)
			snprintf(
				error, CONTROL_ERROR_MAX,
				"%s: the daemon of this mount is dead (rgetfs unmount %s frees it)",
				mountpoint, mountpoint);
		else if (r == -ENODATA || r == -EOPNOTSUPP)
			snprintf(error, CONTROL_ERROR_MAX,
				 "%s: not a mountpoint of rgetfs (rgetfs status lists them)",
				 mountpoint);
		else if (r == -ETIMEDOUT)
			snprintf(error, CONTROL_ERROR_MAX, "%s: " CONTROL_SILENT, mountpoint);
		else
			snprintf(error, CONTROL_ERROR_MAX, "%s: %s", mountpoint, strerror(-r));
		return r;
	}
	r = control_connect_path(path, ret);
	if (r == -EAGAIN) {
		r = -ETIMEDOUT;
		snprintf(error, CONTROL_ERROR_MAX, "%s: " CONTROL_SILENT, mountpoint);
	} else if (r < 0 && !say_owner(mountpoint, r, error)) {
		snprintf(error, CONTROL_ERROR_MAX, "%s: its control socket %s does not answer: %s",
			 mountpoint, path, strerror(-r));
	}
	return r;
}

void control_disconnect(struct control_client *c)
{
	if (c->fd >= 0)
		close(c->fd);
	free(c->buf);
	*c = (struct control_client){.fd = -1};
}

static const char *call_words(int error)
{
	if (error == -EPIPE || error == -ECONNRESET)
		return "the daemon ended before it answered";
	if (error == -ETIMEDOUT)
		return CONTROL_SILENT;
	return strerror(-error);
}

static void send_ping(const struct control_client *c)
{
	static const char ping[] = "{\"command\":\"ping\"}\n";

	send(c->fd, ping, strlen(ping), MSG_NOSIGNAL); /* it may have hung up on us with a word */
}

/* Does the daemon answer anything at all, even that it has too much to do? */
static bool alive(const char *path)
{
	struct control_client c;
	char byte;
	bool answers;

	if (control_connect_path(path, &c) < 0)
		return false;
	send_ping(&c);
	answers = recv(c.fd, &byte, 1, 0) == 1;
	control_disconnect(&c);
	return answers;
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
			r = errno == EAGAIN ? -ETIMEDOUT : -errno;
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

/* The next line as JSON (a new reference). 0, -EPIPE (the daemon has ended), -ETIMEDOUT, -EPROTO, …
 */
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
		if (n < 0 && errno == EAGAIN && !alive(c->path))
			return -ETIMEDOUT;
		if (n < 0 && errno != EINTR && errno != EAGAIN)
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
	/* Who was not let in has been told why; and hung up on. */
	if (r == -EPIPE || r == -ECONNRESET)
		r = 0;
	while (r == 0) {
		json_t *line = NULL, *step;

		r = next_line(c, &line);
		if (r < 0)
			break;
		step = json_object_get(line, "progress");
		if (!step) {
			r = take_answer(line, ret_result, error);
			c->refused = r == -EBUSY;
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

/* Not let in: its socket is removed as the last thing but the connections. */
static int wait_gone(const char *path, int timeout_ms)
{
	const struct timespec pause = {.tv_nsec = GONE_POLL_MS * 1000000L};

	for (int waited = 0; access(path, F_OK) == 0; waited += GONE_POLL_MS) {
		if (waited >= timeout_ms)
			return -ETIMEDOUT;
		nanosleep(&pause, NULL);
	}
	return 0;
}

int control_wait_end(struct control_client *c, int timeout_ms)
{
	struct pollfd p = {.fd = c->fd, .events = POLLIN};
	char byte;
	int n;

	do
		n = poll(&p, 1, timeout_ms);
	while (n < 0 && errno == EINTR);
	if (n <= 0 || recv(c->fd, &byte, 1, 0) > 0)
		return -ETIMEDOUT;
	return c->refused ? wait_gone(c->path, timeout_ms) : 0;
}

struct daemons {
	struct control_client client[DAEMONS_MAX];
	struct pollfd poll[DAEMONS_MAX];
	size_t count;
	unsigned int silent;
};

/* A ping to each: who answers is alive. */
static void ping_all(struct daemons *all, DIR *list, const char *dir)
{
	char path[CONTROL_PATH_MAX + 256];
	struct dirent *d;

	while (all->count < DAEMONS_MAX && (d = readdir(list))) {
		struct control_client *c = &all->client[all->count];
		size_t len = strlen(d->d_name);
		int r;

		if (len < 6 || strcmp(d->d_name + len - 5, ".sock") != 0)
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, d->d_name);
		r = connect_within(path, BACKLOG_S, c);
		if (r == -ECONNREFUSED)
			unlink(path); /* a dead daemon's */
		all->silent += r == -EAGAIN;
		if (r < 0)
			continue;
		send_ping(c);
		all->poll[all->count++] = (struct pollfd){.fd = c->fd, .events = POLLIN};
	}
}

/* fn for those that have answered. */
static int take_answers(struct daemons *all, int (*fn)(void *ctx, struct control_client *c),
			void *ctx)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < all->count; i++) {
		struct control_client c;

		if (all->poll[i].fd < 0 || !all->poll[i].revents)
			continue;
		all->poll[i].fd = -1;
		if (control_connect_path(all->client[i].path, &c) < 0)
			continue;
		r = fn(ctx, &c);
		control_disconnect(&c);
	}
	return r;
}

int control_each(int (*fn)(void *ctx, struct control_client *c), void *ctx,
		 unsigned int *ret_silent)
{
	uint64_t until_us = control_patience();
	struct daemons *all;
	char dir[CONTROL_PATH_MAX];
	DIR *list;
	int n, r;

	r = control_dir(dir, sizeof(dir));
	if (r < 0)
		return r;
	list = opendir(dir);
	if (!list)
		return -errno;
	all = calloc(1, sizeof(*all));
	if (!all) {
		closedir(list);
		return -ENOMEM;
	}
	ping_all(all, list, dir);
	closedir(list);
	for (size_t left = all->count; r == 0 && left > 0; left -= (size_t)n) {
		n = poll(all->poll, all->count, ms_until(until_us));
		if (n < 0 && errno == EINTR)
			n = 0;
		else if (n <= 0)
			break;
		else
			r = take_answers(all, fn, ctx);
	}
	for (size_t i = 0; i < all->count; i++) {
		all->silent += all->poll[i].fd >= 0;
		control_disconnect(&all->client[i]);
	}
	*ret_silent = all->silent;
	free(all);
	return r;
}
