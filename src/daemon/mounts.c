/*
 * mounts.c - which mounts of rgetfs there are, without touching them
 * Callers: the commands. One thread, no state.
 */
#include "daemon/mounts.h"

#include <assert.h>
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <sys/sysmacros.h>

#include "daemon/paths.h"

#define FSTYPE "fuse.rgetfs"

void mount_entry_done(struct mount_entry *m)
{
	free(m->point);
	free(m->source);
	m->point = m->source = NULL;
}

const char *mount_entry_user(const struct mount_entry *m, char *buf, size_t size)
{
	const struct passwd *pw = getpwuid(m->uid);

	if (pw)
		snprintf(buf, size, "%s", pw->pw_name);
	else
		snprintf(buf, size, "user %u", (unsigned int)m->uid);
	return buf;
}

/* The kernel writes space, tab, newline and backslash as \ooo. In place. */
static void unescape(char *s)
{
	char *out = s;

	while (*s) {
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] && s[3]) {
			*out++ = (char)((s[1] - '0') * 64 + (s[2] - '0') * 8 + (s[3] - '0'));
			s += 4;
		} else {
			*out++ = *s++;
		}
	}
	*out = '\0';
}

/* Line of mountinfo (changed): "id parent major:minor root point options [tags] - type source
 * super". */
static bool parse_line(char *line, struct mount_entry *ret)
{
	char *rest = line, *field[5] = {0}, *type, *source, *colon, *user;

	for (size_t i = 0; i < ARRAY_SIZE(field); i++)
		field[i] = strsep(&rest, " ");
	rest = rest ? strstr(rest, " - ") : NULL;
	if (!rest || !field[4])
		return false;
	rest += 3;
	type = strsep(&rest, " ");
	source = strsep(&rest, " ");
	colon = strchr(field[2], ':');
	if (!type || !source || !colon || strcmp(type, FSTYPE) != 0)
		return false;
	user = rest ? strstr(rest, "user_id=") : NULL;
	unescape(field[4]);
	unescape(source);
	*ret = (struct mount_entry){
		.point = strdup(field[4]),
		.source = strdup(source),
		.major = (unsigned int)strtoul(field[2], NULL, 10),
		.minor = (unsigned int)strtoul(colon + 1, NULL, 10),
		.uid = user ? (uid_t)strtoul(user + strlen("user_id="), NULL, 10) : 0,
	};
	return true;
}

int mounts_each(int (*fn)(void *ctx, const struct mount_entry *m), void *ctx)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char *line = NULL;
	size_t room = 0;
	int r = 0;

	if (!f)
		return -errno;
	while (r == 0 && getline(&line, &room, f) >= 0) {
		struct mount_entry m;

		line[strcspn(line, "\n")] = '\0';
		if (!parse_line(line, &m))
			continue;
		if (m.point && m.source)
			r = fn(ctx, &m);
		mount_entry_done(&m);
	}
	free(line);
	fclose(f);
	return r;
}

struct search {
	bool (*match)(const char *point, const char *path);
	const char *path;
	struct mount_entry best;
};

/* The last match wins: later mounts cover earlier ones. */
static int look_at(void *ctx, const struct mount_entry *m)
{
	struct search *s = ctx;
	struct mount_entry found = *m;

	if (!s->match(m->point, s->path) ||
	    (s->best.point && strlen(m->point) < strlen(s->best.point)))
		return 0;
	found.point = strdup(m->point);
	found.source = strdup(m->source);
	if (!found.point || !found.source) {
		mount_entry_done(&found);
		return -ENOMEM;
	}
	mount_entry_done(&s->best);
	s->best = found;
	return 0;
}

static int find(bool (*match)(const char *point, const char *path), const char *path,
		struct mount_entry *ret)
{
	struct search s = {.match = match, .path = path};
	int r = mounts_each(look_at, &s);

	if (r == 0 && !s.best.point)
		r = -ENOENT;
	if (r < 0) {
		mount_entry_done(&s.best);
		return r;
	}
	*ret = s.best;
	return 0;
}

static bool is_at(const char *point, const char *path)
{
	return strcmp(point, path) == 0;
}

int mounts_at(const char *point, struct mount_entry *ret)
{
	return find(is_at, point, ret);
}

int mounts_of(const char *path, struct mount_entry *ret)
{
	return find(path_within, path, ret);
}

#define LINKS_MAX 40 /* as the kernel */

/* Absolute, resolved but for the last component. */
static int resolve_parent(const char *path, char **ret)
{
	char *full = path_absolute(path);
	char *slash, *dir;
	size_t len;
	int r = 0;

	if (!full)
		return -ENOMEM;
	len = strlen(full);
	while (len > 1 && full[len - 1] == '/')
		full[--len] = '\0';
	slash = strrchr(full, '/');
	/* ".", "..": there is no last component to spare. */
	if (slash == full || strcmp(slash, "/.") == 0 || strcmp(slash, "/..") == 0) {
		*ret = realpath(full, NULL);
		r = *ret ? 0 : -errno;
		free(full);
		return r;
	}
	*slash = '\0';
	dir = realpath(full, NULL);
	if (!dir)
		r = -errno;
	else if (asprintf(ret, "%s/%s", strcmp(dir, "/") == 0 ? "" : dir, slash + 1) < 0)
		r = -ENOMEM;
	free(dir);
	free(full);
	return r;
}

