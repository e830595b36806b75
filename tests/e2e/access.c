/*
 * access.c - reads a file in ways that the usual programs don't
 *
 *   access map FILE STEP THREADS         page faults at multiples of STEP, interleaved over
 * threads, shared mapping access map-private FILE STEP THREADS the same, private access pread FILE
 * STEP THREADS       4 KiB at multiples of STEP, interleaved over threads, one descriptor access
 * sendfile FILE OUT             copy with sendfile(2) access splice FILE OUT               copy
 * through a pipe with splice(2) access handler FILE OFFSET           read a byte with a handler for
 * SIGINT installed (no SA_RESTART) access park FILE STEP COUNT          COUNT threads wait for a
 * byte each, at multiples of STEP
 *   access forget FILE...                drop them from the page cache
 *   access blocks FILE...                how many blocks of 64 KiB have a page in it
 *   access runs FILE...                  how many runs of such blocks, neighbours making one
 *
 * map and pread print a sum over what they read, which a local copy must give as well. Exit status
 * 1 and the error on stderr when a read fails; a mapping's SIGBUS kills.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#include "base/base.h"
#include "base/size.h"

#define PIECE	    4096
#define BLOCK	    65536
#define THREADS_MAX 4096
#define STACK_BYTES (64UL * 1024)

struct reader {
	pthread_t thread;
	int fd;
	const unsigned char *map; /* NULL: pread */
	uint64_t size, first, step, piece;
	bool once;
	uint64_t sum;
	int error;
};

static int fail(const char *what)
{
	fprintf(stderr, "access: %s: %s\n", what, strerror(errno));
	return EXIT_FAILURE;
}

static uint64_t add(uint64_t sum, uint64_t off, const unsigned char *data, size_t len)
{
	uint64_t h = off;

	for (size_t i = 0; i < len; i++)
		h = (h ^ data[i]) * UINT64_C(1099511628211);
	return sum + h; /* in any order */
}

static void *read_steps(void *arg)
{
	struct reader *r = arg;
	unsigned char buf[PIECE];

	for (uint64_t off = r->first; off < r->size; off += r->step) {
		size_t len = min_u64(r->piece, r->size - off);

		if (r->map) {
			r->sum = add(r->sum, off, r->map + off, len);
		} else {
			ssize_t n = pread(r->fd, buf, len, (off_t)off);

			if (n != (ssize_t)len) {
				r->error = n < 0 ? errno : ENODATA;
				break;
			}
			r->sum = add(r->sum, off, buf, len);
		}
		if (r->once)
			break;
	}
	return NULL;
}

static int run_readers(struct reader *readers, uint64_t count)
{
	pthread_attr_t attr;
	uint64_t sum = 0;
	int error = 0;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	for (uint64_t i = 0; i < count; i++) {
		errno = pthread_create(&readers[i].thread, &attr, read_steps, &readers[i]);
		if (errno)
			return fail("a thread");
	}
	for (uint64_t i = 0; i < count; i++) {
		pthread_join(readers[i].thread, NULL);
		sum += readers[i].sum;
		error = readers[i].error ? readers[i].error : error;
	}
	if (error) {
		errno = error;
		return fail("a read");
	}
	printf("%016" PRIx64 "\n", sum);
	return EXIT_SUCCESS;
}

static int with_threads(const char *how, int fd, uint64_t size, uint64_t step, uint64_t count)
{
	static struct reader readers[THREADS_MAX];
	bool park = strcmp(how, "park") == 0;
	int sharing = strcmp(how, "map-private") == 0 ? MAP_PRIVATE : MAP_SHARED;
	void *map = NULL;

	if (count == 0 || count > THREADS_MAX || step == 0)
		return 2;
	if (strncmp(how, "map", 3) == 0) {
		map = mmap(NULL, size, PROT_READ, sharing, fd, 0);
		if (map == MAP_FAILED)
			return fail("mmap");
	}
	for (uint64_t i = 0; i < count; i++) {
		readers[i] = (struct reader){.fd = fd, .map = map, .size = size, .once = park};
		readers[i].first = i * step;
		readers[i].step = step * count;
		readers[i].piece = park ? 1 : PIECE;
	}
	return run_readers(readers, count);
}

