/*
 * reads.c - how long reads take: a reader for the benchmarks
 *
 * reads random FILE COUNT SIZE SEED [PAUSE_MS]   COUNT reads of SIZE bytes at random aligned
 * offsets, each on an unread block, one after another reads seq FILE the whole file in reads of 128
 * KiB Prints one JSON object: reads, bytes, seconds, and for random reads the times in ms.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>

#include "base/base.h"
#include "base/clock.h"
#include "base/size.h"

#define SEQ_BYTES 131072

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static int fail(const char *what)
{
	fprintf(stderr, "reads: %s: %s\n", what, strerror(errno));
	return 1;
}

static int random_reads(int fd, uint64_t size, uint64_t count, uint64_t len, uint64_t seed,
			uint64_t pause_ms)
{
	uint64_t *took = calloc(count, sizeof(*took));
	char *buf = malloc(len);
	uint64_t begun = clock_now_us();
	int status = 0;

	if (!took || !buf) {
		errno = ENOMEM;
		status = fail("memory");
		goto out;
	}
	for (uint64_t i = 0; i < count; i++) {
		uint64_t off = next_random(&seed) % (size - len) / 4096 * 4096;
		uint64_t at = clock_now_us();

		if (pread(fd, buf, len, (off_t)off) != (ssize_t)len) {
			status = fail("pread");
			goto out;
		}
		took[i] = clock_now_us() - at;
		if (pause_ms) {
			struct timespec ts = {(time_t)(pause_ms / 1000),
					      (long)(pause_ms % 1000) * 1000000};

			nanosleep(&ts, NULL);
		}
	}
	begun = clock_now_us() - begun;
	qsort(took, count, sizeof(*took), by_value);
	printf("{\"reads\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"seconds\":%.6f,\"median_ms\":%.3f,"
	       "\"p95_ms\":%.3f,\"max_ms\":%.3f}\n",
	       count, count * len, (double)begun / 1e6, (double)took[count / 2] / 1e3,
	       (double)took[(count - 1) * 95 / 100] / 1e3, (double)took[count - 1] / 1e3);
out:
	free(buf);
	free(took);
	return status;
}

static int sequential_read(int fd)
{
	static char buf[SEQ_BYTES];
	uint64_t bytes = 0, begun = clock_now_us(), first = 0;
	ssize_t n;

	while ((n = read(fd, buf, sizeof(buf))) > 0) {
		if (bytes == 0)
			first = clock_now_us() - begun;
		bytes += (uint64_t)n;
	}
	if (n < 0)
		return fail("read");
	printf("{\"reads\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"seconds\":%.6f,\"first_ms\":%.3f}\n",
	       bytes / SEQ_BYTES, bytes, (double)(clock_now_us() - begun) / 1e6,
	       (double)first / 1e3);
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t count, len, seed, pause_ms = 0;
	struct stat st;
	int fd, status;

	if (argc < 3 || (strcmp(argv[1], "random") == 0 && argc < 6)) {
		fprintf(stderr,
			"usage: reads random FILE COUNT SIZE SEED [PAUSE_MS] | reads seq FILE\n");
		return 2;
	}
	fd = open(argv[2], O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return fail(argv[2]);
	if (strcmp(argv[1], "seq") == 0) {
		status = sequential_read(fd);
	} else if (parse_u64(argv[3], 1000000, &count) < 0 || parse_size(argv[4], &len) < 0 ||
		   parse_u64(argv[5], UINT64_MAX, &seed) < 0 ||
		   (argc > 6 && parse_u64(argv[6], 60000, &pause_ms) < 0) || count == 0 ||
		   len == 0 || len >= (uint64_t)st.st_size) {
		fprintf(stderr,
			"reads: COUNT, SIZE, SEED or PAUSE_MS is not usable with this file\n");
		status = 2;
	} else {
		status = random_reads(fd, (uint64_t)st.st_size, count, len, seed, pause_ms);
	}
	close(fd);
	return status;
}
