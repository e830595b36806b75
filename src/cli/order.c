/*
 * order.c - fill, drop and verify: the same order to every mount concerned, its progress, one
 * result
 *
 * The mounts are asked one after the other. When the user interrupts us, the daemon sees the
 * connection end and gives the order up.
 */
#include "cli/order.h"

#include <signal.h>

#include "base/clock.h"
#include "cli/targets.h"
#include "core/range.h"
#include "daemon/control.h"

#define FILES_SHOWN 32

struct run {
	const struct order *order;
	struct progress progress;
	struct progress_total before; /* the mounts that are done */
	struct progress_total now;    /* and the one that is not */
	const char *point;
	json_t *sums, *failures;
	unsigned int failed;
};

uint64_t json_get_number(const json_t *object, const char *key)
{
	json_int_t n = json_integer_value(json_object_get(object, key));

	return n > 0 ? (uint64_t)n : 0;
}

const char *json_get_text(const json_t *object, const char *key)
{
	const char *s = json_string_value(json_object_get(object, key));

	return s ? s : "";
}

static void fail(struct run *run, const char *path, const char *why)
{
	char *full = NULL;
	char clean[2048];

	if (asprintf(&full, "%s%s%s", run->point, *path ? "/" : "", path) < 0)
		full = NULL;
	progress_clear(&run->progress);
	fprintf(stderr, "rgetfs: %s: ", text_clean(clean, sizeof(clean), full ? full : path));
	fprintf(stderr, "%s\n", text_clean(clean, sizeof(clean), why));
	run->failed++;
	json_array_append_new(run->failures,
			      json_pack("{s:s,s:s}", "path", full ? full : path, "error", why));
	free(full);
}

static void read_total(const json_t *line, struct progress_total *t)
{
	*t = (struct progress_total){
		.files = json_get_number(line, "files"),
		.files_done = json_get_number(line, "files_done"),
		.files_failed = json_get_number(line, "files_failed"),
		.bytes = json_get_number(line, "bytes"),
		.bytes_done = json_get_number(line, "bytes_done"),
		.sizes_unknown = json_get_number(line, "sizes_unknown") > 0,
	};
}

static void add_total(struct progress_total *to, const struct progress_total *t)
{
	to->files += t->files;
	to->files_done += t->files_done;
	to->files_failed += t->files_failed;
	to->bytes += t->bytes;
	to->bytes_done += t->bytes_done;
	to->sizes_unknown = to->sizes_unknown || t->sizes_unknown;
}

static void on_progress(void *ctx, const json_t *line)
{
	struct run *run = ctx;
	const json_t *failed = json_object_get(line, "failed");
	const json_t *active = json_object_get(line, "active"), *one;
	struct progress_file files[FILES_SHOWN];
	struct progress_total total;
	size_t count = 0, i;

	if (failed) {
		fail(run, json_get_text(failed, "path"), json_get_text(failed, "error"));
		return;
	}
	json_array_foreach(active, i, one)
	{
		const json_t *size = json_object_get(one, "size");

		if (count == FILES_SHOWN)
			break;
		files[count++] = (struct progress_file){
			.name = json_get_text(one, "path"),
			.size = json_is_integer(size) ? json_get_number(one, "size") : SIZE_UNKNOWN,
			.done = json_get_number(one, "bytes_cached"),
			.rate_bps = json_get_number(one, "rate_bps"),
			.connections = (unsigned int)json_get_number(one, "connections"),
		};
	}
	read_total(line, &run->now);
	total = run->before;
	add_total(&total, &run->now);
	total.waiting = json_string_value(json_object_get(line, "waiting"));
	progress_update(&run->progress, &total, files, count);
}

static void add_result(struct run *run, const json_t *result)
{
	const char *key;
	const json_t *value;

	/* jansson's loop wants an object that may change. */
	json_object_foreach((json_t *)(uintptr_t)result, key, value)
	{
		if (json_is_integer(value))
			json_object_set_new(run->sums, key,
					    json_integer(
						    (json_int_t)(json_get_number(run->sums, key)) +
						    json_integer_value(value)));
	}
}

static bool all_zero(const json_t *sums)
{
	const char *key;
	const json_t *value;

	json_object_foreach((json_t *)(uintptr_t)sums, key, value)
	{
		if (json_integer_value(value) != 0)
			return false;
	}
	return true;
}

/* What a handler may touch: said as the last thing before the signal does what it does. */
static const char *interrupted_words;

static void on_interrupt(int sig)
{
	size_t len = strlen(interrupted_words);

	if (write(STDERR_FILENO, interrupted_words, len) < 0)
		_exit(1);
	raise(sig); /* its handler was for once */
}

static void say_when_interrupted(const struct order *o)
{
	struct sigaction sa = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND}, was;

	if (!o->interrupted || o->quiet)
		return;
	interrupted_words = o->interrupted;
	/* Where a shell lets it be ignored it stays so. */
	if (sigaction(SIGINT, NULL, &was) == 0 && was.sa_handler == SIG_DFL)
		sigaction(SIGINT, &sa, NULL);
}

static void run_target(struct run *run, const struct target *t)
{
	char error[CONTROL_ERROR_MAX];
	struct control_client c;
	json_t *result = NULL;
	int r;

	run->point = t->point;
	run->now = (struct progress_total){0};
	r = control_connect(t->point, &c, error);
	if (r < 0) { /* its line names the mountpoint itself */
		progress_clear(&run->progress);
		fprintf(stderr, "rgetfs: %s\n", error);
		run->failed++;
		return;
	}
	r = control_call(&c,
			 json_pack("{s:s,s:O,s:b}", "command", run->order->command, "paths",
				   t->paths, "wait", !run->order->no_wait),
			 on_progress, run, &result, error);
	control_disconnect(&c);
	if (r < 0)
		fail(run, "", error);
	add_total(&run->before, &run->now);
	add_result(run, result);
	json_decref(result);
}

int order_run(const struct command *cmd, const struct order *o, int argc, char **argv)
{
	struct run run = {.order = o};
	struct targets targets;
	uint64_t elapsed_us;

	if (argc < 1)
		return options_usage(cmd, "a path is needed");
	if (targets_init(&targets, argc, argv) < 0) {
		fprintf(stderr, "rgetfs: out of memory\n");
		return 1;
	}
	run.sums = json_object();
	run.failures = json_array();
	run.failed = targets.failed;
	say_when_interrupted(o);
	progress_init(&run.progress, o->json || o->quiet || o->no_wait);
	for (size_t i = 0; i < targets.count; i++)
		run_target(&run, &targets.list[i]);
	elapsed_us = progress_elapsed_us(&run.progress);
	progress_done(&run.progress);

	if (o->json) {
		json_object_set(run.sums, "failures", run.failures);
		json_dumpf(run.sums, stdout, JSON_COMPACT);
		putchar('\n');
	} else if (!o->quiet && json_object_size(run.sums) > 0 &&
		   !(run.failed && all_zero(run.sums))) { /* of names that are none */
		o->tell(run.sums, elapsed_us);
	}
	json_decref(run.sums);
	json_decref(run.failures);
	targets_done(&targets);
	return run.failed > 0;
}
