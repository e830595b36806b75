/*
 * link.c - a link between two network namespaces: delay, rate, queue, loss; no netem needed
 *
 *   client's namespace               this process                     server's namespace
 *   TCP, routes, TUN lab0 -- up -->  lane: loss, queue, rate, delay   -- up -->  TUN lab0, TCP
 *                         <- down -  lane: the same, on its own       <- down -
 *
 * Callers: tests/net/lab, which makes namespaces, devices, addresses and routes. What a lane does
 * to a packet is in lane.c; this file moves packets: one thread reads both devices, and writes
 * what is due.
 *
 * What costs is not the packet but waking up for it, so a wake-up delivers everything that is due
 * within the next 0.2 ms (--coalesce). It runs with nice -20. Real-time scheduling was worse: a
 * busy loop is then stopped for 50 ms each second. How late packets came out all the same is part
 * of what is reported; a link whose late_us.p99 is more than a few milliseconds was not the one
 * that was asked for.
 */
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>

#include "base/clock.h"
#include "base/size.h"
#include "lane.h"

#define NSEC_PER_SEC UINT64_C(1000000000)
#define NSEC_PER_US  UINT64_C(1000)
/* Packets read or written before the next has its turn: the other device, the other direction. */
#define BURST		  64
#define QUEUE_DEFAULT_MIN UINT64_C(65536)

enum side { CLIENT, SERVER, SIDES };

/* A device and the lane that begins there. */
struct end {
	const char *lane_name;
	int tun_fd;
	int dev_fd; /* /proc/net/dev of its namespace */
	struct lane lane;
	uint64_t refused; /* what came out and the other end's device did not take */
};

struct link {
	struct end end[SIDES];
	struct packets spare; /* the last used is the next used: it is in the cache */
	uint64_t early_ns;
	uint64_t began_ns;
	int signal_fd;
	const char *device;
};

struct options {
	struct lane_shape shape[SIDES];
	double bdp[SIDES]; /* queue as a multiple of rate x round trip; 0: in bytes */
	bool queue_given[SIDES];
	uint64_t seed;
	uint64_t early_us;
	const char *device;
};

static const char help_text[] =
	"Usage: link [OPTIONS] CLIENT-NAMESPACE SERVER-NAMESPACE\n"
	"Joins the TUN devices of two network namespaces (names below /run/netns) until SIGTERM. Then, and on SIGUSR1,\n"
	"it prints one line of JSON: what went down (server to client) and up, was dropped, lost, and how late it was.\n"
	"\n"
	"  --rtt=TIME          half of it as the delay of each direction\n"
	"  --delay=TIME        from server to client alone, as the three below; --up-delay=TIME the other way\n"
	"  --rate=SIZE         bytes of IP packets a second (0, the default: no limit); --up-rate=SIZE\n"
	"  --queue=SIZE|Nbdp   what may wait for the serialiser, in bytes or as a multiple of rate x round trip\n"
	"                      (default 1bdp, at least 64K); --up-queue=SIZE|Nbdp\n"
	"  --loss=N%           at random; --up-loss=N%\n"
	"  --seed=N            of that randomness (1)\n"
	"  --coalesce=TIME     deliver up to so much early, to be woken less often (200us)\n"
	"  --device=NAME       in both namespaces (lab0); IP, MTU at most 1500\n";

static int fail(const char *what)
{
	int e = errno;

	fprintf(stderr, "link: %s: %s\n", what, strerror(e));
	return -e;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}

/* ---- options ---- */
static int parse_delay(const char *text, uint64_t *ret_ns)
{
	uint64_t us;

	if (parse_duration(text, &us) < 0 || us > 60 * USEC_PER_SEC)
		return -EINVAL;
	*ret_ns = us * NSEC_PER_US;
	return 0;
}

/* A number from 0 to max, then unit and nothing else. */
static int parse_number(const char *text, const char *unit, double max, double *ret)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || strcmp(end, unit) != 0 || !(value >= 0 && value <= max))
		return -EINVAL;
	*ret = value;
	return 0;
}

