/*
 * reader.c - threads that read a mount in every way and know what each byte must be
 *
 *   reader --mount DIR --files FILE --state FILE [--seed N] [--seconds N] [--threads N] [--strict]
 *
 * FILE is as oracle.h has it. Each opened file must be one of those contents in
 * one of its versions, all of it. An error is right where servers fail and mounts go away; a wrong
 * byte, a short read, an ESTALE or a read that does not end never is. The state file holds "N
 * WORD", N another one for each mount: "up"; "down", nothing is opened; "pause", nothing stays open
 * either.
 *
 * With --strict no error is right but that a name is gone.
 *
 * Prints one line of counts; exits 1 when something was wrong, 3 when a read hung.
 */
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/base.h"
#include "base/clock.h"
#include "base/size.h"
#include "oracle.h"

#define THREADS_MAX 16
#define SHARED_MAX  4
#define PIECE_MAX   ((size_t)1 << 20)
#define HANG_US	    (150 * USEC_PER_SEC)

struct opened {
	const struct file *file; /* the first of that name */
	int fd;
	uint64_t size; /* as fstat said */
	struct belief belief;
	unsigned int refs; /* shared_lock */
};

struct thread {
	pthread_t id;
	unsigned int nth;
	uint64_t random;
	unsigned char *got, *want;
	atomic_uint_fast64_t since_us; /* 0: not within a call that may hang */
	_Atomic(const char *) doing;
	_Atomic(const char *) name;
};

static struct {
	const char *mount, *state;
	uint64_t seed, seconds, threads;
	bool strict;
	struct thread thread[THREADS_MAX];
	atomic_bool stop;
	atomic_uint_fast64_t opens, reads, bytes, eio, gone, absent, faults;
} g;

static pthread_mutex_t shared_lock = PTHREAD_MUTEX_INITIALIZER;
static struct opened *shared[SHARED_MAX];

static uint64_t draw(struct thread *t, uint64_t below)
{
	t->random ^= t->random << 13;
	t->random ^= t->random >> 7;
	t->random ^= t->random << 17;
	return below ? (t->random >> 11) % below : 0;
}

static void enter(struct thread *t, const char *doing, const char *name)
{
	atomic_store(&t->doing, doing);
	atomic_store(&t->name, name);
	atomic_store(&t->since_us, clock_now_us());
}

static void leave(struct thread *t)
{
	atomic_store(&t->since_us, 0);
}

static void check(struct thread *t, struct opened *o, uint64_t off, size_t len)
{
	atomic_fetch_add(&g.bytes, len);
	oracle_check(o->file, o->size, &o->belief, off, t->got, len, t->want);
}

/* ---- open and close ---- */

enum word { UP, DOWN, PAUSE };

static enum word state(uint64_t *ret_mount)
{
	char text[64] = "", word[16] = "";
	int fd = open(g.state, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;

	if (fd >= 0)
		close(fd);
	*ret_mount = 0;
	/* NOLINTNEXTLINE(cert-err34-c): the driver writes it, and a failure is a pause */
	if (n <= 0 || sscanf(text, "%" SCNu64 " %15s", ret_mount, word) != 2)
		return PAUSE;
	return strcmp(word, "up") == 0 ? UP : strcmp(word, "down") == 0 ? DOWN : PAUSE;
}

/* The mount's number, 0 when none is up. */
static uint64_t mount_there(void)
{
	uint64_t number;

	return state(&number) == UP ? number : 0;
}

static bool paused(void)
{
	uint64_t number;

	return state(&number) == PAUSE;
}

/* An error of the mount's end, or of a server's. */
static bool may_fail(int error, const struct file *f)
{
	switch (error) {
	case EIO:
		atomic_fetch_add(&g.eio, 1);
		return !g.strict;
	case ENOTCONN:
	case ECONNABORTED:
		atomic_fetch_add(&g.gone, 1);
		return !g.strict;
	case ENOENT:
		atomic_fetch_add(&g.absent, 1);
		return f->optional;
	}
	return false;
}

static struct opened *file_open(struct thread *t, const struct file *f)
{
	char path[512];
	uint64_t before, after;
	struct opened *o;
	struct stat st = {0};
	int fd, error;

