/*
 * cmd_status.c - rgetfs status: what the mounts have and do
 *
 * Living mounts are found by their control sockets. Those of ours that only the kernel knows are
 * dead, or were started with another runtime directory: these are asked through their mountpoints.
 */
#include <poll.h>
#include <signal.h>

#include "base/clock.h"
#include "cli/commands.h"
#include "cli/order.h"
#include "cli/status_view.h"
#include "daemon/control.h"
#include "daemon/mounts.h"

#define INTERVAL_MS 1000
#define SHARE	    10 /* looking takes at most that part of the time */
#define NAME_US	    (2 * USEC_PER_SEC)

struct status {
	bool json, watch, all;
	json_t *list;	     /* of answers */
	unsigned int failed; /* mounts that did not answer: each was said */
	bool silent;	     /* it was said already */
	struct screen *screen;
};

static const struct cli_option status_options[] = {
	{"json", 0, NULL, "Options", set_flag, offsetof(struct status, json), 0, NULL},
	{"watch", 'w', NULL, "Options", set_flag, offsetof(struct status, watch), 0, NULL},
	{"all", 'a', NULL, "Options", set_flag, offsetof(struct status, all), 0, NULL},
};

static volatile sig_atomic_t interrupted;

static void on_interrupt(int sig)
{
	(void)sig;
	interrupted = 1;
}

static void say(struct status *st, const char *where, const char *what)
{
	st->failed++;
	if (st->silent)
		return;
	screen_clear(st->screen);
	fprintf(stderr, "rgetfs: %s%s%s\n", where, *where ? ": " : "", what);
}

/* Many files come in batches. */
static void on_batch(void *ctx, const json_t *line)
{
	json_array_extend(ctx, json_object_get(line, "files"));
}

/* where: for the message, "" if that has it. */
static void ask(struct status *st, struct control_client *c, const char *where)
{
	char error[CONTROL_ERROR_MAX];
	json_t *answer = NULL, *files = json_array();

	if (control_call(c, json_pack("{s:s,s:b}", "command", "status", "all", st->all), on_batch,
			 files, &answer, error) == 0) {
		json_array_extend(files, json_object_get(answer, "files"));
		json_object_set(answer, "files", files);
		json_array_append_new(st->list, answer);
	} else {
		say(st, where, error);
	}
	json_decref(files);
}

static bool listed(const struct status *st, const char *point)
{
	const json_t *one;
	size_t i;

	json_array_foreach(st->list, i, one)
	{
		if (strcmp(json_get_text(one, "mountpoint"), point) == 0)
			return true;
	}
	return false;
}

/* Mounts that are asked through their mountpoints, all at once. */
struct asked {
	struct status *st;
	struct place {
		char *point;
		struct control_question question;
	} * list;
	size_t count;
	unsigned int silent;
};

static int begin_at(struct asked *a, const char *point)
{
	struct place *more = reallocarray(a->list, a->count + 1, sizeof(*more));
	char *copy = strdup(point);

	if (more)
		a->list = more;
	if (!more || !copy) {
		free(copy);
		return -ENOMEM;
	}
	more += a->count++;
	more->point = copy;
	control_question_begin(&more->question, point);
	return 0;
}

static void end_all(struct asked *a, uint64_t until_us)
{
	for (size_t i = 0; i < a->count; i++) {
		struct place *p = &a->list[i];
		char error[CONTROL_ERROR_MAX];
		struct control_client c;
		int r = control_question_connect(&p->question, p->point, until_us, &c, error);

		a->silent += r == -ETIMEDOUT;
		if (r < 0) {
			say(a->st, "", error);
		} else {
			if (!listed(a->st, p->point)) /* named twice */
				ask(a->st, &c, p->point);
			control_disconnect(&c);
		}
		free(p->point);
	}
	free(a->list);
}

static int each_daemon(void *ctx, struct control_client *c)
{
	ask(ctx, c, "a mount");
	return 0;
}

static int each_mount(void *ctx, const struct mount_entry *m)
{
	struct asked *a = ctx;

	return m->uid == getuid() && !listed(a->st, m->point) ? begin_at(a, m->point) : 0;
}

static int by_mountpoint(const void *a, const void *b)
{
	return strcmp(json_get_text(*(json_t *const *)a, "mountpoint"),
		      json_get_text(*(json_t *const *)b, "mountpoint"));
}

