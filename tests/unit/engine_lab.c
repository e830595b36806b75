/*
 * engine_lab.c - an engine against the fault server, for the engine's unit tests
 */
#include "engine_lab.h"

#include <arpa/inet.h>
#include <check.h>
#include <ftw.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/size.h"
#include "tests/origin/content.h"

#define RULES_MAX  16
#define SEED	   1
#define PATIENCE_S 20 /* for what must happen at all */

static char labs_dir[] = "/tmp/rgetfs-lab-XXXXXX";

static void pause_ms(int ms)
{
	poll(NULL, 0, ms);
}

/* ---- the fault server ---- */

static void origin_spawn(struct lab *l, const char *const *rules)
{
	const char *build = getenv("RGETFS_BUILD");
	char program[512], port_file[96], rule[RULES_MAX][256], *argv[RULES_MAX + 3];
	unsigned int n = 0;
	pid_t parent = getpid();

	snprintf(program, sizeof(program), "%s/tests/origin/origin", build ? build : ".");
	snprintf(port_file, sizeof(port_file), "--port-file=%s/port", l->dir);
	argv[n++] = program;
	argv[n++] = port_file;
	for (unsigned int i = 0; rules[i]; i++) {
		ck_assert_uint_lt(i, RULES_MAX);
		snprintf(rule[i], sizeof(rule[i]), "--rule=%s", rules[i]);
		argv[n++] = rule[i];
	}
	argv[n] = NULL;
	l->origin = fork();
	ck_assert_int_ge(l->origin, 0);
	if (l->origin == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() == parent)
			execv(program, argv);
		_exit(127);
	}
}

static void origin_wait(struct lab *l)
{
	char path[96];

	snprintf(path, sizeof(path), "%s/port", l->dir);
	for (int i = 0; i < PATIENCE_S * 100; i++) {
		FILE *f = fopen(path, "r");

		if (f) {
			char text[32] = "";
			bool got = fgets(text, sizeof(text), f) && strncmp(text, "http ", 5) == 0;

			fclose(f);
			if (got) {
				l->port = (unsigned int)strtoul(text + 5, NULL, 10);
				return;
			}
		}
		pause_ms(10);
	}
	ck_abort_msg("the fault server does not start");
}

/* One request over a connection of its own; the answer's body into buf. */
static void origin_talk(struct lab *l, const char *request, char *buf, size_t size)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)l->port)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	size_t len = 0;
	ssize_t n;
	char *body;

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	ck_assert_int_eq(write(fd, request, strlen(request)), (ssize_t)strlen(request));
	while (len + 1 < size && (n = read(fd, buf + len, size - 1 - len)) > 0)
		len += (size_t)n;
	close(fd);
	buf[len] = '\0';
	body = strstr(buf, "\r\n\r\n");
	ck_assert_ptr_nonnull(body);
	memmove(buf, body + 4, strlen(body + 4) + 1);
}

void lab_ctl(struct lab *l, const char *line)
{
	char request[1024], answer[4096];

	snprintf(
		request, sizeof(request),
		"POST /_ctl HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n%s",
		strlen(line), line);
	origin_talk(l, request, answer, sizeof(answer));
	ck_assert_str_eq(answer, "");
}

static uint64_t origin_count(struct lab *l, const char *path, const char *name)
{
	char request[512], answer[4096], *at;

	snprintf(request, sizeof(request),
		 "GET /_stats?%s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", path);
	origin_talk(l, request, answer, sizeof(answer));
	at = strstr(answer, name);
	ck_assert_ptr_nonnull(at);
	return strtoull(at + strlen(name), NULL, 10);
}

uint64_t lab_requests(struct lab *l, const char *path)
{
	return origin_count(l, path, "\"requests\":");
}

uint64_t lab_sent(struct lab *l, const char *path)
{
	return origin_count(l, path, "\"bytes\":");
}

void lab_kill_origin(struct lab *l)
{
	if (l->origin <= 0)
		return;
	kill(l->origin, SIGKILL);
	waitpid(l->origin, NULL, 0);
	l->origin = 0;
}

/* ---- life ---- */

static void count_change(void *ctx, struct object *o)
{
	struct lab *l = ctx;

	(void)o;
	atomic_fetch_add(&l->changed, 1);
}

