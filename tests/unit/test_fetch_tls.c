/*
 * test_fetch_tls.c - transfers over TLS, against tests/origin (built beside the tests)
 */
#include "test_fetch_help.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define ORIGIN "tests/origin/origin"

static pid_t origin;
static char dir[64], ca_file[128], port_file[128];
static unsigned int http_port, https_port;

/* "http 1234" and "https 1235", once both are there. */
static bool read_ports(void)
{
	char line[64];
	FILE *file = fopen(port_file, "r");

	http_port = https_port = 0;
	while (file && fgets(line, sizeof(line), file)) {
		if (strncmp(line, "http ", 5) == 0)
			http_port = (unsigned int)strtoul(line + 5, NULL, 10);
		else if (strncmp(line, "https ", 6) == 0)
			https_port = (unsigned int)strtoul(line + 6, NULL, 10);
	}
	if (file)
		fclose(file);
	return http_port && https_port;
}

static void setup(void)
{
	char ca[256], ports[256];

	snprintf(dir, sizeof(dir), "/tmp/test-fetch-tls-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(ca_file, sizeof(ca_file), "%s/ca.pem", dir);
	snprintf(port_file, sizeof(port_file), "%s/ports", dir);
	snprintf(ca, sizeof(ca), "--ca-file=%s", ca_file);
	snprintf(ports, sizeof(ports), "--port-file=%s", port_file);
	origin = fork();
	ck_assert_int_ge(origin, 0);
	if (origin == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execl(ORIGIN, "origin", "--tls", "--port=0", ca, ports, "--rule=/good size=1M",
		      "--rule=/to-plain redirect=port1:/good", "--rule=/to-tls redirect=tls:/good",
		      NULL);
		_exit(127);
	}
	for (unsigned int tries = 0; tries < 1000 && !read_ports(); tries++)
		sleep_ms(20);
	ck_assert_msg(https_port != 0, ORIGIN " does not listen");
}

static void teardown(void)
{
	kill(origin, SIGTERM);
	waitpid(origin, NULL, 0);
	unlink(ca_file);
	unlink(port_file);
	rmdir(dir);
}

static void ask(struct caller *c, const char *scheme, const char *path)
{
	char url[128];

	snprintf(url, sizeof(url), "%s://127.0.0.1:%u%s", scheme,
		 strcmp(scheme, "https") == 0 ? https_port : http_port, path);
	caller_init(c, url, 0, 1 << 20);
	c->any_content = true;
	caller_run(c, test_fetch);
	assert_right(c);
}

START_TEST(verified)
{
	struct fetch_config cfg = config_default();
	struct fetch_stats st;
	struct caller c;

	cfg.cacert = ca_file;
	test_begin(&cfg);
	for (unsigned int i = 0; i < 3; i++) {
		ask(&c, "https", "/good");
		assert_verdict(&c, VERDICT_PART);
		ck_assert_uint_eq(c.next, 1 << 20);
	}
	fetch_stats(test_shared, &st);
	ck_assert_uint_eq(st.connections_made, 1);
	/* up is fine, down is not */
	ask(&c, "http", "/to-tls");
	assert_verdict(&c, VERDICT_PART);
	ck_assert(strncmp(c.resolved, "https://", 8) == 0);
	ask(&c, "https", "/to-tls");
	assert_verdict(&c, VERDICT_PART);
	ask(&c, "https", "/to-plain");
	assert_verdict(&c, VERDICT_SCHEME);
	test_end();
}
END_TEST

START_TEST(not_verified)
{
	struct fetch_config cfg = config_default();
	struct caller c;

	test_begin(&cfg);
	ask(&c, "https", "/good");
	assert_verdict(&c, VERDICT_TLS);
	ck_assert_ptr_nonnull(strstr(c.result.detail, "certificate"));
	ck_assert_uint_eq(c.bodies, 0);
	test_end();

	cfg.insecure = true;
	test_begin(&cfg);
	ask(&c, "https", "/good");
	assert_verdict(&c, VERDICT_PART);
	test_end();

	cfg.insecure = false;
	cfg.cacert = "/does/not/exist";
	test_begin(&cfg);
	ask(&c, "https", "/good");
	assert_verdict(&c, VERDICT_TLS);
	test_end();
}
END_TEST

int main(void)
{
	Suite *s = suite_create("fetch: TLS");
	TCase *t = tcase_create("TLS");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 60);
	tcase_add_test(t, verified);
	tcase_add_test(t, not_verified);
	suite_add_tcase(s, t);
	return test_main(s);
}
