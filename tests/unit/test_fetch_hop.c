/*
 * test_fetch_hop.c - redirects: which are followed, who sees credentials, which addresses are
 * reached
 */
#include "test_fetch_help.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "net/run.h"

#define TOTAL UINT64_C(300000)

/*
 * "/STATUS/TARGET": that redirect to TARGET. "/deny-STATUS…": that refusal. "/count-N/": to
 * "/count-N+1/".
 * "/raw": to what is no URL as it stands. All else is good.
 */
static bool serve(struct conn *c, const char *request, void *user)
{
	const char *path = request + strlen("GET ");
	char target[1024];
	unsigned long number;
	char *rest;

	(void)user;
	if (strncmp(path, "http://", 7) == 0) /* we are a proxy */
		path = strchr(path + 7, '/');
	snprintf(target, sizeof(target), "%.*s", (int)strcspn(path, " "), path);
	if (strncmp(target, "/deny-", 6) == 0)
		return conn_say(c, "HTTP/1.1 %.3s No\r\nContent-Length: 2\r\n\r\nno", target + 6);
	if (strncmp(target, "/count-", 7) == 0) {
		number = strtoul(target + 7, NULL, 10);
		return conn_say(
			c, "HTTP/1.1 302 On\r\nLocation: /count-%lu\r\nContent-Length: 0\r\n\r\n",
			number + 1);
	}
	if (strcmp(target, "/raw") == 0)
		return conn_say(
			c,
			"HTTP/1.1 302 On\r\nLocation: /a b\xc3\xa9?x= #frag\r\nContent-Length: 0\r\n\r\n");
	if (target[1] == '3') {
		number = strtoul(target + 1, &rest, 10);
		return conn_say(
			c,
			"HTTP/1.1 %lu Elsewhere\r\nLocation: %s\r\nSet-Cookie: seen=%lu; Path=/\r\nContent-Length: 4\r\n\r\nbody",
			number, rest[1] == 'r' && rest[2] == '/' ? rest + 2 : rest + 1, number);
	}
	return conn_serve(c, request, TOTAL);
}

static struct server *home, *other;

static void setup(void)
{
	home = server_new("127.0.0.1", serve, NULL);
	other = server_new("127.0.0.1", serve, NULL);
	test_begin(NULL);
}

static void teardown(void)
{
	test_end();
	server_free(home);
	server_free(other);
}

static const char *redirect(struct server *s, unsigned int status, const char *target)
{
	static char url[4][1024];
	static unsigned int next;
	char path[512];

	snprintf(path, sizeof(path), "/%u/%s", status, target);
	snprintf(url[next % 4], sizeof(url[0]), "%s", server_url(s, path));
	return url[next++ % 4];
}

static void ask(struct caller *c, const char *url)
{
	caller_init(c, url, 65536, 131072);
	caller_run(c, test_fetch);
	assert_right(c);
}

START_TEST(each_status_is_followed)
{
	static const unsigned int followed[] = {301, 302, 303, 307, 308},
				  not [] = {300, 304, 305, 306, 399};
	struct caller c;

	for (unsigned int i = 0; i < ARRAY_SIZE(followed); i++) {
		ask(&c, redirect(home, followed[i], server_url(other, "/good")));
		assert_verdict(&c, VERDICT_PART);
		ck_assert_str_eq(c.resolved, server_url(other, "/good"));
		ck_assert_uint_eq(c.result.redirects, 1);
		ck_assert_uint_eq(c.next, 131072);
		ck_assert(request_has(server_request(other, i), "Range: bytes=65536-131071\r\n"));
	}
	for (unsigned int i = 0; i < ARRAY_SIZE(not ); i++) {
		ask(&c, redirect(home, not [i], server_url(other, "/good")));
		assert_verdict(&c, VERDICT_REFUSED);
	}
	ck_assert_uint_eq(server_requests(other), 5);
	/* a redirect's little body costs no connection */
	ck_assert_uint_le(server_connections(home), 2);
	ck_assert_uint_eq(server_connections(other), 1);
}
END_TEST

