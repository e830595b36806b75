/*
 * store_kill.c - kill -9 of a process that fills a cache, at random instants, over and over
 * Usage: store_kill [ROUNDS [SEED]]
 */
#include <inttypes.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "store_crash.h"

static int one_round(const char *dir, struct promises *p, uint64_t *present)
{
	uint32_t wait_us = 2000 + crash_random() % 250000;
	int fd[2];
	pid_t pid;

	if (pipe(fd) < 0)
		return -1;
	fflush(stdout);
	pid = fork();
	if (pid < 0)
		return -1;
	if (pid == 0) {
		close(fd[0]);
		crash_seed(crash_random() ^ (uint32_t)getpid());
		crash_child(dir, p->limit, fd[1]);
	}
	close(fd[1]);
	nanosleep(&(struct timespec){.tv_nsec = (long)wait_us * 1000}, NULL);
	kill(pid, SIGKILL);
	crash_listen(fd[0], p);
	close(fd[0]);
	waitpid(pid, NULL, 0);
	return crash_check(dir, p, present);
}

static int rounds = 50;

static int run_with(uint64_t limit, int times)
{
	struct promises *p = calloc(1, sizeof(*p));
	uint64_t present = 0, most = 0;
	char dir[DIR_MAX];
	int r = 0;

	if (!p)
		return -1;
	p->limit = limit;
	temp_dir(dir);
	for (int i = 0; !r && i < times; i++) {
		r = one_round(dir, p, &present);
		most = max_u64(most, present);
	}
	free(p);
	if (!r && most == 0 && times > 5) {
		printf("not ok: no child ever got anything durable\n");
		r = -1;
	}
	if (!r)
		printf("ok: %d kills, at most %" PRIu64 " blocks at once\n", times, most);
	return r;
}

static int run(void)
{
	int r = run_with(UINT64_MAX, rounds - rounds / 3);

	if (!r)
		r = run_with(CRASH_SIZE * 2, rounds / 3);
	return r ? 1 : 0;
}

int main(int argc, char **argv)
{
	uint32_t seed = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 0) : (uint32_t)clock_now_us();

	if (argc > 1)
		rounds = (int)strtol(argv[1], NULL, 10);
	crash_seed(seed);
	printf("seed %" PRIu32 "\n", seed);
	return test_in_base(run);
}