/* In the order of their mountpoints. */
static void sort(json_t *list)
{
	size_t count = json_array_size(list);
	json_t **item = calloc(count + 1, sizeof(json_t *));

	for (size_t i = 0; item && i < count; i++)
		item[i] = json_incref(json_array_get(list, i));
	if (item) {
		qsort(item, count, sizeof(json_t *), by_mountpoint);
		json_array_clear(list);
		for (size_t i = 0; i < count; i++)
			json_array_append_new(list, item[i]);
	}
	free(item);
}

static void ask_named(struct status *st, int argc, char **argv)
{
	struct asked a = {.st = st};

	for (int i = 0; i < argc; i++) {
		char *point = NULL;
		int r = mounts_resolve(argv[i], &point);

		if (r == 0)
			r = begin_at(&a, point);
		if (r < 0)
			say(st, argv[i], strerror(-r));
		free(point);
	}
	end_all(&a, control_patience());
}

static void ask_every(struct status *st)
{
	struct asked a = {.st = st};
	uint64_t until_us = control_patience();
	unsigned int silent = 0;
	int r = control_each(each_daemon, st, &silent);

	if (r < 0 && r != -ENOENT)
		say(st, "the directory of control sockets", strerror(-r));
	mounts_each(each_mount, &a);
	/* Who was silent on its socket for all that time is asked only to know its mountpoint. */
	end_all(&a, max_u64(until_us, clock_now_us() + NAME_US));
	for (; silent > a.silent; silent--)
		say(st, "a mount that is not to be seen here", "the daemon does not answer");
	sort(st->list);
}

static void ask_all(struct status *st, int argc, char **argv)
{
	json_array_clear(st->list);
	st->failed = 0;
	if (argc > 0)
		ask_named(st, argc, argv);
	else
		ask_every(st);
}

static void show_json(const struct status *st)
{
	const json_t *one;
	size_t i;

	json_array_foreach(st->list, i, one)
	{
		json_dumpf(one, stdout, JSON_COMPACT);
		putchar('\n');
	}
	fflush(stdout);
}

static void show(struct status *st)
{
	struct screen *s = st->screen;
	const json_t *one;
	size_t i;

	if (st->json) {
		show_json(st);
		return;
	}
	screen_begin(s);
	json_array_foreach(st->list, i, one)
	{
		if (!st->watch && i > 0)
			screen_line(s, "%s", "");
		if (st->watch && !s->live)
			status_view_plain(s, one);
		else
			status_view(s, one, st->watch);
	}
	if (json_array_size(st->list) == 0 && !st->failed)
		screen_line(s, "no mounts (rgetfs mount --help tells how to make one)");
	screen_show(s);
}

static void watch(struct status *st, int argc, char **argv)
{
	struct sigaction sa = {.sa_handler = on_interrupt, .sa_flags = SA_RESETHAND};
	uint64_t interval_ms = INTERVAL_MS;

	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	while (!interrupted && !ferror(stdout)) {
		uint64_t began_us;

		poll(NULL, 0, (int)interval_ms);
		if (interrupted)
			break;
		st->silent = true;
		began_us = clock_now_us();
		ask_all(st, argc, argv);
		/* A very long manifest takes its time: looking must not become the work. */
		interval_ms =
			max_u64(INTERVAL_MS, SHARE * (clock_now_us() - began_us) / USEC_PER_MS);
		show(st);
	}
}

int cmd_status(const struct command *cmd, int argc, char **argv)
{
	struct status st = {0};
	const struct option_set set = {status_options, ARRAY_SIZE(status_options), &st, false};
	struct screen screen;
	int n = options_parse(cmd, &set, 1, argc, argv);
	int status;

	if (n < 0)
		return options_status(n);
	screen_init(&screen, stdout);
	if (!st.watch) /* all of it, however long */
		screen.live = false;
	st.screen = &screen;
	st.list = json_array();
	ask_all(&st, n, argv);
	show(&st);
	status = st.failed > 0;
	if (st.watch && !(n > 0 && json_array_size(st.list) == 0)) {
		watch(&st, n, argv);
		status = 0;
	}
	json_decref(st.list);
	screen_done(&screen);
	return status;
}