void lab_init(struct lab *l, const char *const *rules)
{
	memset(l, 0, sizeof(*l));
	snprintf(l->dir, sizeof(l->dir), "%s/XXXXXX", labs_dir);
	ck_assert_ptr_nonnull(mkdtemp(l->dir));
	origin_spawn(l, rules);
	origin_wait(l);
	l->cfg = (struct engine_config){
		.sched = {.max_connections = 64,
			  .max_per_origin = 16,
			  .connect_timeout_us = 5 * USEC_PER_SEC,
			  .stall_timeout_us = 5 * USEC_PER_SEC,
			  .retry_time_us = 10 * USEC_PER_SEC,
			  .seed = 1},
		.fetch = {.user_agent = "lab",
			  .connect_timeout_us = 5 * USEC_PER_SEC,
			  .stall_timeout_us = 5 * USEC_PER_SEC,
			  .max_connections = 64,
			  .max_redirects = 10},
		.store = {.description = "lab",
			  .cache_size = UINT64_MAX,
			  .min_free = 0,
			  .checkpoint_us = 100 * USEC_PER_MS,
			  .checkpoint_bytes = UINT64_C(64) << 20},
		.fill = FILL_NONE,
		.fill_after = UINT64_C(16) << 20,
		.revalidate_us = UINT64_MAX,
		.parked_per_origin = 4096,
		.changed = count_change,
		.ctx = l,
	};
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static void remove_tree(const char *dir)
{
	nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

void labs_begin(void)
{
	if (!mkdtemp(labs_dir))
		abort();
}

void labs_end(void)
{
	remove_tree(labs_dir);
}

void lab_done(struct lab *l)
{
	lab_stop(l);
	lab_kill_origin(l);
	remove_tree(l->dir);
}

struct manifest *lab_manifest(struct lab *l, const char *lines, bool foreign)
{
	struct manifest_options opt = {.default_mtime = 1000, .foreign = foreign};
	char error[MANIFEST_ERROR_MAX];
	struct manifest *m;
	struct strbuf text;

	strbuf_init(&text, 1 << 20);
	for (const char *p = lines; *p; p++) {
		if (*p == '@')
			strbuf_addf(&text, "http://127.0.0.1:%u", l->port);
		else
			strbuf_addc(&text, *p);
	}
	ck_assert_int_eq(strbuf_error(&text), 0);
	ck_assert_msg(manifest_parse(text.s, text.len, "lab", &opt, &m, error) == 0, "%s", error);
	strbuf_done(&text);
	return m;
}

void lab_start(struct lab *l, const char *manifest)
{
	char owner[STORE_OWNER_MAX], cache[96];

	l->manifest = lab_manifest(l, manifest, false);
	snprintf(cache, sizeof(cache), "%s/cache", l->dir);
	l->cfg.store.dir = cache;
	ck_assert_int_eq(engine_new(&l->cfg, &l->engine, owner), 0);
}

void lab_stop(struct lab *l)
{
	if (!l->engine)
		return;
	engine_stop(l->engine);
	ck_assert_int_eq(engine_free(l->engine), 0);
	l->engine = NULL;
	manifest_put(l->manifest);
	l->manifest = NULL;
}

/* ---- using it ---- */

struct object *lab_object(struct lab *l, uint32_t index)
{
	struct object *o;

	ck_assert_int_eq(engine_object(l->engine, l->manifest, index, &o), 0);
	return o;
}

struct handle *lab_open(struct object *o)
{
	struct object_info info;
	struct handle *h;

	object_info(o, &info);
	ck_assert_int_eq(object_open(o, info.generation, &h), 0);
	return h;
}

struct wait {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	bool done;
	int error;
};
#define WAIT_INIT                                                             \
	{                                                                     \
		PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false, 0 \
	}

static void wait_end(struct wait *w, int error)
{
	pthread_mutex_lock(&w->mutex);
	w->done = true;
	w->error = error;
	pthread_cond_signal(&w->cond);
	pthread_mutex_unlock(&w->mutex);
}

static int wait_for(struct wait *w)
{
	pthread_mutex_lock(&w->mutex);
	while (!w->done)
		pthread_cond_wait(&w->cond, &w->mutex);
	pthread_mutex_unlock(&w->mutex);
	return w->error;
}

struct lab_reader {
	struct waiter w;
	struct wait wait;
	void *buf;
};

static void reader_done(struct waiter *w, int error, const void *data)
{
	struct lab_reader *r = container_of(w, struct lab_reader, w);

	if (!error)
		memcpy(r->buf, data, range_len(w->range));
	wait_end(&r->wait, error);
}

int lab_read(struct handle *h, uint64_t off, void *buf, size_t len)
{
	struct lab_reader r = {.wait = WAIT_INIT, .buf = buf};
	int ret;

	r.w.range = range_make(off, off + len);
	r.w.done = reader_done;
	ret = handle_read(h, &r.w, (int)getpid());
	return ret < 0 ? ret : wait_for(&r.wait);
}

static void told(void *ctx, int error)
{
	wait_end(ctx, error);
}

int lab_probe(struct object *o)
{
	struct wait w = WAIT_INIT;

	object_probe(o, true, told, &w);
	return wait_for(&w);
}

int lab_fill(struct object *o)
{
	struct wait w = WAIT_INIT;
	struct fill *f;

	ck_assert_int_eq(object_fill(o, told, &w, &f), 0);
	return wait_for(&w);
}

int lab_compare(struct handle *h, const char *path, uint64_t version, uint64_t off, uint64_t end,
		size_t step)
{
	struct content c = content_make(SEED, path, version);
	unsigned char *got = malloc(step), *want = malloc(step);
	int r = 0;

	for (; off < end && r == 0; off += step) {
		size_t n = (size_t)min_u64(step, end - off);

		r = lab_read(h, off, got, n);
		if (r)
			break;
		content_fill(c, off, want, n);
		ck_assert_msg(memcmp(got, want, n) == 0, "wrong bytes of %s at %" PRIu64, path,
			      off);
	}
	free(got);
	free(want);
	return r;
}

bool lab_wait_state(struct object *o, enum object_state state)
{
	struct object_info info;

	for (int i = 0; i < PATIENCE_S * 100; i++) {
		object_info(o, &info);
		if (info.state == state)
			return true;
		pause_ms(10);
	}
	fprintf(stderr, "state %s, %" PRIu64 " of %" PRIu64 " bytes, error \"%s\"\n",
		object_state_name(info.state), info.bytes_cached, info.size, info.error);
	return false;
}

bool lab_wait_generation(struct object *o, uint64_t generation)
{
	struct object_info info;

	for (int i = 0; i < PATIENCE_S * 100; i++) {
		object_info(o, &info);
		if (info.generation >= generation)
			return true;
		pause_ms(10);
	}
	return false;
}

int lab_drop(struct object *o)
{
	int error = 0;

	objects_drop(&o, 1, &error);
	return error;
}
