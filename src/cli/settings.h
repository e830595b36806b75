/*
 * settings.h - the options that several commands share: how to fetch, and where to keep what was
 * fetched
 */
#ifndef CLI_SETTINGS_H
#define CLI_SETTINGS_H

#include "base/log.h"
#include "cli/options.h"
#include "engine/engine.h"

#define SETTINGS_HEADERS_MAX 32

struct settings {
	struct engine_config engine; /* its strings are argv's or the options' own */
	const char *headers[SETTINGS_HEADERS_MAX + 1];
	unsigned int header_count;
	const char *cache_root; /* --cache-dir, absolute; NULL: the user's own */
	const char *cache_name;
	const char *log_file; /* absolute; NULL: none */
	enum log_level log_level;
};

/* Defaults of CLI.md. */
void settings_init(struct settings *s);
/* After parsing: pointers between the fields. s must not move afterwards. */
void settings_finish(struct settings *s);

/* A setter: flat or url, an enum manifest_layout. */
int set_layout(void *target, const struct cli_option *o, const char *value);

/* --connections … --user-agent: how to fetch. Mount, get and index have them. */
extern const struct cli_option fetch_options[];
extern const size_t fetch_option_count;
/* --cache-dir … --checkpoint: where to keep. */
extern const struct cli_option cache_options[];
extern const size_t cache_option_count;
/* --log-level, --log-file. */
extern const struct cli_option log_options[];
extern const size_t log_option_count;

#endif