START_TEST(relative_redirects)
{
	struct caller c;

	ask(&c, redirect(home, 302, "r/good?x=1"));
	assert_verdict(&c, VERDICT_PART);
	ck_assert_str_eq(c.resolved, server_url(home, "/good?x=1"));
	ck_assert(strncmp(server_request(home, 1), "GET /good?x=1 HTTP/1.1\r\n", 24) == 0);
	ask(&c, server_url(home, "/raw"));
	assert_verdict(&c, VERDICT_PART);
	ck_assert_str_eq(c.resolved, server_url(home, "/a%20b%C3%A9?x=%20"));
}
END_TEST

START_TEST(endless_redirects)
{
	struct caller c;

	ask(&c, server_url(home, "/count-1"));
	assert_verdict(&c, VERDICT_REDIRECTS);
	ck_assert_uint_eq(c.result.redirects, 10);
	ck_assert_uint_eq(server_requests(home), 11);
	/* to itself */
	ask(&c, server_url(other, "/302/r/302/r/"));
	assert_verdict(&c, VERDICT_PART);
	ask(&c, redirect(other, 302, ""));
	assert_verdict(&c, VERDICT_REFUSED);
}
END_TEST

static bool serve_loop(struct conn *c, const char *request, void *user)
{
	(void)user;
	return conn_say(c, "HTTP/1.1 302 Round\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n",
			request_has(request, "X") || strncmp(request, "GET /a ", 7) == 0 ? "/b"
											 : "/a");
}

START_TEST(loops)
{
	struct server *s = server_new("127.0.0.1", serve_loop, NULL);
	struct caller c;

	ask(&c, server_url(s, "/a"));
	assert_verdict(&c, VERDICT_REDIRECTS);
	ck_assert_uint_eq(server_requests(s), 2);
	server_free(s);
}
END_TEST

START_TEST(schemes)
{
	static const char *const targets[] = {"ftp://127.0.0.1/x",   "file:///etc/passwd",
					      "gopher://127.0.0.1/", "sftp://127.0.0.1/",
					      "scp://127.0.0.1/x",   "dict://127.0.0.1/"};
	struct caller c;

	for (unsigned int i = 0; i < ARRAY_SIZE(targets); i++) {
		ask(&c, redirect(home, 302, targets[i]));
		assert_verdict(&c, VERDICT_SCHEME);
	}
}
END_TEST

static const char *write_file(const char *text)
{
	static char name[32];
	int fd;

	snprintf(name, sizeof(name), "/tmp/test-fetch-XXXXXX");
	fd = mkstemp(name);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	return name;
}

static const char *with_userinfo(struct server *s, const char *path)
{
	static char url[1024];

	snprintf(url, sizeof(url), "http://us%%40er:pass%%20word@127.0.0.1:%u%s", server_port(s),
		 path);
	return url;
}

/* Nothing that is the manifest's own in request. */
static void no_secrets(const char *request)
{
	ck_assert(request[0] != '\0');
	ck_assert_msg(!request_has(request, "Authorization:"), "%s", request);
	ck_assert_msg(!request_has(request, "Cookie:"), "%s", request);
	ck_assert_msg(!request_has(request, "X-"), "%s", request);
	ck_assert_msg(!request_has(request, "Referer:"), "%s", request);
}

