/*
 * cmd_get.c - rgetfs get: download into ordinary files
 *
 * The downloads run on a thread of their own; this one tells of them and takes signals. It sleeps
 * on a descriptor that the end and a signal write to, so that a small file costs no waiting.
 */
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>

#include "cli/commands.h"
#include "cli/get_saved.h"
#include "cli/get_view.h"
#include "cli/settings.h"
#include "daemon/limits.h"
#include "daemon/paths.h"
#include "daemon/source.h"
#include "get/beneath.h"

#define LOOK_MS 100

struct get_options {
	const char *input, *forget;
	struct get_plan_options plan;
	unsigned int max_files;
	uint64_t checkpoint_us;
	enum foreign_kind continue_from;
	bool content_disposition, quiet, json, list, resume_all;
};

static int set_checksum(void *target, const struct cli_option *o, const char *value)
{
	struct checksum sum;

	return checksum_parse(value, &sum) < 0 ? -EINVAL : set_text(target, o, value);
}

static int set_continue_from(void *target, const struct cli_option *o, const char *value)
{
	struct get_options *opt = target;

	(void)o;
	if (strcmp(value, "aria2") == 0)
		opt->continue_from = FOREIGN_ARIA2;
	else if (strcmp(value, "prefix") == 0)
		opt->continue_from = FOREIGN_PREFIX;
	else
		return -EINVAL;
	return 0;
}

#define AT(field) offsetof(struct get_options, field)
#define FILES	  "What, and where to"
#define BEGUN	  "What was begun"
static const struct cli_option get_options[] = {
	{"input", 'i', "MANIFEST", FILES, set_text, AT(input), 0, "a file, - or a URL"},
	{"output", 'O', "FILE", FILES, set_text, AT(plan.output), 0, "a file"},
	{"dir", 'd', "DIR", FILES, set_text, AT(plan.dir), 0, "a directory"},
	{"checksum", 0, "ALGO=HEX", FILES, set_checksum, AT(plan.checksum), 0,
	 "sha-256=HEX, or another of md5, sha-1 … sha-512"},
	{"content-disposition", 0, NULL, FILES, set_flag, AT(content_disposition), 0, NULL},
	{"continue-from", 0, "aria2|prefix", FILES, set_continue_from, 0, 0, "aria2 or prefix"},
	{"layout", 0, "flat|url", FILES, set_layout, AT(plan.layout), 0, "flat or url"},
	{"max-concurrent-files", 'j', "N", FILES, set_number_positive, AT(max_files), GET_FILES_MAX,
	 "a number from 1 to 64"},
	{"checkpoint", 0, "TIME", FILES, set_duration_positive, AT(checkpoint_us), 0,
	 "a duration such as 500ms"},
	{"quiet", 'q', NULL, FILES, set_flag, AT(quiet), 0, NULL},
	{"json", 0, NULL, FILES, set_flag, AT(json), 0, NULL},
	{"list", 0, NULL, BEGUN, set_flag, AT(list), 0, NULL},
	{"resume-all", 0, NULL, BEGUN, set_flag, AT(resume_all), 0, NULL},
	{"forget", 0, "FILE", BEGUN, set_text, AT(forget), 0, "a file"},
};

/* ---- signals ---- */

static volatile sig_atomic_t caught;
static int wake_fd = -1;

static const int ending[] = {SIGINT, SIGTERM, SIGHUP};

static void wake(void)
{
	const uint64_t one = 1;

	(void)!write(wake_fd, &one, sizeof(one)); /* it can only be full, and wakes then too */
}

static void on_signal(int sig)
{
	int saved = errno;

	/* The next one ends at once. */
	for (size_t i = 0; i < ARRAY_SIZE(ending); i++)
		signal(ending[i], SIG_DFL);
	caught = sig;
	wake();
	errno = saved;
}

static void catch_signals(void)
{
	const struct sigaction sa = {.sa_handler = on_signal};
	struct sigaction was;

	for (size_t i = 0; i < ARRAY_SIZE(ending); i++) {
		/* Where a shell lets it be ignored it stays so. */
		if (sigaction(ending[i], NULL, &was) == 0 && was.sa_handler == SIG_DFL)
			sigaction(ending[i], &sa, NULL);
	}
	signal(SIGPIPE, SIG_IGN);
}

/* ---- the downloads ---- */

struct run {
	struct get *g;
	int result;
	_Atomic bool ended;
};

static void *run_thread(void *arg)
{
	struct run *run = arg;

	run->result = get_run(run->g);
	run->ended = true;
	wake();
	return NULL;
}

