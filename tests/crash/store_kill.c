/*
 * store_kill.c - kill -9 of a process that fills a cache, at random instants, over and over
 * Usage: store_kill [ROUNDS [SEED]]
 *
 * The child writes blocks by formula to several objects, lets checkpoints run, drops and evicts,
 * and says on a pipe what it was told is durable. After each kill the directory is opened again:
 * whatever was told durable and not given up since must be there, and every byte that is there must
 * be the formula's.
 */
#include <inttypes.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "store_util.h"

#define OBJECTS 6
#define BLOCKS	200
#define SIZE	(BLOCKS * BLOCK_SIZE - 4321)

enum told { TOLD_DURABLE, TOLD_DROP };

/* One message; small enough to reach the pipe whole. */
struct message {
	uint32_t told, object;
	uint8_t blocks[BLOCKS]; /* DURABLE: those of the object that are */
};

static uint32_t random_state;

static uint32_t random_next(void)
{
	random_state = random_state * 1664525u + 1013904223u;
	return random_state >> 8;
}

static struct range block_range(uint32_t n)
{
	return range_intersect(range_of_length(n * BLOCK_SIZE, BLOCK_SIZE),
			       (struct range){0, SIZE});
}

static struct version *open_version(struct store *s, uint32_t object)
{
	struct object_key key = test_key(object);
	struct validator val = test_validator(1, SIZE);
	struct version *v = NULL;

	if (store_version_open(s, &key, &val, SIZE, false, &v))
		abort();
	return v;
}

static void tell(int fd, const struct message *m)
{
	if (write(fd, m, sizeof(*m)) != sizeof(*m))
		abort();
}

/* ---- the child ---- */

static void child_write(struct version *v, uint32_t object, uint8_t have[BLOCKS])
{
	uint32_t first = random_next() % BLOCKS, count = 1 + random_next() % 16;
	struct range r = block_range(first);

	r.end = block_range(first + count > BLOCKS ? BLOCKS - 1 : first + count - 1).end;
	if (test_write(v, r.off, range_len(r), object, 1) == 0)
		memset(have + first, 1, range_blocks(r));
}

static void child_checkpoint(struct store *s, int fd, uint8_t have[OBJECTS][BLOCKS])
{
	struct message m;

	if (store_checkpoint(s))
		abort();
	for (uint32_t i = 0; i < OBJECTS; i++) {
		m = (struct message){.told = TOLD_DURABLE, .object = i};
		memcpy(m.blocks, have[i], BLOCKS);
		tell(fd, &m);
	}
}

static void child_drop(struct store *s, uint32_t object, int fd, uint8_t have[BLOCKS])
{
	struct message m = {.told = TOLD_DROP, .object = object};
	struct object_key key = test_key(object);

	tell(fd, &m); /* before: from now on nothing of it is promised */
	memset(have, 0, BLOCKS);
	if (store_drop(s, &key))
		abort();
}

static void child(const char *dir, int fd)
{
	static uint8_t have[OBJECTS][BLOCKS];
	struct store_config cfg = test_config(dir);
	struct store *s = test_open(&cfg);

	for (;;) {
		uint32_t object = random_next() % OBJECTS;
		struct version *v = open_version(s, object);

		test_wait_loaded(v);
		child_write(v, object, have[object]);
		version_put(v);
		switch (random_next() % 40) {
		case 0:
		case 1:
		case 2:
			child_checkpoint(s, fd, have);
			break;
		case 3:
			child_drop(s, object, fd, have[object]);
			break;
		default:
			break;
		}
	}
}

/* ---- the parent ---- */

static int complain(const char *what, uint32_t object, uint32_t block)
{
	printf("not ok: %s: object %" PRIu32 " block %" PRIu32 "\n", what, object, block);
	return -1;
}

static int check_object(struct store *s, uint32_t object, uint8_t promised[BLOCKS],
			uint64_t *present)
{
	struct version *v = open_version(s, object);
	struct object_key key = test_key(object);
	uint64_t blocks, bad;
	int r = 0;

	test_wait_loaded(v);
	/* A kill loses nothing of the page cache: not one block may be wrong, claimed or not. */
	if (store_verify(s, &key, &blocks, &bad) || bad)
		r = complain("blocks with a wrong checksum", object, (uint32_t)bad);
	for (uint32_t n = 0; !r && n < BLOCKS; n++) {
		struct range b = block_range(n);
		struct test_read rd;
		int got;

		test_read_init(&rd, b.off, range_len(b), object, 1);
		got = version_read(v, &rd.waiter);
		if (got == -EINPROGRESS && version_cancel(v, &rd.waiter)) {
			if (promised[n])
				r = complain("was durable and is gone", object, n);
			continue;
		}
		if (test_read_wait(&rd))
			r = complain("other bytes than were written", object, n);
		*present += 1;
		promised[n] = 1; /* loaded from the database: durable */
	}
	version_put(v);
	return r;
}

static void listen_to(int fd, uint8_t promised[OBJECTS][BLOCKS])
{
	struct message m;

	while (read(fd, &m, sizeof(m)) == sizeof(m)) {
		if (m.told == TOLD_DROP)
			memset(promised[m.object], 0, BLOCKS);
		for (uint32_t n = 0; m.told == TOLD_DURABLE && n < BLOCKS; n++)
			promised[m.object][n] |= m.blocks[n];
	}
}

static int one_round(const char *dir, uint8_t promised[OBJECTS][BLOCKS], uint64_t *present)
{
	struct store_config cfg = test_config(dir);
	uint32_t wait_us = 2000 + random_next() % 250000;
	struct store *s;
	int fd[2], r = 0;
	pid_t pid;

	if (pipe(fd) < 0)
		return -1;
	fflush(stdout);
	pid = fork();
	if (pid < 0)
		return -1;
	if (pid == 0) {
		close(fd[0]);
		random_state ^= (uint32_t)getpid();
		child(dir, fd[1]);
	}
	close(fd[1]);
	nanosleep(&(struct timespec){.tv_nsec = (long)wait_us * 1000}, NULL);
	kill(pid, SIGKILL);
	listen_to(fd[0], promised);
	close(fd[0]);
	waitpid(pid, NULL, 0);

	s = test_open(&cfg);
	*present = 0;
	for (uint32_t i = 0; !r && i < OBJECTS; i++)
		r = check_object(s, i, promised[i], present);
	if (store_close(s) && !r)
		r = complain("the directory can't be closed", 0, 0);
	return r;
}

static int rounds = 50;

static int run(void)
{
	static uint8_t promised[OBJECTS][BLOCKS];
	uint64_t present = 0, most = 0;
	char dir[DIR_MAX];
	int r = 0;

	temp_dir(dir);
	for (int i = 0; !r && i < rounds; i++) {
		r = one_round(dir, promised, &present);
		most = max_u64(most, present);
	}
	temp_dir_remove(dir);
	if (!r && most == 0)
		r = complain("no child ever got anything durable", 0, 0);
	if (!r)
		printf("ok: %d kills, at most %" PRIu64 " blocks at once\n", rounds, most);
	return r ? 1 : 0;
}

int main(int argc, char **argv)
{
	uint32_t seed = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 0) : (uint32_t)clock_now_us();

	if (argc > 1)
		rounds = (int)strtol(argv[1], NULL, 10);
	random_state = seed;
	printf("seed %" PRIu32 "\n", seed);
	return test_in_base(run);
}