/* Where the link at full leads; NULL without an error: it is none, or lies in a mount of ours,
 * where a look would be a question to its daemon. */
static int follow(const char *full, char **ret)
{
	char target[PATH_MAX];
	struct mount_entry m;
	ssize_t n;

	*ret = NULL;
	if (mounts_of(full, &m) == 0) {
		mount_entry_done(&m);
		return 0;
	}
	n = readlink(full, target, sizeof(target) - 1);
	if (n < 0)
		return 0;
	target[n] = '\0';
	if (target[0] == '/')
		*ret = strdup(target);
	else if (asprintf(ret, "%.*s/%s", (int)(strrchr(full, '/') - full), full, target) < 0)
		*ret = NULL;
	return *ret ? 0 : -ENOMEM;
}

int mounts_resolve(const char *path, char **ret)
{
	char *full = NULL, *next = NULL;
	int r = resolve_parent(path, &full);

	for (int links = 0; r == 0; links++) {
		assert(full); /* resolved: it is there */
		r = follow(full, &next);
		if (r < 0 || !next)
			break;
		free(full);
		full = NULL;
		r = links < LINKS_MAX ? resolve_parent(next, &full) : -ELOOP;
		free(next);
	}
	if (r < 0)
		free(full);
	else
		*ret = full;
	return r;
}

/* ---- who uses it ---- */

/* Does the link at dirfd/name lead into point? Read, never followed. */
static bool link_leads_into(int dirfd, const char *name, const char *point)
{
	char target[PATH_MAX];
	ssize_t n = readlinkat(dirfd, name, target, sizeof(target) - 1);

	if (n <= 0)
		return false;
	target[n] = '\0';
	return path_within(point, target);
}

static bool any_link_in(int procfd, const char *subdir, const char *point)
{
	int fd = openat(procfd, subdir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *e;
	bool found = false;

	if (!d) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	while (!found && (e = readdir(d)))
		found = link_leads_into(dirfd(d), e->d_name, point);
	closedir(d);
	return found;
}

static void process_name(int procfd, char *buf, size_t size)
{
	int fd = openat(procfd, "comm", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, buf, size - 1) : -1;

	buf[n > 0 ? n : 0] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
	if (fd >= 0)
		close(fd);
}

unsigned int mounts_holders(const char *point, char *buf, size_t size)
{
	static const char *const links[] = {"cwd", "root", "exe"};
	static const char *const subdirs[] = {"fd", "map_files"};
	DIR *proc = opendir("/proc");
	unsigned int count = 0;
	struct dirent *e;
	size_t used = 0;

	buf[0] = '\0';
	while (proc && (e = readdir(proc))) {
		bool holds = false;
		char name[32];
		int fd;

		if (!isdigit((unsigned char)e->d_name[0]))
			continue;
		fd = openat(dirfd(proc), e->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd < 0)
			continue;
		for (size_t i = 0; i < ARRAY_SIZE(links); i++)
			holds = holds || link_leads_into(fd, links[i], point);
		for (size_t i = 0; i < ARRAY_SIZE(subdirs); i++)
			holds = holds || any_link_in(fd, subdirs[i], point);
		if (holds) {
			process_name(fd, name, sizeof(name));
			if (used < size)
				used += (size_t)snprintf(buf + used, size - used, "%s%s (%s)",
							 count ? ", " : "", name, e->d_name);
			count++;
		}
		close(fd);
	}
	if (proc)
		closedir(proc);
	return count;
}

static bool fd_is_of(int procfd, const char *fd, unsigned int minor)
{
	char path[16 + NAME_MAX], line[64];
	unsigned int found = 0;
	FILE *f;
	int at;

	snprintf(path, sizeof(path), "fdinfo/%s", fd);
	at = openat(procfd, path, O_RDONLY | O_CLOEXEC);
	f = at >= 0 ? fdopen(at, "re") : NULL;
	if (!f) {
		if (at >= 0)
			close(at);
		return false;
	}
	while (!found && fgets(line, sizeof(line), f)) {
		if (strncmp(line, "fuse_connection:", 16) == 0)
			found = (unsigned int)strtoul(line + 16, NULL, 10);
	}
	fclose(f);
	return found == minor;
}

static bool process_answers(int procfd, unsigned int minor)
{
	int fd = openat(procfd, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *e;
	bool found = false;

	if (!d) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	while (!found && (e = readdir(d))) {
		found = link_leads_into(dirfd(d), e->d_name, "/dev/fuse") &&
			fd_is_of(procfd, e->d_name, minor);
	}
	closedir(d);
	return found;
}

pid_t mounts_daemon(unsigned int minor)
{
	DIR *proc = opendir("/proc");
	struct dirent *e;
	pid_t pid = 0;

	while (proc && !pid && (e = readdir(proc))) {
		int fd;

		if (!isdigit((unsigned char)e->d_name[0]))
			continue;
		fd = openat(dirfd(proc), e->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (process_answers(fd, minor))
			pid = (pid_t)strtol(e->d_name, NULL, 10);
		close(fd);
	}
	if (proc)
		closedir(proc);
	return pid;
}
