/*
 * cmd_mount.c - rgetfs mount: options in, a mount out
 */
#include <grp.h>
#include <pwd.h>

#include "base/size.h"
#include "cli/commands.h"
#include "cli/settings.h"
#include "daemon/mount.h"

static int set_uid(void *target, const struct cli_option *o, const char *value)
{
	struct mount_config *cfg = target;
	const struct passwd *pw;
	uint64_t n;

	(void)o;
	if (parse_u64(value, UINT32_MAX - 1, &n) == 0) {
		cfg->uid = (uid_t)n;
		return 0;
	}
	pw = getpwnam(value);
	if (!pw)
		return -EINVAL;
	cfg->uid = pw->pw_uid;
	return 0;
}

static int set_gid(void *target, const struct cli_option *o, const char *value)
{
	struct mount_config *cfg = target;
	const struct group *gr;
	uint64_t n;

	(void)o;
	if (parse_u64(value, UINT32_MAX - 1, &n) == 0) {
		cfg->gid = (gid_t)n;
		return 0;
	}
	gr = getgrnam(value);
	if (!gr)
		return -EINVAL;
	cfg->gid = gr->gr_gid;
	return 0;
}

#define AT(field) offsetof(struct mount_config, field)
#define SHOWN	  "What is shown, and to whom"

static const struct cli_option mount_options[] = {
	{"allow-other", 0, NULL, SHOWN, set_flag, AT(allow_other), 0, NULL},
	{"uid", 0, "USER", SHOWN, set_uid, 0, 0, "a user's name or number"},
	{"gid", 0, "GROUP", SHOWN, set_gid, 0, 0, "a group's name or number"},
	{"mode", 0, "BITS", SHOWN, set_mode, AT(mode), 0, NULL},
	{"dir-mode", 0, "BITS", SHOWN, set_mode, AT(dir_mode), 0, NULL},
	{"noexec", 0, NULL, SHOWN, set_flag, AT(noexec), 0, NULL},
	{"layout", 0, "flat|url", SHOWN, set_layout, AT(options.layout), 0, "flat or url"},
	{"foreground", 'f', NULL, SHOWN, set_flag, AT(foreground), 0, NULL},
};

int cmd_mount(const struct command *cmd, int argc, char **argv)
{
	struct settings s;
	struct mount_config cfg = {
		.uid = getuid(),
		.gid = getgid(),
		.mode = 0444,
		.dir_mode = 0555,
	};
	const struct option_set sets[] = {
		{cache_options, cache_option_count, &s, true},
		{fetch_options, fetch_option_count, &s, true},
		{mount_options, ARRAY_SIZE(mount_options), &cfg, true},
		{log_options, log_option_count, &s, true},
	};
	int n;

	settings_init(&s);
	n = options_parse(cmd, sets, ARRAY_SIZE(sets), argc, argv);
	if (n < 0)
		return options_status(n);
	if (n != 2)
		return options_usage(cmd, n < 2 ? "a manifest and a mountpoint are needed"
						: "more than a manifest and a mountpoint");
	settings_finish(&s);
	cfg.manifest = argv[0];
	cfg.mountpoint = argv[1];
	cfg.cache_root = s.cache_root;
	cfg.cache_name = s.cache_name;
	cfg.log_file = s.log_file;
	cfg.log_level = s.log_level;
	cfg.engine = s.engine;
	return mount_run(&cfg);
}
