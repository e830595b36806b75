/*
 * test_fetch_help.c - a server that says whatever a test wants, and a caller of fetch.h that writes
 * down what it is told
 */
#include "test_fetch_help.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdarg.h>
#include <sys/socket.h>

#include "base/clock.h"

#define REQUESTS_MAX	256
#define CONNECTIONS_MAX 256

struct conn {
	struct server *server;
	int fd;
	pthread_t thread;
};

struct server {
	pthread_mutex_t lock;
	int fd, port;
	char ip[64];
	serve_fn serve;
	void *user;
	pthread_t thread;
	int stop[2]; /* a pipe: readable at its end once the server stops */
	char *request[REQUESTS_MAX];
	unsigned int requests, connections;
	struct conn conn[CONNECTIONS_MAX];
};

void sleep_ms(unsigned int ms)
{
	poll(NULL, 0, (int)ms);
}

unsigned char content_at(uint64_t off)
{
	return (unsigned char)(off * 31 + (off >> 8) * 7 + (off >> 16) * 13 + 5);
}

/* False: the server stops, or nothing came in time. */
static bool wait_readable(struct server *s, int fd, int ms)
{
	struct pollfd p[2] = {{.fd = fd, .events = POLLIN}, {.fd = s->stop[0], .events = POLLIN}};

	return poll(p, 2, ms) > 0 && !p[1].revents;
}

bool conn_send(struct conn *c, const void *data, size_t len)
{
	const char *p = data;

	while (len > 0) {
		struct pollfd pfd[2] = {{.fd = c->fd, .events = POLLOUT},
					{.fd = c->server->stop[0], .events = POLLIN}};
		ssize_t n;

		if (poll(pfd, 2, 20000) <= 0 || pfd[1].revents)
			return false;
		n = send(c->fd, p, len, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == EAGAIN)
			continue;
		if (n <= 0)
			return false;
		p += n;
		len -= (size_t)n;
	}
	return true;
}

bool conn_say(struct conn *c, const char *fmt, ...)
{
	char buf[16384];
	va_list ap;
	int n;

	va_start(ap, fmt);
	/* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): clang 14 overlooks va_start */
	n = vsnprintf(buf, sizeof(buf), fmt, ap);
	va_end(ap);
	return conn_send(c, buf, (size_t)n);
}

bool conn_content(struct conn *c, uint64_t off, uint64_t end)
{
	unsigned char buf[16384];

	while (off < end) {
		size_t n = min_u64(sizeof(buf), end - off);

		for (size_t i = 0; i < n; i++)
			buf[i] = content_at(off + i);
		if (!conn_send(c, buf, n))
			return false;
		off += n;
	}
	return true;
}

bool conn_part(struct conn *c, uint64_t off, uint64_t end, uint64_t total, const char *extra)
{
	return conn_say(c,
			"HTTP/1.1 206 Partial Content\r\nContent-Range: bytes %llu-%llu/%llu\r\n"
			"Content-Length: %llu\r\n%s\r\n",
			(unsigned long long)off, (unsigned long long)end - 1,
			(unsigned long long)total, (unsigned long long)(end - off), extra);
}

bool conn_serve(struct conn *c, const char *request, uint64_t total)
{
	struct range r = request_range(request);

	r.end = min_u64(r.end, total);
	if (!request_has(request, "Range:"))
		conn_say(c, "HTTP/1.1 200 OK\r\nContent-Length: %llu\r\n\r\n",
			 (unsigned long long)total);
	else
		conn_part(c, r.off, r.end, total, "");
	return conn_content(c, r.off, r.end);
}

void conn_reset(struct conn *c)
{
	struct linger l = {.l_onoff = 1};

	setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
}

void conn_idle(struct conn *c, unsigned int ms)
{
	char byte;

	if (wait_readable(c->server, c->fd, (int)ms))
		(void)recv(c->fd, &byte, 1, MSG_PEEK);
}

bool request_has(const char *request, const char *line)
{
	char with_nl[256];

	snprintf(with_nl, sizeof(with_nl), "\n%s", line);
	return strcasestr(request, with_nl) != NULL;
}

