/*
 * cmd_unmount.c - rgetfs unmount: end a mount, whatever its state
 *
 * Plain: ask for a checkpoint, unmount, wait until the daemon has ended. --lazy detaches a busy
 * mount. --force aborts the connection in the kernel first: every blocked reader gets its error,
 * whatever the daemon does. The mountpoint is never looked up but by the kernel's own unmount: a
 * hung or dead daemon must not hang us.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "cli/commands.h"
#include "daemon/control.h"
#include "daemon/mounts.h"

#define END_WAIT_MS (60 * 1000)

extern char **environ;

struct unmount {
	bool force, lazy;
};

static const struct cli_option unmount_options[] = {
	{"force", 'f', NULL, "Options", set_flag, offsetof(struct unmount, force), 0, NULL},
	{"lazy", 'l', NULL, "Options", set_flag, offsetof(struct unmount, lazy), 0, NULL},
};

/* What an ordinary user needs for his own mounts. Its words would name neither us nor who holds the
 * mount. */
static int run_fusermount(const char *point, bool lazy)
{
	const char *const argv[] = {"fusermount3", lazy ? "-uz" : "-u", "--", point, NULL};
	posix_spawn_file_actions_t fa;
	int status = 0, r;
	pid_t pid;

	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_addopen(&fa, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	r = posix_spawnp(&pid, "fusermount3", &fa, NULL, (char *const *)(uintptr_t)argv, environ);
	posix_spawn_file_actions_destroy(&fa);
	if (r)
		return -r;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EBUSY;
}

static int detach(const struct mount_entry *m, bool lazy)
{
	if (umount2(m->point, UMOUNT_NOFOLLOW | (lazy ? MNT_DETACH : 0)) == 0)
		return 0;
	if (errno != EPERM)
		return -errno;
	return m->uid == getuid() ? run_fusermount(m->point, lazy) : -EPERM;
}

#define FUSECTL "/sys/fs/fuse/connections"

static int write_abort(const struct mount_entry *m)
{
	char path[64];
	int fd, r = 0;

	/* The device number of a FUSE mount is (0, connection). */
	snprintf(path, sizeof(path), FUSECTL "/%u/abort", m->minor);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "1", 1) < 0)
		r = -errno;
	if (fd >= 0)
		close(fd);
	return r;
}

/*
 * Let the kernel drop the connection: whoever waits for the daemon gets an error at once. Where
 * nobody has mounted the control file system, root does, out of everybody's sight: in a child with
 * mounts of its own.
 */
static int abort_connection(const struct mount_entry *m)
{
	int r = write_abort(m);
	int status = 0;
	pid_t pid;

	if (r != -ENOENT || geteuid() != 0)
		return r;
	pid = fork();
	if (pid == 0) {
		if (unshare(CLONE_NEWNS) < 0 ||
		    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
		    mount("fusectl", FUSECTL, "fusectl", 0, NULL) < 0)
			_exit(errno);
		_exit(-write_abort(m));
	}
	if (pid < 0)
		return -errno;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -EIO;
}

/*
 * Where the control file system is not to be had, ending the daemon closes the connection as well.
 * What it had made durable stays so.
 */
static int end_connection(const struct mount_entry *m)
{
	int r = abort_connection(m);
	pid_t pid = r < 0 ? mounts_daemon(m->minor) : 0;

	if (pid > 0)
		r = kill(pid, SIGKILL) < 0 ? -errno : 0;
	return r;
}

static void say_busy(const char *point)
{
	char holders[1024];

	if (mounts_holders(point, holders, sizeof(holders)) > 0)
		fprintf(stderr,
			"rgetfs: %s: in use by %s (end them; --lazy detaches it, --force frees it)\n",
			point, holders);
	else
		fprintf(stderr,
			"rgetfs: %s: in use (fuser -m %s names by whom; --lazy detaches it, --force frees "
			"it)\n",
			point, point);
}

/* 0: gone from the tree of names. 1: it was said why not. */
static int take_off(const struct unmount *u, const struct mount_entry *m)
{
	char user[64];
	int r;

	if (u->force) {
		r = end_connection(m);
		/* Another user's is not ours to unmount either, which is said then. */
		if (r < 0 && (m->uid == getuid() || geteuid() == 0))
			fprintf(stderr, "rgetfs: %s: its connection can't be aborted: %s\n",
				m->point, strerror(-r));
	}
	r = detach(m, u->lazy || u->force);
	if (r == -EBUSY)
		say_busy(m->point);
	else if (r == -EPERM && m->uid != getuid())
		fprintf(stderr, "rgetfs: %s: mounted by %s (only they and root may unmount it)\n",
			m->point, mount_entry_user(m, user, sizeof(user)));
	else if (r < 0)
		fprintf(stderr, "rgetfs: %s: %s\n", m->point, strerror(-r));
	return r < 0;
}

static int unmount_politely(const struct unmount *u, const struct mount_entry *m)
{
	struct control_client c;
	char error[CONTROL_ERROR_MAX];
	json_t *result = NULL;
	int r;

	r = control_connect(m->point, &c, error);
	if (r == -ETIMEDOUT) { /* its own line names the mountpoint */
		fprintf(stderr, "rgetfs: %s\n", error);
		return 1;
	}
	if (r < 0) /* a dead daemon has nothing to make durable any more */
		return take_off(u, m);
	r = control_call(&c, json_pack("{s:s}", "command", "checkpoint"), NULL, NULL, &result,
			 error);
	json_decref(result);
	if (r < 0 && r != -EBUSY) /* busy: the end of the mount makes a checkpoint of its own */
		fprintf(stderr, "rgetfs: %s: %s\n", m->point, error);
	if (r == -ETIMEDOUT) {
		control_disconnect(&c);
		return 1;
	}
	r = take_off(u, m);
	if (r == 0 && !u->lazy && control_wait_end(&c, END_WAIT_MS) < 0) {
		fprintf(stderr,
			"rgetfs: %s: unmounted, but its daemon is still at the last checkpoint\n",
			m->point);
		r = 1;
	}
	control_disconnect(&c);
	return r;
}

/* 0, or 1: it was said why not. */
static int unmount_at(const struct unmount *u, const char *path)
{
	struct mount_entry m = {0};
	char *point = NULL;
	int r = mounts_resolve(path, &point);

	if (r == 0)
		r = mounts_at(point, &m);
	free(point);
	if (r < 0) {
		fprintf(stderr, "rgetfs: %s: %s\n", path,
			r == -ENOENT ? "no rgetfs is mounted there" : strerror(-r));
		return 1;
	}
	r = u->force ? take_off(u, &m) : unmount_politely(u, &m);
	mount_entry_done(&m);
	return r;
}

int cmd_unmount(const struct command *cmd, int argc, char **argv)
{
	struct unmount u = {0};
	const struct option_set set = {unmount_options, ARRAY_SIZE(unmount_options), &u, false};
	int n = options_parse(cmd, &set, 1, argc, argv);
	int status = 0;

	if (n < 0)
		return options_status(n);
	if (n == 0)
		return options_usage(cmd, "a mountpoint is needed");
	for (int i = 0; i < n; i++)
		status |= unmount_at(&u, argv[i]);
	return status;
}
