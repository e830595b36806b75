/*
 * foreign.c - what other downloaders have left of a file
 */
#include "get/foreign.h"

#include <inttypes.h>
#include <fcntl.h>
#include <sys/stat.h>

#define CONTROL_MAX	(UINT64_C(256) << 20)
#define PIECE_BLOCK	(UINT64_C(16) << 10) /* what a bit of a piece in flight stands for */
#define CONTROL_VERSION 1

/* ---- aria2's control file: numbers are big-endian ---- */

struct cursor {
	const unsigned char *at;
	size_t left;
	bool short_; /* something was asked for that is not there */
};

static const unsigned char *take(struct cursor *c, uint64_t len)
{
	const unsigned char *at = c->at;

	if (c->short_ || len > c->left) {
		c->short_ = true;
		return NULL;
	}
	c->at += len;
	c->left -= len;
	return at;
}

static uint64_t take_number(struct cursor *c, unsigned int bytes)
{
	const unsigned char *at = take(c, bytes);
	uint64_t n = 0;

	for (unsigned int i = 0; at && i < bytes; i++)
		n = n << 8 | at[i];
	return n;
}

static bool bit(const unsigned char *bits, uint64_t n)
{
	return bits[n / 8] >> (7 - n % 8) & 1;
}

/* Of count bits, each for step bytes from off on; what lies behind end is not there. 0, -ENOMEM. */
static int add_bits(struct rangeset *ret, const unsigned char *bits, uint64_t count, uint64_t off,
		    uint64_t step, uint64_t end)
{
	int r = 0;

	for (uint64_t i = 0; r == 0 && i < count; i++) {
		uint64_t begin = off + i * step;

		if (begin >= end)
			break;
		if (bit(bits, i))
			r = rangeset_add(ret, range_make(begin, min_u64(begin + step, end)));
	}
	return r;
}

/* Pieces that were under way: what of each has come. */
static int add_in_flight(struct cursor *c, uint64_t piece, uint64_t size, struct rangeset *ret)
{
	uint64_t count = take_number(c, 4);
	int r = 0;

	for (uint64_t i = 0; r == 0 && i < count && !c->short_; i++) {
		uint64_t index = take_number(c, 4), len = take_number(c, 4);
		uint64_t bytes = take_number(c, 4);
		const unsigned char *bits = take(c, bytes);
		uint64_t off = index * piece;

		if (bits && len <= piece && off < size)
			r = add_bits(ret, bits, bytes * 8, off, PIECE_BLOCK,
				     min_u64(off + len, size));
	}
	return r;
}

int foreign_parse_aria2(const unsigned char *data, size_t len, uint64_t size, struct rangeset *ret,
			char why[FOREIGN_WHY_MAX])
{
	struct cursor c = {.at = data, .left = len};
	uint64_t version = take_number(&c, 2), piece, total, bytes;
	const unsigned char *bits;
	int r = 0;

	take(&c, 4); /* extensions, of BitTorrent */
	take(&c, take_number(&c, 4));
	piece = take_number(&c, 4);
	total = take_number(&c, 8);
	take(&c, 8); /* uploaded */
	bytes = take_number(&c, 4);
	bits = take(&c, bytes);
	if (c.short_ || version != CONTROL_VERSION || piece == 0) {
		snprintf(why, FOREIGN_WHY_MAX, "no control file of aria2, or not of version %d",
			 CONTROL_VERSION);
		return -EINVAL;
	}
	if (total != size) {
		snprintf(why, FOREIGN_WHY_MAX,
			 "of a file of %" PRIu64 " bytes, the server's has %" PRIu64, total, size);
		return -EINVAL;
	}
	r = add_bits(ret, bits, bytes * 8, 0, piece, size);
	if (r == 0)
		r = add_in_flight(&c, piece, size, ret);
	if (r == 0 && c.short_) {
		snprintf(why, FOREIGN_WHY_MAX, "cut short");
		r = -EINVAL;
	}
	return r;
}

/* All of a file. 0 or -errno. */
static int read_all(int dirfd, const char *name, unsigned char **ret, size_t *ret_len)
{
	int fd = openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK), r = 0;
	unsigned char *data = NULL;
	struct stat st;
	size_t len = 0;
	ssize_t n = 1;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		r = -errno;
	else if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size > CONTROL_MAX)
		r = -EINVAL;
	else if (!(data = malloc((size_t)st.st_size + 1)))
		r = -ENOMEM;
	while (r == 0 && len < (size_t)st.st_size &&
	       (n = read(fd, data + len, (size_t)st.st_size - len)) > 0)
		len += (size_t)n;
	if (n < 0)
		r = -errno;
	close(fd);
	if (r < 0) {
		free(data);
		return r;
	}
	*ret = data;
	*ret_len = len;
	return 0;
}

static int parts_aria2(int dirfd, const char *name, uint64_t size, struct rangeset *ret,
		       char why[FOREIGN_WHY_MAX])
{
	char what[FOREIGN_WHY_MAX] = "";
	unsigned char *data = NULL;
	char *control;
	size_t len = 0;
	int r;

	if (asprintf(&control, "%s" FOREIGN_ARIA2_SUFFIX, name) < 0)
		return -ENOMEM;
	r = read_all(dirfd, control, &data, &len);
	if (r == 0)
		r = foreign_parse_aria2(data, len, size, ret, what);
	if (r < 0 && r != -ENOENT)
		snprintf(why, FOREIGN_WHY_MAX, "%.80s: %.150s", control,
			 what[0] ? what : strerror(-r));
	free(data);
	free(control);
	return r;
}

int foreign_parts(int dirfd, const char *name, enum foreign_kind kind, uint64_t length,
		  uint64_t size, struct rangeset *ret, char why[FOREIGN_WHY_MAX])
{
	int r;

	if (kind == FOREIGN_ARIA2) {
		r = parts_aria2(dirfd, name, size, ret, why);
		/* What lies behind its end has not come, whatever is said. */
		return r == 0 && length < size
			       ? rangeset_remove(ret, range_make(length, UINT64_MAX))
			       : r;
	}
	if (length > size) {
		snprintf(why, FOREIGN_WHY_MAX, "it is longer than the server's file");
		return -EINVAL;
	}
	/* As long as that it may be all of it: looked at as such. */
	if (length == size || length == 0)
		return -ENOENT;
	return rangeset_add(ret, range_make(0, length));
}