struct range request_range(const char *request)
{
	const char *p = strcasestr(request, "\nRange: bytes=");
	struct range r = {0, SIZE_UNKNOWN};
	char *rest;

	if (!p)
		return r;
	r.off = strtoull(p + strlen("\nRange: bytes="), &rest, 10);
	if (rest[0] == '-' && rest[1] >= '0' && rest[1] <= '9')
		r.end = strtoull(rest + 1, NULL, 10) + 1;
	return r;
}

static bool conn_read_head(struct conn *c, char *buf, size_t size)
{
	size_t len = 0;

	while (len + 1 < size) {
		ssize_t n;

		if (!wait_readable(c->server, c->fd, 30000))
			return false;
		n = recv(c->fd, buf + len, 1, 0);
		if (n <= 0)
			return false;
		buf[++len] = '\0';
		if (buf[0] == 0x16) { /* a TLS handshake */
			conn_say(c, "HTTP/1.1 400 Bad Request\r\n\r\n");
			return false;
		}
		if (len >= 4 && memcmp(buf + len - 4, "\r\n\r\n", 4) == 0)
			return true;
	}
	return false;
}

static void *conn_main(void *user)
{
	struct conn *c = user;
	struct server *s = c->server;
	char buf[32768];

	while (conn_read_head(c, buf, sizeof(buf))) {
		pthread_mutex_lock(&s->lock);
		if (s->requests < REQUESTS_MAX)
			s->request[s->requests++] = strdup(buf);
		pthread_mutex_unlock(&s->lock);
		if (!s->serve(c, buf, s->user))
			break;
	}
	close(c->fd);
	return NULL;
}

static void *server_main(void *user)
{
	struct server *s = user;

	while (wait_readable(s, s->fd, -1)) {
		int fd = accept(s->fd, NULL, NULL);
		struct conn *c;

		if (fd < 0)
			continue;
		pthread_mutex_lock(&s->lock);
		ck_assert_uint_lt(s->connections, CONNECTIONS_MAX);
		c = &s->conn[s->connections++];
		*c = (struct conn){.server = s, .fd = fd};
		pthread_create(&c->thread, NULL, conn_main, c);
		pthread_mutex_unlock(&s->lock);
	}
	return NULL;
}

struct server *server_new(const char *ip, serve_fn serve, void *user)
{
	struct server *s = calloc(1, sizeof(*s));
	struct sockaddr_in a = {.sin_family = AF_INET};
	socklen_t len = sizeof(a);

	ck_assert_ptr_nonnull(s);
	pthread_mutex_init(&s->lock, NULL);
	s->serve = serve;
	s->user = user;
	snprintf(s->ip, sizeof(s->ip), "%s", ip);
	ck_assert_int_eq(inet_pton(AF_INET, ip, &a.sin_addr), 1);
	ck_assert_int_eq(pipe(s->stop), 0);
	s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_ge(s->fd, 0);
	ck_assert_int_eq(bind(s->fd, (struct sockaddr *)&a, sizeof(a)), 0);
	ck_assert_int_eq(listen(s->fd, 64), 0);
	ck_assert_int_eq(getsockname(s->fd, (struct sockaddr *)&a, &len), 0);
	s->port = ntohs(a.sin_port);
	pthread_create(&s->thread, NULL, server_main, s);
	return s;
}