	snprintf(path, sizeof(path), "%s/%s", g.mount, f->name);
	before = mount_there();
	if (!before)
		return NULL;
	enter(t, "open", f->name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	error = fd < 0 ? errno : fstat(fd, &st) < 0 ? errno : 0;
	after = mount_there();
	leave(t);
	if (error) {
		if (fd >= 0)
			close(fd);
		if (before == after && !may_fail(error, f))
			complain("%s: open: %s", f->name, strerror(error));
		return NULL;
	}
	atomic_fetch_add(&g.opens, 1);
	o = calloc(1, sizeof(*o));
	if (!o)
		abort();
	belief_init(&o->belief);
	o->file = f;
	o->fd = fd;
	o->size = (uint64_t)st.st_size;
	o->refs = 1;
	return o;
}

static void file_put(struct opened *o)
{
	bool last;

	pthread_mutex_lock(&shared_lock);
	last = --o->refs == 0;
	pthread_mutex_unlock(&shared_lock);
	if (!last)
		return;
	close(o->fd);
	belief_done(&o->belief);
	free(o);
}

static void share(struct opened *o, unsigned int slot)
{
	struct opened *before;

	pthread_mutex_lock(&shared_lock);
	before = shared[slot];
	shared[slot] = o;
	if (o)
		o->refs++;
	pthread_mutex_unlock(&shared_lock);
	if (before)
		file_put(before);
}

static struct opened *borrow(unsigned int slot)
{
	struct opened *o;

