/*
 * test_fetch_ftp.c - the protocols without headers, by the example of ftp
 *
 * The server of the other tests reads heads that end in an empty line, so this one has its own: one
 * control connection after the other, passive data connections, a few commands.
 */
#include "test_fetch_help.h"

#include <arpa/inet.h>
#include <sys/socket.h>

#define TOTAL UINT64_C(700000)

struct ftp {
	int listener, port;
	pthread_t thread;
	bool empty;
};

static int listen_any(int *ret_port)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	ck_assert_int_eq(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	ck_assert_int_eq(listen(fd, 8), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&a, &len), 0);
	*ret_port = ntohs(a.sin_port);
	return fd;
}

static void send_content(int data, uint64_t off, uint64_t end)
{
	unsigned char buf[8192];

	while (off < end) {
		size_t n = min_u64(sizeof(buf), end - off);

		for (size_t i = 0; i < n; i++)
			buf[i] = content_at(off + i);
		if (send(data, buf, n, MSG_NOSIGNAL) != (ssize_t)n)
			return;
		off += n;
	}
}

/* One control connection, until QUIT or its end. */
static void serve_control(const struct ftp *f, int fd)
{
	FILE *in = fdopen(fd, "r+");
	char line[512];
	int data_port = 0, data_listener = -1, data;
	uint64_t rest = 0, total = f->empty ? 0 : TOTAL;

	setvbuf(in, NULL, _IONBF, 0);
	fputs("220 here\r\n", in);
	while (fgets(line, sizeof(line), in)) {
		if (strncmp(line, "USER", 4) == 0) {
			fputs("331 and?\r\n", in);
		} else if (strncmp(line, "PASS", 4) == 0) {
			fputs("230 in\r\n", in);
		} else if (strncmp(line, "PWD", 3) == 0) {
			fputs("257 \"/\"\r\n", in);
		} else if (strncmp(line, "EPSV", 4) == 0) {
			data_listener = listen_any(&data_port);
			fprintf(in, "229 there (|||%d|)\r\n", data_port);
		} else if (strncmp(line, "SIZE", 4) == 0) {
			fprintf(in, "213 %llu\r\n", (unsigned long long)total);
		} else if (strncmp(line, "MDTM", 4) == 0) {
			fputs("213 19941106084937\r\n", in);
		} else if (strncmp(line, "REST", 4) == 0) {
			rest = strtoull(line + 5, NULL, 10);
			fputs("350 from there\r\n", in);
		} else if (strncmp(line, "RETR missing", 12) == 0) {
			fputs("550 no\r\n", in);
		} else if (strncmp(line, "RETR", 4) == 0) {
			fprintf(in, "150 it comes (%llu bytes)\r\n", (unsigned long long)total);
			data = accept(data_listener, NULL, NULL);
			close(data_listener);
			data_listener = -1;
			send_content(data, rest, total);
			close(data);
			rest = 0;
			fputs("226 done\r\n", in);
		} else if (strncmp(line, "TYPE", 4) == 0) {
			fputs("200 ok\r\n", in);
		} else {
			fputs("500 what?\r\n", in);
		}
	}
	if (data_listener >= 0)
		close(data_listener);
	fclose(in);
}

static void *serve(void *user)
{
	struct ftp *f = user;
	int fd;

	while ((fd = accept(f->listener, NULL, NULL)) >= 0)
		serve_control(f, fd);
	return NULL;
}

static struct ftp ftp;

static void setup(void)
{
	ftp = (struct ftp){0};
	ftp.listener = listen_any(&ftp.port);
	pthread_create(&ftp.thread, NULL, serve, &ftp);
	test_begin(NULL);
}

static void teardown(void)
{
	test_end();
	shutdown(ftp.listener, SHUT_RDWR);
	pthread_join(ftp.thread, NULL);
	close(ftp.listener);
}

static void prepare(struct caller *c, const char *path, uint64_t off, uint64_t end)
{
	static char url[8][128];
	static unsigned int next;
	char *u = url[next++ % 8];

	snprintf(u, sizeof(url[0]), "ftp://127.0.0.1:%d/%s", ftp.port, path);
	caller_init(c, u, off, end);
}

START_TEST(ranges)
{
	struct caller c;

	prepare(&c, "file", 131072, 393216);
	c.rq.want.size = TOTAL;
	caller_run(&c, test_fetch);
	assert_right(&c);
	assert_verdict(&c, VERDICT_PART);
	ck_assert_uint_eq(c.next, 393216);
	prepare(&c, "file", 131072, TOTAL);
	c.rq.want.size = TOTAL;
	caller_run(&c, test_fetch);
	assert_right(&c);
	assert_verdict(&c, VERDICT_PART);
	ck_assert_uint_eq(c.next, TOTAL);
}
END_TEST

START_TEST(whole)
{
	struct caller c;

	prepare(&c, "file", 0, SIZE_UNKNOWN);
	c.rq.ranged = c.rq.want.ranged = false;
	caller_run(&c, test_fetch);
	assert_right(&c);
	assert_verdict(&c, VERDICT_WHOLE);
	ck_assert_uint_eq(c.next, TOTAL);
	ck_assert_uint_eq(c.use.total, TOTAL);
}
END_TEST

START_TEST(probe)
{
	struct caller c;

	prepare(&c, "file", 0, 1);
	c.rq.probe = true;
	caller_run(&c, test_fetch);
	assert_verdict(&c, VERDICT_PART);
	ck_assert_uint_eq(c.heads, 1);
	ck_assert_uint_eq(c.use.total, TOTAL);
	ck_assert_uint_eq(c.bodies, 0);
	ftp.empty = true;
	prepare(&c, "file", 0, 1);
	c.rq.probe = true;
	caller_run(&c, test_fetch);
	assert_verdict(&c, VERDICT_EMPTY);
}
END_TEST

START_TEST(missing)
{
	struct caller c;

	prepare(&c, "missing", 0, 65536);
	caller_run(&c, test_fetch);
	assert_verdict(&c, VERDICT_GONE);
	ck_assert_uint_eq(c.heads, 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("fetch: ftp");
	TCase *t = tcase_create("ftp");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 60);
	tcase_add_test(t, ranges);
	tcase_add_test(t, whole);
	tcase_add_test(t, probe);
	tcase_add_test(t, missing);
	suite_add_tcase(s, t);
	return test_main(s);
}
