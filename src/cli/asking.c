/*
 * asking.c - ask the servers of a manifest for size, date and validator of every entry, once
 * Callers: index.
 *
 * The engine asks only what it does not know: it gets the manifest without sizes and ETags. Its
 * entries keep their order, so that numbers of entries mean the same in both. A window of objects
 * moves through them.
 */
#include "cli/asking.h"

#include "base/clock.h"
#include "base/lock.h"
#include "daemon/paths.h"
#include "store/inventory.h"

#define WINDOW	   256
#define WAIT_US	   (100 * USEC_PER_MS)
#define CACHE_NAME "index"

enum slot_state { SLOT_FREE, SLOT_BUSY, SLOT_ENDED };

struct asking;

struct slot {
	struct asking *a;
	enum slot_state state; /* asking.lock */
	int error;	       /* asking.lock, once ended */
	struct object *obj;
	uint32_t index;
};

struct asking {
	struct engine *engine;
	struct manifest *m; /* without what is to be asked */
	struct answer *answer;
	struct progress_total total;
	char waiting[sizeof(((struct object_info *)NULL)->error)];
	uint32_t next, count;

	struct mtx lock; /* RANK_JOB; guards what the slots say */
	struct cnd ended;
	struct slot slot[WINDOW];
	unsigned int busy;
};

/* ---- the manifest without answers ---- */

static int write_questions(FILE *f, struct manifest *m)
{
	uint32_t count = manifest_count(m);
	struct entry e;
	int r = manifest_write_json_begin(f);

	entry_init(&e);
	for (uint32_t i = 0; i < count && r == 0; i++) {
		r = manifest_entry(m, i, &e);
		e.size = SIZE_UNKNOWN;
		e.etag = NULL;
		if (r == 0)
			r = manifest_write_json_entry(f, &e, i == 0);
	}
	entry_done(&e);
	return r < 0 ? r : manifest_write_json_end(f);
}

static int questions(struct manifest *m, struct manifest **ret, char error[MANIFEST_ERROR_MAX])
{
	const struct manifest_options opt = {.default_mtime = MANIFEST_NO_TIME};
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	int r = f ? write_questions(f, m) : -ENOMEM;

	if (f && fclose(f) != 0 && r == 0)
		r = -ENOMEM;
	if (r == 0)
		r = manifest_parse(text, len, "the manifest", &opt, ret, error);
	else
		snprintf(error, MANIFEST_ERROR_MAX, "%s", strerror(-r));
	free(text);
	if (r == 0 && manifest_count(*ret) != manifest_count(m)) {
		manifest_put(*ret);
		snprintf(error, MANIFEST_ERROR_MAX, "entries were lost on the way");
		r = -EINVAL;
	}
	return r;
}

/* ---- slots ---- */

static void probed(void *ctx, int error)
{
	struct slot *slot = ctx;
	struct asking *a = slot->a;

	mtx_lock(&a->lock);
	slot->state = SLOT_ENDED;
	slot->error = error;
	cnd_signal(&a->ended);
	mtx_unlock(&a->lock);
}

static void fail(struct asking *a, uint32_t index, const char *why)
{
	a->answer[index].error = strdup(why);
	a->total.files_failed++;
}

static void ask(struct asking *a, struct slot *slot)
{
	uint32_t index = a->next++;
	struct entry e;
	bool directory;
	int r;

	entry_init(&e);
	r = manifest_entry(a->m, index, &e);
	directory = r == 0 && e.directory;
	entry_done(&e);
	if (directory) {
		a->total.files--;
		return;
	}
	if (r == 0)
		r = engine_object(a->engine, a->m, index, &slot->obj);
	if (r < 0) {
		fail(a, index, strerror(-r));
		return;
	}
	slot->index = index;
	slot->state = SLOT_BUSY;
	a->busy++;
	object_probe(slot->obj, true, probed, slot);
}

static void take_answer(struct asking *a, struct slot *slot)
{
	struct answer *answer = &a->answer[slot->index];
	struct object_info info;

	object_info(slot->obj, &info);
	object_put(slot->obj);
	slot->obj = NULL;
	slot->state = SLOT_FREE;
	a->busy--;
	a->total.files_done++;
	if (slot->error) {
		fail(a, slot->index, info.error[0] ? info.error : strerror(-slot->error));
	} else if (info.size == SIZE_UNKNOWN || info.length_unknown) {
		fail(a, slot->index, "the server does not tell its size");
	} else {
		answer->size = info.size;
		answer->mtime = info.mtime;
		if (validator_etag_strong(info.validator.etag))
			answer->etag = strdup(info.validator.etag);
	}
}

static bool any_locked(const struct asking *a, enum slot_state state) REQUIRES(a->lock)
{
	for (unsigned int i = 0; i < WINDOW; i++) {
		if (a->slot[i].state == state)
			return true;
	}
	return false;
}

