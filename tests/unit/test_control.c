/*
 * test_control.c - the control socket: requests, progress, cancelling, the end; and the paths
 * around it
 */
#include "daemon/control.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "daemon/paths.h"
#include "suite.h"

static char dir[64];
static struct control *ctl;
static atomic_int waiting; /* slow handlers that run */

static int on_echo(void *ctx, struct control_call *call, const json_t *request, json_t **ret_result)
{
	(void)ctx;
	(void)call;
	*ret_result = json_deep_copy(request);
	return 0;
}

static int on_fail(void *ctx, struct control_call *call, const json_t *request, json_t **ret_result)
{
	(void)ctx;
	(void)request;
	(void)ret_result;
	return control_explain(call, -ENOSPC, "no %s", "space");
}

static int on_steps(void *ctx, struct control_call *call, const json_t *request,
		    json_t **ret_result)
{
	(void)ctx;
	(void)request;
	(void)ret_result;
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(control_progress(call, json_pack("{s:i}", "step", i)), 0);
	return 0;
}

static int on_slow(void *ctx, struct control_call *call, const json_t *request, json_t **ret_result)
{
	const struct timespec pause = {.tv_nsec = 5 * 1000 * 1000};

	(void)ctx;
	(void)request;
	(void)ret_result;
	atomic_fetch_add(&waiting, 1);
	while (!control_cancelled(call))
		nanosleep(&pause, NULL);
	atomic_fetch_sub(&waiting, 1);
	return -ECANCELED;
}

static void setup(void)
{
	snprintf(dir, sizeof(dir), "/tmp/rgetfs-test-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	setenv("XDG_RUNTIME_DIR", dir, 1);
	ck_assert_int_eq(control_new(&ctl), 0);
	ck_assert_int_eq(control_register(ctl, "echo", on_echo, NULL), 0);
	ck_assert_int_eq(control_register(ctl, "fail", on_fail, NULL), 0);
	ck_assert_int_eq(control_register(ctl, "steps", on_steps, NULL), 0);
	ck_assert_int_eq(control_register_long(ctl, "slow", on_slow, NULL), 0);
	ck_assert_int_eq(control_start(ctl), 0);
}

static void teardown(void)
{
	char sub[96];

	if (ctl) {
		control_stop(ctl);
		control_free(ctl);
	}
	ctl = NULL;
	snprintf(sub, sizeof(sub), "%s/rgetfs", dir);
	rmdir(sub);
	rmdir(dir);
}

static struct control_client client(void)
{
	struct control_client c;

	ck_assert_int_eq(control_connect_path(control_path(ctl), &c), 0);
	return c;
}

START_TEST(asked_and_answered)
{
	struct control_client c = client();
	char error[CONTROL_ERROR_MAX];
	json_t *result = NULL;

	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(control_call(&c, json_pack("{s:s,s:i}", "command", "echo", "n", i),
					      NULL, NULL, &result, error),
				 0);
		ck_assert_int_eq(json_integer_value(json_object_get(result, "n")), i);
		json_decref(result);
	}
	ck_assert_int_eq(control_call(&c, json_pack("{s:s}", "command", "fail"), NULL, NULL,
				      &result, error),
			 -ENOSPC);
	ck_assert_str_eq(error, "no space");
	ck_assert_int_eq(control_call(&c, json_pack("{s:s}", "command", "none"), NULL, NULL,
				      &result, error),
			 -ENOSYS);
	ck_assert_int_eq(control_call(&c, json_pack("[i]", 1), NULL, NULL, &result, error),
			 -EINVAL);
	control_disconnect(&c);
}
END_TEST

static void count_step(void *ctx, const json_t *line)
{
	int *steps = ctx;

	ck_assert_int_eq(json_integer_value(json_object_get(line, "step")), *steps);
	(*steps)++;
}

START_TEST(progress_comes_before_the_answer)
{
	struct control_client c = client();
	char error[CONTROL_ERROR_MAX];
	json_t *result = NULL;
	int steps = 0;

	ck_assert_int_eq(control_call(&c, json_pack("{s:s}", "command", "steps"), count_step,
				      &steps, &result, error),
			 0);
	ck_assert_int_eq(steps, 3);
	json_decref(result);
	control_disconnect(&c);
}
END_TEST

