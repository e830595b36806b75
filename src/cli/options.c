/*
 * options.c - command lines: tables of options, one parser for all commands
 * Callers: each cmd_*.c. One thread.
 */
#include "cli/options.h"

#include <ctype.h>

#include "base/size.h"
#include "cli/suggest.h"
#include "daemon/paths.h"

#define NAME_MAX_BYTES 64
#define HELP_COLUMNS   79

/* Strings that -o and paths made; as many as there are options, freed at the end. */
static char **made;
static size_t made_count;

static char *keep(char *s)
{
	char **more = s ? realloc(made, (made_count + 1) * sizeof(*made)) : NULL;

	if (!more) {
		free(s);
		return NULL;
	}
	made = more;
	made[made_count++] = s;
	return s;
}

void options_done(void)
{
	for (size_t i = 0; i < made_count; i++)
		free(made[i]);
	free(made);
	made = NULL;
	made_count = 0;
}

/* ---- setters ---- */

static void *field(void *target, const struct cli_option *o)
{
	return (char *)target + o->offset;
}

int set_flag(void *target, const struct cli_option *o, const char *value)
{
	(void)value;
	*(bool *)field(target, o) = true;
	return 0;
}

int set_text(void *target, const struct cli_option *o, const char *value)
{
	*(const char **)field(target, o) = value;
	return *value ? 0 : -EINVAL;
}

int set_path(void *target, const struct cli_option *o, const char *value)
{
	char *path = *value ? keep(path_absolute(value)) : NULL;

	*(const char **)field(target, o) = path;
	return path ? 0 : -EINVAL;
}

int set_size(void *target, const struct cli_option *o, const char *value)
{
	return parse_size(value, field(target, o)) < 0 ? -EINVAL : 0;
}

int set_duration(void *target, const struct cli_option *o, const char *value)
{
	return parse_duration(value, field(target, o)) < 0 ? -EINVAL : 0;
}

int set_number(void *target, const struct cli_option *o, const char *value)
{
	uint64_t n;

	if (parse_u64(value, o->max ? o->max : UINT32_MAX, &n) < 0)
		return -EINVAL;
	*(unsigned int *)field(target, o) = (unsigned int)n;
	return 0;
}

int set_number_positive(void *target, const struct cli_option *o, const char *value)
{
	return set_number(target, o, value) < 0 || *(unsigned int *)field(target, o) == 0 ? -EINVAL
											  : 0;
}

int set_duration_positive(void *target, const struct cli_option *o, const char *value)
{
	return set_duration(target, o, value) < 0 || *(uint64_t *)field(target, o) == 0 ? -EINVAL
											: 0;
}

int set_mode(void *target, const struct cli_option *o, const char *value)
{
	unsigned int mode = 0;

	if (!*value || strlen(value) > 4)
		return -EINVAL;
	for (; *value; value++) {
		if (*value < '0' || *value > '7')
			return -EINVAL;
		mode = mode << 3 | (unsigned int)(*value - '0');
	}
	if (mode > 0777)
		return -EINVAL;
	*(unsigned int *)field(target, o) = mode;
	return 0;
}

static const char *expects(const struct cli_option *o)
{
	if (o->expects)
		return o->expects;
	if (o->set == set_size)
		return "a size such as 500M or 10G";
	if (o->set == set_duration)
		return "a duration such as 500ms, 20s or 5m";
	if (o->set == set_number)
		return "a number";
	if (o->set == set_mode)
		return "permission bits such as 0444";
	return "something else";
}

/* ---- one option ---- */

struct parse {
	const struct command *cmd;
	const struct option_set *sets;
	size_t set_count;
};

static int bad(const struct parse *p, const char *what, const char *name, const char *hint)
{
	fprintf(stderr, "rgetfs: %s: %s%s (%s)\n", p->cmd->name, what, name, hint);
	return OPTIONS_BAD;
}

static int bad_option(const struct parse *p, const char *what, const char *name)
{
	char hint[80];

	snprintf(hint, sizeof(hint), "rgetfs %s --help lists them", p->cmd->name);
	return bad(p, what, name, hint);
}

