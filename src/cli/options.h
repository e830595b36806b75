/*
 * options.h - command lines: tables of options, one parser for all commands
 *
 * Long options take --name=value or --name value. A set with fstab on can also be given as
 * -o name=value[,name=value...] ("\," is a comma inside a value, "_" in a name is "-"); there the
 * options that mount(8) and fstab use for themselves are accepted and mean nothing.
 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include "base/base.h"

struct cli_option {
	const char *name;
	char letter;	   /* 0: none */
	const char *arg;   /* what help calls its value, NULL: a flag */
	const char *group; /* heading in help; options of a group stand together */
	/* 0 or -EINVAL; value is NULL for a flag and otherwise lives until options_done(). */
	int (*set)(void *target, const struct cli_option *o, const char *value);
	size_t offset; /* for the setters below: the field in target */
	uint64_t max;  /* … largest number */
	const char *
		expects; /* what a good value looks like, for the message; NULL: the setter's own */
};

struct option_set {
	const struct cli_option *options;
	size_t count;
	void *target;
	bool fstab;
};

struct command {
	const char *name;
	const char *usage; /* behind the name */
	const char *about; /* a sentence or two */
	int (*run)(const struct command *cmd, int argc,
		   char **argv); /* argv[0] is the first argument */
};

/*
 * Parse argv (argc of them), set targets, move operands to the front of argv. Returns how many
 * operands there are, OPTIONS_HELP (help was printed, exit 0) or OPTIONS_BAD (said on stderr, exit
 * 2).
 */
#define OPTIONS_BAD  (-1)
#define OPTIONS_HELP (-2)
int options_parse(const struct command *cmd, const struct option_set *sets, size_t set_count,
		  int argc, char **argv);
/* The exit status of a result below 0. */
int options_status(int result);
/* Say "rgetfs: NAME: WHAT", and how to get help; returns 2, the exit status. */
int options_usage(const struct command *cmd, const char *what);
/* Free what -o made. */
void options_done(void);

/* Setters. A bool; a string; a path, made absolute; bytes; microseconds; unsigned int, these two
 * also without 0; octal permission bits. */
int set_flag(void *target, const struct cli_option *o, const char *value);
int set_text(void *target, const struct cli_option *o, const char *value);
int set_path(void *target, const struct cli_option *o, const char *value);
int set_size(void *target, const struct cli_option *o, const char *value);
int set_duration(void *target, const struct cli_option *o, const char *value);
int set_number(void *target, const struct cli_option *o, const char *value);
int set_duration_positive(void *target, const struct cli_option *o, const char *value);
int set_number_positive(void *target, const struct cli_option *o, const char *value);
int set_mode(void *target, const struct cli_option *o, const char *value);

#endif