static void wait_for_answers(struct asking *a)
{
	uint64_t until = clock_now_us() + WAIT_US;
	bool ended[WINDOW];

	mtx_lock(&a->lock);
	while (!any_locked(a, SLOT_ENDED)) {
		if (!cnd_wait_until(&a->ended, &a->lock, until))
			break;
	}
	for (unsigned int i = 0; i < WINDOW; i++)
		ended[i] = a->slot[i].state == SLOT_ENDED;
	mtx_unlock(&a->lock);
	for (unsigned int i = 0; i < WINDOW; i++) {
		if (ended[i])
			take_answer(a, &a->slot[i]);
	}
}

static void ask_more(struct asking *a)
{
	bool free_one[WINDOW];

	mtx_lock(&a->lock);
	for (unsigned int i = 0; i < WINDOW; i++)
		free_one[i] = a->slot[i].state == SLOT_FREE;
	mtx_unlock(&a->lock);
	for (unsigned int i = 0; i < WINDOW; i++) {
		while (free_one[i] && !a->slot[i].obj && a->next < a->count)
			ask(a, &a->slot[i]);
	}
}

/* Why the answers that are out do not come. */
static void say_waiting(struct asking *a)
{
	struct object_info info;

	a->total.waiting = NULL;
	for (unsigned int i = 0; i < WINDOW && !a->total.waiting; i++) {
		if (!a->slot[i].obj)
			continue;
		object_info(a->slot[i].obj, &info);
		if (info.error[0]) {
			memcpy(a->waiting, info.error, sizeof(a->waiting));
			a->total.waiting = a->waiting;
		}
	}
}

static int ask_all(struct asking *a, struct progress *progress, bool (*stop)(void))
{
	bool stopped = false;

	a->total.files = a->count;
	while (a->busy || (a->next < a->count && !stopped)) {
		if (!stopped && stop()) {
			stopped = true;
			a->next = a->count;
			engine_stop(a->engine);
		}
		if (!stopped)
			ask_more(a);
		if (a->busy)
			wait_for_answers(a);
		say_waiting(a);
		progress_update(progress, &a->total, NULL, 0);
		if (stopped)
			break;
	}
	return stopped ? -EINTR : 0;
}

/* ---- the whole of it ---- */

static int make_cache(char *root, size_t size, char **ret)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(root, size, "%s/rgetfs-index-XXXXXX", tmp && *tmp == '/' ? tmp : "/tmp");
	if (!mkdtemp(root))
		return -errno;
	if (asprintf(ret, "%s/" CACHE_NAME, root) < 0) {
		rmdir(root);
		return -ENOMEM;
	}
	return 0;
}

static int run_engine(struct asking *a, const struct engine_config *given, const char *cache,
		      struct progress *progress, bool (*stop)(void), char error[MANIFEST_ERROR_MAX])
{
	struct engine_config cfg = *given;
	char owner[STORE_OWNER_MAX] = "";
	int r;

	cfg.store.dir = cache;
	cfg.store.description = "rgetfs index";
	cfg.store.min_free = 0;
	cfg.fill = FILL_NONE;
	r = engine_new(&cfg, &a->engine, owner);
	if (r < 0) {
		snprintf(error, MANIFEST_ERROR_MAX, "%s: %s", cache, strerror(-r));
		return r;
	}
	r = ask_all(a, progress, stop);
	for (unsigned int i = 0; i < WINDOW; i++)
		object_put(a->slot[i].obj);
	engine_free(a->engine);
	return r;
}

int asking_run(const struct engine_config *cfg, struct manifest *m, struct progress *progress,
	       bool (*stop)(void), struct answer **ret, char error[MANIFEST_ERROR_MAX])
{
	struct asking *a = calloc(1, sizeof(*a));
	char root[PATH_MAX], owner[INVENTORY_TEXT_MAX];
	char *cache = NULL;
	int r;

	if (!a)
		return -ENOMEM;
	mtx_init(&a->lock, RANK_JOB, "asking");
	cnd_init(&a->ended);
	a->count = manifest_count(m);
	a->answer = calloc((size_t)a->count + 1, sizeof(*a->answer));
	for (unsigned int i = 0; i < WINDOW; i++)
		a->slot[i].a = a;
	for (uint32_t i = 0; a->answer && i < a->count; i++)
		a->answer[i] = (struct answer){.size = SIZE_UNKNOWN, .mtime = MANIFEST_NO_TIME};
	r = a->answer ? questions(m, &a->m, error) : -ENOMEM;
	if (r == 0) {
		r = make_cache(root, sizeof(root), &cache);
		if (r < 0)
			snprintf(error, MANIFEST_ERROR_MAX, "no directory for temporary files: %s",
				 strerror(-r));
	}
	if (r == 0) {
		r = run_engine(a, cfg, cache, progress, stop, error);
		inventory_remove(root, CACHE_NAME, owner);
		rmdir(root);
	}
	manifest_put(a->m);
	free(cache);
	cnd_done(&a->ended);
	mtx_done(&a->lock);
	if (r == 0)
		*ret = a->answer;
	else
		asking_done(a->answer, a->count);
	free(a);
	return r;
}

void asking_done(struct answer *answers, uint32_t count)
{
	for (uint32_t i = 0; answers && i < count; i++) {
		free(answers[i].etag);
		free(answers[i].error);
	}
	free(answers);
}
