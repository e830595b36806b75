/*
 * log.c - one line to a person: stderr, a file or syslog
 *
 * Any thread enters. A line is formatted outside the lock and written by one write(2), so that
 * lines of several threads never mix. A daemon does not wait for whoever reads its log: it would
 * stop serving for a full pipe.
 */
#include "base/log.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/uio.h>
#include <syslog.h>

#include "base/clock.h"

#define LINE_MAX_BYTES 2048

static const struct {
	const char *name;
	int syslog;
} levels[] = {
	[LOG_LEVEL_ERROR] = {"error", LOG_ERR},
	[LOG_LEVEL_WARN] = {"warn", LOG_WARNING},
	[LOG_LEVEL_INFO] = {"info", LOG_INFO},
	[LOG_LEVEL_DEBUG] = {"debug", LOG_DEBUG},
};
_Static_assert(ARRAY_SIZE(levels) == LOG_LEVEL_COUNT, "name every log_level");

static atomic_int current_level = LOG_LEVEL_INFO;
static atomic_int current_target = LOG_TO_STDERR;
static atomic_int file_fd = -1;
static atomic_bool waits = true; /* for a pipe or terminal that takes nothing now */

/* Nobody waits while holding it: RANK_LOG, plain because it must be there before main(). */
static pthread_mutex_t write_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long lost; /* lines since the last that was written; write_lock */

int log_open(enum log_target target, const char *path)
{
	int fd = -1;
	int old;

	if (target == LOG_TO_FILE) {
		fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (fd < 0)
			return -errno;
	} else if (target == LOG_TO_SYSLOG) {
		openlog("rgetfs", LOG_PID, LOG_DAEMON);
	}

	old = atomic_exchange(&file_fd, fd);
	atomic_store(&current_target, (int)target);
	if (old >= 0)
		close(old);
	return 0;
}

void log_set_level(enum log_level level)
{
	atomic_store(&current_level, (int)level);
}

int log_parse_level(const char *name, enum log_level *ret_level)
{
	for (size_t i = 0; i < ARRAY_SIZE(levels); i++) {
		if (strcmp(levels[i].name, name) == 0) {
			*ret_level = (enum log_level)i;
			return 0;
		}
	}
	return -EINVAL;
}

void log_never_wait(void)
{
	atomic_store(&waits, false);
}

/* Of a pipe: there is room for a line, as long as nobody else writes to it. */
static bool takes_a_line(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLOUT};

	return poll(&p, 1, 0) != 0;
}

/* A line that can't be written at once is lost, and the next one says so. */
static void write_line(int fd, struct iovec *iov, int count)
{
	char text[64];
	struct iovec more = {.iov_base = text};

	if (atomic_load(&waits)) {
		(void)!writev(fd, iov, count); /* who could be told that it failed? */
		return;
	}
	pthread_mutex_lock(&write_lock);
	if (!takes_a_line(fd)) {
		lost++;
	} else {
		if (lost > 0) {
			more.iov_len =
				(size_t)snprintf(text, sizeof(text),
						 "rgetfs: %lu lines of the log were lost\n", lost);
			lost = 0;
			(void)!writev(fd, &more, 1);
		}
		if (takes_a_line(fd))
			(void)!writev(fd, iov, count);
		else
			lost++;
	}
	pthread_mutex_unlock(&write_lock);
}

/* Control bytes of a server or a manifest must not move a cursor or forge a second line. */
static void make_printable(char *s)
{
	for (; *s; s++) {
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			*s = '?';
	}
}

void log_line(enum log_level level, const char *fmt, ...)
{
	char text[LINE_MAX_BYTES];
	char stamp[32] = "";
	enum log_target target = (enum log_target)atomic_load(&current_target);
	struct iovec iov[4];
	va_list ap;
	int fd = STDERR_FILENO;

	if ((int)level > atomic_load(&current_level))
		return;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	make_printable(text);

	if (target == LOG_TO_SYSLOG) {
		syslog(levels[level].syslog, "%s", text);
		return;
	}
	if (target == LOG_TO_FILE) {
		time_t now = (time_t)clock_wall_s();
		struct tm tm;

		fd = atomic_load(&file_fd);
		gmtime_r(&now, &tm);
		strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%SZ ", &tm);
	}
	iov[0] = (struct iovec){stamp, strlen(stamp)};
	iov[1] = (struct iovec){(void *)(uintptr_t) "rgetfs: ", 8};
	iov[2] = (struct iovec){text, strlen(text)};
	iov[3] = (struct iovec){(void *)(uintptr_t) "\n", 1};
	write_line(fd, iov, ARRAY_SIZE(iov));
}

bool log_limit_pass(struct log_limit *l, uint64_t now_us, uint64_t *ret_dropped)
{
	uint64_t next = __atomic_load_n(&l->next_us, __ATOMIC_RELAXED);

	if (now_us < next ||
	    !__atomic_compare_exchange_n(&l->next_us, &next, now_us + LOG_LIMIT_US, false,
					 __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
		__atomic_fetch_add(&l->dropped, 1, __ATOMIC_RELAXED);
		return false;
	}
	*ret_dropped = __atomic_exchange_n(&l->dropped, 0, __ATOMIC_RELAXED);
	return true;
}