START_TEST(credentials_stay_at_home)
{
	static const char *const set_headers[] = {"X-Everywhere: 1", NULL};
	static const char *const headers[] = {"X-Token: secret",
					      "Cookie: a=b",
					      "Range: bytes=0-0",
					      "accept-encoding: gzip",
					      "X-Split: 1\r\nX-Smuggled: 2",
					      NULL};
	struct fetch_config cfg = config_default();
	struct caller c;
	const char *request;
	char path[256];

	test_end();
	cfg.headers = set_headers;
	test_begin(&cfg);
	snprintf(path, sizeof(path), "/302/%s", server_url(other, "/good"));
	caller_init(&c, with_userinfo(home, path), 65536, 131072);
	c.rq.headers = headers;
	caller_run(&c, test_fetch);
	assert_right(&c);
	assert_verdict(&c, VERDICT_PART);
	request = server_request(home, 0);
	ck_assert(request_has(request, "Authorization: Basic dXNAZXI6cGFzcyB3b3Jk\r\n"));
	ck_assert(request_has(request, "X-Token: secret\r\n"));
	ck_assert(request_has(request, "X-Everywhere: 1\r\n"));
	ck_assert(request_has(request, "Cookie: a=b\r\n"));
	ck_assert(!request_has(request, "Range: bytes=0-0"));
	ck_assert(!request_has(request, "accept-encoding: gzip"));
	ck_assert(!request_has(request, "X-Smuggled"));
	no_secrets(server_request(other, 0));
	ck_assert_ptr_null(strstr(c.resolved, "pass"));

	/* the same host and port again: its own */
	snprintf(path, sizeof(path), "/302/r/good");
	caller_init(&c, with_userinfo(home, path), 65536, 131072);
	c.rq.headers = headers;
	caller_run(&c, test_fetch);
	assert_verdict(&c, VERDICT_PART);
	ck_assert(request_has(server_request(home, 2),
			      "Authorization: Basic dXNAZXI6cGFzcyB3b3Jk\r\n"));
	ck_assert(request_has(server_request(home, 2), "X-Token: secret\r\n"));
	ck_assert_ptr_null(strstr(c.resolved, "pass"));

	/* there and back: home again */
	snprintf(path, sizeof(path), "/302/%s", redirect(other, 302, server_url(home, "/back")));
	caller_init(&c, with_userinfo(home, path), 65536, 131072);
	c.rq.headers = headers;
	caller_run(&c, test_fetch);
	assert_verdict(&c, VERDICT_PART);
	no_secrets(server_request(other, 1));
	ck_assert(request_has(server_request(home, 4), "X-Token: secret\r\n"));
}
END_TEST

START_TEST(netrc_stays_at_home)
{
	struct fetch_config cfg = config_default();
	const char *name = write_file(
		"machine 127.0.0.1 login me password mine\ndefault login all password open\n");
	struct caller c;

	test_end();
	cfg.netrc_file = name;
	test_begin(&cfg);
	ask(&c, redirect(home, 302, server_url(other, "/good")));
	assert_verdict(&c, VERDICT_PART);
	ck_assert(request_has(server_request(home, 0), "Authorization: Basic bWU6bWluZQ==\r\n"));
	no_secrets(server_request(other, 0));
	unlink(name);
}
END_TEST

START_TEST(cookies_stay_at_home)
{
	struct fetch_config cfg = config_default();
	char jar[64], line[256] = "";
	FILE *file;
	struct caller c;
	bool saved = false;

	snprintf(jar, sizeof(jar), "%s",
		 write_file(
			 "# Netscape HTTP Cookie File\n127.0.0.1\tFALSE\t/\tFALSE\t0\told\tjar\n"));
	test_end();
	cfg.cookie_jar = jar;
	test_begin(&cfg);
	ask(&c, redirect(home, 302, redirect(other, 302, server_url(other, "/good"))));
	assert_verdict(&c, VERDICT_PART);
	ck_assert_msg(request_has(server_request(home, 0), "Cookie: old=jar\r\n"), "%s",
		      server_request(home, 0));
	no_secrets(server_request(other, 0));
	no_secrets(server_request(other, 1));
	ask(&c, server_url(home, "/good"));
	ck_assert(strstr(server_request(home, 1), "old=jar"));
	ck_assert(strstr(server_request(home, 1), "seen=302"));
	test_end();
	file = fopen(jar, "r");
	ck_assert_ptr_nonnull(file);
	while (fgets(line, sizeof(line), file))
		saved |= strstr(line, "\tseen\t302") != NULL;
	fclose(file);
	unlink(jar);
	ck_assert(saved);
	test_begin(NULL);
}
END_TEST

static void ask_resolved(struct caller *c, const char *url, const char *resolved)
{
	caller_init(c, url, 65536, 131072);
	c->rq.resolved = resolved;
	caller_run(c, test_fetch);
	assert_right(c);
}

