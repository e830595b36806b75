/*
 * control.c - the daemon's side of the control socket
 *
 * One thread accepts; each connection has a thread that reads a line, runs the handler and writes
 * the answer. After control_stop() the descriptors of connections stay open until control_free(),
 * because their closing tells the client that the daemon has ended.
 */
#include "daemon/control.h"

#include <assert.h>
#include <bsd/sys/queue.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/lock.h"
#include "base/log.h"
#include "daemon/paths.h"

#define SEND_TIMEOUT_S	 30 /* a client that does not read loses its connection */
#define NO_DESCRIPTOR_MS 50 /* before the next try */
#define REFUSAL		 "{\"ok\":false,\"error\":\"" CONTROL_BUSY "\",\"errno\":16}\n"
/* The usual 8 MiB of address space are not there under a small ulimit -v. */
#define COMMAND_STACK ((size_t)1 << 20)
#define CONTROL_BUSY  "the daemon has too many commands at once (try again)"
_Static_assert(EBUSY == 16, "as REFUSAL has it");

struct command {
	const char *name;
	control_handler fn;
	void *ctx;
	bool takes_long;
};

struct connection {
	LIST_ENTRY(connection) link;
	struct control *control;
	int fd;
};

struct control_call {
	struct connection *conn;
	char words[CONTROL_ERROR_MAX];
};

struct control {
	char path[CONTROL_PATH_MAX];
	int fd, stop_fd; /* stop_fd becomes readable for good when stopping */
	/*
	 * Given up for a moment to take a connection where the process has no descriptor left: who
	 * is not taken waits for ever, without a word. The accepting thread's; -1: not to be had.
	 */
	int reserve_fd;
	unsigned int max;
	pthread_t thread;
	bool running;
	struct command *commands;
	size_t command_count;

	struct mtx lock; /* RANK_CONTROL; guards all below */
	struct cnd ended;
	LIST_HEAD(connection_list, connection) connections;
	unsigned int count, threads;
	unsigned int long_ones; /* commands that run */
	bool stopping;
};

/* ---- lines ---- */

