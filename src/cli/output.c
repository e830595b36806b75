/*
 * output.c - a file that appears whole or not at all
 * Callers: index.
 */
#include "cli/output.h"

#include <fcntl.h>
#include <libgen.h>
#include <sys/stat.h>

static int open_beside(struct output *o, const char *path, mode_t mode)
{
	mode_t mask = umask(0);
	int fd, r;

	umask(mask);
	/* A link stays one: what it leads to is replaced. */
	o->path = realpath(path, NULL);
	if (!o->path)
		o->path = strdup(path);
	if (!o->path || asprintf(&o->temp, "%s.XXXXXX", o->path) < 0) {
		o->temp = NULL;
		return -ENOMEM;
	}
	fd = mkostemp(o->temp, O_CLOEXEC);
	if (fd < 0) {
		r = -errno;
		free(o->temp);
		o->temp = NULL;
		return r;
	}
	if (fchmod(fd, mode & ~mask) == 0)
		o->f = fdopen(fd, "w");
	if (o->f)
		return 0;
	r = -errno;
	close(fd);
	return r;
}

int output_open(struct output *o, const char *path, mode_t mode)
{
	struct stat st;
	int r;

	*o = (struct output){0};
	if (!path || strcmp(path, "-") == 0) {
		o->f = stdout;
		return 0;
	}
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
		o->f = fopen(path, "we");
		return o->f ? 0 : -errno;
	}
	r = open_beside(o, path, mode);
	if (r < 0)
		output_done(o);
	return r;
}

static int sync_directory(const char *path)
{
	char *copy = strdup(path);
	int fd = copy ? open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	int r = fd < 0 || fsync(fd) < 0 ? -errno : 0;

	if (fd >= 0)
		close(fd);
	free(copy);
	return r;
}

int output_commit(struct output *o)
{
	int r = fflush(o->f) != 0 ? -errno : 0;

	if (o->path) {
		if (r == 0 && (fsync(fileno(o->f)) < 0 || rename(o->temp, o->path) < 0))
			r = -errno;
		if (r == 0) {
			free(o->temp);
			o->temp = NULL;
			r = sync_directory(o->path);
		}
	}
	output_done(o);
	return r;
}

void output_done(struct output *o)
{
	if (o->temp)
		unlink(o->temp);
	if (o->f && o->f != stdout)
		fclose(o->f);
	free(o->temp);
	free(o->path);
	*o = (struct output){0};
}