START_TEST(resolved_is_asked_first)
{
	static const char *const headers[] = {"X-Token: secret", NULL};
	const char *resolved = server_url(other, "/good?sig=1");
	struct caller c;

	caller_init(&c, server_url(home, "/good"), 65536, 131072);
	c.rq.resolved = resolved;
	c.rq.headers = headers;
	/* A target on a local address needs a redirect from one to have been seen: */
	caller_run(&c, test_fetch);
	assert_verdict(&c, VERDICT_PART);
	ck_assert_uint_eq(server_requests(other), 0);
	ck_assert_str_eq(c.resolved, "");

	ask(&c, redirect(home, 302, resolved));
	assert_verdict(&c, VERDICT_PART);
	ck_assert_str_eq(c.resolved, resolved);

	caller_init(&c, redirect(home, 302, resolved), 65536, 131072);
	c.rq.resolved = resolved;
	c.rq.headers = headers;
	caller_run(&c, test_fetch);
	assert_verdict(&c, VERDICT_PART);
	ck_assert_str_eq(c.resolved, resolved);
	ck_assert_uint_eq(c.result.redirects, 0);
	ck_assert_uint_eq(server_requests(home), 2);
	no_secrets(server_request(other, 1));
}
END_TEST

START_TEST(resolved_dies)
{
	static const char *const dead[] = {"/deny-401", "/deny-403", "/deny-404", "/deny-410",
					   "/deny-400?sig=x"};
	struct caller c;
	unsigned int n;
	char gone[64];

	ask(&c, redirect(home, 302, server_url(other, "/good")));
	for (unsigned int i = 0; i < ARRAY_SIZE(dead); i++) {
		n = server_requests(home);
		ask_resolved(&c, redirect(home, 302, server_url(other, "/good")),
			     server_url(other, dead[i]));
		assert_verdict(&c, VERDICT_PART);
		ck_assert_str_eq(c.resolved, server_url(other, "/good"));
		ck_assert_uint_eq(server_requests(home), n + 1);
	}
	/* no signature: a 400 is about the request; and a busy one is not dead */
	n = server_requests(home);
	ask_resolved(&c, redirect(home, 302, server_url(other, "/good")),
		     server_url(other, "/deny-400"));
	assert_verdict(&c, VERDICT_REFUSED);
	ask_resolved(&c, redirect(home, 302, server_url(other, "/good")),
		     server_url(other, "/deny-503"));
	assert_verdict(&c, VERDICT_BUSY);
	ck_assert_uint_eq(server_requests(home), n);
	/* revoked too */
	ask_resolved(&c, redirect(home, 302, server_url(other, "/deny-403")),
		     server_url(other, "/deny-403"));
	assert_verdict(&c, VERDICT_DENIED);
	ck_assert_uint_eq(server_requests(home), n + 1);
	/* nobody listens there any more */
	snprintf(gone, sizeof(gone), "http://localhost:1/");
	ask_resolved(&c, server_url(home, "/good"), gone);
	assert_verdict(&c, VERDICT_PART);
	ck_assert_str_eq(c.resolved, "");
}
END_TEST

START_TEST(restricted_manifest)
{
	struct caller c;

	caller_init(&c, server_url(home, "/good"), 0, 131072);
	c.rq.foreign = true;
	caller_run(&c, test_fetch);
	assert_verdict(&c, VERDICT_ADDRESS);
	caller_init(&c, "http://[::1]:1/", 0, 131072);
	c.rq.foreign = true;
	caller_run(&c, test_fetch);
	assert_verdict(&c, VERDICT_ADDRESS);
	ck_assert_uint_eq(server_connections(home), 0);
}
END_TEST

/*
 * In a network of our own, with a public address on loopback: false where that is not allowed.
 * There 198.18.0.0/15 and the like are no help: they are not public.
 */
static bool public_network(const char *ip)
{
	struct ifreq r = {0};
	struct sockaddr_in *a = (struct sockaddr_in *)&r.ifr_addr;
	int fd;
	bool ok;

	if (unshare(CLONE_NEWNET) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0)
		return false;
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	snprintf(r.ifr_name, sizeof(r.ifr_name), "lo");
	r.ifr_flags = IFF_UP;
	ok = ioctl(fd, SIOCSIFFLAGS, &r) == 0;
	snprintf(r.ifr_name, sizeof(r.ifr_name), "lo:1");
	a->sin_family = AF_INET;
	a->sin_addr.s_addr = inet_addr(ip);
	ok = ok && ioctl(fd, SIOCSIFADDR, &r) == 0;
	close(fd);
	return ok;
}