static void look_on(struct run *run, struct get_view *v)
{
	struct pollfd p = {.fd = wake_fd, .events = POLLIN};
	bool stopping = false;
	uint64_t count;

	while (!run->ended) {
		if (poll(&p, 1, LOOK_MS) > 0)
			(void)!read(wake_fd, &count, sizeof(count));
		if (caught && !stopping) {
			stopping = true;
			get_stop(run->g);
		}
		get_view_update(v, run->g);
	}
}

/* The exit status. */
static int run_all(struct get *g, struct get_view *v)
{
	struct run run = {.g = g};
	struct get_totals t;
	pthread_t thread;
	bool stopped;
	int r;

	r = pthread_create(&thread, NULL, run_thread, &run);
	if (r != 0) {
		fprintf(stderr, "rgetfs: get: %s\n", strerror(r));
		return 1;
	}
	look_on(&run, v);
	pthread_join(thread, NULL);
	/* What the signal came too late for is done. */
	get_totals(g, &t);
	stopped = run.result == -EINTR && t.done + t.there + t.failed < t.files;
	get_view_end(v, g, stopped);
	if (stopped)
		return 128 + (int)caught;
	if (run.result < 0 && run.result != -EINTR) {
		fprintf(stderr, "rgetfs: get: %s\n", strerror(-run.result));
		return 1;
	}
	return t.failed > 0;
}

/*
 * All is durable and told: the kernel takes threads and memory apart more quickly than we do, of a
 * small file in a tenth of its whole time. Not before a cookie jar was written, nor where the
 * sanitizers look at what is left.
 */
static void leave(int status)
{
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	fflush(NULL);
	_exit(status);
#else
	(void)status;
#endif
}

static int fetch(const struct get_options *opt, const struct settings *s, const char *state_dir,
		 const struct get_plan *plan)
{
	const struct get_config cfg = {
		.engine = s->engine,
		.state_dir = state_dir,
		.max_files = opt->max_files,
		.continue_from = opt->continue_from,
		/* A name that the user gives is not the server's to say. */
		.content_disposition = opt->content_disposition && !opt->plan.output,
	};
	struct get_view *v = malloc(sizeof(*v));
	struct get *g = NULL;
	int r = -ENOMEM;

	wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (wake_fd < 0)
		r = -errno;
	else if (v)
		r = get_new(&cfg, plan->m, plan->files, plan->count, &g);
	if (r < 0) {
		fprintf(stderr, "rgetfs: get: %s\n", strerror(-r));
		r = 1;
	} else {
		catch_signals();
		get_view_init(v, opt->quiet, opt->json, plan->count);
		r = run_all(g, v);
	}
	if (g && !s->engine.fetch.cookie_jar)
		leave(r);
	get_free(g);
	free(v);
	return r;
}

/* ---- what is to be fetched ---- */

static int plan_input(const struct get_options *opt, const struct settings *s,
		      struct get_plan *plan, char error[MANIFEST_ERROR_MAX])
{
	const struct manifest_options mopt = {.layout = opt->plan.layout};
	const struct source_net net = {.fetch = &s->engine.fetch};
	struct source_result loaded;
	struct source src;
	int r = source_init(&src, opt->input, error);

	if (r < 0)
		return r;
	r = source_load(&src, &mopt, &net, NULL, &loaded, error);
	if (r == 0) {
		r = get_plan_manifest(plan, opt->plan.dir, loaded.manifest);
		if (r < 0)
			snprintf(error, MANIFEST_ERROR_MAX, "%s", strerror(-r));
		manifest_put(loaded.manifest);
	}
	source_done(&src);
	return r;
}

/* The exit status. */
static int make_dirs(const struct get_plan *p)
{
	char clean[PATH_MAX];
	int status = 0;

	for (size_t i = 0; i < p->dir_count; i++) {
		int fd = beneath_open(p->dirs[i].path, p->dirs[i].own);

		if (fd >= 0) {
			close(fd);
			continue;
		}
		fprintf(stderr, "rgetfs: %s: %s\n",
			text_clean(clean, sizeof(clean), p->dirs[i].path),
			fd == -ELOOP ? "it is behind a link, which may lead elsewhere (name the "
				       "place with --dir)"
				     : strerror(-fd));
		status = 1;
	}
	return status;
}

/* With a file for it the log has a level of its own; else it is what standard error is to have. */
static void set_level(const struct settings *s, enum log_level level)
{
	log_set_level(s->log_file ? s->log_level : level);
}