	pthread_mutex_lock(&shared_lock);
	o = shared[slot];
	if (o)
		o->refs++;
	pthread_mutex_unlock(&shared_lock);
	return o;
}

static bool go_on(void)
{
	return !atomic_load(&g.stop) && !paused();
}

/* ---- ways to read ---- */

/* False: no use going on with this file. */
static bool read_piece(struct thread *t, struct opened *o, uint64_t off, size_t len)
{
	ssize_t n;

	enter(t, "read", o->file->name);
	n = pread(o->fd, t->got, len, (off_t)off);
	leave(t);
	atomic_fetch_add(&g.reads, 1);
	if (n < 0) {
		if (!may_fail(errno, o->file))
			complain("%s: reading %zu bytes at %" PRIu64 ": %s", o->file->name, len,
				 off, strerror(errno));
		return errno == EIO;
	}
	check(t, o, off, (size_t)n);
	/* What ends within a read may be followed by an error or the true end; the next one tells.
	 */
	if ((uint64_t)n < len && !o->file->unsized && off + (uint64_t)n < o->size && n == 0)
		complain("%s: byte %" PRIu64 " of %" PRIu64 " is the end", o->file->name, off,
			 o->size);
	return n > 0;
}

static void read_sequential(struct thread *t, struct opened *o)
{
	size_t len = (size_t)4096 << draw(t, 8);
	uint64_t off = draw(t, 2) ? 0 : draw(t, o->size) & ~UINT64_C(4095);
	uint64_t most = (uint64_t)1 << (16 + draw(t, 9));

	for (uint64_t done = 0; done < most && off < o->size && go_on(); done += len) {
		if (!read_piece(t, o, off, min_u64(len, o->size - off)))
			break;
		off += len;
	}
}

static void read_random(struct thread *t, struct opened *o)
{
	for (unsigned int i = 0; i < 24 && go_on(); i++) {
		uint64_t off = draw(t, o->size);
		size_t len = 1 + draw(t, (uint64_t)1 << draw(t, 18));

		if (!read_piece(t, o, off, min_u64(len, o->size - off)))
			break;
	}
}

static void read_backwards(struct thread *t, struct opened *o)
{
	size_t len = 1 + draw(t, 300000);
	uint64_t end = o->size;

	for (unsigned int i = 0; i < 24 && end > 0 && go_on(); i++) {
		size_t n = min_u64(len, end);

		if (!read_piece(t, o, end - n, n))
			break;
		end -= n;
	}
}

static void read_strided(struct thread *t, struct opened *o)
{
	uint64_t stride = 4096 + draw(t, 1 << 20);
	size_t len = 1 + draw(t, 65536);

	for (uint64_t off = draw(t, stride); off < o->size && go_on(); off += stride) {
		if (!read_piece(t, o, off, min_u64(len, o->size - off)))
			break;
	}
}

static _Thread_local sigjmp_buf fault_at;
static _Thread_local volatile sig_atomic_t may_fault;

static void on_bus(int sig)
{
	if (may_fault)
		siglongjmp(fault_at, 1);
	signal(sig, SIG_DFL);
}

/* Copies out of the mapping first: what is compared must not change or fault in between. */
static bool copy_mapped(unsigned char *to, const unsigned char *from, size_t len)
{
	if (sigsetjmp(fault_at, 1)) {
		may_fault = 0;
		return false;
	}
	may_fault = 1;
	memcpy(to, from, len);
	may_fault = 0;
	return true;
}

static void read_mapped(struct thread *t, struct opened *o)
{
	int flags = draw(t, 2) ? MAP_PRIVATE : MAP_SHARED;
	unsigned char *map;

	if (o->size == 0 || o->file->unsized)
		return;
	map = mmap(NULL, o->size, PROT_READ, flags, o->fd, 0);
	if (map == MAP_FAILED) {
		if (!may_fail(errno, o->file) && errno != ENODEV)
			complain("%s: mmap: %s", o->file->name, strerror(errno));
		return;
	}
	for (unsigned int i = 0; i < 32 && go_on(); i++) {
		uint64_t off = draw(t, o->size);
		size_t len = min_u64(1 + draw(t, 200000), o->size - off);
		bool came;

		enter(t, "page fault", o->file->name);
		came = copy_mapped(t->got, map + off, len);
		leave(t);
		atomic_fetch_add(&g.reads, 1);
		if (!came) {
			atomic_fetch_add(&g.faults, 1);
			if (g.strict)
				complain("%s: no page at %" PRIu64, o->file->name, off);
			break;
		}
		check(t, o, off, len);
	}
	munmap(map, o->size);
}

/* To the end, which must be where the version ends. */
static void read_whole(struct thread *t, struct opened *o)
{
	uint64_t off = 0;

	while (go_on()) {
		size_t len = PIECE_MAX;
		ssize_t n;

		enter(t, "read", o->file->name);
		n = pread(o->fd, t->got, len, (off_t)off);
		leave(t);
		atomic_fetch_add(&g.reads, 1);
		if (n < 0 && !may_fail(errno, o->file))
			complain("%s: reading at %" PRIu64 ": %s", o->file->name, off,
				 strerror(errno));
		if (n < 0)
			return;
		check(t, o, off, (size_t)n);
		off += (uint64_t)n;
		if (n == 0)
			break;
		if (off > UINT64_C(16) << 20)
			return;
	}
	if (go_on() && off != (o->file->unsized ? o->file->size : o->size))
		complain("%s: ends at byte %" PRIu64 " of %" PRIu64, o->file->name, off,
			 o->file->unsized ? o->file->size : o->size);
}

static void once(struct thread *t)
{
	static void (*const ways[])(struct thread *, struct opened *) = {
		read_sequential, read_sequential, read_random, read_backwards,
		read_strided,	 read_mapped,	  read_mapped, read_whole,
	};
	unsigned int slot = (unsigned int)draw(t, SHARED_MAX);
	struct opened *o = NULL;

	if (draw(t, 3) == 0)
		o = borrow(slot);
	if (!o)
		o = file_open(t, oracle_file((unsigned int)draw(t, oracle_files())));
	if (!o)
		return;
	if (draw(t, 4) == 0)
		share(o, slot);
	/* Or the kernel would answer nearly all of it from its own memory. */
	if (draw(t, 4) > 0)
		posix_fadvise(o->fd, 0, 0, POSIX_FADV_DONTNEED);
	ways[draw(t, ARRAY_SIZE(ways))](t, o);
	file_put(o);
}

static void nap(long ms)
{
	struct timespec ts = {.tv_nsec = ms * 1000 * 1000};

	nanosleep(&ts, NULL);
}

static void *run(void *arg)
{
	struct thread *t = arg;

	while (!atomic_load(&g.stop)) {
		if (paused()) {
			for (unsigned int i = 0; i < SHARED_MAX; i++)
				share(NULL, i);
			nap(50);
			continue;
		}
		once(t);
		if (!mount_there())
			nap(50);
	}
	return NULL;
}

/* ---- the process ---- */

/* True: a thread has been in one call for too long. */
static bool hangs(void)
{
	uint64_t now_us = clock_now_us();

	for (unsigned int i = 0; i < g.threads; i++) {
		uint64_t since_us = atomic_load(&g.thread[i].since_us);

		if (!since_us || now_us < since_us + HANG_US)
			continue;
		fprintf(stderr, "reader: %s of %s has not ended after %u s\n",
			atomic_load(&g.thread[i].doing), atomic_load(&g.thread[i].name),
			(unsigned int)(HANG_US / USEC_PER_SEC));
		return true;
	}
	return false;
}

static int parse_options(int argc, char **argv)
{
	static const struct option options[] = {{"mount", required_argument, NULL, 'm'},
						{"files", required_argument, NULL, 'f'},
						{"state", required_argument, NULL, 'S'},
						{"seed", required_argument, NULL, 's'},
						{"seconds", required_argument, NULL, 'n'},
						{"threads", required_argument, NULL, 't'},
						{"strict", no_argument, NULL, 'x'},
						{0}};
	const char *files = NULL;
	int c, r = 0;

	g.seed = g.threads = 1;
	g.seconds = UINT64_MAX;
	while (r == 0 && (c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'm')
			g.mount = optarg;
		else if (c == 'f')
			files = optarg;
		else if (c == 'S')
			g.state = optarg;
		else if (c == 's')
			r = parse_u64(optarg, UINT64_MAX, &g.seed);
		else if (c == 'n')
			r = parse_u64(optarg, UINT32_MAX, &g.seconds);
		else if (c == 'x')
			g.strict = true;
		else if (c == 't')
			r = parse_u64(optarg, THREADS_MAX, &g.threads);
		else
			r = -EINVAL;
	}
	return r == 0 && g.mount && g.state && files ? oracle_read(files) : -EINVAL;
}

static void start(void)
{
	for (unsigned int i = 0; i < g.threads; i++) {
		struct thread *t = &g.thread[i];

		t->nth = i;
		t->random = (g.seed * THREADS_MAX + i + 1) * UINT64_C(0x9e3779b97f4a7c15) | 1;
		t->got = malloc(PIECE_MAX);
		t->want = malloc(PIECE_MAX);
		if (!t->got || !t->want || pthread_create(&t->id, NULL, run, t) != 0)
			abort();
	}
}

static void finish(void)
{
	for (unsigned int i = 0; i < g.threads; i++) {
		pthread_join(g.thread[i].id, NULL);
		free(g.thread[i].got);
		free(g.thread[i].want);
	}
	for (unsigned int i = 0; i < SHARED_MAX; i++)
		share(NULL, i);
}

static void *watch(void *arg)
{
	(void)arg;
	for (;;) {
		nap(500);
		if (hangs())
			_exit(3);
	}
	return NULL;
}

static void on_term(int sig)
{
	(void)sig;
	atomic_store(&g.stop, true);
}

int main(int argc, char **argv)
{
	struct sigaction term = {.sa_handler = on_term, .sa_flags = SA_RESTART};
	struct sigaction bus = {.sa_handler = on_bus};
	uint64_t until_us;
	pthread_t watcher;

	if (parse_options(argc, argv) < 0) {
		fputs("Usage: reader --mount DIR --files FILE --state FILE [--seed N] [--seconds N] "
		      "[--threads N] [--strict]\n",
		      stderr);
		return 2;
	}
	sigaction(SIGTERM, &term, NULL);
	sigaction(SIGBUS, &bus, NULL);
	until_us = add_sat_u64(clock_now_us(),
			       g.seconds > UINT32_MAX ? UINT64_MAX : g.seconds * USEC_PER_SEC);
	start();
	if (pthread_create(&watcher, NULL, watch, NULL) != 0)
		abort();
	while (!atomic_load(&g.stop) && clock_now_us() < until_us)
		nap(100);
	atomic_store(&g.stop, true);
	finish();
	printf("opens %" PRIu64 " reads %" PRIu64 " bytes %" PRIu64 " eio %" PRIu64 " gone %" PRIu64
	       " absent %" PRIu64 " faults %" PRIu64 " wrong %u\n",
	       atomic_load(&g.opens), atomic_load(&g.reads), atomic_load(&g.bytes),
	       atomic_load(&g.eio), atomic_load(&g.gone), atomic_load(&g.absent),
	       atomic_load(&g.faults), complaints());
	return complaints() ? 1 : 0;
}
