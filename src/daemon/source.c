/*
 * source.c - where a manifest comes from: a file, standard input, or an http(s) URL
 *
 * Of a URL the last good copy is kept beside its cache. It is written aside, synced and renamed, so
 * that a crash leaves the older one.
 */
#include "daemon/source.h"

#include <fcntl.h>
#include <netdb.h>
#include <sys/stat.h>
#include <xxhash.h>

#include "base/clock.h"
#include "base/log.h"
#include "core/url.h"
#include "daemon/paths.h"
#include "store/cache.h"

static bool is_url(const char *arg)
{
	return strncasecmp(arg, "http://", 7) == 0 || strncasecmp(arg, "https://", 8) == 0;
}

static int init_stdin(struct source *s)
{
	XXH128_hash_t h;
	int r;

	s->kind = SOURCE_STDIN;
	r = manifest_read(STDIN_FILENO, &s->data, &s->len);
	if (r < 0)
		return r;
	h = XXH3_128bits(s->data, s->len);
	s->shown = strdup("standard input");
	if (asprintf(&s->identity, "content:%016llx%016llx", (unsigned long long)h.high64,
		     (unsigned long long)h.low64) < 0)
		s->identity = NULL;
	return s->shown && s->identity ? 0 : -ENOMEM;
}

static int init_url(struct source *s, const char *url)
{
	char shown[URL_MAX];
	struct url_origin o;
	int r;

	s->kind = SOURCE_URL;
	r = url_origin(url, &o);
	if (r < 0)
		return r;
	url_redact(url, shown, sizeof(shown));
	s->place = strdup(url);
	s->shown = strdup(shown);
	s->identity = url_without_userinfo(url);
	return s->place && s->shown && s->identity ? 0 : -ENOMEM;
}

static int init_file(struct source *s, const char *path)
{
	s->kind = SOURCE_FILE;
	s->place = realpath(path, NULL);
	if (!s->place)
		return -errno;
	s->shown = strdup(path);
	s->identity = strdup(s->place);
	return s->shown && s->identity ? 0 : -ENOMEM;
}

int source_init(struct source *s, const char *arg, char error[MANIFEST_ERROR_MAX])
{
	int r;

	*s = (struct source){0};
	if (strcmp(arg, "-") == 0)
		r = init_stdin(s);
	else if (is_url(arg))
		r = init_url(s, arg);
	else
		r = init_file(s, arg);
	if (r < 0) {
		if (s->kind == SOURCE_FILE && strstr(arg, "://"))
			snprintf(error, MANIFEST_ERROR_MAX,
				 "%s: a manifest is a file, - or an http or https URL", arg);
		else if (s->kind == SOURCE_URL && r == -EINVAL)
			snprintf(error, MANIFEST_ERROR_MAX,
				 "the manifest's URL can't be taken apart");
		else
			snprintf(error, MANIFEST_ERROR_MAX, "%s: %s",
				 s->kind == SOURCE_STDIN ? "standard input" : arg, strerror(-r));
		source_done(s);
	}
	return r;
}

void source_done(struct source *s)
{
	free(s->place);
	free(s->shown);
	free(s->identity);
	free(s->data);
	*s = (struct source){0};
}

/* ---- the last good copy of a URL ---- */

static int write_all(int fd, const char *data, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, data, len);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0) {
			data += n;
			len -= (size_t)n;
		}
	}
	return 0;
}

static int keep_in(int dirfd, const struct download *d)
{
	struct timespec times[2] = {{.tv_nsec = UTIME_NOW}, {.tv_sec = d->last_modified}};
	int fd = openat(dirfd, CACHE_MANIFEST_NEW_NAME,
			O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	int r;

	if (fd < 0)
		return -errno;
	r = write_all(fd, d->data, d->len);
	/* Its date is the server's: what a later mount shows while offline. */
	if (r == 0 &&
	    ((d->last_modified != VALIDATOR_NO_TIME && futimens(fd, times) < 0) || fsync(fd) < 0))
		r = -errno;
	close(fd);
	if (r == 0 && (renameat(dirfd, CACHE_MANIFEST_NEW_NAME, dirfd, CACHE_MANIFEST_NAME) < 0 ||
		       fsync(dirfd) < 0))
		r = -errno;
	return r;
}

static void keep(const char *dir, const struct download *d)
{
	int dirfd = -1;
	int r = path_make_dirs(dir);

	if (r == 0) {
		dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		r = dirfd < 0 ? -errno : keep_in(dirfd, d);
	}
	if (r < 0)
		log_warn("the manifest's copy can't be kept in %s: %s", dir, strerror(-r));
	if (dirfd >= 0)
		close(dirfd);
}

static int copy_of(const char *dir, struct download *ret)
{
	char *path = NULL;
	struct stat st;
	int fd, r;

	if (asprintf(&path, "%s/" CACHE_MANIFEST_NAME, dir) < 0)
		return -ENOMEM;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	free(path);
	if (fd < 0)
		return -errno;
	r = fstat(fd, &st) < 0 ? -errno : manifest_read(fd, &ret->data, &ret->len);
	close(fd);
	if (r == 0)
		ret->last_modified = st.st_mtime;
	return r;
}

/* Do all addresses of url's host belong to this host or a private net? What can't be resolved does
 * not. */
static bool host_is_private(const char *url)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list = NULL;
	struct url_origin o;
	size_t len;
	bool private = true;

	if (url_origin(url, &o) < 0)
		return false;
	len = strlen(o.host);
	if (o.host[0] == '[') { /* IPv6: without its brackets */
		memmove(o.host, o.host + 1, len - 2);
		o.host[len - 2] = '\0';
	}
	if (getaddrinfo(o.host, NULL, &hints, &list) != 0)
		return false;
	for (const struct addrinfo *a = list; a; a = a->ai_next) {
		if (addr_scope(a->ai_addr) == ADDR_PUBLIC)
		private = false;
	}
	freeaddrinfo(list);
	return private;
}

