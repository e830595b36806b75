/*
 * main.c - which command?
 *
 * mount(8) may call us as mount.fuse does, without a command: "rgetfs MANIFEST MOUNTPOINT -o
 * OPTIONS". A first word that is a path or a URL is taken for that.
 */
#include <fcntl.h>
#include <locale.h>

#include "cli/commands.h"
#include "cli/suggest.h"
#include "cli/version.h"

static const struct command commands[] = {
	{"mount", "[OPTIONS] MANIFEST MOUNTPOINT",
	 "Show the files of MANIFEST (a file, - or an http(s) URL) at MOUNTPOINT, read-only.\n"
	 "Returns when it is usable. Options also as -o name=value,name=value.",
	 cmd_mount},
	{"unmount", "[--force | --lazy] MOUNTPOINT…", "Wait for the last checkpoint and unmount.",
	 cmd_unmount},
	{"status", "[--json] [--watch] [--all] [MOUNTPOINT…]",
	 "Show what your mounts (or those named) hold and do. Files are listed that have\n"
	 "cached bytes, are at work or failed; with --all every one. --watch goes on.",
	 cmd_status},
	{"fill", "[--no-wait] PATH…",
	 "Fetch whole files or directories of a mount now; done when they are durable.\n"
	 "With --no-wait it goes on in the mount.",
	 cmd_fill},
	{"get", "[OPTIONS] URL… | -i MANIFEST",
	 "Download into files: NAME.part, then NAME when all of it is there and durable.\n"
	 "Run again it goes on. With -O several URLs are mirrors of one file.",
	 cmd_get},
	{"drop", "PATH…", "Forget the cached bytes of files or directories of a mount.", cmd_drop},
	{"verify", "PATH…",
	 "Check cached bytes against their checksums, and complete files against those of\n"
	 "the manifest; what is wrong is dropped and fetched again when it is read.",
	 cmd_verify},
	{"reload", "MOUNTPOINT",
	 "Take an edited manifest over without unmounting. One that is wrong is refused whole.",
	 cmd_reload},
	{"index", "[OPTIONS] [-o FILE] MANIFEST",
	 "Ask every entry's size, date and validator once, and write a JSON manifest that\n"
	 "holds them, so that later mounts need not ask. Without -o to standard output.",
	 cmd_index},
	{"cache", "list|check|prune [--cache-dir DIR] [--json] [NAME…]",
	 "What the caches hold and for which manifest; whether they are consistent; remove\n"
	 "those that no mount uses (all, or those named; --dry-run only tells which).",
	 cmd_cache},
};

static int version(void)
{
	char libraries[256];

	version_format(libraries, sizeof(libraries));
	printf("rgetfs %s\n%s\n", PACKAGE_VERSION, libraries);
	return 0;
}

static int help(FILE *to)
{
	fprintf(to, "Usage: rgetfs COMMAND [OPTIONS] …\n"
		    "A list of URLs as files: fetched as they are read, kept for good.\n\n");
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		fprintf(to, "  rgetfs %s %s\n", commands[i].name, commands[i].usage);
	fprintf(to,
		"\nrgetfs help COMMAND (or COMMAND --help) lists its options; see also rgetfs(1).\n");
	return to == stdout ? 0 : 2;
}

static const struct command *find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	}
	return NULL;
}

static int no_such_command(const char *word)
{
	struct suggest s;

	suggest_init(&s, word);
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		suggest_try(&s, commands[i].name);
	if (s.best)
		fprintf(stderr, "rgetfs: %s: no such command (did you mean %s?)\n", word, s.best);
	else
		fprintf(stderr, "rgetfs: %s: no such command (rgetfs --help lists them)\n", word);
	return 2;
}

/* "help COMMAND" is "COMMAND --help". */
static int help_about(const char *name)
{
	static char option[] = "--help";
	char *argv[] = {option, NULL};
	const struct command *cmd = name ? find(name) : NULL;

	if (!name)
		return help(stdout);
	return cmd ? cmd->run(cmd, 1, argv) : no_such_command(name);
}

/* The standard descriptors exist, so that no file of ours becomes one of them. */
static void open_standard(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

int main(int argc, char **argv)
{
	const struct command *cmd;
	int status;

	open_standard();
	setlocale(LC_CTYPE, ""); /* how wide a character is on the terminal */
	if (argc < 2)
		return help(stderr);
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0)
		return version();
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		return help(stdout);
	cmd = find(argv[1]);
	if (strcmp(argv[1], "help") == 0) {
		status = help_about(argv[2]);
	} else if (cmd) {
		status = cmd->run(cmd, argc - 2, argv + 2);
	} else if (argc > 2 && (argv[1][0] == '/' || strstr(argv[1], "://"))) {
		if (geteuid() ==
		    0) { /* the same cache at boot, where there is no home, and by hand */
			unsetenv("HOME");
			unsetenv("XDG_CACHE_HOME");
		}
		cmd = find("mount");
		status = cmd->run(cmd, argc - 1, argv + 1);
	} else {
		status = no_such_command(argv[1]);
	}
	options_done();
	if (fflush(stdout) != 0 && status == 0)
		status = 1;
	return status;
}