START_TEST(public_to_local)
{
	struct server *public, *local;
	struct caller c;

	if (!public_network("5.6.7.8")) {
		printf("skipped: no network of our own to be had\n");
		return;
	}
	public = server_new("5.6.7.8", serve, NULL);
	local = server_new("127.0.0.1", serve, NULL);
	test_begin(NULL);
	ask(&c, server_url(public, "/good"));
	assert_verdict(&c, VERDICT_PART);
	/* the user's own word goes anywhere, and from local to local and to public */
	ask(&c, redirect(local, 302, server_url(local, "/good")));
	assert_verdict(&c, VERDICT_PART);
	ask(&c, redirect(local, 302, server_url(public, "/good")));
	assert_verdict(&c, VERDICT_PART);
	/* a public one sends nobody to a local one, also where there is a connection to that
	 * already */
	ask(&c, redirect(public, 302, server_url(local, "/good")));
	assert_verdict(&c, VERDICT_ADDRESS);
	ask(&c, redirect(local, 302, redirect(public, 302, server_url(local, "/good"))));
	assert_verdict(&c, VERDICT_ADDRESS);
	ask(&c, redirect(public, 302, "http://169.254.169.254/latest/meta-data/"));
	assert_verdict(&c, VERDICT_ADDRESS);
	ask(&c, redirect(public, 302, "http://0x7f.1/"));
	assert_verdict(&c, VERDICT_ADDRESS);
	/* nor does a resolved URL that nobody local redirected to */
	ask_resolved(&c, server_url(public, "/good"), server_url(local, "/good"));
	assert_verdict(&c, VERDICT_PART);
	ck_assert_str_eq(c.resolved, "");
	ck_assert_uint_eq(server_requests(local), 4);
	test_end();
	server_free(public);
	server_free(local);
}
END_TEST

static enum addr_scope scope(const char *host)
{
	return policy_scope_of_name(host);
}

START_TEST(names_behind_a_proxy)
{
	ck_assert_int_eq(scope("example.org"), ADDR_PUBLIC);
	ck_assert_int_eq(scope("127.0.0.1"), ADDR_LOOPBACK);
	ck_assert_int_eq(scope("2130706433"), ADDR_LOOPBACK);
	ck_assert_int_eq(scope("0x7f.1"), ADDR_LOOPBACK);
	ck_assert_int_eq(scope("[::1]"), ADDR_LOOPBACK);
	ck_assert_int_eq(scope("[::ffff:127.0.0.1]"), ADDR_LOOPBACK);
	ck_assert_int_eq(scope("[fe80::1%25eth0]"), ADDR_LINK_LOCAL);
	ck_assert_int_eq(scope("localhost"), ADDR_LOOPBACK);
	ck_assert_int_eq(scope("a.LocalHost."), ADDR_LOOPBACK);
	ck_assert_int_eq(scope("notlocalhost"), ADDR_PUBLIC);
	ck_assert_int_eq(scope("10.1.2.3"), ADDR_PRIVATE);
	ck_assert_int_eq(scope("169.254.169.254"), ADDR_LINK_LOCAL);
}
END_TEST

START_TEST(through_a_proxy)
{
	struct fetch_config cfg = config_default();
	struct caller c;

	test_end();
	cfg.proxy = server_url(other, "");
	test_begin(&cfg);
	ask(&c, "http://example.invalid/good");
	assert_verdict(&c, VERDICT_PART);
	ck_assert(strncmp(server_request(other, 0), "GET http://example.invalid/good HTTP/1.1\r\n",
			  42) == 0);
	/* the proxy is on loopback, which says nothing of the server: its name does */
	ask(&c, "http://example.invalid/302/http://127.0.0.1:9/good");
	assert_verdict(&c, VERDICT_ADDRESS);
	ask(&c, "http://example.invalid/302/http://example.net/good");
	assert_verdict(&c, VERDICT_PART);
	/* no tunnel to be had */
	ask(&c, "https://example.invalid/good");
	ck_assert_msg(c.result.verdict == VERDICT_CONNECT || c.result.verdict == VERDICT_DENIED ||
			      c.result.verdict == VERDICT_TLS,
		      "%s", verdict_name(c.result.verdict));
}
END_TEST