static int parse_queue(struct options *opt, enum side from, const char *text)
{
	opt->queue_given[from] = true;
	opt->bdp[from] = 0;
	if (parse_number(text, "bdp", 1000, &opt->bdp[from]) == 0)
		return 0;
	return parse_size(text, &opt->shape[from].queue_bytes);
}

/* A setting of one lane, by the name that it has without "up-". */
static int parse_shape(struct options *opt, enum side from, const char *name, const char *text)
{
	struct lane_shape *shape = &opt->shape[from];
	int e;

	if (strcmp(name, "delay") == 0)
		return parse_delay(text, &shape->delay_ns);
	if (strcmp(name, "rate") == 0)
		return parse_size(text, &shape->rate);
	if (strcmp(name, "queue") == 0)
		return parse_queue(opt, from, text);
	e = parse_number(text, "%", 100, &shape->loss);
	shape->loss /= 100;
	return e;
}

static int parse_option(struct options *opt, const char *name, const char *text)
{
	if (strcmp(name, "rtt") == 0) {
		int e = parse_delay(text, &opt->shape[SERVER].delay_ns);

		opt->shape[SERVER].delay_ns /= 2;
		opt->shape[CLIENT].delay_ns = opt->shape[SERVER].delay_ns;
		return e;
	}
	if (strcmp(name, "seed") == 0)
		return parse_u64(text, UINT64_MAX, &opt->seed);
	if (strcmp(name, "coalesce") == 0)
		return parse_duration(text, &opt->early_us);
	if (strcmp(name, "device") == 0) {
		opt->device = text;
		return strlen(text) < IFNAMSIZ ? 0 : -EINVAL;
	}
	if (strncmp(name, "up-", 3) == 0)
		return parse_shape(opt, CLIENT, name + 3, text);
	return parse_shape(opt, SERVER, name, text);
}

static int parse_options(struct options *opt, int argc, char **argv)
{
	static const struct option options[] = {
		{"rtt", required_argument, NULL, 0},	  {"delay", required_argument, NULL, 0},
		{"up-delay", required_argument, NULL, 0}, {"rate", required_argument, NULL, 0},
		{"up-rate", required_argument, NULL, 0},  {"queue", required_argument, NULL, 0},
		{"up-queue", required_argument, NULL, 0}, {"loss", required_argument, NULL, 0},
		{"up-loss", required_argument, NULL, 0},  {"seed", required_argument, NULL, 0},
		{"coalesce", required_argument, NULL, 0}, {"device", required_argument, NULL, 0},
		{"help", no_argument, NULL, 'h'},	  {0},
	};
	int c, index;

	while ((c = getopt_long(argc, argv, "", options, &index)) != -1) {
		if (c == 'h') {
			fputs(help_text, stdout);
			exit(EXIT_SUCCESS);
		}
		if (c != 0)
			return -EINVAL;
		if (parse_option(opt, options[index].name, optarg) < 0) {
			fprintf(stderr, "link: --%s: %s is none\n", options[index].name, optarg);
			return -EINVAL;
		}
	}
	return optind + SIDES == argc ? 0 : -EINVAL;
}

/* Queues in bytes, once rates and delays are known. */
static void size_queues(struct options *opt)
{
	double rtt_s = (double)(opt->shape[CLIENT].delay_ns + opt->shape[SERVER].delay_ns) /
		       (double)NSEC_PER_SEC;

	for (int from = 0; from < SIDES; from++) {
		struct lane_shape *shape = &opt->shape[from];
		double bdp = (double)shape->rate * rtt_s;

		if (!opt->queue_given[from])
			shape->queue_bytes = max_u64((uint64_t)bdp, QUEUE_DEFAULT_MIN);
		else if (opt->bdp[from] > 0)
			shape->queue_bytes = (uint64_t)(bdp * opt->bdp[from]);
		shape->queue_bytes = min_u64(shape->queue_bytes, LANE_QUEUE_MAX);
	}
}

