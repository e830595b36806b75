/*
 * formula.c - write or check files made by the origin's formula
 *
 *   formula cat SEED PATH VERSION OFF LEN           write those bytes to standard output
 *   formula check SEED PATH VERSION FILE [OFF [LEN]]
 *                                                   compare FILE ("-": standard input, whose first
 * byte is byte OFF) with the formula from OFF on, LEN bytes or all
 *
 * check prints nothing and exits 0 when all is right; else it prints the first wrong byte and what
 * it is (zero, another offset, version or file) and exits 1. Other files it should know are named
 * by --other=PATH.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>

#include "base/base.h"
#include "base/size.h"
#include "content.h"

#define CHUNK	     ((size_t)256 * 1024)
#define VERSIONS_MAX 64
#define OTHERS_MAX   64

struct job {
	uint64_t seed, version, off, len;
	const char *path, *file;
	const char *other[OTHERS_MAX];
	unsigned int others;
};

static int usage(FILE *f, int status)
{
	fputs("Usage: formula cat SEED PATH VERSION OFF LEN\n"
	      "       formula check [--other=PATH]... SEED PATH VERSION FILE [OFF [LEN]]\n",
	      f);
	return status;
}

static int fail(const char *what)
{
	fprintf(stderr, "formula: %s: %s\n", what, strerror(errno));
	return 2;
}

static int do_cat(const struct job *j)
{
	static unsigned char buf[CHUNK];
	struct content c = content_make(j->seed, j->path, j->version);

	for (uint64_t done = 0; done < j->len;) {
		size_t n = min_u64(sizeof(buf), j->len - done);

		content_fill(c, j->off + done, buf, n);
		if (fwrite(buf, 1, n, stdout) != n)
			return fail("standard output");
		done += n;
	}
	return fflush(stdout) == 0 ? 0 : fail("standard output");
}

/* Is it from path, in one of the first versions? Prints and returns true. */
static bool explain_as(const struct job *j, const char *path, const unsigned char *data,
		       uint64_t pos)
{
	for (uint64_t v = 0; v < VERSIONS_MAX; v++) {
		uint64_t off;

		if (content_find(content_make(j->seed, path, v), data, &off) < 0)
			continue;
		printf(", the bytes are %s version %" PRIu64 " at %" PRIu64 " (%s%s%s)\n", path, v,
		       off, strcmp(path, j->path) != 0 ? "another file " : "",
		       v != j->version ? "another version " : "",
		       off != pos ? "another offset" : "");
		return true;
	}
	return false;
}

static void explain(const struct job *j, const unsigned char *data, size_t have, uint64_t pos)
{
	size_t zeros = 0;

	while (zeros < have && data[zeros] == 0)
		zeros++;
	if (zeros >= 8 || (zeros > 0 && zeros == have)) {
		printf(", %zu bytes of zeros\n", zeros);
		return;
	}
	if (have >= CONTENT_PROBE) {
		if (explain_as(j, j->path, data, pos))
			return;
		for (unsigned int i = 0; i < j->others; i++) {
			if (explain_as(j, j->other[i], data, pos))
				return;
		}
	}
	fputs(", of unknown origin:", stdout);
	for (size_t i = 0; i < have && i < 16; i++)
		printf(" %02x", data[i]);
	putchar('\n');
}

/* read() until n bytes or the end; -1 with errno. */
static ssize_t read_full(int fd, unsigned char *buf, size_t n, int64_t at)
{
	size_t have = 0;

	while (have < n) {
		ssize_t r = at >= 0 ? pread(fd, buf + have, n - have, at + (int64_t)have)
				    : read(fd, buf + have, n - have);

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return -1;
		if (r == 0)
			break;
		have += (size_t)r;
	}
	return (ssize_t)have;
}

static int check_fd(const struct job *j, int fd, bool stream)
{
	static unsigned char want[CHUNK], got[CHUNK];
	struct content c = content_make(j->seed, j->path, j->version);

	for (uint64_t done = 0; done < j->len;) {
		uint64_t pos = j->off + done;
		size_t n = min_u64(CHUNK, j->len - done);
		ssize_t have = read_full(fd, got, n, stream ? -1 : (int64_t)pos);
		size_t i = 0;

		if (have < 0)
			return fail(j->file);
		content_fill(c, pos, want, (size_t)have);
		if (memcmp(want, got, (size_t)have) != 0) {
			while (want[i] == got[i])
				i++;
			printf("%s: byte %" PRIu64 " is wrong", j->file, pos + i);
			explain(j, got + i, (size_t)have - i, pos + i);
			return 1;
		}
		done += (uint64_t)have;
		if ((size_t)have < n && j->len != UINT64_MAX) {
			printf("%s: ends at byte %" PRIu64 ", %" PRIu64 " expected\n", j->file,
			       j->off + done, j->off + j->len);
			return 1;
		}
		if ((size_t)have < n)
			break;
	}
	return 0;
}

static int do_check(const struct job *j)
{
	bool stream = strcmp(j->file, "-") == 0;
	int fd = stream ? STDIN_FILENO : open(j->file, O_RDONLY | O_CLOEXEC);
	int status;

	if (fd < 0)
		return fail(j->file);
	status = check_fd(j, fd, stream);
	if (!stream)
		close(fd);
	return status;
}

static int parse_job(struct job *j, int argc, char **argv, bool check)
{
	if (argc < 4 || argc > (check ? 6 : 5) || (!check && argc < 5))
		return -EINVAL;
	if (parse_u64(argv[0], UINT64_MAX, &j->seed) < 0 ||
	    parse_u64(argv[2], UINT64_MAX, &j->version) < 0)
		return -EINVAL;
	j->path = argv[1];
	j->len = UINT64_MAX;
	if (check) {
		j->file = argv[3];
		argv++;
		argc--;
	}
	if (argc > 3 && parse_size(argv[3], &j->off) < 0)
		return -EINVAL;
	if (argc > 4 && parse_size(argv[4], &j->len) < 0)
		return -EINVAL;
	return 0;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {{"other", required_argument, NULL, 'o'},
						{"help", no_argument, NULL, 'h'},
						{0}};
	struct job j = {0};
	bool check;
	int opt;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (opt == 'h')
			return usage(stdout, 0);
		if (opt != 'o' || j.others == OTHERS_MAX)
			return usage(stderr, 2);
		j.other[j.others++] = optarg;
	}
	if (optind == argc)
		return usage(stderr, 2);
	check = strcmp(argv[optind], "check") == 0;
	if (!check && strcmp(argv[optind], "cat") != 0)
		return usage(stderr, 2);
	if (parse_job(&j, argc - optind - 1, argv + optind + 1, check) < 0)
		return usage(stderr, 2);
	return check ? do_check(&j) : do_cat(&j);
}
