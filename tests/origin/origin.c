/*
 * origin.c - a web server for tests: contents by formula, misbehaviour on order. help.c is its
 * manual.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <getopt.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "base/size.h"
#include "origin.h"

#define STACK_BYTES   (512UL * 1024)
#define RULE_LINE_MAX 4096

struct options {
	struct origin *o;
	const char *port_file, *ca_file, *log;
	uint16_t port[PORTS_MAX];
	unsigned int ports;
	bool stay, tls;
};

static int fail(const char *what)
{
	fprintf(stderr, "origin: %s: %s\n", what, strerror(errno));
	return -errno;
}

static int add_listener(struct origin *o, uint16_t port, bool tls)
{
	struct sockaddr_in sa = {.sin_family = AF_INET,
				 .sin_port = htons(port),
				 .sin_addr = o->address};
	socklen_t len = sizeof(sa);
	int on = 1;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (o->listeners == PORTS_MAX || fd < 0)
		return fail("too many ports");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0 || listen(fd, 4096) < 0 ||
	    getsockname(fd, (struct sockaddr *)&sa, &len) < 0)
		return fail("listening");
	o->listener[o->listeners++] =
		(struct listener){.fd = fd, .port = ntohs(sa.sin_port), .tls = tls};
	return 0;
}

/* Written aside and renamed: who sees it sees all of it. */
static int write_ports(const struct origin *o, const char *path)
{
	char aside[URL_TEXT_MAX];
	FILE *f;

	snprintf(aside, sizeof(aside), "%s.new", path);
	f = fopen(aside, "we");
	if (!f)
		return fail(aside);
	for (unsigned int i = 0; i < o->listeners; i++)
		fprintf(f, "http%s %u\n", o->listener[i].tls ? "s" : "", o->listener[i].port);
	if (fclose(f) != 0 || rename(aside, path) < 0)
		return fail(path);
	return 0;
}

#define LINK_QUEUE_BYTES 65536

static void accept_one(struct origin *o, struct listener *l, const pthread_attr_t *attr)
{
	struct sockaddr_in peer = {0};
	socklen_t len = sizeof(peer);
	int on = 1;
	int fd = accept4(l->fd, (struct sockaddr *)&peer, &len, SOCK_CLOEXEC);
	struct conn *c = fd >= 0 ? malloc(sizeof(*c)) : NULL;
	pthread_t thread;

	if (!c) {
		if (fd >= 0)
			close(fd);
		return;
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	/* What waits in the sender's queue has not crossed a link yet: keep it from counting as
	 * sent. */
	if (atomic_load_explicit(&o->set.total_rate, memory_order_relaxed))
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &(int){LINK_QUEUE_BYTES}, sizeof(int));
	memset(c, 0, offsetof(struct conn, in));
	c->have = 0;
	c->o = o;
	c->fd = fd;
	c->listener = l;
	c->peer = peer.sin_addr;
	c->id = atomic_fetch_add(&o->connections, 1) + 1;
	if (pthread_create(&thread, attr, serve, c) != 0)
		conn_close(c);
}

static int run(struct origin *o)
{
	struct pollfd p[PORTS_MAX];
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	for (unsigned int i = 0; i < o->listeners; i++)
		p[i] = (struct pollfd){.fd = o->listener[i].fd, .events = POLLIN};
	for (;;) {
		if (poll(p, o->listeners, -1) < 0 && errno != EINTR)
			return fail("poll");
		for (unsigned int i = 0; i < o->listeners; i++) {
			if (p[i].revents)
				accept_one(o, &o->listener[i], &attr);
		}
	}
}

static int order(struct origin *o, const char *prefix, const char *name, const char *value)
{
	char line[RULE_LINE_MAX], error[RULE_ERROR_MAX] = "too long";
	int n = snprintf(line, sizeof(line), "%s%s%s%s", prefix, name, *name ? "=" : "", value);

	if ((size_t)n < sizeof(line) && control_line(o, line, error) == 0)
		return 0;
	fprintf(stderr, "origin: %s\n", error);
	return -EINVAL;
}

static int read_rules(struct origin *o, const char *path)
{
	char line[RULE_LINE_MAX];
	FILE *f = fopen(path, "re");
	int e = 0;

	if (!f)
		return fail(path);
	while (e == 0 && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		e = order(o, "", "", line);
	}
	fclose(f);
	return e;
}

