/*
 * send.c - sends a body, at its rate, and ends it as its rule says
 *
 * Chunks are small where a rate holds, so that the bytes come evenly; under the common rate each
 * connection reserves its next chunk in turn, so that it is shared fairly.
 */
#include <inttypes.h>

#include "base/clock.h"
#include "origin.h"

#define BUFFER_BYTES	(128UL * 1024)
#define CHUNKS_A_SECOND 250
#define SHARED_CHUNK	(16UL * 1024)
#define NS_PER_SEC	UINT64_C(1000000000)
/* A thread that woke late may catch up so much, no more. */
#define BURST_NS (20 * UINT64_C(1000000))

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_SEC + (uint64_t)ts.tv_nsec;
}

/* When len bytes may go, given that *next is when the bytes before them have gone; moves *next. */
static uint64_t reserve_ns(uint64_t *next, uint64_t now, uint64_t len, uint64_t rate)
{
	uint64_t at = max_u64(*next, now > BURST_NS ? now - BURST_NS : 0);

	*next = at + (uint64_t)((double)len * (double)NS_PER_SEC / (double)rate);
	return at;
}

/* Wait for the turn of len bytes. False: the client left. */
static bool pace(struct conn *c, uint64_t len, uint64_t rate, uint64_t *next)
{
	struct origin *o = c->o;
	uint64_t total = atomic_load_explicit(&o->set.total_rate, memory_order_relaxed);
	uint64_t now, at = 0;

	if (!rate && !total)
		return true;
	now = now_ns();
	if (rate)
		at = reserve_ns(next, now, len, rate);
	if (total) {
		pthread_mutex_lock(&o->bucket);
		at = max_u64(at, reserve_ns(&o->bucket_next_ns, now, len, total));
		pthread_mutex_unlock(&o->bucket);
	}
	if (at <= now)
		return true;
	/* Rounded up: a wait of less than a microsecond must not become a busy loop. */
	return conn_wait_until(c, (at + 999) / 1000);
}

static uint64_t chunk_size(struct conn *c, uint64_t rate)
{
	uint64_t n = BUFFER_BYTES;

	if (rate)
		n = min_u64(n, max_u64(rate / CHUNKS_A_SECOND, 1));
	if (atomic_load_explicit(&c->o->set.total_rate, memory_order_relaxed))
		n = min_u64(n, SHARED_CHUNK);
	return n;
}

/* The bytes [off, off + len) of the body's file into buf. False: the file of the disk can't be
 * read. */
static bool fill(const struct body *b, uint64_t off, char *buf, size_t len)
{
	size_t have = 0;

	if (b->text) {
		memcpy(buf, b->text + off, len);
	} else if (b->fd >= 0) {
		while (have < len) {
			ssize_t n = pread(b->fd, buf + have, len - have, (off_t)(off + have));

			if (n <= 0)
				return false;
			have += (size_t)n;
		}
	} else {
		content_fill(b->content, off, buf, len);
	}
	for (uint64_t i = max_u64(off, b->corrupt_off); i < min_u64(off + len, b->corrupt_end); i++)
		buf[i - off] = (char)(buf[i - off] ^ 0xa5);
	return true;
}

static bool write_chunk(struct conn *c, const struct body *b, const char *buf, size_t len)
{
	char size[24];
	int n;

	if (!b->chunked)
		return conn_write(c, buf, len);
	n = snprintf(size, sizeof(size), "%zx\r\n", len);
	return conn_write(c, size, (size_t)n) && conn_write(c, buf, len) &&
	       conn_write(c, "\r\n", 2);
}

/* The bytes up to the body's end or its premature one. False: the client left. */
static bool send_bytes(struct conn *c, const struct body *b, struct exchange *x, char *buf)
{
	uint64_t want =
		b->how == BODY_WHOLE ? b->end - b->first : min_u64(b->end - b->first, b->stop);
	uint64_t next = 0;

	while (x->sent < want) {
		uint64_t rate = b->rate ? b->rate : atomic_load(&c->o->set.rate);
		size_t len = min_u64(chunk_size(c, rate), want - x->sent);

		if (!pace(c, len, rate, &next))
			return false;
		if (!fill(b, b->first + x->sent, buf, len))
			return false;
		/* Before its last bytes are: who has them may ask for more before we are told. */
		if (x->sent + len == b->end - b->first)
			atomic_store(&x->over, true);
		if (!write_chunk(c, b, buf, len)) {
			/* Part of it may have gone; the client's kernel has what is not in our
			 * queue. */
			return false;
		}
		x->sent += len;
	}
	return true;
}

/* After a stall the rest comes. */
static bool go_on(struct conn *c, const struct body *b, struct exchange *x, char *buf)
{
	struct body rest = *b;
	uint64_t until = b->stall_us ? clock_now_us() + b->stall_us : UINT64_MAX;

	if (!conn_wait_until(c, until))
		return false;
	rest.how = BODY_WHOLE;
	return send_bytes(c, &rest, x, buf);
}

static bool finish(struct conn *c, const struct body *b)
{
	if (b->tail && !conn_write(c, b->tail, strlen(b->tail)))
		return false;
	return !b->chunked || conn_write(c, "0\r\n\r\n", 5);
}

bool send_body(struct conn *c, const struct body *b, struct exchange *x)
{
	char *buf = malloc(BUFFER_BYTES);
	bool stops = b->how != BODY_WHOLE && b->stop < b->end - b->first;
	bool ok = buf && send_bytes(c, b, x, buf);

	if (ok && stops && b->how == BODY_STALL)
		ok = go_on(c, b, x, buf);
	free(buf);
	if (!ok) {
		uint64_t unsent = conn_unsent(c);

		x->aborted = true;
		x->sent -= min_u64(unsent, x->sent);
		return false;
	}
	if (!stops || b->how == BODY_STALL)
		return finish(c, b);
	c->reset = b->how == BODY_RESET;
	if (c->reset) /* what is still in the queue would be lost with it: let it arrive */
		conn_wait_until(c, clock_now_us() + 20 * USEC_PER_MS);
	/* A short body on an open connection: the client waits for bytes that never come. */
	return b->how == BODY_SHORT;
}
