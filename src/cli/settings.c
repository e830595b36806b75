/*
 * settings.c - the options that several commands share: how to fetch, and where to keep what was
 * fetched
 */
#include "cli/settings.h"

#include <sys/random.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/size.h"
#include "daemon/mount.h"

void settings_init(struct settings *s)
{
	uint64_t seed = 0;

	if (getrandom(&seed, sizeof(seed), 0) < 0)
		seed = clock_now_us();
	*s = (struct settings){
		.log_level = LOG_LEVEL_INFO,
		.engine =
			{
				.sched =
					{
						.max_connections = 64,
						.max_per_origin = 16,
						.connect_timeout_us = 10 * USEC_PER_SEC,
						.stall_timeout_us = 20 * USEC_PER_SEC,
						.retry_time_us = 60 * USEC_PER_SEC,
						.seed = seed,
					},
				.fetch =
					{
						.user_agent = PACKAGE_NAME "/" PACKAGE_VERSION,
						.max_redirects = 10,
					},
				.store =
					{
						.cache_size = UINT64_MAX,
						.min_free = MIN_FREE_DEFAULT,
						.checkpoint_us = 500 * USEC_PER_MS,
						.checkpoint_bytes = UINT64_C(64) << 20,
					},
				.fill = FILL_OPENED,
				.fill_after = UINT64_C(16) << 20,
				.revalidate_us = 300 * USEC_PER_SEC,
			},
	};
}

void settings_finish(struct settings *s)
{
	s->headers[s->header_count] = NULL;
	s->engine.fetch.headers = s->headers;
	/* One word of the user's for both: how many, and how long. */
	s->engine.fetch.max_connections = s->engine.sched.max_connections;
	s->engine.fetch.connect_timeout_us = s->engine.sched.connect_timeout_us;
	s->engine.fetch.stall_timeout_us = s->engine.sched.stall_timeout_us;
}

int set_layout(void *target, const struct cli_option *o, const char *value)
{
	enum manifest_layout *layout = (enum manifest_layout *)(void *)((char *)target + o->offset);

	if (strcmp(value, "flat") == 0)
		*layout = LAYOUT_FLAT;
	else if (strcmp(value, "url") == 0)
		*layout = LAYOUT_URL;
	else
		return -EINVAL;
	return 0;
}

static int set_connections(void *target, const struct cli_option *o, const char *value)
{
	struct settings *s = target;

	if (strcmp(value, "auto") == 0) {
		s->engine.sched.connections = 0;
		return 0;
	}
	if (set_number(s, o, value) < 0 || s->engine.sched.connections == 0)
		return -EINVAL;
	return 0;
}

static int set_fill(void *target, const struct cli_option *o, const char *value)
{
	static const char *const names[] = {
		[FILL_NONE] = "none",
		[FILL_OPENED] = "opened",
		[FILL_ALL] = "all",
	};
	struct settings *s = target;

	(void)o;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (strcmp(names[i], value) == 0) {
			s->engine.fill = (enum fill_mode)i;
			return 0;
		}
	}
	return -EINVAL;
}

static int set_revalidate(void *target, const struct cli_option *o, const char *value)
{
	struct settings *s = target;

	if (strcmp(value, "always") == 0)
		s->engine.revalidate_us = 0;
	else if (strcmp(value, "never") == 0)
		s->engine.revalidate_us = UINT64_MAX;
	else
		return set_duration(target, o, value);
	return 0;
}

/* "Name: value" in one line: nothing that could begin another header. */
static int set_header(void *target, const struct cli_option *o, const char *value)
{
	struct settings *s = target;
	const char *colon = strchr(value, ':');

	(void)o;
	if (s->header_count == SETTINGS_HEADERS_MAX || !colon || colon == value)
		return -EINVAL;
	for (const char *c = value; *c; c++) {
		if ((unsigned char)*c < 0x20 && *c != '\t')
			return -EINVAL;
	}
	s->headers[s->header_count++] = value;
	return 0;
}

static int set_agent(void *target, const struct cli_option *o, const char *value)
{
	for (const char *c = value; *c; c++) {
		if ((unsigned char)*c < 0x20)
			return -EINVAL;
	}
	return set_text(target, o, value);
}

/* A file that may be written, or made: written at the end, when nobody looks any more. */
static int set_writable(void *target, const struct cli_option *o, const char *value)
{
	int r = set_path(target, o, value);
	const char *path, *slash;
	struct stat st;
	char *dir;

	if (r < 0)
		return r;
	path = *(char *const *)((const char *)target + o->offset);
	if (access(path, R_OK | W_OK) == 0)
		return stat(path, &st) < 0 || S_ISDIR(st.st_mode) ? -EINVAL : 0;
	slash = strrchr(path, '/');
	if (errno != ENOENT || !slash)
		return -EINVAL;
	dir = strndup(path, (size_t)(slash - path) + 1);
	if (!dir)
		return -ENOMEM;
	r = access(dir, W_OK | X_OK) < 0 ? -EINVAL : 0;
	free(dir);
	return r;
}

/* A file that is asked for much later, and would be missed then without a word. */
static int set_readable(void *target, const struct cli_option *o, const char *value)
{
	int r = set_path(target, o, value);

	return r < 0 || access(value, R_OK) < 0 ? -EINVAL : 0;
}