void server_free(struct server *s)
{
	close(s->stop[1]);
	pthread_join(s->thread, NULL);
	for (unsigned int i = 0; i < s->connections; i++)
		pthread_join(s->conn[i].thread, NULL);
	for (unsigned int i = 0; i < s->requests; i++)
		free(s->request[i]);
	close(s->fd);
	close(s->stop[0]);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

const char *server_url(struct server *s, const char *path)
{
	static char url[8][512];
	static unsigned int next;
	char *u = url[next++ % 8];

	snprintf(u, sizeof(url[0]), "http://%s:%d%s", s->ip, s->port, path);
	return u;
}

unsigned int server_port(struct server *s)
{
	return (unsigned int)s->port;
}

unsigned int server_requests(struct server *s)
{
	unsigned int n;

	pthread_mutex_lock(&s->lock);
	n = s->requests;
	pthread_mutex_unlock(&s->lock);
	return n;
}

unsigned int server_connections(struct server *s)
{
	unsigned int n;

	pthread_mutex_lock(&s->lock);
	n = s->connections;
	pthread_mutex_unlock(&s->lock);
	return n;
}

const char *server_request(struct server *s, unsigned int n)
{
	const char *text = "";

	pthread_mutex_lock(&s->lock);
	if (n < s->requests)
		text = s->request[n];
	pthread_mutex_unlock(&s->lock);
	return text;
}

/* ---- the caller ---- */

static void caller_connected(void *user, uint64_t connect_us, uint64_t asked_us)
{
	struct caller *c = user;

	pthread_mutex_lock(&c->lock);
	c->connected++;
	c->connect_us = connect_us;
	c->asked_us = asked_us;
	c->answered_us = clock_now_us();
	pthread_mutex_unlock(&c->lock);
}

static enum transfer_answer caller_head(void *user, enum verdict v, const struct http_use *use,
					const struct http_resp *resp, const char *resolved,
					int64_t fresh_s)
{
	struct caller *c = user;
	enum transfer_answer answer;

	pthread_mutex_lock(&c->lock);
	c->heads++;
	c->head_verdict = v;
	c->use = *use;
	c->status = resp->status;
	c->fresh_s = fresh_s;
	snprintf(c->resolved, sizeof(c->resolved), "%s", resolved ? resolved : "");
	answer = c->answer;
	if (v == VERDICT_WHOLE) {
		c->first = c->next = c->rq.grid;
		if (c->end_on_whole)
			atomic_store(&c->end, c->end_on_whole);
	}
	pthread_mutex_unlock(&c->lock);
	return answer;
}

static void caller_is_wrong(struct caller *c, const char *what, uint64_t off)
{
	if (!c->wrong)
		snprintf(c->why, sizeof(c->why), "%s at %llu", what, (unsigned long long)off);
	c->wrong = true;
}

static void caller_body(void *user, uint64_t off, struct chunk *chunk)
{
	struct caller *c = user;

	pthread_mutex_lock(&c->lock);
	c->bodies++;
	if (chunk->len == 0 || chunk->len > CHUNK_SIZE || (off - c->rq.grid) % BLOCK_SIZE)
		caller_is_wrong(c, "not on the grid", off);
	if (off != c->next || c->cut_block)
		caller_is_wrong(c, "not behind the last", off);
	/* Right only at the lease's end and at the object's, which is told by nothing more coming.
	 */
	c->cut_block = (off + chunk->len - c->rq.grid) % BLOCK_SIZE;
	for (size_t i = 0; i < chunk->len && !c->any_content; i++) {
		if (chunk->data[i] != content_at(off + i)) {
			caller_is_wrong(c, "wrong byte", off + i);
			break;
		}
	}
	c->next = off + chunk->len;
	if (c->keep_chunks) {
		chunk->next = c->kept;
		c->kept = chunk;
		chunk = NULL;
	}
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
	chunk_free(chunk);
}

static bool caller_awaited(void *user, struct range r)
{
	struct caller *c = user;
	bool yes;

	pthread_mutex_lock(&c->lock);
	yes = range_overlaps(c->awaited, r);
	pthread_mutex_unlock(&c->lock);
	return yes;
}

static void caller_progress(void *user, uint64_t pos)
{
	struct caller *c = user;

	pthread_mutex_lock(&c->lock);
	if (pos < c->progress)
		caller_is_wrong(c, "progress backwards", pos);
	c->progress = pos;
	pthread_mutex_unlock(&c->lock);
}

static void caller_end(void *user, const struct transfer_result *res, const struct http_resp *resp)
{
	struct caller *c = user;

	pthread_mutex_lock(&c->lock);
	c->ends++;
	c->result = *res;
	if (c->cut_block && res->verdict != VERDICT_PART && res->verdict != VERDICT_WHOLE)
		caller_is_wrong(c, "ends within a block", res->pos);
	c->status = resp ? resp->status : 0;
	if (c->heads && res->pos != c->next && !c->rq.probe && c->answer == TRANSFER_KEEP)
		caller_is_wrong(c, "pos differs from what was handed over", res->pos);
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
}

struct fetch_config config_default(void)
{
	return (struct fetch_config){
		.user_agent = "test",
		.connect_timeout_us = 5 * USEC_PER_SEC,
		.stall_timeout_us = 10 * USEC_PER_SEC,
		.max_connections = 16,
		.max_redirects = 10,
	};
}

void caller_init(struct caller *c, const char *url, uint64_t off, uint64_t end)
{
	pthread_condattr_t attr;

	*c = (struct caller){
		.rq =
			{
				.url = url,
				.range = {off, end},
				.ranged = true,
				.want = {.range = {off, end}, .ranged = true, .size = SIZE_UNKNOWN},
				.validator = VALIDATOR_INIT,
				.validator_date = VALIDATOR_NO_TIME,
			},
		.ops = {caller_connected, caller_head, caller_body, caller_awaited, caller_progress,
			caller_end},
		.answer = TRANSFER_KEEP,
		.first = off,
		.next = off,
	};
	atomic_init(&c->end, end);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->changed, &attr);
}