static int get(const struct get_options *opt, const struct settings *s, const char *state_dir,
	       char *const *urls, size_t count)
{
	char error[GET_PLAN_ERROR_MAX];
	struct get_plan plan = {0};
	int status = 0, r = 0;

	/* What a list has in vain is told; later only what has failed is. */
	set_level(s, opt->quiet ? LOG_LEVEL_ERROR : LOG_LEVEL_WARN);
	if (opt->resume_all)
		status = get_saved_plan(state_dir, opt->quiet || opt->json, &plan);
	else if (opt->input)
		r = plan_input(opt, s, &plan, error);
	else
		r = get_plan_urls(&plan, &opt->plan, urls, count, error);
	set_level(s, LOG_LEVEL_ERROR);
	if (r < 0) {
		fprintf(stderr, "rgetfs: %s\n", error);
		return r == -EINVAL && !opt->input ? 2 : 1;
	}
	status |= make_dirs(&plan);
	if (plan.count > 0) {
		r = fetch(opt, s, state_dir, &plan);
		status = r ? r : status;
	} else if (!opt->quiet && !opt->json && status == 0) {
		printf("nothing to %s\n", opt->resume_all ? "go on with" : "get");
	}
	get_plan_done(&plan);
	return status;
}

/* What does not go together, or is missing; NULL: nothing. */
static const char *misuse(const struct get_options *opt, size_t operands)
{
	unsigned int modes = opt->list + opt->resume_all + (opt->forget != NULL);
	bool named = opt->plan.output || opt->plan.checksum;

	if (modes > 1)
		return "--list, --resume-all and --forget are three things";
	if (modes && (opt->input || opt->plan.output || opt->plan.dir || opt->plan.checksum))
		return "--list, --resume-all and --forget are about what was begun";
	if (modes && operands > 0 && !opt->forget)
		return "URLs are not for --list and --resume-all";
	if (modes)
		return NULL;
	if (!opt->input && operands == 0)
		return "a URL is needed";
	if (opt->input && operands > 0)
		return "URLs, or a manifest that has them";
	if (opt->input && named)
		return "-O and --checksum are for one file, a manifest says its own of each";
	if (opt->plan.checksum && !opt->plan.output && operands > 1)
		return "--checksum is for one file (with -O URLs are mirrors of one)";
	return NULL;
}

static int dispatch(const struct get_options *opt, const struct settings *s, char **argv,
		    size_t count)
{
	char *state_dir = NULL;
	int r = state_root(&state_dir);

	if (r < 0) {
		fprintf(stderr, "rgetfs: get: %s\n", strerror(-r));
		return 1;
	}
	if (opt->list) {
		r = get_saved_list(state_dir, opt->json);
	} else if (opt->forget) {
		char *first[] = {(char *)(uintptr_t)opt->forget};

		r = get_saved_forget(state_dir, first, 1, opt->quiet);
		r |= get_saved_forget(state_dir, argv, count, opt->quiet);
	} else {
		r = get(opt, s, state_dir, argv, count);
	}
	free(state_dir);
	return r;
}

int cmd_get(const struct command *cmd, int argc, char **argv)
{
	struct get_options opt = {.max_files = 5};
	char error[LIMITS_TEXT_MAX];
	struct settings s;
	const struct option_set sets[] = {
		{get_options, ARRAY_SIZE(get_options), &opt, false},
		{fetch_options, fetch_option_count, &s, false},
		{log_options, log_option_count, &s, false},
	};
	const char *wrong;
	int n, r;

	settings_init(&s);
	s.log_level = LOG_LEVEL_COUNT; /* not given */
	n = options_parse(cmd, sets, ARRAY_SIZE(sets), argc, argv);
	if (n < 0)
		return options_status(n);
	wrong = misuse(&opt, (size_t)n);
	if (!wrong && s.log_level != LOG_LEVEL_COUNT && !s.log_file)
		wrong = "--log-level is for --log-file";
	if (s.log_level == LOG_LEVEL_COUNT)
		s.log_level = LOG_LEVEL_INFO;
	if (wrong)
		return options_usage(cmd, wrong);
	settings_finish(&s);
	if (opt.checkpoint_us)
		s.engine.store.checkpoint_us = opt.checkpoint_us;
	if (limits_fit(&s.engine, NULL, error) < 0) {
		fprintf(stderr, "rgetfs: %s\n", error);
		return 1;
	}
	r = s.log_file ? log_open(LOG_TO_FILE, s.log_file) : 0;
	if (r < 0) {
		fprintf(stderr, "rgetfs: %s: %s (give another --log-file)\n", s.log_file,
			strerror(-r));
		return 1;
	}
	opt.max_files = limits_downloads(&s.engine, opt.max_files);
	return dispatch(&opt, &s, argv, (size_t)n);
}
