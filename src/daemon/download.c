/*
 * download.c - one small document into memory, before anything else runs
 *
 * The calling thread waits; the fetch instance's thread fills. Both are gone from each other's
 * sight when download() returns.
 */
#include "daemon/download.h"

#include "base/clock.h"
#include "base/lock.h"

#define TRIES_MAX      4
#define FIRST_PAUSE_US (500 * USEC_PER_MS)
#define LOOK_US	       (100 * USEC_PER_MS) /* how often to ask whether it is still wanted */

struct job {
	struct download_cancel cancel;
	atomic_uint_fast64_t end; /* of the wanted range: there is none */

	struct mtx lock; /* RANK_QUEUE; guards all below */
	struct cnd wake;
	bool ended;
	struct download got;
	size_t room;
	int error; /* of ours: no memory, too large */
	enum verdict verdict;
	uint64_t retry_after_us;
	char detail[160];
};

static enum transfer_answer on_head(void *user, enum verdict v, const struct http_use *use,
				    const struct http_resp *resp, const char *resolved,
				    int64_t fresh_s)
{
	struct job *j = user;

	(void)use;
	mtx_lock(&j->lock);
	j->got.last_modified = resp->validator.last_modified;
	(void)fresh_s;
	if (resolved)
		snprintf(j->got.url, sizeof(j->got.url), "%s", resolved);
	mtx_unlock(&j->lock);
	return v == VERDICT_WHOLE ? TRANSFER_KEEP : TRANSFER_DROP;
}

static int make_room_locked(struct job *j, size_t need) REQUIRES(j->lock)
{
	size_t room = j->room ? j->room : CHUNK_SIZE;
	char *data;

	if (need > DOWNLOAD_MAX)
		return -EFBIG;
	while (room < need)
		room *= 2;
	if (room == j->room)
		return 0;
	data = realloc(j->got.data, room);
	if (!data)
		return -ENOMEM;
	j->got.data = data;
	j->room = room;
	return 0;
}

static void on_body(void *user, uint64_t off, struct chunk *chunk)
{
	struct job *j = user;

	(void)off; /* a whole body comes in order from 0 */
	mtx_lock(&j->lock);
	if (!j->error)
		j->error = make_room_locked(j, j->got.len + chunk->len);
	if (!j->error) {
		memcpy(j->got.data + j->got.len, chunk->data, chunk->len);
		j->got.len += chunk->len;
	}
	mtx_unlock(&j->lock);
	chunk_free(chunk);
}

static bool on_awaited(void *user, struct range r)
{
	(void)user;
	(void)r;
	return false;
}

static void on_connected(void *user, uint64_t connect_us, uint64_t asked_us)
{
	(void)user;
	(void)connect_us;
	(void)asked_us;
}

static void on_progress(void *user, uint64_t pos)
{
	(void)user;
	(void)pos;
}

static void on_end(void *user, const struct transfer_result *res, const struct http_resp *resp)
{
	struct job *j = user;

	(void)resp;
	mtx_lock(&j->lock);
	j->verdict = res->verdict;
	j->retry_after_us = res->retry_after_us;
	snprintf(j->detail, sizeof(j->detail), "%s", res->detail);
	j->ended = true;
	cnd_signal(&j->wake);
	mtx_unlock(&j->lock);
}

static const struct transfer_ops job_ops = {
	.connected = on_connected,
	.head = on_head,
	.body = on_body,
	.awaited = on_awaited,
	.progress = on_progress,
	.end = on_end,
};

static bool cancelled(const struct job *j)
{
	return j->cancel.fn && j->cancel.fn(j->cancel.ctx);
}

/*
 * One request, to its end. 0 or -errno; the verdict is in j. When it is cancelled the transfer may
 * still run: fetch_free() ends it.
 */
static int run_once(struct fetch *f, const char *url, struct job *j)
{
	struct transfer_request rq = {
		.url = url,
		.range = {0, SIZE_UNKNOWN},
		.urgent = true,
		.want = {.range = {0, SIZE_UNKNOWN}, .size = SIZE_UNKNOWN},
		.validator = VALIDATOR_INIT,
		.end = &j->end,
		.ops = &job_ops,
		.user = j,
	};
	struct transfer *t;
	int r;

	mtx_lock(&j->lock);
	j->ended = false;
	j->got.len = 0;
	mtx_unlock(&j->lock);
	r = fetch_start(f, &rq, &t);
	if (r < 0)
		return r;
	mtx_lock(&j->lock);
	/* fetch bounds it: connect and stall time-outs */
	while (!j->ended && r == 0) {
		if (cnd_wait_until(&j->wake, &j->lock, clock_now_us() + LOOK_US))
			continue;
		mtx_unlock(&j->lock);
		r = cancelled(j) ? -ECANCELED : 0;
		mtx_lock(&j->lock);
	}
	if (r == 0)
		r = j->error;
	mtx_unlock(&j->lock);
	return r;
}

static int pause_us(const struct job *j, uint64_t us)
{
	const struct timespec look = {.tv_nsec = LOOK_US * 1000};
	uint64_t until_us = clock_now_us() + us;

	while (clock_now_us() < until_us) {
		if (cancelled(j))
			return -ECANCELED;
		nanosleep(&look, NULL);
	}
	return 0;
}

static int run(struct fetch *f, const char *url, struct job *j)
{
	uint64_t wait = FIRST_PAUSE_US;

	for (int tries = 1;; tries++) {
		enum verdict_class class;
		int r = run_once(f, url, j);

		if (r < 0)
			return r;
		if (j->verdict == VERDICT_WHOLE || j->verdict == VERDICT_EMPTY)
			return 0;
		class = verdict_class(j->verdict);
		if (tries == TRIES_MAX ||
		    (class != VERDICT_CLASS_ORIGIN && class != VERDICT_CLASS_RETRY))
			return j->verdict == VERDICT_GONE ? -ENOENT : -EIO;
		r = pause_us(j, min_u64(max_u64(wait, j->retry_after_us), 10 * USEC_PER_SEC));
		if (r < 0)
			return r;
		wait *= 2;
	}
}

static void say_why(const struct job *j, int error, char *why, size_t size)
{
	if (error == -EFBIG)
		snprintf(why, size, "it is larger than 1 GiB");
	else if (error == -ECANCELED)
		snprintf(why, size, "given up");
	else
		snprintf(why, size, "%s%s%s", verdict_text(j->verdict), j->detail[0] ? ": " : "",
			 j->detail);
}

int download(const struct fetch_config *net, const char *url, struct download_cancel cancel,
	     struct download *ret, char *why, size_t why_size)
{
	struct fetch_shared *shared = NULL;
	struct fetch *f = NULL;
	struct job j = {.cancel = cancel,
			.got.last_modified = VALIDATOR_NO_TIME,
			.verdict = VERDICT_INTERNAL};
	int r;

	atomic_init(&j.end, SIZE_UNKNOWN);
	mtx_init(&j.lock, RANK_QUEUE, "download");
	cnd_init(&j.wake);
	snprintf(j.got.url, sizeof(j.got.url), "%s", url);
	r = fetch_shared_new(net, &shared);
	if (r == 0)
		r = fetch_new(shared, "manifest", &f);
	if (r == 0)
		r = run(f, url, &j);
	if (f)
		fetch_free(f);
	if (shared)
		fetch_shared_free(shared);
	if (r == 0) {
		*ret = j.got;
	} else {
		free(j.got.data);
		say_why(&j, r, why, why_size);
	}
	cnd_done(&j.wake);
	mtx_done(&j.lock);
	return r;
}
