/*
 * oracle.c - what a file of the mount may hold, and what was wrong
 */
#include "oracle.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>

#define FILES_MAX    256
#define VERSIONS_MAX 4096
#define IDENTIFY     16 /* bytes that tell one content from another */
#define SAID_MAX     20

static struct file file[FILES_MAX];
static unsigned int files;
static atomic_uint wrong;

void complain(const char *fmt, ...)
{
	char line[1024];
	va_list ap;

	if (atomic_fetch_add(&wrong, 1) >= SAID_MAX)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	fprintf(stderr, "reader: %s\n", line);
}

unsigned int complaints(void)
{
	return atomic_load(&wrong);
}

int oracle_read(const char *list)
{
	FILE *f = fopen(list, "re");
	char line[512], flags[8];

	if (!f)
		return -errno;
	while (files < FILES_MAX && fgets(line, sizeof(line), f)) {
		struct file *n = &file[files];

		/* NOLINTNEXTLINE(cert-err34-c): the driver writes it, and a bad line ends it */
		if (sscanf(line, "%127s %127s %" SCNu64 " %" SCNu64 " %7s", n->name, n->path,
			   &n->size, &n->step, flags) != 5)
			break;
		n->optional = strchr(flags, 'o') != NULL;
		n->unsized = strchr(flags, 'u') != NULL;
		files++;
	}
	fclose(f);
	return files ? 0 : -EINVAL;
}

unsigned int oracle_files(void)
{
	return files;
}

const struct file *oracle_file(unsigned int n)
{
	return &file[n];
}

void belief_init(struct belief *b)
{
	pthread_mutex_init(&b->lock, NULL);
	b->known = false;
}

void belief_done(struct belief *b)
{
	pthread_mutex_destroy(&b->lock);
}

static bool is_content(struct content c, uint64_t off, const unsigned char *data, size_t len)
{
	unsigned char start[IDENTIFY];

	content_fill(c, off, start, len);
	return memcmp(start, data, len) == 0;
}

/* Which content of that name has data at off, in a file of that size? */
static bool identify(const char *name, uint64_t size, uint64_t off, const unsigned char *data,
		     size_t len, struct content *ret)
{
	for (unsigned int i = 0; i < files; i++) {
		const struct file *f = &file[i];

		if (strcmp(f->name, name) != 0)
			continue;
		for (uint64_t v = 0; v < VERSIONS_MAX; v++) {
			struct content c = content_make(1, f->path, v);

			if (!f->unsized && f->size + v * f->step != size)
				continue;
			if (is_content(c, off, data, len)) {
				*ret = c;
				return true;
			}
		}
	}
	return false;
}

static void explain(const char *name, uint64_t size, uint64_t off, const unsigned char *data,
		    size_t len)
{
	size_t zeros = 0;

	while (zeros < len && data[zeros] == 0)
		zeros++;
	if (zeros >= 8 || (zeros > 0 && zeros == len)) {
		complain("%s: byte %" PRIu64 " is wrong: %zu zeros", name, off, zeros);
		return;
	}
	for (unsigned int i = 0; i < files && len >= CONTENT_PROBE; i++) {
		for (uint64_t v = 0; v < VERSIONS_MAX; v++) {
			uint64_t at;

			if (content_find(content_make(1, file[i].path, v), data, &at) < 0)
				continue;
			complain("%s (%" PRIu64 " bytes): byte %" PRIu64
				 " is wrong: it is %s version %" PRIu64 " at %" PRIu64,
				 name, size, off, file[i].path, v, at);
			return;
		}
	}
	complain("%s: byte %" PRIu64 " is wrong, of unknown origin", name, off);
}

void oracle_check(const struct file *f, uint64_t size, struct belief *b, uint64_t off,
		  const unsigned char *data, size_t len, unsigned char *scratch)
{
	size_t start = min_u64(len, IDENTIFY), i = 0;
	struct content c;
	bool known;

	if (len == 0)
		return;
	pthread_mutex_lock(&b->lock);
	known = b->known;
	c = b->content;
	if (!known && identify(f->name, size, off, data, start, &c)) {
		known = true;
		/* Fewer may be those of several. */
		if (len >= IDENTIFY) {
			b->known = true;
			b->content = c;
		}
	}
	pthread_mutex_unlock(&b->lock);
	if (!known) {
		explain(f->name, size, off, data, len);
		return;
	}
	content_fill(c, off, scratch, len);
	if (memcmp(scratch, data, len) == 0)
		return;
	while (scratch[i] == data[i])
		i++;
	explain(f->name, size, off + i, data + i, len - i);
}