void caller_start(struct caller *c, struct fetch *f)
{
	c->rq.ops = &c->ops;
	c->rq.user = c;
	c->rq.end = &c->end;
	c->fetch = f;
	ck_assert_int_eq(fetch_start(f, &c->rq, &c->transfer), 0);
}

static void caller_wait_for(struct caller *c, uint64_t bytes)
{
	struct timespec ts = clock_timespec(clock_now_us() + 20 * USEC_PER_SEC);
	int r = 0;

	pthread_mutex_lock(&c->lock);
	while (!c->ends && c->next - c->first < bytes && r == 0)
		r = pthread_cond_timedwait(&c->changed, &c->lock, &ts);
	pthread_mutex_unlock(&c->lock);
	ck_assert_msg(r == 0, "nothing happened for 20 s (%llu bytes)",
		      (unsigned long long)(c->next - c->first));
}

void caller_wait(struct caller *c)
{
	caller_wait_for(c, UINT64_MAX);
	ck_assert_uint_eq(c->ends, 1);
}

void caller_wait_bytes(struct caller *c, uint64_t bytes)
{
	caller_wait_for(c, bytes);
}

void caller_run(struct caller *c, struct fetch *f)
{
	caller_start(c, f);
	caller_wait(c);
}

void caller_free_chunks(struct caller *c)
{
	struct chunk *kept;

	pthread_mutex_lock(&c->lock);
	c->keep_chunks = false;
	kept = c->kept;
	c->kept = NULL;
	pthread_mutex_unlock(&c->lock);
	while (kept) {
		struct chunk *next = kept->next;

		chunk_free(kept);
		kept = next;
	}
}

uint64_t caller_bytes(struct caller *c)
{
	uint64_t n;

	pthread_mutex_lock(&c->lock);
	n = c->next - c->first;
	pthread_mutex_unlock(&c->lock);
	return n;
}

void caller_set_end(struct caller *c, uint64_t end)
{
	atomic_store(&c->end, end);
	fetch_shrunk(c->fetch, c->transfer);
}

/* ---- set-up ---- */

struct fetch_shared *test_shared;
struct fetch *test_fetch;

void test_begin(const struct fetch_config *cfg)
{
	struct fetch_config usual = config_default();

	ck_assert_int_eq(fetch_shared_new(cfg ? cfg : &usual, &test_shared), 0);
	ck_assert_int_eq(fetch_new(test_shared, "test", &test_fetch), 0);
}

void test_end(void)
{
	struct fetch_stats st;

	fetch_free(test_fetch);
	fetch_stats(test_shared, &st);
	ck_assert_uint_eq(st.connections_now, 0);
	fetch_shared_free(test_shared);
	test_fetch = NULL;
	test_shared = NULL;
}

int test_main(Suite *s)
{
	SRunner *runner = srunner_create(s);
	int failed;

	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