static void send_text(int fd, const char *text)
{
	ck_assert_int_eq(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

static void wait_until(int n)
{
	const struct timespec pause = {.tv_nsec = 5 * 1000 * 1000};

	while (atomic_load(&waiting) != n)
		nanosleep(&pause, NULL);
}

START_TEST(a_client_that_goes_cancels)
{
	struct control_client c = client();

	send_text(c.fd, "{\"command\":\"slow\"}\n");
	wait_until(1);
	control_disconnect(&c);
	wait_until(0);
}
END_TEST

START_TEST(the_end_cancels_and_is_seen_last)
{
	struct control_client slow = client(), idle = client();
	char byte;

	send_text(slow.fd, "{\"command\":\"slow\"}\n");
	wait_until(1);
	control_stop(ctl);
	ck_assert_int_eq(atomic_load(&waiting), 0);
	/* Stopped, not ended: the connection is open until everything is over. */
	ck_assert_int_eq(control_wait_end(&idle, 50), -ETIMEDOUT);
	ck_assert_int_eq(recv(idle.fd, &byte, 1, MSG_DONTWAIT), -1);
	control_free(ctl);
	ctl = NULL;
	ck_assert_int_eq(control_wait_end(&idle, 10000), 0);
	control_disconnect(&slow);
	control_disconnect(&idle);
}
END_TEST

START_TEST(a_request_has_its_maximum)
{
	struct control_client c = client();
	char *big = malloc(CONTROL_REQUEST_MAX + 1);
	size_t done = 0;

	memset(big, 'x', CONTROL_REQUEST_MAX + 1);
	while (done < CONTROL_REQUEST_MAX + 1) {
		ssize_t n = send(c.fd, big + done, CONTROL_REQUEST_MAX + 1 - done, MSG_NOSIGNAL);

		if (n < 0)
			break; /* closed already */
		done += (size_t)n;
	}
	ck_assert_int_eq(control_wait_end(&c, 10000), 0);
	control_disconnect(&c);
	free(big);
}
END_TEST

/* The one command there is time for; its error. */
static int ask(struct control_client *c, const char *command)
{
	char error[CONTROL_ERROR_MAX];
	json_t *result = NULL;
	int r = control_call(c, json_pack("{s:s}", "command", command), NULL, NULL, &result, error);

	json_decref(result);
	return r;
}

START_TEST(long_commands_leave_room)
{
	struct control_client slow[CONTROL_CONNECTIONS_MAX], c;
	unsigned int most = CONTROL_CONNECTIONS_MAX - CONTROL_SHORT_KEPT;

	for (unsigned int i = 0; i < most; i++) {
		slow[i] = client();
		send_text(slow[i].fd, "{\"command\":\"slow\"}\n");
	}
	wait_until((int)most);
	c = client();
	ck_assert_int_eq(ask(&c, "slow"), -EBUSY);
	ck_assert_int_eq(ask(&c, "echo"), 0);
	for (unsigned int i = 0; i < most; i++)
		control_disconnect(&slow[i]);
	wait_until(0);
	send_text(c.fd, "{\"command\":\"slow\"}\n");
	wait_until(1);
	control_disconnect(&c);
}
END_TEST

START_TEST(one_too_many_is_told_so)
{
	struct control_client some[CONTROL_CONNECTIONS_MAX], c;

	for (unsigned int i = 0; i < CONTROL_CONNECTIONS_MAX; i++) {
		some[i] = client();
		ck_assert_int_eq(ask(&some[i], "echo"), 0);
	}
	c = client();
	ck_assert_int_eq(ask(&c, "echo"), -EBUSY);
	/* Hung up on, but the daemon has not ended. */
	ck_assert_int_eq(control_wait_end(&c, 100), -ETIMEDOUT);
	control_disconnect(&c);
	for (unsigned int i = 0; i < CONTROL_CONNECTIONS_MAX; i++)
		control_disconnect(&some[i]);
}
END_TEST

START_TEST(no_descriptor_is_told_so)
{
	struct control_client c = client(), waits;
	struct rlimit before, few;

	ck_assert_int_eq(ask(&c, "echo"), 0);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
	few = before;
	few.rlim_cur = 100;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
	/* One is left for the client itself, none for the daemon. */
	while (dup(STDIN_FILENO) >= 0)
		;
	close(99);
	waits = client();
	ck_assert_int_eq(ask(&waits, "echo"), -EBUSY);
	control_disconnect(&waits);
	waits = client();
	ck_assert_int_eq(ask(&waits, "echo"), -EBUSY);
	control_disconnect(&waits);
	ck_assert_int_eq(ask(&c, "echo"), 0);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
	waits = client();
	ck_assert_int_eq(ask(&waits, "echo"), 0);
	control_disconnect(&waits);
	control_disconnect(&c);
}
END_TEST

/* Takes connections into its backlog, as a daemon does that was stopped. */
START_TEST(a_silent_daemon_has_its_time)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct control_client c;

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/silent", dir);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	ck_assert_int_eq(listen(fd, 4), 0);
	ck_assert_int_eq(control_connect_path(addr.sun_path, &c), 0);
	ck_assert_int_eq(ask(&c, "echo"), -ETIMEDOUT);
	control_disconnect(&c);
	close(fd);
	unlink(addr.sun_path);
}
END_TEST

static int count_one(void *ctx, struct control_client *c)
{
	(void)c;
	(*(int *)ctx)++;
	return 0;
}

START_TEST(the_dead_are_told_from_the_living)
{
	char stale[CONTROL_PATH_MAX + 16];
	struct control_client c;
	unsigned int silent = 1;
	int count = 0;

	/* What kill -9 leaves: a socket nobody listens on. */
	snprintf(stale, sizeof(stale), "%s/rgetfs/1.sock", dir);
	ck_assert_int_eq(link(control_path(ctl), stale), 0);
	ck_assert_int_eq(control_each(count_one, &count, &silent), 0);
	ck_assert_int_eq(count, 2);
	ck_assert_uint_eq(silent, 0);
	unlink(control_path(ctl));
	control_stop(ctl);
	control_free(ctl);
	ctl = NULL;
	ck_assert_int_eq(control_connect_path(stale, &c), -ECONNREFUSED);
	count = 0;
	ck_assert_int_eq(control_each(count_one, &count, &silent), 0);
	ck_assert_int_eq(count, 0);
	ck_assert_int_eq(access(stale, F_OK), -1);
}
END_TEST

START_TEST(its_directory_is_ours_alone)
{
	char buf[CONTROL_PATH_MAX], sub[96];

	snprintf(sub, sizeof(sub), "%s/rgetfs", dir);
	ck_assert_int_eq(control_dir(buf, sizeof(buf)), 0);
	ck_assert_str_eq(buf, sub);
	ck_assert_int_eq(chmod(sub, 0755), 0);
	ck_assert_int_eq(control_dir(buf, sizeof(buf)), -EPERM);
	ck_assert_int_eq(chmod(sub, 0700), 0);
	ck_assert_int_eq(control_dir(buf, 5), -ENAMETOOLONG);
}
END_TEST

START_TEST(paths)
{
	char *real, want[160], given[160], link_name[96];

	ck_assert(path_within("/a/b", "/a/b"));
	ck_assert(path_within("/a/b", "/a/b/c"));
	ck_assert(!path_within("/a/b", "/a/bc"));
	ck_assert(!path_within("/a/b", "/a"));
	ck_assert(path_within("/", "/x"));

	/* What does not exist yet is found through what does. */
	snprintf(link_name, sizeof(link_name), "%s/link", dir);
	ck_assert_int_eq(symlink("rgetfs", link_name), 0);
	snprintf(given, sizeof(given), "%s/link/x/y/", dir);
	snprintf(want, sizeof(want), "%s/rgetfs/x/y", dir);
	ck_assert_int_eq(path_resolve(given, &real), 0);
	ck_assert_str_eq(real, want);
	free(real);
	unlink(link_name);
	ck_assert_int_eq(path_resolve("/", &real), 0);
	ck_assert_str_eq(real, "/");
	free(real);
	ck_assert_int_eq(path_resolve("/no-such-thing-here", &real), 0);
	ck_assert_str_eq(real, "/no-such-thing-here");
	free(real);
}
END_TEST

START_TEST(cache_names)
{
	char *a, *b;

	ck_assert_int_eq(cache_dir("/c", NULL, "/home/me/list one.txt", &a), 0);
	ck_assert_int_eq(cache_dir("/c", NULL, "/home/you/list one.txt", &b), 0);
	ck_assert_int_eq(strncmp(a, "/c/listone.txt-", 15), 0);
	ck_assert_str_ne(a, b);
	free(b);
	ck_assert_int_eq(cache_dir("/c", NULL, "/home/me/list one.txt", &b), 0);
	ck_assert_str_eq(a, b);
	free(a);
	free(b);
	ck_assert_int_eq(cache_dir("/c", NULL, "https://h/a/../?q=secret", &a), 0);
	ck_assert_ptr_null(strstr(a, "secret"));
	ck_assert_ptr_null(strstr(a, ".."));
	free(a);
	ck_assert_int_eq(cache_dir("/c", "name", "x", &a), 0);
	ck_assert_str_eq(a, "/c/name");
	free(a);
	ck_assert_int_eq(cache_dir("/c", "../x", "x", &a), -EINVAL);
	ck_assert_int_eq(cache_dir("/c", "..", "x", &a), -EINVAL);
	ck_assert_int_eq(cache_dir("/c", "", "x", &a), -EINVAL);
}
END_TEST

static void fill(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, asked_and_answered);
	tcase_add_test(tc, progress_comes_before_the_answer);
	tcase_add_test(tc, a_client_that_goes_cancels);
	tcase_add_test(tc, the_end_cancels_and_is_seen_last);
	tcase_add_test(tc, a_request_has_its_maximum);
	tcase_add_test(tc, long_commands_leave_room);
	tcase_add_test(tc, one_too_many_is_told_so);
	tcase_add_test(tc, no_descriptor_is_told_so);
	tcase_add_test(tc, a_silent_daemon_has_its_time);
	tcase_add_test(tc, the_dead_are_told_from_the_living);
	tcase_add_test(tc, its_directory_is_ours_alone);
	tcase_add_test(tc, paths);
	tcase_add_test(tc, cache_names);
}

int main(void)
{
	return suite_run("control", fill);
}