static const struct cli_option *by_name(const struct parse *p, const char *name, bool fstab,
					void **ret_target)
{
	for (size_t s = 0; s < p->set_count; s++) {
		const struct option_set *set = &p->sets[s];

		for (size_t i = 0; i < set->count && (set->fstab || !fstab); i++) {
			if (strcmp(set->options[i].name, name) == 0) {
				*ret_target = set->target;
				return &set->options[i];
			}
		}
	}
	return NULL;
}

static const struct cli_option *by_letter(const struct parse *p, char letter, void **ret_target)
{
	for (size_t s = 0; s < p->set_count; s++) {
		for (size_t i = 0; i < p->sets[s].count; i++) {
			if (p->sets[s].options[i].letter == letter) {
				*ret_target = p->sets[s].target;
				return &p->sets[s].options[i];
			}
		}
	}
	return NULL;
}

/* shown: as it was typed; name: without dashes and value. */
static int no_such_option(const struct parse *p, const char *what, const char *shown,
			  const char *name, bool fstab)
{
	char hint[SUGGEST_WORD_MAX + 32];
	struct suggest s;

	suggest_init(&s, name);
	for (size_t i = 0; i < p->set_count; i++) {
		for (size_t k = 0; k < p->sets[i].count && (p->sets[i].fstab || !fstab); k++)
			suggest_try(&s, p->sets[i].options[k].name);
	}
	if (!s.best)
		return bad_option(p, what, shown);
	snprintf(hint, sizeof(hint), "did you mean %s%s?", fstab ? "" : "--", s.best);
	return bad(p, what, shown, hint);
}

static int apply(const struct parse *p, const struct cli_option *o, void *target, const char *value)
{
	char what[NAME_MAX_BYTES + 16], hint[160];

	if (o->set(target, o, value) == 0)
		return 0;
	snprintf(what, sizeof(what), "--%s=", o->name);
	snprintf(hint, sizeof(hint), "it takes %s", expects(o));
	return bad(p, what, value ? value : "", hint);
}

/* ---- -o name=value,... ---- */

/* What mount(8), fstab and systemd say to each other. */
static bool means_nothing(const char *name)
{
	static const char *const words[] = {
		"ro",	       "rw",
		"defaults",    "auto",
		"noauto",      "nofail",
		"_netdev",     "user",
		"users",       "nouser",
		"owner",       "group",
		"exec",	       "suid",
		"nosuid",      "dev",
		"nodev",       "async",
		"sync",	       "dirsync",
		"atime",       "noatime",
		"diratime",    "nodiratime",
		"relatime",    "norelatime",
		"strictatime", "nostrictatime",
		"lazytime",    "nolazytime",
		"mand",	       "nomand",
		"silent",      "loud",
		"iversion",    "noiversion",
		"comment",     "uhelper",
		"helper",      "subtype",
		"fsname",      "default_permissions",
		"nosymfollow", "symfollow",
		"remount",
	};

	if (strncmp(name, "x-", 2) == 0 || strncmp(name, "X-", 2) == 0)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (strcmp(words[i], name) == 0)
			return true;
	}
	return false;
}

static int apply_item(const struct parse *p, char *item)
{
	char name[NAME_MAX_BYTES];
	char *value = strchr(item, '=');
	const struct cli_option *o;
	void *target = NULL;

	if (value)
		*value++ = '\0';
	if (!*item || means_nothing(item))
		return 0;
	snprintf(name, sizeof(name), "%s", item);
	for (char *c = name; *c; c++) {
		if (*c == '_')
			*c = '-';
	}
	o = by_name(p, name, true, &target);
	if (!o)
		return no_such_option(p, "no such mount option: ", item, name, true);
	if (o->arg && !value)
		return bad_option(p, "this mount option needs a value: ", item);
	if (!o->arg && value)
		return bad_option(p, "this mount option takes no value: ", item);
	return apply(p, o, target, value);
}

static int apply_list(const struct parse *p, const char *list)
{
	char *copy = keep(strdup(list));
	char *in = copy, *item = copy, *out = copy;
	int r = 0;

	if (!copy)
		return bad_option(p, "out of memory: ", "-o");
	/* "\," is a comma of the value, as fstab and libfuse have it. */
	while (r == 0) {
		if (in[0] == '\\' && (in[1] == ',' || in[1] == '\\')) {
			*out++ = in[1];
			in += 2;
		} else if (*in == ',' || *in == '\0') {
			bool last = *in == '\0';

			in++;
			*out++ = '\0';
			r = apply_item(p, item);
			item = out;
			if (last)
				break;
		} else {
			*out++ = *in++;
		}
	}
	return r;
}