/* [SCHEME://][USER@]HOST[:PORT], the schemes that curl has for proxies. */
static int set_proxy(void *target, const struct cli_option *o, const char *value)
{
	static const char *const schemes[] = {"http",	 "https",  "socks4",
					      "socks4a", "socks5", "socks5h"};
	const char *sign = strstr(value, "://"), *host = sign ? sign + 3 : value;
	const char *user = strrchr(host, '@');
	bool known = !sign;
	uint64_t port;
	size_t len;

	for (size_t i = 0; sign && i < ARRAY_SIZE(schemes); i++)
		known = known || (strlen(schemes[i]) == (size_t)(sign - value) &&
				  strncasecmp(value, schemes[i], (size_t)(sign - value)) == 0);
	host = user ? user + 1 : host;
	len = *host == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":/");
	for (const char *c = value; *c; c++)
		known = known && (unsigned char)*c > 0x20 && *c != 0x7f;
	if (!known || len == 0 || len > strlen(host))
		return -EINVAL;
	host += len;
	if (*host == ':') {
		char digits[8];

		snprintf(digits, sizeof(digits), "%.*s", (int)strcspn(host + 1, "/"), host + 1);
		if (parse_u64(digits, UINT16_MAX, &port) < 0 || port == 0)
			return -EINVAL;
		host += 1 + strcspn(host + 1, "/");
	}
	return *host && strcmp(host, "/") != 0 ? -EINVAL : set_text(target, o, value);
}

static int set_log_level(void *target, const struct cli_option *o, const char *value)
{
	struct settings *s = target;

	(void)o;
	return log_parse_level(value, &s->log_level);
}

#define AT(field) offsetof(struct settings, field)

#define HOW_MANY "Connections and rates"
const struct cli_option fetch_options[] = {
	{"connections", 0, "auto|N", HOW_MANY, set_connections, AT(engine.sched.connections), 1024,
	 "auto, or a number of 1 and more"},
	{"max-connections", 0, "N", HOW_MANY, set_number_positive, AT(engine.sched.max_connections),
	 4096, "a number of 1 and more"},
	{"max-connections-per-host", 0, "N", HOW_MANY, set_number_positive,
	 AT(engine.sched.max_per_origin), 4096, "a number of 1 and more"},
	{"limit-rate", 0, "RATE", HOW_MANY, set_size, AT(engine.fetch.limit_rate_bps), 0,
	 "bytes a second such as 5M"},
	{"fill-rate", 0, "RATE", HOW_MANY, set_size, AT(engine.fetch.fill_rate_bps), 0,
	 "bytes a second such as 5M"},
#define HOW_LONG "How long to try, how long to believe"
	{"connect-timeout", 0, "TIME", HOW_LONG, set_duration_positive,
	 AT(engine.sched.connect_timeout_us), 0, "a duration such as 10s"},
	{"stall-timeout", 0, "TIME", HOW_LONG, set_duration_positive,
	 AT(engine.sched.stall_timeout_us), 0, "a duration such as 20s"},
	{"retry-time", 0, "TIME", HOW_LONG, set_duration, AT(engine.sched.retry_time_us), 0, NULL},
	{"revalidate", 0, "TIME|always|never", HOW_LONG, set_revalidate, AT(engine.revalidate_us),
	 0, "a duration such as 5m, always or never"},
	{"offline", 0, NULL, HOW_LONG, set_flag, AT(engine.offline), 0, NULL},
#define READABLE "a file that can be read"
#define HTTP	 "HTTP, as curl means them"
	{"header", 0, "LINE", HTTP, set_header, 0, 0, "\"Name: value\", at most 32 of them"},
	{"user-agent", 0, "NAME", HTTP, set_agent, AT(engine.fetch.user_agent), 0,
	 "printable text"},
	{"netrc", 0, NULL, HTTP, set_flag, AT(engine.fetch.netrc), 0, NULL},
	{"netrc-file", 0, "FILE", HTTP, set_readable, AT(engine.fetch.netrc_file), 0, READABLE},
	{"cookie-jar", 0, "FILE", HTTP, set_writable, AT(engine.fetch.cookie_jar), 0,
	 "a file that can be read and written, or made"},
	{"proxy", 0, "URL", HTTP, set_proxy, AT(engine.fetch.proxy), 0,
	 "a proxy such as http://host:3128 or socks5h://host"},
	{"cacert", 0, "FILE", HTTP, set_readable, AT(engine.fetch.cacert), 0, READABLE},
	{"cert", 0, "FILE", HTTP, set_readable, AT(engine.fetch.cert), 0, READABLE},
	{"key", 0, "FILE", HTTP, set_readable, AT(engine.fetch.key), 0, READABLE},
	{"insecure", 0, NULL, HTTP, set_flag, AT(engine.fetch.insecure), 0, NULL},
};
const size_t fetch_option_count = ARRAY_SIZE(fetch_options);

#define CACHE "Cache"
const struct cli_option cache_options[] = {
	{"cache-dir", 0, "DIR", CACHE, set_path, AT(cache_root), 0, "a directory"},
	{"cache-name", 0, "NAME", CACHE, set_text, AT(cache_name), 0, "a plain name"},
	{"cache-size", 0, "SIZE", CACHE, set_size, AT(engine.store.cache_size), 0, NULL},
	{"min-free", 0, "SIZE", CACHE, set_size, AT(engine.store.min_free), 0, NULL},
	{"checkpoint", 0, "TIME", CACHE, set_duration_positive, AT(engine.store.checkpoint_us), 0,
	 "a duration such as 500ms"},
	{"fill", 0, "none|opened|all", CACHE, set_fill, 0, 0, "none, opened or all"},
	{"fill-after", 0, "SIZE", CACHE, set_size, AT(engine.fill_after), 0, NULL},
};
const size_t cache_option_count = ARRAY_SIZE(cache_options);

#define LOGS "Log"
const struct cli_option log_options[] = {
	{"log-level", 0, "LEVEL", LOGS, set_log_level, 0, 0, "error, warn, info or debug"},
	{"log-file", 0, "FILE", LOGS, set_path, AT(log_file), 0, "a file"},
};
const size_t log_option_count = ARRAY_SIZE(log_options);