/* Somebody who wants one file may give its URL in the place of the list. */
static void hint_at_list(char error[MANIFEST_ERROR_MAX])
{
	size_t used = strlen(error);

	snprintf(error + used, MANIFEST_ERROR_MAX - used,
		 " (a manifest is a list of URLs; to mount one file: echo URL | rgetfs mount - "
		 "MOUNTPOINT)");
}

static int load_url(const struct source *s, struct manifest_options opt,
		    const struct source_net *net, const char *keep_dir, struct source_result *ret,
		    char error[MANIFEST_ERROR_MAX])
{
	struct download d = {0};
	char why[SOURCE_WHY_MAX] = "--offline";
	bool fetched = false;
	int r = -EIO;

	if (!net->offline) {
		r = download(net->fetch, s->place, net->cancel, &d, why, sizeof(why));
		fetched = r == 0;
	}
	if (!fetched && keep_dir && r != -ECANCELED && copy_of(keep_dir, &d) == 0) {
		log_warn("%s: %s; the copy of its last good state is used", s->shown, why);
		r = 0;
	}
	if (r < 0) {
		snprintf(error, MANIFEST_ERROR_MAX, "%s: the manifest can't be fetched: %s",
			 s->shown, why);
		if (r == -EFBIG)
			hint_at_list(error);
		return r;
	}
	opt.default_mtime = d.last_modified != VALIDATOR_NO_TIME ? d.last_modified : clock_wall_s();
	opt.foreign = !host_is_private(fetched ? d.url : s->place);
	r = manifest_parse(d.data ? d.data : "", d.len, s->shown, &opt, &ret->manifest, error);
	if (r == 0) {
		ret->mtime = opt.default_mtime;
		if (!fetched)
			snprintf(ret->kept_why, sizeof(ret->kept_why), "%s", why);
		else if (keep_dir)
			keep(keep_dir, &d);
	} else if (r != -ENOMEM) {
		hint_at_list(error);
	}
	free(d.data);
	return r;
}

/* By its real path, because the daemon has another working directory; named as the user did. */
static int load_file(const struct source *s, struct manifest_options *opt, struct manifest **ret,
		     char error[MANIFEST_ERROR_MAX])
{
	struct stat st = {0};
	char *data = NULL;
	size_t len = 0;
	int fd, r = 0;

	fd = open(s->place, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		r = -errno;
	else
		r = manifest_read(fd, &data, &len);
	if (fd >= 0)
		close(fd);
	if (r < 0) {
		snprintf(error, MANIFEST_ERROR_MAX, "%s: %s%s", s->shown, strerror(-r),
			 r == -EISDIR ? " (give a file with URLs, one a line)" : "");
		return r;
	}
	opt->default_mtime = st.st_mtime;
	r = manifest_parse(data, len, s->shown, opt, ret, error);
	free(data);
	return r;
}

int source_load(const struct source *s, const struct manifest_options *options,
		const struct source_net *net, const char *keep_dir, struct source_result *ret,
		char error[MANIFEST_ERROR_MAX])
{
	struct manifest_options opt = *options;
	int r;

	if (s->kind == SOURCE_URL)
		return load_url(s, opt, net, keep_dir, ret, error);

	opt.default_mtime = clock_wall_s();
	if (s->kind == SOURCE_STDIN)
		r = manifest_parse(s->data, s->len, s->shown, &opt, &ret->manifest, error);
	else
		r = load_file(s, &opt, &ret->manifest, error);
	if (r == 0)
		ret->mtime = opt.default_mtime;
	return r;
}
