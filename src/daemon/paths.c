/*
 * paths.c - host paths: where caches, downloads and control sockets live, and what lies inside what
 * Callers: mount (before it forks), the commands that look for mounts. No state, no threads.
 */
#include "daemon/paths.h"

#include <ctype.h>
#include <sys/stat.h>
#include <xxhash.h>

/* What a person still recognises of a manifest's name in the name of its cache directory. */
#define CACHE_NAME_PLAIN 40
#define CONTROL_DIR_MAX	 76 /* leaves room in sun_path for "/PID.sock.new" and more */

char *path_absolute(const char *path)
{
	char *cwd, *out;

	if (path[0] == '/')
		return strdup(path);
	cwd = getcwd(NULL, 0);
	if (!cwd)
		return NULL;
	if (asprintf(&out, "%s/%s", cwd, path) < 0)
		out = NULL;
	free(cwd);
	return out;
}

int path_resolve(const char *path, char **ret)
{
	char *head = path_absolute(path);
	char *real = NULL, *cut;
	size_t len;
	int r = 0;

	if (!head)
		return -ENOMEM;
	len = strlen(head);
	while (len > 1 && head[len - 1] == '/')
		head[--len] = '\0';
	/* Resolve the longest part that exists; what is behind it is taken as it stands. */
	cut = head + len;
	for (;;) {
		char saved = *cut;

		*cut = '\0';
		real = realpath(*head ? head : "/", NULL);
		*cut = saved;
		if (real || errno != ENOENT || cut == head)
			break;
		do
			cut--;
		while (cut > head && *cut != '/');
	}
	if (!real)
		r = -errno;
	else if (asprintf(ret, "%s%s", strcmp(real, "/") == 0 && *cut ? "" : real, cut) < 0)
		r = -ENOMEM;
	free(real);
	free(head);
	return r;
}

bool path_within(const char *dir, const char *path)
{
	size_t len = strlen(dir);

	if (strcmp(dir, "/") == 0)
		return true;
	return strncmp(dir, path, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

int path_make_dirs(const char *path)
{
	char *copy = strdup(path);
	int r = 0;

	if (!copy)
		return -ENOMEM;
	for (char *at = strchr(copy + 1, '/'); r == 0; at = strchr(at + 1, '/')) {
		if (at)
			*at = '\0';
		if (mkdir(copy, 0700) < 0 && errno != EEXIST)
			r = -errno;
		if (!at)
			break;
		*at = '/';
	}
	free(copy);
	return r;
}

/* A directory of ours: in what the variable names, else in HOME/below, without a home elsewhere. */
static int user_root(const char *variable, const char *below, const char *homeless, char **ret)
{
	const char *base = getenv(variable);
	const char *home = getenv("HOME");
	char *out;
	int n;

	if (base && base[0] == '/')
		n = asprintf(&out, "%s/rgetfs", base);
	else if (home && home[0] == '/')
		n = asprintf(&out, "%s/%s/rgetfs", home, below);
	else
		n = asprintf(&out, "%s", homeless);
	if (n < 0)
		return -ENOMEM;
	*ret = out;
	return 0;
}

int cache_root(const char *given, char **ret)
{
	if (!given)
		return user_root("XDG_CACHE_HOME", ".cache", "/var/cache/rgetfs", ret);
	*ret = strdup(given);
	return *ret ? 0 : -ENOMEM;
}

int state_root(char **ret)
{
	return user_root("XDG_STATE_HOME", ".local/state", "/var/lib/rgetfs", ret);
}

/* The last part of an identity, letters and digits of it. */
static void plain_name(const char *identity, char buf[CACHE_NAME_PLAIN + 1])
{
	size_t end = strcspn(identity, "?#"), start, n = 0;

	while (end > 0 && identity[end - 1] == '/')
		end--;
	start = end;
	while (start > 0 && identity[start - 1] != '/')
		start--;
	for (size_t i = start; i < end && n < CACHE_NAME_PLAIN; i++) {
		unsigned char c = (unsigned char)identity[i];

		if (isalnum(c) || c == '-' || c == '_' || (c == '.' && n > 0))
			buf[n++] = (char)c;
	}
	buf[n] = '\0';
}

int cache_dir(const char *root, const char *name, const char *identity, char **ret)
{
	char plain[CACHE_NAME_PLAIN + 1];
	char *out;
	int n;

	if (name) {
		if (!*name || name[0] == '.' || strchr(name, '/') || strlen(name) > 200)
			return -EINVAL;
		n = asprintf(&out, "%s/%s", root, name);
	} else {
		XXH128_hash_t h = XXH3_128bits(identity, strlen(identity));

		plain_name(identity, plain);
		n = asprintf(&out, "%s/%s%s%016llx%016llx", root, plain, *plain ? "-" : "",
			     (unsigned long long)h.high64, (unsigned long long)h.low64);
	}
	if (n < 0)
		return -ENOMEM;
	*ret = out;
	return 0;
}

/* dir, made if absent: ours and nobody else's? */
static int private_dir(const char *dir)
{
	struct stat st;

	if (mkdir(dir, 0700) < 0 && errno != EEXIST)
		return -errno;
	if (lstat(dir, &st) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 077))
		return -EPERM;
	return 0;
}

int control_dir(char *buf, size_t size)
{
	const char *run = getenv("XDG_RUNTIME_DIR");
	char dir[CONTROL_DIR_MAX] = "";

	/* A socket's path has 107 bytes: a longer place is none. */
	if (run && run[0] == '/' && strlen(run) + sizeof("/rgetfs") <= sizeof(dir) &&
	    access(run, W_OK) == 0)
		snprintf(dir, sizeof(dir), "%s/rgetfs", run);
	else if (geteuid() == 0)
		snprintf(dir, sizeof(dir), "/run/rgetfs");
	else
		snprintf(dir, sizeof(dir), "/tmp/rgetfs-%u", (unsigned int)geteuid());
	if (strlen(dir) >= size)
		return -ENAMETOOLONG;
	memcpy(buf, dir, strlen(dir) + 1);
	return private_dir(buf);
}