static const char *proxy(const char *setting, const char *url)
{
	struct url_origin o;

	ck_assert_int_eq(url_origin(url, &o), 0);
	return proxy_for(setting, &o);
}

START_TEST(proxy_from_environment)
{
	static const char *const names[] = {"http_proxy",  "HTTP_PROXY", "https_proxy",
					    "HTTPS_PROXY", "all_proxy",	 "ALL_PROXY",
					    "no_proxy",	   "NO_PROXY"};

	for (unsigned int i = 0; i < ARRAY_SIZE(names); i++)
		unsetenv(names[i]);
	ck_assert_str_eq(proxy(NULL, "http://a.example/"), "");
	ck_assert_str_eq(proxy("p", "http://a.example/"), "p");
	setenv("HTTP_PROXY", "capital", 1);
	setenv("HTTPS_PROXY", "secure", 1);
	ck_assert_str_eq(proxy(NULL, "http://a.example/"), "");
	ck_assert_str_eq(proxy(NULL, "https://a.example/"), "secure");
	setenv("ALL_PROXY", "all", 1);
	ck_assert_str_eq(proxy(NULL, "http://a.example/"), "all");
	setenv("http_proxy", "plain", 1);
	ck_assert_str_eq(proxy(NULL, "http://a.example/"), "plain");
	setenv("no_proxy", "b.example, .c.example 10.0.0.0/8,192.0.2.7,[::2],::1", 1);
	ck_assert_str_eq(proxy(NULL, "http://a.example/"), "plain");
	ck_assert_str_eq(proxy(NULL, "http://b.example/"), "");
	ck_assert_str_eq(proxy(NULL, "http://x.B.example/"), "");
	ck_assert_str_eq(proxy(NULL, "http://xb.example/"), "plain");
	ck_assert_str_eq(proxy(NULL, "http://c.example/"), "");
	ck_assert_str_eq(proxy(NULL, "http://x.c.example/"), "");
	ck_assert_str_eq(proxy(NULL, "http://10.9.8.7/"), "");
	ck_assert_str_eq(proxy(NULL, "http://11.9.8.7/"), "plain");
	ck_assert_str_eq(proxy(NULL, "http://192.0.2.7/"), "");
	ck_assert_str_eq(proxy(NULL, "http://192.0.2.77/"), "plain");
	ck_assert_str_eq(proxy(NULL, "http://[::1]/"), "");
	ck_assert_str_eq(proxy("p", "http://b.example/"), "");
	setenv("no_proxy", "*", 1);
	ck_assert_str_eq(proxy("p", "http://a.example/"), "");
	for (unsigned int i = 0; i < ARRAY_SIZE(names); i++)
		unsetenv(names[i]);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("fetch: hops");
	TCase *t = tcase_create("hops"), *bare = tcase_create("bare");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 60);
	tcase_add_test(t, each_status_is_followed);
	tcase_add_test(t, relative_redirects);
	tcase_add_test(t, endless_redirects);
	tcase_add_test(t, loops);
	tcase_add_test(t, schemes);
	tcase_add_test(t, credentials_stay_at_home);
	tcase_add_test(t, netrc_stays_at_home);
	tcase_add_test(t, cookies_stay_at_home);
	tcase_add_test(t, resolved_is_asked_first);
	tcase_add_test(t, resolved_dies);
	tcase_add_test(t, restricted_manifest);
	tcase_add_test(t, through_a_proxy);
	suite_add_tcase(s, t);
	tcase_set_timeout(bare, 60);
	tcase_add_test(bare, public_to_local);
	tcase_add_test(bare, names_behind_a_proxy);
	tcase_add_test(bare, proxy_from_environment);
	suite_add_tcase(s, bare);
	return test_main(s);
}
