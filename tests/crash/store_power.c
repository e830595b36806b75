/*
 * store_power.c - cut the power under a process that fills a cache, on a disk of its own
 * Usage: store_power [ROUNDS [SEED]]
 *
 * A loop image of ext4 is shut down in the middle (EXT4_IOC_SHUTDOWN without flushing its log):
 * what was not synced is gone, as after a real cut. Then it is mounted again and compared. Needs
 * root; the image is mounted in a mount namespace of this process, so nothing of it outlives the
 * test.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#undef BLOCK_SIZE /* <linux/fs.h> has one of its own */
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "store_crash.h"

#define IMAGE_BYTES	    (INT64_C(256) << 20)
#define SHUTDOWN_IOC	    0x8004587dUL /* EXT4_IOC_SHUTDOWN; other file systems took it over */
#define SHUTDOWN_NOLOGFLUSH 2
#define EXIT_SKIPPED	    77

static int rounds = 12;
static char image[DIR_MAX * 2], mnt[DIR_MAX * 2], cache[DIR_MAX * 2 + 32];

static int make_image(void)
{
	char cmd[DIR_MAX * 3];

	snprintf(cmd, sizeof(cmd), "mkfs.ext4 -q -F '%s' >/dev/null 2>&1", image);
	return system(cmd) == 0 ? 0 : -1;
}

static int mount_image(void)
{
	char cmd[DIR_MAX * 5];

	snprintf(cmd, sizeof(cmd), "mount -o loop '%s' '%s'", image, mnt);
	return system(cmd) == 0 ? 0 : -1;
}

/* False: not possible here. */
static bool prepare(const char *dir)
{
	int fd;

	snprintf(image, sizeof(image), "%s/image", dir);
	snprintf(mnt, sizeof(mnt), "%s/mnt", dir);
	fd = open(image, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, IMAGE_BYTES) < 0 || mkdir(mnt, 0700) < 0)
		return false;
	close(fd);
	if (geteuid() != 0 || unshare(CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return false;
	return make_image() == 0 && mount_image() == 0;
}

static int cut(void)
{
	int fd = open(mnt, O_RDONLY | O_DIRECTORY | O_CLOEXEC), r;
	uint32_t how = SHUTDOWN_NOLOGFLUSH;

	if (fd < 0)
		return -1;
	r = ioctl(fd, SHUTDOWN_IOC, &how);
	close(fd);
	return r;
}

static int one_round(struct promises *p, uint64_t *present)
{
	uint32_t wait_us = 20000 + crash_random() % 400000;
	int fd[2], r;
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
		crash_child(cache, p->limit, fd[1]);
	}
	close(fd[1]);
	nanosleep(&(struct timespec){.tv_nsec = (long)wait_us * 1000}, NULL);
	r = cut();
	kill(pid, SIGKILL);
	crash_listen(fd[0], p);
	close(fd[0]);
	waitpid(pid, NULL, 0);
	if (r || umount(mnt) < 0 || mount_image()) {
		printf("not ok: the disk can't be cut or mounted again: %s\n", strerror(errno));
		return -1;
	}
	return crash_check(cache, p, present);
}

static int run_with(uint64_t limit, int times)
{
	struct promises *p = calloc(1, sizeof(*p));
	uint64_t present = 0, most = 0;
	int r = 0;

	if (!p)
		return -1;
	p->limit = limit;
	snprintf(cache, sizeof(cache), "%s/cache%d", mnt, limit != UINT64_MAX);
	for (int i = 0; !r && i < times; i++) {
		r = one_round(p, &present);
		most = max_u64(most, present);
	}
	free(p);
	if (!r && most == 0 && times > 5) {
		printf("not ok: no child ever got anything durable\n");
		r = -1;
	}
	if (!r)
		printf("ok: %d cuts, at most %" PRIu64 " blocks at once\n", times, most);
	return r;
}

static int run(void)
{
	char dir[DIR_MAX];
	int r;

	temp_dir(dir);
	if (!prepare(dir)) {
		printf("skipped: needs root, mkfs.ext4 and loop devices\n");
		return EXIT_SKIPPED;
	}
	r = run_with(UINT64_MAX, rounds - rounds / 2);
	if (!r)
		r = run_with(CRASH_SIZE * 2, rounds / 2);
	umount2(mnt, MNT_DETACH);
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
