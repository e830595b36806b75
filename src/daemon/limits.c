/*
 * limits.c - how many descriptors there are, and who may have them
 * Callers: what runs an engine, before it does; one thread.
 *
 * Everything has its share, so that nobody is starved by others: an engine that has as many sockets
 * and files as it likes leaves none for the control socket, and "unmount" is what is needed then.
 */
#include "daemon/limits.h"

#include <dirent.h>
#include <sys/resource.h>

#include "base/log.h"
#include "daemon/control.h"

/* Signals, events, /dev/fuse, the log, the cache's directories, lock and database, the control
 * socket: 18; a directory or a certificate that is being read. */
#define FIXED 24
/* Connections of the control socket where there are fewer than PLENTY. */
#define COMMANDS_FEW 8
/* Of one connection: itself, another that is kept for its server, and looking up a name. */
#define OF_CONNECTION 3
/*
 * Of a download: its part, two directories, lock, database and log; 3 for a moment at a time. As
 * many as are fetched may be at their beginning or end.
 */
#define OF_DOWNLOAD (2 * 11)
#define NEEDED	    (FIXED + COMMANDS_FEW + 16U)
#define PLENTY	    256
#define FILES_MAX   1024

static unsigned int count_open(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned int count = 0;

	if (!d)
		return 3;
	while (readdir(d))
		count++;
	closedir(d);
	return count - 3; /* ".", "..", and the one it is read with */
}

int limits_fit(struct engine_config *cfg, unsigned int *ret_commands, char error[LIMITS_TEXT_MAX])
{
	unsigned int open = count_open(), spare, left, files;
	unsigned int commands = CONTROL_CONNECTIONS_MAX;
	struct rlimit lim;

	if (ret_commands)
		*ret_commands = commands;

	if (getrlimit(RLIMIT_NOFILE, &lim) < 0)
		return 0;
	if (lim.rlim_cur < lim.rlim_max) {
		lim.rlim_cur = lim.rlim_max;
		setrlimit(RLIMIT_NOFILE, &lim);
		getrlimit(RLIMIT_NOFILE, &lim);
	}
	left = lim.rlim_cur > UINT32_MAX ? UINT32_MAX : (unsigned int)lim.rlim_cur;
	left -= open < left ? open : left;
	if (left < NEEDED) {
		snprintf(
			error, LIMITS_TEXT_MAX,
			"%u file descriptors are left of the %llu that are allowed, and %u are needed "
			"(raise ulimit -n, or LimitNOFILE= of the unit)",
			left, (unsigned long long)lim.rlim_cur, NEEDED);
		return -EMFILE;
	}
	if (left < PLENTY)
		commands = COMMANDS_FEW;
	if (ret_commands)
		*ret_commands = commands;
	spare = left - FIXED - commands;
	files = spare / 2;
	cfg->store.files_max = files < FILES_MAX ? files : FILES_MAX;
	spare = (spare - cfg->store.files_max) / OF_CONNECTION;
	if (cfg->sched.max_connections > spare) {
		log_warn("%llu file descriptors are allowed: at most %u connections at once "
			 "(ulimit -n)",
			 (unsigned long long)lim.rlim_cur, spare);
		cfg->sched.max_connections = spare;
		cfg->fetch.max_connections = spare;
	}
	return 0;
}

unsigned int limits_downloads(const struct engine_config *cfg, unsigned int want)
{
	unsigned int most = cfg->store.files_max / OF_DOWNLOAD;

	if (most == 0)
		most = 1;
	if (cfg->store.files_max == 0 || want <= most)
		return want;
	log_warn("few file descriptors are allowed: at most %u %s at once (ulimit -n)", most,
		 most == 1 ? "file" : "files");
	return most;
}