static int send_all(int fd, const char *data, size_t len)
{
	while (len > 0) {
		ssize_t n = send(fd, data, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -EPIPE;
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

static int send_json(int fd, const json_t *j)
{
	char *text = json_dumps(j, JSON_COMPACT);
	int r;

	if (!text)
		return -ENOMEM;
	r = send_all(fd, text, strlen(text));
	if (r == 0)
		r = send_all(fd, "\n", 1);
	free(text);
	return r;
}

/* One line without its end into *buf. 0; -EPIPE: the client is gone or we end; -EMSGSIZE. */
static int read_line(struct control *c, int fd, char *buf, size_t size, size_t *used,
		     size_t *ret_len)
{
	for (;;) {
		struct pollfd p[2] = {{.fd = fd, .events = POLLIN},
				      {.fd = c->stop_fd, .events = POLLIN}};
		char *nl = memchr(buf, '\n', *used);
		ssize_t n;

		if (nl) {
			*ret_len = (size_t)(nl - buf);
			return 0;
		}
		if (*used == size)
			return -EMSGSIZE;
		if (poll(p, 2, -1) < 0 && errno != EINTR)
			return -errno;
		if (p[1].revents)
			return -ESHUTDOWN;
		n = recv(fd, buf + *used, size - *used, MSG_DONTWAIT);
		if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
			return -EPIPE;
		if (n > 0)
			*used += (size_t)n;
	}
}

/* ---- requests ---- */

static const struct command *command_find(const struct control *c, const char *name)
{
	for (size_t i = 0; i < c->command_count; i++) {
		if (strcmp(c->commands[i].name, name) == 0)
			return &c->commands[i];
	}
	return NULL;
}

/* Counted, where cmd may take long: false: no more of these. */
static bool long_enter(struct control *c, const struct command *cmd)
{
	bool room;

	if (!cmd->takes_long)
		return true;
	mtx_lock(&c->lock);
	room = c->long_ones < c->max - CONTROL_SHORT_KEPT;
	c->long_ones += room;
	mtx_unlock(&c->lock);
	return room;
}

static void long_leave(struct control *c, const struct command *cmd)
{
	if (!cmd->takes_long)
		return;
	mtx_lock(&c->lock);
	c->long_ones--;
	mtx_unlock(&c->lock);
}

static json_t *run(struct connection *conn, const json_t *request)
{
	struct control_call call = {.conn = conn};
	const char *name = json_string_value(json_object_get(request, "command"));
	const struct command *cmd = name ? command_find(conn->control, name) : NULL;
	json_t *result = NULL;
	int r;

	if (!cmd) {
		r = control_explain(&call, -ENOSYS, "the daemon does not know the command \"%s\"",
				    name ? name : "");
	} else if (!long_enter(conn->control, cmd)) {
		r = control_explain(&call, -EBUSY, CONTROL_BUSY);
	} else {
		r = cmd->fn(cmd->ctx, &call, request, &result);
		long_leave(conn->control, cmd);
	}
	if (r < 0)
		return json_pack("{s:b,s:s,s:i}", "ok", 0, "error",
				 call.words[0] ? call.words : strerror(-r), "errno", -r);
	return json_pack("{s:b,s:o}", "ok", 1, "result", result ? result : json_object());
}

static int answer(struct connection *conn, const char *line, size_t len)
{
	json_error_t je;
	json_t *request = json_loadb(line, len, JSON_REJECT_DUPLICATES, &je);
	json_t *response;
	int r;

	if (json_is_object(request))
		response = run(conn, request);
	else
		response = json_pack("{s:b,s:s,s:i}", "ok", 0, "error", "not a JSON object",
				     "errno", EINVAL);
	json_decref(request);
	r = response ? send_json(conn->fd, response) : -ENOMEM;
	json_decref(response);
	return r;
}

static void serve(struct connection *conn)
{
	char *buf = malloc(CONTROL_REQUEST_MAX);
	size_t used = 0, len = 0;

	while (buf &&
	       read_line(conn->control, conn->fd, buf, CONTROL_REQUEST_MAX, &used, &len) == 0) {
		if (answer(conn, buf, len) < 0)
			break;
		used -= len + 1;
		memmove(buf, buf + len + 1, used);
	}
	free(buf);
}

static void *connection_run(void *arg)
{
	struct connection *conn = arg;
	struct control *c = conn->control;
	bool keep;

	serve(conn);
	mtx_lock(&c->lock);
	keep = c->stopping;
	if (!keep) {
		LIST_REMOVE(conn, link);
		c->count--;
	}
	mtx_unlock(&c->lock);
	if (!keep) {
		close(conn->fd);
		free(conn);
	}
	/* Last: control_stop() returns, and may free everything, when no thread is counted any
	 * more. */
	mtx_lock(&c->lock);
	if (--c->threads == 0)
		cnd_broadcast(&c->ended);
	mtx_unlock(&c->lock);
	return NULL;
}

static bool peer_allowed(int fd)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) == 0 &&
	       (cred.uid == geteuid() || cred.uid == 0);
}

/* True: conn is entered, with a thread about to run for it. */
static bool enter(struct control *c, struct connection *conn)
{
	bool room;

	mtx_lock(&c->lock);
	room = !c->stopping && c->count < c->max;
	if (room) {
		LIST_INSERT_HEAD(&c->connections, conn, link);
		c->count++;
		c->threads++;
	}
	mtx_unlock(&c->lock);
	return room;
}

static void leave(struct control *c, struct connection *conn)
{
	mtx_lock(&c->lock);
	LIST_REMOVE(conn, link);
	c->count--;
	c->threads--;
	mtx_unlock(&c->lock);
}

static void refuse(int fd)
{
	send(fd, REFUSAL, strlen(REFUSAL), MSG_NOSIGNAL | MSG_DONTWAIT);
	close(fd);
}

static void take(struct control *c, int fd)
{
	struct timeval timeout = {.tv_sec = SEND_TIMEOUT_S};
	struct connection *conn;
	pthread_attr_t attr;
	pthread_t thread;

	if (!peer_allowed(fd)) {
		close(fd);
		return;
	}
	conn = calloc(1, sizeof(*conn));
	if (!conn) {
		refuse(fd);
		return;
	}
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
	*conn = (struct connection){.control = c, .fd = fd};
	if (!enter(c, conn)) {
		free(conn);
		refuse(fd);
		return;
	}
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, COMMAND_STACK);
	if (pthread_create(&thread, &attr, connection_run, conn) != 0) {
		leave(c, conn);
		free(conn);
		refuse(fd);
	}
	pthread_attr_destroy(&attr);
}

static void reserve(struct control *c)
{
	if (c->reserve_fd < 0)
		c->reserve_fd = fcntl(c->stop_fd, F_DUPFD_CLOEXEC, 0);
}

static void accept_one(struct control *c)
{
	struct pollfd stop = {.fd = c->stop_fd, .events = POLLIN};
	int fd = accept4(c->fd, NULL, NULL, SOCK_CLOEXEC);

	if (fd >= 0) {
		take(c, fd);
		reserve(c);
		return;
	}
	if (errno != EMFILE && errno != ENFILE)
		return;
	if (c->reserve_fd >= 0) {
		close(c->reserve_fd);
		c->reserve_fd = -1;
		fd = accept4(c->fd, NULL, NULL, SOCK_CLOEXEC);
		if (fd >= 0)
			refuse(fd);
	}
	reserve(c);
	if (fd < 0)
		poll(&stop, 1, NO_DESCRIPTOR_MS);
}