/* ---- the whole line ---- */

static void help(const struct parse *p)
{
	const char *group = NULL;
	int column = 0;

	printf("Usage: rgetfs %s %s\n%s\n", p->cmd->name, p->cmd->usage, p->cmd->about);
	for (size_t s = 0; s < p->set_count; s++) {
		for (size_t i = 0; i < p->sets[s].count; i++) {
			const struct cli_option *o = &p->sets[s].options[i];
			char word[96];
			int len = snprintf(word, sizeof(word), "%c%c%s--%s%s%s",
					   o->letter ? '-' : ' ', o->letter ? o->letter : ' ',
					   o->letter ? " " : "", o->name, o->arg ? " " : "",
					   o->arg ? o->arg : "");
			const char *text = o->letter ? word : word + 2;

			len -= o->letter ? 0 : 2;
			if (!group || strcmp(group, o->group) != 0) {
				printf("\n%s:\n  %s", o->group, text);
				group = o->group;
				column = 2 + len;
			} else if (column + 2 + len > HELP_COLUMNS) {
				printf(",\n  %s", text);
				column = 2 + len;
			} else {
				printf(", %s", text);
				column += 2 + len;
			}
		}
	}
	printf("%s\nSee rgetfs-%s(1).\n", group ? "\n" : "", p->cmd->name);
}

/* argv[*at] is "--name…": 0 or OPTIONS_BAD. */
static int long_option(const struct parse *p, int argc, char **argv, int *at)
{
	char name[NAME_MAX_BYTES];
	const char *word = argv[*at] + 2;
	size_t len = strcspn(word, "=");
	const char *value = word[len] ? word + len + 1 : NULL;
	const struct cli_option *o = NULL;
	void *target = NULL;

	snprintf(name, sizeof(name), "%.*s", (int)len, word);
	if (len < sizeof(name))
		o = by_name(p, name, false, &target);
	if (!o)
		return no_such_option(p, "no such option: ", argv[*at], name, false);
	if (!o->arg && value)
		return bad_option(p, "this option takes no value: ", argv[*at]);
	if (o->arg && !value) {
		if (*at + 1 >= argc)
			return bad_option(p, "this option needs a value: ", argv[*at]);
		value = argv[++*at];
	}
	return apply(p, o, target, value);
}

static int short_options(const struct parse *p, int argc, char **argv, int *at)
{
	for (const char *c = argv[*at] + 1; *c; c++) {
		void *target = NULL;
		const struct cli_option *o = by_letter(p, *c, &target);
		const char *value = NULL;
		int r;

		if (!o && *c != 'o')
			return bad_option(p, "no such option: ", argv[*at]);
		if (!o || o->arg) {
			value = c[1] ? c + 1 : (*at + 1 < argc ? argv[++*at] : NULL);
			if (!value)
				return bad_option(p, "this option needs a value: ", argv[*at]);
		}
		if (!o)
			return apply_list(p, value);
		r = apply(p, o, target, value);
		if (r < 0 || value)
			return r;
	}
	return 0;
}

int options_parse(const struct command *cmd, const struct option_set *sets, size_t set_count,
		  int argc, char **argv)
{
	const struct parse p = {cmd, sets, set_count};
	int operands = 0, r = 0;
	bool ended = false;

	for (int at = 0; at < argc && r == 0; at++) {
		const char *word = argv[at];

		if (ended || word[0] != '-' || word[1] == '\0') {
			argv[operands++] = argv[at];
		} else if (strcmp(word, "--") == 0) {
			ended = true;
		} else if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
			help(&p);
			return OPTIONS_HELP;
		} else if (word[1] == '-') {
			r = long_option(&p, argc, argv, &at);
		} else {
			r = short_options(&p, argc, argv, &at);
		}
	}
	return r < 0 ? r : operands;
}

int options_status(int result)
{
	return result == OPTIONS_HELP ? 0 : 2;
}

int options_usage(const struct command *cmd, const char *what)
{
	fprintf(stderr, "rgetfs: %s: %s (usage: rgetfs %s %s)\n", cmd->name, what, cmd->name,
		cmd->usage);
	return 2;
}
