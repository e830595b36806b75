/*
 * cmd_index.c - rgetfs index: a manifest that knows sizes, dates and validators
 */
#include <inttypes.h>
#include <signal.h>
#include <sys/stat.h>

#include "base/size.h"
#include "cli/asking.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/settings.h"
#include "daemon/limits.h"
#include "daemon/source.h"

struct index_options {
	const char *output;
	enum manifest_layout layout;
	bool quiet;
};

#define OUTPUT "Output"
static const struct cli_option index_options[] = {
	{"output", 'o', "FILE", OUTPUT, set_text, offsetof(struct index_options, output), 0,
	 "a file"},
	{"layout", 0, "flat|url", OUTPUT, set_layout, offsetof(struct index_options, layout), 0,
	 "flat or url"},
	{"quiet", 'q', NULL, OUTPUT, set_flag, offsetof(struct index_options, quiet), 0, NULL},
};

static volatile sig_atomic_t interrupted;

static void on_signal(int sig)
{
	(void)sig;
	interrupted = 1;
}

static bool stop(void)
{
	return interrupted;
}

static bool to_stdout(const struct index_options *opt)
{
	return !opt->output || strcmp(opt->output, "-") == 0;
}

/* Who may read the manifest may read what is made of it, nobody else: its URLs may hold secrets. */
static mode_t mode_of(const struct source *src)
{
	struct stat st;

	if (src->kind != SOURCE_FILE)
		return 0600;
	return stat(src->place, &st) == 0 ? (st.st_mode & 0666) | 0600 : 0600;
}

static void say(const struct entry *e, const char *what)
{
	char path[4096], clean[512];

	fprintf(stderr, "rgetfs: %s: %s\n", text_clean(path, sizeof(path), e->path),
		text_clean(clean, sizeof(clean), what));
}

/* What the manifest says stays; false: the server says something else. */
static bool complete(struct entry *e, const struct answer *a)
{
	char what[128];

	if (a->error) {
		say(e, a->error);
		return false;
	}
	if (e->size != SIZE_UNKNOWN && a->size != SIZE_UNKNOWN && e->size != a->size) {
		snprintf(what, sizeof(what),
			 "the manifest says %" PRIu64 " bytes, the server %" PRIu64, e->size,
			 a->size);
		say(e, what);
		return false;
	}
	if (e->size == SIZE_UNKNOWN)
		e->size = a->size;
	if (e->mtime == MANIFEST_NO_TIME)
		e->mtime = a->mtime;
	if (!e->etag)
		e->etag = a->etag;
	return true;
}

/* 0 or -errno; *ret_failed counts entries. */
static int write_all(FILE *f, struct manifest *m, const struct answer *answers,
		     uint32_t *ret_failed)
{
	uint32_t count = manifest_count(m), failed = 0;
	struct entry e;
	int r = manifest_write_json_begin(f);

	entry_init(&e);
	for (uint32_t i = 0; i < count && r == 0; i++) {
		r = manifest_entry(m, i, &e);
		if (r == 0 && !e.directory && !complete(&e, &answers[i]))
			failed++;
		if (r == 0)
			r = manifest_write_json_entry(f, &e, i == 0);
	}
	entry_done(&e);
	*ret_failed = failed;
	return r < 0 ? r : manifest_write_json_end(f);
}

/* The exit status. */
static int write_output(const struct index_options *opt, struct output *out, struct manifest *m,
			const struct answer *answers)
{
	uint32_t failed = 0;
	int r = write_all(out->f, m, answers, &failed);

	if (r == 0)
		r = output_commit(out);
	if (r < 0)
		fprintf(stderr, "rgetfs: %s: %s\n",
			to_stdout(opt) ? "standard output" : opt->output, strerror(-r));
	else if (!opt->quiet && !to_stdout(opt))
		printf("%s: %" PRIu32 " %s, %" PRIu32 " of them without an answer\n", opt->output,
		       manifest_count(m), plural(manifest_count(m), "entry", "entries"), failed);
	return r < 0 || failed > 0;
}

/* 0 and what is to be put, or -errno and a line. */
static int ask(const struct index_options *opt, struct settings *s, const struct source *src,
	       struct manifest **ret, struct answer **ret_answers, char error[MANIFEST_ERROR_MAX])
{
	const struct manifest_options mopt = {.layout = opt->layout};
	const struct source_net net = {.fetch = &s->engine.fetch};
	struct source_result loaded;
	struct progress progress;
	int r = source_load(src, &mopt, &net, NULL, &loaded, error);

	if (r < 0)
		return r;
	/* Nothing but the manifest goes to standard output. */
	progress_init(&progress, opt->quiet || (to_stdout(opt) && !isatty(STDERR_FILENO)));
	r = asking_run(&s->engine, loaded.manifest, &progress, stop, ret_answers, error);
	progress_done(&progress);
	if (r == -EINTR)
		snprintf(error, MANIFEST_ERROR_MAX, "interrupted, nothing was written");
	if (r < 0)
		manifest_put(loaded.manifest);
	else
		*ret = loaded.manifest;
	return r;
}

static int run(const struct index_options *opt, struct settings *s, const struct source *src)
{
	char error[MANIFEST_ERROR_MAX] = "out of memory";
	struct answer *answers = NULL;
	struct manifest *m = NULL;
	struct output out;
	int r;

	/* First: a place that can't be written to is better known before all is asked. */
	r = output_open(&out, opt->output, mode_of(src));
	if (r < 0)
		snprintf(error, sizeof(error), "%s: %s", opt->output, strerror(-r));
	else
		r = ask(opt, s, src, &m, &answers, error);
	if (r < 0) {
		fprintf(stderr, "rgetfs: %s\n", error);
		output_done(&out);
		return 1;
	}
	r = write_output(opt, &out, m, answers);
	output_done(&out);
	asking_done(answers, manifest_count(m));
	manifest_put(m);
	return r;
}

int cmd_index(const struct command *cmd, int argc, char **argv)
{
	const struct sigaction sa = {.sa_handler = on_signal, .sa_flags = SA_RESETHAND};
	struct index_options opt = {0};
	char error[MANIFEST_ERROR_MAX];
	struct settings s;
	const struct option_set sets[] = {
		{index_options, ARRAY_SIZE(index_options), &opt, false},
		{fetch_options, fetch_option_count, &s, false},
	};
	struct source src = {0};
	int n, r;

	settings_init(&s);
	n = options_parse(cmd, sets, ARRAY_SIZE(sets), argc, argv);
	if (n < 0)
		return options_status(n);
	if (n != 1)
		return options_usage(cmd, "one manifest is needed");
	settings_finish(&s);
	log_set_level(LOG_LEVEL_ERROR);
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGHUP, &sa, NULL);
	signal(SIGPIPE, SIG_IGN);
	if (limits_fit(&s.engine, NULL, error) < 0 || source_init(&src, argv[0], error) < 0) {
		fprintf(stderr, "rgetfs: %s\n", error);
		r = 1;
	} else {
		r = run(&opt, &s, &src);
	}
	source_done(&src);
	return r;
}
