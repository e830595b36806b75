/*
 * log.h - one line to a person: stderr, a file or syslog
 *
 * Never call it with a lock held. Secrets stay out: URLs go through url_redact() (core/url.h)
 * first. Lines that one bad server could repeat without end go through a struct log_limit.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdint.h>

#include "base/base.h"

enum log_level {
	LOG_LEVEL_ERROR,
	LOG_LEVEL_WARN,
	LOG_LEVEL_INFO,
	LOG_LEVEL_DEBUG,
	LOG_LEVEL_COUNT
};

enum log_target { LOG_TO_STDERR, LOG_TO_FILE, LOG_TO_SYSLOG };

/*
 * Where lines go from now on; path is for LOG_TO_FILE alone. May be called again (after a fork).
 * 0, or -errno when the file can't be opened (then nothing changes). Starts as stderr, info.
 */
int log_open(enum log_target target, const char *path);
void log_set_level(enum log_level level);
/* From now on a line that a pipe or terminal does not take at once is lost, and counted in the
 * next. */
void log_never_wait(void);
/* 0 and *ret_level, or -EINVAL. */
int log_parse_level(const char *name, enum log_level *ret_level);

void log_line(enum log_level level, const char *fmt, ...) PRINTF_LIKE(2, 3);
#define log_error(...) log_line(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warn(...)  log_line(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_info(...)  log_line(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_line(LOG_LEVEL_DEBUG, __VA_ARGS__)

/* At most one line in LOG_LIMIT_US for a place; embed it, zero-filled. Thread-safe. */
#define LOG_LIMIT_US UINT64_C(5000000)
struct log_limit {
	uint64_t next_us;
	uint64_t dropped;
};
/* True: say it now; *ret_dropped lines were kept back since the last. */
bool log_limit_pass(struct log_limit *l, uint64_t now_us, uint64_t *ret_dropped);

#endif