/* ---- devices ---- */
static int enter_namespace(const char *name)
{
	char path[256];
	int fd, e = 0;

	snprintf(path, sizeof(path), "/run/netns/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return fail(path);
	if (setns(fd, CLONE_NEWNET) < 0)
		e = fail(path);
	close(fd);
	return e;
}

/* A descriptor keeps the namespace that it was opened in, whatever the process enters later. */
static int open_end(struct end *end, const char *device, const char *namespace)
{
	struct ifreq ifr = {.ifr_flags = IFF_TUN | IFF_NO_PI};
	int e = enter_namespace(namespace);

	if (e < 0)
		return e;
	end->tun_fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (end->tun_fd < 0)
		return fail("/dev/net/tun");
	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", device);
	if (ioctl(end->tun_fd, TUNSETIFF, &ifr) < 0)
		return fail(device);
	end->dev_fd = open("/proc/thread-self/net/dev", O_RDONLY | O_CLOEXEC);
	return end->dev_fd < 0 ? fail("/proc/thread-self/net/dev") : 0;
}

static int open_ends(struct link *l, char *const namespace[SIDES])
{
	int home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	int e = home < 0 ? fail("/proc/self/ns/net") : 0;

	for (int i = 0; e == 0 && i < SIDES; i++)
		e = open_end(&l->end[i], l->device, namespace[i]);
	/* Not counted among the processes of a namespace, it is not ended as one of them. */
	if (e == 0 && setns(home, CLONE_NEWNET) < 0)
		e = fail("/proc/self/ns/net");
	if (home >= 0)
		close(home);
	return e;
}

/* ---- what is reported ---- */
/* Packets that the device dropped because nobody read them in time: the 4th number of "sent". */
static uint64_t tun_dropped(const struct end *end, const char *device)
{
	char text[8192], name[IFNAMSIZ + 1], *at;
	ssize_t n = pread(end->dev_fd, text, sizeof(text) - 1, 0);
	uint64_t value = 0;

	text[n > 0 ? n : 0] = '\0';
	snprintf(name, sizeof(name), "%s:", device);
	at = strstr(text, name);
	if (!at)
		return 0;
	at += strlen(name);
	for (int i = 0; i < 12; i++)
		value = strtoull(at, &at, 10);
	return value;
}

static void print_count(const char *name, const struct lane_count *c)
{
	printf("\"%s\":{\"packets\":%" PRIu64 ",\"bytes\":%" PRIu64 "},", name, c->packets,
	       c->bytes);
}

static void report(const struct link *l)
{
	printf("{\"seconds\":%.3f", (double)(now_ns() - l->began_ns) / (double)NSEC_PER_SEC);
	for (int i = SIDES - 1; i >= 0; i--) {
		const struct end *end = &l->end[i];
		const struct lane *lane = &end->lane;

		printf(",\"%s\":{", end->lane_name);
		print_count("entered", &lane->entered);
		print_count("delivered", &lane->delivered);
		print_count("dropped", &lane->dropped);
		print_count("lost", &lane->lost);
		printf("\"queue_bytes\":%" PRIu64 ",\"queue_peak\":%" PRIu64 ",\"refused\":%" PRIu64
		       ",\"tun_dropped\":%" PRIu64 ",",
		       lane->shape.queue_bytes, lane->queue_peak, end->refused,
		       tun_dropped(end, l->device));
		printf("\"late_us\":{\"p50\":%" PRIu64 ",\"p99\":%" PRIu64 ",\"max\":%" PRIu64 "}}",
		       lane_late_us(lane, 500), lane_late_us(lane, 990), lane->late_max_us);
	}
	puts("}");
	fflush(stdout);
}

/* ---- moving packets ---- */
static struct packet *take_spare(struct link *l)
{
	struct packet *p = STAILQ_FIRST(&l->spare);

	if (!p)
		return malloc(sizeof(*p));
	STAILQ_REMOVE_HEAD(&l->spare, entry);
	return p;
}

/* Read what one device sends, at most a burst. 1: there may be more. 0: no more. Or an error. */
static int receive(struct link *l, struct end *end)
{
	for (int i = 0; i < BURST; i++) {
		struct packet *p = take_spare(l);
		ssize_t n;
		int e;

		if (!p)
			return -ENOMEM;
		n = read(end->tun_fd, p->data, sizeof(p->data));
		e = errno;
		if (n > 0) {
			p->len = (size_t)n;
			if (lane_enter(&end->lane, p, now_ns()))
				continue;
		}
		STAILQ_INSERT_HEAD(&l->spare, p, entry);
		if (n < 0) {
			errno = e;
			return e == EAGAIN || e == EINTR ? 0 : fail(end->lane_name);
		}
	}
	return 1;
}

/* Write what is due, at most a burst: who sends meanwhile fills a queue of the kernel's. 0, 1. */
static int deliver(struct link *l, struct end *from, const struct end *to)
{
	for (int i = 0; i < BURST; i++) {
		struct packet *p = lane_leave(&from->lane, now_ns(), l->early_ns);

		if (!p)
			return 0;
		if (write(to->tun_fd, p->data, p->len) < 0)
			from->refused++;
		STAILQ_INSERT_HEAD(&l->spare, p, entry);
	}
	return 1;
}

/* Sleep until a packet is due, one comes, or a signal; true: the signal to end. */
static bool rest(struct link *l)
{
	struct pollfd p[] = {
		{.fd = l->end[CLIENT].tun_fd, .events = POLLIN},
		{.fd = l->end[SERVER].tun_fd, .events = POLLIN},
		{.fd = l->signal_fd, .events = POLLIN},
	};
	uint64_t next =
		min_u64(lane_next_ns(&l->end[CLIENT].lane), lane_next_ns(&l->end[SERVER].lane));
	uint64_t now = now_ns();
	uint64_t wait = next > now ? next - now : 0;
	struct timespec ts = {.tv_sec = (time_t)(wait / NSEC_PER_SEC),
			      .tv_nsec = (long)(wait % NSEC_PER_SEC)};
	struct signalfd_siginfo info;

	if (ppoll(p, ARRAY_SIZE(p), next == UINT64_MAX ? NULL : &ts, NULL) <= 0 || !p[2].revents)
		return false;
	if (read(l->signal_fd, &info, sizeof(info)) != sizeof(info))
		return false;
	report(l);
	return info.ssi_signo == SIGTERM;
}

static int run(struct link *l)
{
	struct end *client = &l->end[CLIENT], *server = &l->end[SERVER];

	for (;;) {
		int up = receive(l, client), down = receive(l, server);

		if (up < 0 || down < 0)
			return up < 0 ? up : down;
		if (deliver(l, client, server) + deliver(l, server, client) + up + down == 0 &&
		    rest(l))
			return 0;
	}
}

/* Signals come by a descriptor, in the loop's own time. */
static int take_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

int main(int argc, char **argv)
{
	static struct link l = {
		.end = {[CLIENT] = {.lane_name = "up"}, [SERVER] = {.lane_name = "down"}}};
	struct options opt = {.seed = 1, .early_us = 200, .device = "lab0"};
	struct packet *p;
	pid_t parent = getppid();
	int e;

	if (parse_options(&opt, argc, argv) < 0) {
		fputs("Try link --help.\n", stderr);
		return 2;
	}
	size_queues(&opt);
	for (int i = 0; i < SIDES; i++)
		lane_init(&l.end[i].lane, &opt.shape[i], opt.seed * SIDES + (uint64_t)i);
	STAILQ_INIT(&l.spare);
	l.device = opt.device;
	l.early_ns = opt.early_us * NSEC_PER_US;
	l.began_ns = now_ns();
	l.signal_fd = take_signals();
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (l.signal_fd < 0 || getppid() != parent || open_ends(&l, argv + optind) < 0)
		return EXIT_FAILURE;
	setpriority(PRIO_PROCESS, 0, -20);
	prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);

	e = run(&l);
	for (int i = 0; i < SIDES; i++)
		lane_done(&l.end[i].lane);
	while ((p = STAILQ_FIRST(&l.spare))) {
		STAILQ_REMOVE_HEAD(&l.spare, entry);
		free(p);
	}
	return e < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
