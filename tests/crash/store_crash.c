/*
 * store_crash.c - a process that fills a cache and says what it was told is durable, and the check
 * afterwards
 */
#include "store_crash.h"

#include <inttypes.h>

enum told { TOLD_DURABLE, TOLD_DROP };

/* One message; small enough to reach the pipe whole. */
struct message {
	uint32_t told, object;
	uint8_t blocks[CRASH_BLOCKS]; /* DURABLE: those of the object that are */
};

static uint32_t random_state;

void crash_seed(uint32_t seed)
{
	random_state = seed;
}

uint32_t crash_random(void)
{
	random_state = random_state * 1664525u + 1013904223u;
	return random_state >> 8;
}

static struct range block_range(uint32_t n)
{
	return range_intersect(range_of_length(n * BLOCK_SIZE, BLOCK_SIZE),
			       (struct range){0, CRASH_SIZE});
}

static struct version *open_version(struct store *s, uint32_t object)
{
	struct object_key key = test_key(object);
	struct validator val = test_validator(1, CRASH_SIZE);
	struct version *v = NULL;

	if (store_version_open(s, &key, &val, CRASH_SIZE, false, &v))
		abort();
	return v;
}

static void tell(int fd, const struct message *m)
{
	if (write(fd, m, sizeof(*m)) != sizeof(*m))
		_exit(2);
}

/* ---- the child: any refusal ends it, the check tells whether that was right ---- */

static void child_write(struct version *v, uint32_t object, uint8_t have[CRASH_BLOCKS])
{
	uint32_t first = crash_random() % CRASH_BLOCKS, count = 1 + crash_random() % 16;
	struct range r = block_range(first);

	r.end = block_range(first + count > CRASH_BLOCKS ? CRASH_BLOCKS - 1 : first + count - 1)
			.end;
	if (test_write(v, r.off, range_len(r), object, 1) == 0)
		memset(have + first, 1, range_blocks(r));
}

/*
 * What is told is what is still there after the checkpoint: when the disk goes away in between, a
 * checkpoint in the background fails first and drops what it could not sync, and the one asked for
 * here finds nothing to do.
 */
static void child_checkpoint(struct store *s, int fd, uint8_t have[CRASH_OBJECTS][CRASH_BLOCKS])
{
	struct message m;

	if (store_checkpoint(s))
		_exit(2);
	for (uint32_t i = 0; i < CRASH_OBJECTS; i++) {
		struct version *v = open_version(s, i);

		for (uint32_t n = 0; n < CRASH_BLOCKS; n++)
			have[i][n] = have[i][n] && test_present(v, block_range(n).off, 1, i, 1);
		version_put(v);
		m = (struct message){.told = TOLD_DURABLE, .object = i};
		memcpy(m.blocks, have[i], CRASH_BLOCKS);
		tell(fd, &m);
	}
}

static void child_drop(struct store *s, uint32_t object, int fd, uint8_t have[CRASH_BLOCKS])
{
	struct message m = {.told = TOLD_DROP, .object = object};
	struct object_key key = test_key(object);

	tell(fd, &m); /* before: from now on nothing of it is promised */
	memset(have, 0, CRASH_BLOCKS);
	if (store_drop(s, &key))
		_exit(2);
}

void crash_child(const char *dir, uint64_t limit, int fd)
{
	static uint8_t have[CRASH_OBJECTS][CRASH_BLOCKS];
	struct store_config cfg = test_config(dir);
	char owner[STORE_OWNER_MAX] = "";
	struct store *s = NULL;

	cfg.cache_size = limit;
	if (store_open(&cfg, &s, owner))
		_exit(2); /* cut before it began */

	for (;;) {
		uint32_t object = crash_random() % CRASH_OBJECTS;
		struct version *v = open_version(s, object);

		test_wait_loaded(v);
		child_write(v, object, have[object]);
		version_put(v);
		switch (crash_random() % 40) {
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

static int complain(const char *what, uint32_t object, uint32_t block)
{
	printf("not ok: %s: object %" PRIu32 " block %" PRIu32 "\n", what, object, block);
	return -1;
}

static int check_object(struct store *s, uint32_t object, uint8_t promised[CRASH_BLOCKS],
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
	for (uint32_t n = 0; !r && n < CRASH_BLOCKS; n++) {
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

void crash_listen(int fd, struct promises *p)
{
	struct message m;

	while (read(fd, &m, sizeof(m)) == sizeof(m)) {
		if (m.told == TOLD_DROP)
			memset(p->block[m.object], 0, CRASH_BLOCKS);
		for (uint32_t n = 0; m.told == TOLD_DURABLE && n < CRASH_BLOCKS; n++)
			p->block[m.object][n] |= m.blocks[n];
	}
}

int crash_check(const char *dir, struct promises *p, uint64_t *ret_present)
{
	struct store_config cfg = test_config(dir);
	struct store *s = test_open(&cfg);
	uint64_t present = 0;
	int r = 0;

	if (p->limit != UINT64_MAX)
		memset(p->block, 0, sizeof(p->block));
	for (uint32_t i = 0; !r && i < CRASH_OBJECTS; i++)
		r = check_object(s, i, p->block[i], &present);
	/* A round of upkeep: what the crash left unclaimed is punched by then. */
	if (!r && store_checkpoint(s))
		r = complain("no checkpoint can be made", 0, 0);
	if (!r && p->limit != UINT64_MAX && temp_dir_allocated(dir) > p->limit)
		r = complain("more is allocated than the limit", 0, 0);
	if (store_close(s) && !r)
		r = complain("the directory can't be closed", 0, 0);
	*ret_present = present;
	return r;
}