static int copy(const char *how, int fd, const char *to)
{
	int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	bool by_pipe = strcmp(how, "splice") == 0;
	int p[2] = {-1, -1};
	ssize_t n, m;

	if (out < 0 || (by_pipe && pipe(p) < 0))
		return fail(to);
	for (;;) {
		n = by_pipe ? splice(fd, NULL, p[1], NULL, 1 << 16, 0)
			    : sendfile(out, fd, NULL, 1 << 20);
		if (n <= 0)
			break;
		for (m = n; by_pipe && m > 0;) {
			ssize_t k = splice(p[0], NULL, out, NULL, (size_t)m, 0);

			if (k <= 0)
				return fail("splice");
			m -= k;
		}
	}
	return n < 0 || close(out) < 0 ? fail(how) : EXIT_SUCCESS;
}

static void on_signal(int sig)
{
	(void)sig;
}

static int with_handler(int fd, uint64_t off)
{
	struct sigaction sa = {.sa_handler = on_signal};
	unsigned char byte;
	ssize_t n;

	sigaction(SIGINT, &sa, NULL);
	n = pread(fd, &byte, 1, (off_t)off);
	if (n != 1)
		return fail("pread");
	printf("%02x\n", byte);
	return EXIT_SUCCESS;
}

static int each_file(int argc, char **argv, int (*fn)(int fd, uint64_t size, uint64_t *sum))
{
	uint64_t sum = 0;

	for (int i = 2; i < argc; i++) {
		int fd = open(argv[i], O_RDONLY | O_CLOEXEC);
		struct stat st;

		if (fd < 0 || fstat(fd, &st) < 0 || fn(fd, (uint64_t)st.st_size, &sum) < 0)
			return fail(argv[i]);
		close(fd);
	}
	printf("%" PRIu64 "\n", sum);
	return EXIT_SUCCESS;
}

/* Dirty pages stay where they are, so they are written first. */
static int forget(int fd, uint64_t size, uint64_t *sum)
{
	(void)sum;
	(void)size;
	if (fdatasync(fd) < 0)
		return -1;
	errno = posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	return errno ? -1 : 0;
}

static int count(int fd, uint64_t size, bool runs, uint64_t *sum)
{
	const uint64_t per_block = BLOCK / PIECE;
	uint64_t pages = (size + PIECE - 1) / PIECE;
	unsigned char *resident = malloc(pages + 1);
	void *map = size ? mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0) : NULL;
	uint64_t last = UINT64_MAX;

	if (!resident || map == MAP_FAILED || (size && mincore(map, size, resident) < 0)) {
		free(resident);
		return -1;
	}
	for (uint64_t i = 0; i < pages; i++) {
		if (resident[i] & 1 && i / per_block != last) {
			*sum += !runs || last == UINT64_MAX || i / per_block != last + 1;
			last = i / per_block;
		}
	}
	free(resident);
	return map && munmap(map, size) < 0 ? -1 : 0;
}

static int count_blocks(int fd, uint64_t size, uint64_t *sum)
{
	return count(fd, size, false, sum);
}

static int count_runs(int fd, uint64_t size, uint64_t *sum)
{
	return count(fd, size, true, sum);
}

int main(int argc, char **argv)
{
	struct stat st;
	uint64_t a = 0, b = 0;
	int fd;

	if (argc > 2 && strcmp(argv[1], "forget") == 0)
		return each_file(argc, argv, forget);
	if (argc > 2 && strcmp(argv[1], "blocks") == 0)
		return each_file(argc, argv, count_blocks);
	if (argc > 2 && strcmp(argv[1], "runs") == 0)
		return each_file(argc, argv, count_runs);
	if (argc < 4)
		return 2;
	fd = open(argv[2], O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return fail(argv[2]);
	if (strcmp(argv[1], "sendfile") == 0 || strcmp(argv[1], "splice") == 0)
		return copy(argv[1], fd, argv[3]);
	if (parse_size(argv[3], &a) < 0 || (argc > 4 && parse_u64(argv[4], THREADS_MAX, &b) < 0))
		return 2;
	if (strcmp(argv[1], "handler") == 0)
		return with_handler(fd, a);
	return with_threads(argv[1], fd, (uint64_t)st.st_size, a, b);
}