static void *accept_run(void *arg)
{
	struct control *c = arg;

	for (;;) {
		struct pollfd p[2] = {{.fd = c->fd, .events = POLLIN},
				      {.fd = c->stop_fd, .events = POLLIN}};

		if (poll(p, 2, -1) < 0 && errno != EINTR)
			return NULL;
		if (p[1].revents)
			return NULL;
		if (p[0].revents)
			accept_one(c);
	}
}

/* ---- for handlers ---- */

bool control_cancelled(struct control_call *call)
{
	struct control *c = call->conn->control;
	struct pollfd p[2] = {{.fd = call->conn->fd, .events = POLLRDHUP},
			      {.fd = c->stop_fd, .events = POLLIN}};

	return poll(p, 2, 0) > 0 &&
	       ((p[0].revents & (POLLRDHUP | POLLHUP | POLLERR)) || p[1].revents);
}

int control_progress(struct control_call *call, json_t *progress)
{
	json_t *line = json_pack("{s:o}", "progress", progress);
	int r;

	if (!line)
		return -ENOMEM;
	r = send_json(call->conn->fd, line);
	json_decref(line);
	return r;
}

int control_explain(struct control_call *call, int error, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(call->words, sizeof(call->words), fmt, ap);
	va_end(ap);
	return error;
}

/* ---- life ---- */

static int bind_socket(struct control *c)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	char dir[CONTROL_PATH_MAX - 32];
	int r;

	r = control_dir(dir, sizeof(dir));
	if (r < 0)
		return r;
	snprintf(c->path, sizeof(c->path), "%s/%d.sock", dir, (int)getpid());
	/* It gets its name when it answers: who finds one that doesn't may take its daemon for
	 * dead. */
	if ((size_t)snprintf(addr.sun_path, sizeof(addr.sun_path), "%s.new", c->path) >=
	    sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	unlink(addr.sun_path); /* our PID: whoever left it is dead */
	c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (c->fd < 0 || bind(c->fd, (struct sockaddr *)&addr, sizeof(addr)) < 0 ||
	    listen(c->fd, 16) < 0 || rename(addr.sun_path, c->path) < 0)
		return -errno;
	return 0;
}

int control_new(struct control **ret)
{
	struct control *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return -ENOMEM;
	c->fd = c->reserve_fd = -1;
	c->max = CONTROL_CONNECTIONS_MAX;
	mtx_init(&c->lock, RANK_CONTROL, "control");
	cnd_init(&c->ended);
	LIST_INIT(&c->connections);
	c->stop_fd = eventfd(0, EFD_CLOEXEC);
	r = c->stop_fd < 0 ? -errno : bind_socket(c);
	reserve(c);
	if (r < 0) {
		c->path[0] = '\0';
		control_free(c);
		return r;
	}
	*ret = c;
	return 0;
}

const char *control_path(const struct control *c)
{
	return c->path;
}

static int add(struct control *c, struct command command)
{
	struct command *more = realloc(c->commands, (c->command_count + 1) * sizeof(*c->commands));

	if (!more)
		return -ENOMEM;
	c->commands = more;
	c->commands[c->command_count++] = command;
	return 0;
}

int control_register(struct control *c, const char *name, control_handler fn, void *ctx)
{
	return add(c, (struct command){name, fn, ctx, false});
}

int control_register_long(struct control *c, const char *name, control_handler fn, void *ctx)
{
	return add(c, (struct command){name, fn, ctx, true});
}

void control_set_max(struct control *c, unsigned int max)
{
	assert(max >= 2 * CONTROL_SHORT_KEPT && max <= CONTROL_CONNECTIONS_MAX);
	c->max = max;
}

int control_start(struct control *c)
{
	int r = pthread_create(&c->thread, NULL, accept_run, c);

	c->running = r == 0;
	return -r;
}

void control_stop(struct control *c)
{
	uint64_t one = 1;

	mtx_lock(&c->lock);
	c->stopping = true;
	mtx_unlock(&c->lock);
	if (write(c->stop_fd, &one, sizeof(one)) < 0)
		log_warn("control: %s", strerror(errno));
	if (c->running)
		pthread_join(c->thread, NULL);
	c->running = false;
	mtx_lock(&c->lock);
	while (c->threads)
		cnd_wait(&c->ended, &c->lock);
	mtx_unlock(&c->lock);
}

void control_free(struct control *c)
{
	struct connection *conn;

	if (!c)
		return;
	if (c->path[0])
		unlink(c->path);
	while ((conn = LIST_FIRST(&c->connections))) {
		LIST_REMOVE(conn, link);
		close(conn->fd);
		free(conn);
	}
	if (c->fd >= 0)
		close(c->fd);
	if (c->reserve_fd >= 0)
		close(c->reserve_fd);
	if (c->stop_fd >= 0)
		close(c->stop_fd);
	free(c->commands);
	cnd_done(&c->ended);
	mtx_done(&c->lock);
	free(c);
}
