/*
 * writes.c - what a disk does with the way a downloader writes, without any download
 *
 * writes DIRECTORY [SIZE]   writes SIZE bytes (512M) to a new file there in each of the ways below,
 * three times in rotated order, and prints the median, least and most seconds of each and how the
 * median compares with append's. All end with the bytes durable. The file is removed.
 *
 *   append     8 KiB pieces, one after the other, then fsync: wget and sync
 *   blocks     1 MiB pieces, one after the other, then fsync: dd conv=fsync
 *   sized      256 KiB pieces into a file that has its length from the start, then fsync
 *   early      as sized, and sent to the disk every 8 MiB: rgetfs, one connection
 *   scattered  as early, in eight places of the file in turn: rgetfs, eight connections
 *   late       as sized, in eight places
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>

#include "base/base.h"
#include "base/clock.h"
#include "base/size.h"

#define ROUNDS	    3
#define EARLY_BYTES (UINT64_C(8) << 20)

struct way {
	const char *name;
	size_t piece;
	unsigned int places;
	bool sized, early;
};

static const struct way ways[] = {
	{"append", 8 << 10, 1, false, false},	 {"blocks", 1 << 20, 1, false, false},
	{"sized", 256 << 10, 1, true, false},	 {"early", 256 << 10, 1, true, true},
	{"scattered", 256 << 10, 8, true, true}, {"late", 256 << 10, 8, true, false},
};

static char path[4096];

/* Nothing is left behind, whatever ends us. */
static void on_signal(int sig)
{
	unlink(path);
	_exit(128 + sig);
}

static int write_all(int fd, const char *buf, size_t len, uint64_t off)
{
	while (len > 0) {
		ssize_t n = pwrite(fd, buf, len, (off_t)off);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		buf += n;
		off += (uint64_t)n;
		len -= (size_t)n;
	}
	return 0;
}

/* In each place one piece in turn; places are of whole pieces, the last one takes what is left. */
static int write_file(const struct way *w, int fd, const char *buf, uint64_t size)
{
	uint64_t pieces = (size + w->piece - 1) / w->piece;
	uint64_t of_place = (pieces + w->places - 1) / w->places;
	uint64_t unsent = 0;
	int r = 0;

	for (uint64_t i = 0; r == 0 && i < of_place * w->places; i++) {
		uint64_t n = i % w->places * of_place + i / w->places;
		uint64_t off = n * w->piece;

		if (off >= size)
			continue;
		r = write_all(fd, buf, (size_t)min_u64(w->piece, size - off), off);
		unsent += w->piece;
		if (r == 0 && w->early && unsent >= EARLY_BYTES) {
			sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE);
			unsent = 0;
		}
	}
	return r;
}

/* 0 or -errno. */
static int measure(const struct way *w, const char *buf, uint64_t size, uint64_t *ret_us)
{
	uint64_t begun;
	int fd, r = 0;

	sync();
	begun = clock_now_us();
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	if (w->sized && ftruncate(fd, (off_t)size) < 0)
		r = -errno;
	if (r == 0)
		r = write_file(w, fd, buf, size);
	if (r == 0 && fsync(fd) < 0)
		r = -errno;
	*ret_us = clock_now_us() - begun;
	close(fd);
	if (unlink(path) < 0 && r == 0)
		r = -errno;
	return r;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void print(uint64_t took[ARRAY_SIZE(ways)][ROUNDS])
{
	double first;

	for (size_t i = 0; i < ARRAY_SIZE(ways); i++)
		qsort(took[i], ROUNDS, sizeof(took[i][0]), by_value);
	first = (double)took[0][ROUNDS / 2];
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		double median = (double)took[i][ROUNDS / 2];

		printf("%-10s %8.3f s (%.3f to %.3f)  %.2f of append\n", ways[i].name, median / 1e6,
		       (double)took[i][0] / 1e6, (double)took[i][ROUNDS - 1] / 1e6, median / first);
	}
}

int main(int argc, char **argv)
{
	uint64_t took[ARRAY_SIZE(ways)][ROUNDS], size = UINT64_C(512) << 20;
	static char buf[1 << 20];
	int r = 0;

	if (argc < 2 || argc > 3 || argv[1][0] == '-') {
		fprintf(stderr, "usage: writes DIRECTORY [SIZE]\n");
		return 2;
	}
	if (argc == 3 && (parse_size(argv[2], &size) < 0 || size == 0)) {
		fprintf(stderr, "writes: %s is no size (as in 512M)\n", argv[2]);
		return 2;
	}
	if ((size_t)snprintf(path, sizeof(path), "%s/writes-%ld", argv[1], (long)getpid()) >=
	    sizeof(path)) {
		fprintf(stderr, "writes: %s: %s\n", argv[1], strerror(ENAMETOOLONG));
		return 1;
	}
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	/* Not zeros, which some disks don't write. */
	for (size_t i = 0; i < sizeof(buf); i++)
		buf[i] = (char)(i * UINT64_C(0x9e3779b97f4a7c15) >> 56);
	for (size_t round = 0; r == 0 && round < ROUNDS; round++) {
		for (size_t i = 0; r == 0 && i < ARRAY_SIZE(ways); i++) {
			size_t n = (i + round) % ARRAY_SIZE(ways);

			r = measure(&ways[n], buf, size, &took[n][round]);
		}
	}
	if (r < 0) {
		unlink(path);
		fprintf(stderr, "writes: %s: %s\n", argv[1], strerror(-r));
		return 1;
	}
	print(took);
	return 0;
}