/* Listened on when all options are known: --address is one of them. */
static int add_port(struct options *opt, const char *text)
{
	uint64_t port;

	if (parse_u64(text, UINT16_MAX, &port) < 0 || opt->ports == PORTS_MAX) {
		fprintf(stderr, "origin: --port: %s is none, or there are too many\n", text);
		return -EINVAL;
	}
	opt->port[opt->ports++] = (uint16_t)port;
	return 0;
}

static int set_address(struct origin *o, const char *text)
{
	if (inet_pton(AF_INET, text, &o->address) == 1)
		return 0;
	fprintf(stderr, "origin: --address: %s is no IPv4 address\n", text);
	return -EINVAL;
}

static int parse_options(struct options *opt, int argc, char **argv)
{
	static const struct option options[] = {
		{"address", required_argument, NULL, 'a'},
		{"port", required_argument, NULL, 'p'},
		{"tls", no_argument, NULL, 't'},
		{"ca-file", required_argument, NULL, 'c'},
		{"port-file", required_argument, NULL, 'f'},
		{"rule", required_argument, NULL, 'r'},
		{"rules", required_argument, NULL, 'R'},
		{"log", required_argument, NULL, 'l'},
		{"stay", no_argument, NULL, 's'},
		{"help", no_argument, NULL, 'h'},
		{"seed", required_argument, NULL, 0},
		{"delay", required_argument, NULL, 0},
		{"connect-delay", required_argument, NULL, 0},
		{"rate", required_argument, NULL, 0},
		{"total-rate", required_argument, NULL, 0},
		{"max-per-client", required_argument, NULL, 0},
		{"busy", required_argument, NULL, 0},
		{0},
	};
	int c, index, e = 0;

	while (e == 0 && (c = getopt_long(argc, argv, "", options, &index)) != -1) {
		switch (c) {
		case 0:
			e = order(opt->o, "set ", options[index].name, optarg);
			break;
		case 'a':
			e = set_address(opt->o, optarg);
			break;
		case 'p':
			e = add_port(opt, optarg);
			break;
		case 't':
			opt->tls = true;
			break;
		case 'c':
			opt->ca_file = optarg;
			break;
		case 'f':
			opt->port_file = optarg;
			break;
		case 'r':
			e = order(opt->o, "", "", optarg);
			break;
		case 'R':
			e = read_rules(opt->o, optarg);
			break;
		case 'l':
			opt->log = optarg;
			break;
		case 's':
			opt->stay = true;
			break;
		case 'h':
			fputs(help_text, stdout);
			exit(EXIT_SUCCESS);
		default:
			e = -EINVAL;
		}
	}
	return e < 0 || optind < argc ? -EINVAL : 0;
}

static int start(struct options *opt)
{
	struct origin *o = opt->o;
	int log_fd = -1;

	if (opt->ports == 0)
		opt->ports = 1; /* any */
	for (unsigned int i = 0; i < opt->ports; i++) {
		if (add_listener(o, opt->port[i], false) < 0)
			return -EIO;
	}
	if (opt->tls) {
		o->ssl = tls_make(opt->ca_file, o->address);
		if (!o->ssl || add_listener(o, 0, true) < 0)
			return -EIO;
	}
	if (opt->log) {
		log_fd = open(opt->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
		if (log_fd < 0)
			return fail(opt->log);
	}
	o->stats = stats_new(log_fd);
	o->signatures = signatures_new();
	if (!o->stats || !o->signatures)
		return -ENOMEM;
	if (opt->port_file)
		return write_ports(o, opt->port_file);
	for (unsigned int i = 0; i < o->listeners; i++)
		printf("http%s %u\n", o->listener[i].tls ? "s" : "", o->listener[i].port);
	return fflush(stdout) == 0 ? 0 : -EIO;
}

int main(int argc, char **argv)
{
	static struct origin o;
	struct options opt = {.o = &o};
	pid_t parent = getppid();

	signal(SIGPIPE, SIG_IGN); /* SSL_write has no MSG_NOSIGNAL */
	pthread_mutex_init(&o.bucket, NULL);
	atomic_store(&o.set.seed, 1);
	o.address.s_addr = htonl(INADDR_LOOPBACK);
	o.rules = rules_new();
	if (!o.rules || parse_options(&opt, argc, argv) < 0) {
		fputs("Try origin --help.\n", stderr);
		return 2;
	}
	if (!opt.stay) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		if (getppid() != parent)
			return EXIT_FAILURE;
	}
	prctl(PR_SET_TIMERSLACK, 1000, 0, 0,
	      0); /* waits are as exact as they can be; threads inherit it */
	if (start(&opt) < 0)
		return EXIT_FAILURE;
	return run(&o) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
