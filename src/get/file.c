/*
 * file.c - one file from its beginning to its end
 *
 * On one of get's threads, which waits for the engine and for the disk. In this order: the store;
 * is it there already, or begun by another program; the bytes; are they still what was written;
 * durable, its name, and the state goes.
 */
#include <inttypes.h>
#include <fcntl.h>
#include <stdarg.h>

#include "base/clock.h"
#include "base/log.h"
#include "core/url.h"
#include "get/internal.h"
#include "store/digest.h"

#define VERIFY_ROUNDS \
	3 /* bytes turn out not to be what was written: so often they are fetched again */
#define READ_BYTES   (UINT64_C(1) << 20)
#define NAME_LOOK_US (20 * USEC_PER_MS)

void file_say(struct file *f, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	mtx_lock(&f->g->lock);
	vsnprintf(f->last.error, sizeof(f->last.error), fmt, ap);
	mtx_unlock(&f->g->lock);
	va_end(ap);
}

/* ---- there already? ---- */

/* 0: its content has the entry's checksum; -EILSEQ: another; -errno. */
static int compare_content(struct file *f, const struct checksum *want)
{
	int fd = openat(f->target.dirfd, f->target.final, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	uint8_t got[DIGEST_MAX], *buf = malloc(READ_BYTES);
	struct digest *d = NULL;
	ssize_t n = 0;
	int r = fd < 0 ? -errno : buf ? digest_new(checksum_name(want->algo), &d) : -ENOMEM;

	while (r == 0 && (n = read(fd, buf, READ_BYTES)) > 0) {
		r = digest_update(d, buf, (size_t)n);
		if (get_stopping(f->g))
			r = -EINTR;
	}
	if (r == 0)
		r = n < 0 ? -errno : digest_final(d, got);
	if (r == 0 && memcmp(got, want->value, checksum_length(want->algo)) != 0)
		r = -EILSEQ;
	digest_free(d);
	free(buf);
	if (fd >= 0)
		close(fd);
	return r;
}

/* Size and date of what is there are those of the server, as the manifest or itself tells them. */
static bool same_as_told(struct file *f, const struct stat *st)
{
	struct object_info info;

	object_info(f->object, &info);
	if (info.size == SIZE_UNKNOWN || info.length_unknown || info.size != (uint64_t)st->st_size)
		return false;
	/* The manifest's word on the size is enough: there was no question. */
	return info.mtime == st->st_mtime ||
	       (f->entry->size != SIZE_UNKNOWN && info.mtime == MANIFEST_NO_TIME);
}

/* -ENOENT: it is to be fetched. 0: it is there. Else it can't be, and *f says why. */
static int there(struct file *f)
{
	struct stat st;
	int r = target_existing(&f->target, &st);

	if (r == -ENOENT)
		return r;
	if (r < 0) {
		file_say(
			f,
			"it exists already and is no regular file (move it away, or give another name "
			"with --output)");
		return r;
	}
	if (f->entry->checksum.algo != CHECKSUM_NONE)
		r = compare_content(f, &f->entry->checksum);
	else
		r = same_as_told(f, &st) ? 0 : -EEXIST;
	if (r == 0) {
		mtx_lock(&f->g->lock);
		f->last.size = f->last.bytes = f->last.durable = (uint64_t)st.st_size;
		mtx_unlock(&f->g->lock);
	} else if (r == -EILSEQ) {
		file_say(
			f,
			"it exists already with another content than the checksum says (move it away, "
			"or give another name with --output)");
	} else if (r == -EEXIST) {
		file_say(
			f,
			"it exists already and is not known to be the server's (move it away, or give "
			"another name with --output)");
	} else if (r != -EINTR) {
		file_say(f, "it exists already and can't be read: %s", strerror(-r));
	}
	return r;
}

/* ---- waiting for the engine ---- */

/* Under get.lock. */
static void answer_locked(struct file *f, int error)
{
	f->answered = true;
	f->answers++;
	f->fill = NULL;
	f->probe = NULL;
	f->error = error;
	cnd_signal(&f->changed);
}

static void answered(void *ctx, int error)
{
	struct file *f = ctx;

	mtx_lock(&f->g->lock);
	answer_locked(f, error);
	mtx_unlock(&f->g->lock);
}

void file_cancel_locked(struct file *f)
{
	if (f->queued) {
		TAILQ_REMOVE(&f->g->turns, f, turn_link);
		f->queued = false;
		answer_locked(f, -ECANCELED);
	}
	if (f->fill)
		fill_cancel(f->fill);
	if (f->probe)
		probe_cancel(f->probe);
}

/*
 * Has an answer named it? Then it is fetched under that name; not at all when there is such a file:
 * f->named.
 */
static void look_at_name(struct file *f)
{
	char *filename = object_filename(f->object), *path;
	const char *slash = strrchr(f->path, '/');
	struct get *g = f->g;
	int r;

	if (!filename)
		return;
	f->unnamed = false;
	r = target_rename(&f->target, filename);
	if (r < 0)
		log_warn("%s: the server gives it no usable name, it keeps its own", f->path);
	free(filename);
	if (r < 0)
		return;
	/* In the words of whoever asked for it. */
	if (asprintf(&path, "%.*s%s", slash ? (int)(slash + 1 - f->path) : 0, f->path,
		     f->target.final) < 0)
		path = NULL;
	mtx_lock(&g->lock);
	if (path)
		f->path = f->own_path = path;
	mtx_unlock(&g->lock);
	r = there(f);
	if (r == -ENOENT)
		return;
	mtx_lock(&g->lock);
	f->named = r == 0 ? -EALREADY : r;
	file_cancel_locked(f);
	mtx_unlock(&g->lock);
}

/* Most files are all there before: for them the store needs no thread (store_target.untended). */
static void tend(struct file *f)
{
	if (clock_now_us() < f->tend_us)
		return;
	f->tend_us = UINT64_MAX;
	store_tend(f->store);
}

/* For answered(), of what was begun; the error. */
static int await(struct file *f)
{
	struct get *g = f->g;
	uint64_t until_us;
	int r;

	if (f->tend_us == 0)
		f->tend_us = add_sat_u64(clock_now_us(), g->cfg.engine.store.checkpoint_us / 4 * 3);
	mtx_lock(&g->lock);
	/* Whoever stops later cancels it; before, nobody saw it. */
	if (g->stopping)
		file_cancel_locked(f);
	while (!f->answered) {
		until_us = f->tend_us;
		if (f->unnamed)
			until_us = min_u64(until_us, clock_now_us() + NAME_LOOK_US);
		if (until_us == UINT64_MAX)
			cnd_wait(&f->changed, &g->lock);
		else
			cnd_wait_until(&f->changed, &g->lock, until_us);
		if (f->answered && !f->unnamed)
			break;
		mtx_unlock(&g->lock);
		tend(f);
		if (f->unnamed)
			look_at_name(f);
		mtx_lock(&g->lock);
	}
	f->answered = false;
	r = f->error && g->stopping ? -EINTR : f->error;
	mtx_unlock(&g->lock);
	return r;
}

/* Ask the server for size and date, unless they are known. 0 or -errno. */
int file_ask(struct file *f)
{
	struct probe *q = probe_new(f->object, true, answered, f);

	if (!q)
		return -ENOMEM;
	mtx_lock(&f->g->lock);
	f->probe = q;
	mtx_unlock(&f->g->lock);
	probe_begin(q);
	return await(f);
}

/* ---- the store ---- */

/* The entry without what belongs to whoever asks, as a manifest of its own. */
static int entry_text(const struct entry *entry, char **ret, size_t *ret_len)
{
	struct entry e = *entry;
	char *url[MANIFEST_URLS_MAX] = {NULL};
	FILE *f = open_memstream(ret, ret_len);
	int r = f ? 0 : -ENOMEM;

	if (!f)
		return r;
	for (unsigned int i = 0; r == 0 && i < e.url_count; i++) {
		e.url[i] = url[i] = url_without_userinfo(entry->url[i]);
		if (!url[i])
			r = -ENOMEM;
	}
	e.header_count = 0;
	for (unsigned int i = 0; i < entry->header_count; i++) {
		if (header_names_content(entry->header[i]))
			e.header[e.header_count++] = entry->header[i];
	}
	if (r == 0)
		r = manifest_write_json_begin(f);
	if (r == 0)
		r = manifest_write_json_entry(f, &e, true);
	if (r == 0)
		r = manifest_write_json_end(f);
	for (unsigned int i = 0; i < e.url_count; i++)
		free(url[i]);
	if (fclose(f) != 0 && r == 0)
		r = -ENOMEM;
	if (r < 0) {
		free(*ret);
		*ret = NULL;
	}
	return r;
}

/* On f's thread or one of the store's, which ends before f's own lets go of entry and target. */
static int begins(void *ctx, int dirfd)
{
	struct file *f = ctx;
	char *text = NULL;
	size_t len = 0;
	int r = entry_text(f->entry, &text, &len);

	if (r == 0)
		r = target_describe(&f->target, dirfd, text, len);
	free(text);
	return r;
}

static void say_in_the_way(struct file *f)
{
	char why[TARGET_WHY_MAX];

	target_in_the_way(&f->target, why);
	file_say(f, "%s", why);
}

static int open_store(struct file *f)
{
	const struct store_target target = {.dirfd = f->target.dirfd,
					    .part = f->target.part,
					    .begins = begins,
					    .ctx = f,
					    .untended = f->g->cfg.continue_from == FOREIGN_NONE};
	struct store_config cfg = f->g->cfg.engine.store;
	char owner[STORE_OWNER_MAX] = "", *path = target_path(&f->target);
	int r = path ? 0 : -ENOMEM;

	cfg.dir = f->target.state;
	cfg.target = &target;
	cfg.description = path;
	cfg.cache_size = UINT64_MAX;
	cfg.min_free = 0;
	cfg.files_max = 0;
	f->tend_us = 0;
	if (r == 0)
		r = engine_store(f->g->engine, &cfg, &f->store, owner);
	if (r == -EBUSY)
		file_say(f, "another process is fetching it (%s)", owner);
	else if (r == -EEXIST)
		say_in_the_way(f);
	else if (r < 0)
		file_say(f, "its state directory %s can't be used: %s", f->target.state,
			 strerror(-r));
	free(path);
	return r;
}

/* What the store has is of another resource: nothing of it is thrown away unasked. */
static int check_same(struct file *f)
{
	struct store_record rec;

	if (store_empty(f->store) || store_lookup(f->store, object_key(f->object), &rec) == 0)
		return 0;
	file_say(f, "its download was begun from another URL or for another checksum (rgetfs get "
		    "--forget gives that up)");
	return -EXDEV;
}

/*
 * What came in an earlier run is of use only where something tells that it is of the version that
 * the server has now: a checksum or the user's own name of the content, an ETag, a date. Sizes are
 * equal by chance. 0 or -errno.
 */
static int forget_unproven(struct file *f)
{
	struct object_info info;
	int r;

	object_info(f->object, &info);
	if (f->last.resumed == 0 || f->entry->checksum.algo != CHECKSUM_NONE || f->entry->id ||
	    info.validator.etag[0] || info.validator.last_modified != VALIDATOR_NO_TIME)
		return 0;
	objects_drop(&f->object, 1, &r);
	if (r < 0) {
		file_say(f, "what an earlier run brought can't be removed: %s", strerror(-r));
		return r;
	}
	mtx_lock(&f->g->lock);
	f->last.resumed = 0;
	mtx_unlock(&f->g->lock);
	return 0;
}

static int open_object(struct file *f)
{
	struct object *o = NULL;
	struct object_info info;
	int r = engine_object_in(f->g->engine, f->store, f->g->manifest, f->index, &o);

	if (r < 0) {
		file_say(f, "%s", strerror(-r));
		return r;
	}
	object_info(o, &info);
	mtx_lock(&f->g->lock);
	f->object = o;
	f->last.resumed = info.bytes_cached;
	mtx_unlock(&f->g->lock);
	r = check_same(f);
	return r < 0 ? r : forget_unproven(f);
}

/* ---- the bytes ---- */

/* Who has waited longest, as long as fewer than max_files are fetched; NULL. */
static struct file *next_turn_locked(struct get *g) REQUIRES(g->lock)
{
	struct file *f = TAILQ_FIRST(&g->turns);

	if (!f || g->stopping || g->fetching >= g->cfg.max_files)
		return NULL;
	TAILQ_REMOVE(&g->turns, f, turn_link);
	f->queued = false;
	g->fetching++;
	return f;
}

static void filled(void *ctx, int error);

/*
 * Begin to fetch those whose turn it is. Mostly on the engine thread, where another has just ended:
 * a connection is idle until then, and to wake the next one's thread first would take its time.
 */
static void give_turns(struct get *g)
{
	struct fill *order;
	struct file *f;

	mtx_lock(&g->lock);
	while ((f = next_turn_locked(g)) != NULL) {
		struct object *o = f->object; /* stays while f waits for an answer */
		unsigned int answers = f->answers;
		int r;

		mtx_unlock(&g->lock);
		r = object_fill(o, filled, f, &order);
		mtx_lock(&g->lock);
		if (r < 0) {
			g->fetching--;
			answer_locked(f, r);
		} else if (f->answers == answers) {
			f->fill = order;
			if (g->stopping || f->named)
				file_cancel_locked(f);
		}
	}
	mtx_unlock(&g->lock);
}

static void filled(void *ctx, int error)
{
	struct file *f = ctx;

	mtx_lock(&f->g->lock);
	f->g->fetching--;
	mtx_unlock(&f->g->lock);
	give_turns(f->g);
	answered(f, error);
}

static int fill(struct file *f)
{
	struct get *g = f->g;

	mtx_lock(&g->lock);
	TAILQ_INSERT_TAIL(&g->turns, f, turn_link);
	f->queued = true;
	mtx_unlock(&g->lock);
	give_turns(g);
	return await(f);
}

static void say_why(struct file *f, int error)
{
	struct object_info info;

	object_info(f->object, &info);
	if (error == -ENOSPC || error == -EDQUOT)
		file_say(f, "no space left on the disk (make room, then run it again: it goes on)");
	else if (error == -EEXIST)
		say_in_the_way(f);
	else if (error == -EFBIG)
		file_say(f, "it does not fit on the disk");
	else if (info.error[0] && (error == -EIO || error == -EILSEQ || error == -ENOENT ||
				   error == -EACCES || error == -ETIMEDOUT || error == -ESTALE))
		file_say(f, "%s", info.error);
	else
		file_say(f, "%s", strerror(-error));
}

/*
 * All of it. What came in an earlier run, or lay in a file that somebody else has changed since, is
 * looked at once more. 0 or -errno.
 */
static int fetch(struct file *f)
{
	uint64_t blocks, bad = 0;
	int r = 0;

	for (int round = 0; round < VERIFY_ROUNDS; round++) {
		r = fill(f);
		if (f->named)
			return f->named;
		/* Where the whole had a checksum, nothing is unless it was changed since. */
		if (r < 0 || !store_doubted(f->store, object_key(f->object)))
			break;
		r = object_verify(f->object, &blocks, &bad);
		if (r < 0 || bad == 0)
			break;
		log_warn("%s: %" PRIu64 " blocks are not what was written: fetched again", f->path,
			 bad);
		r = -EIO;
	}
	if (r < 0 && r != -EINTR)
		say_why(f, r);
	return r;
}

/* ---- the end ---- */

/* found: what was there already was looked at, nothing was fetched into it. */
static void snapshot(struct file *f, bool found)
{
	struct object_info info;
	struct get_info *l = &f->last;

	object_info(f->object, &info);
	mtx_lock(&f->g->lock);
	if (!found) {
		l->size = info.length_unknown ? SIZE_UNKNOWN : info.size;
		l->bytes = info.bytes_cached;
		l->durable = info.bytes_durable;
	}
	l->fetched = info.bytes_fetched;
	l->discarded = info.bytes_discarded;
	l->requests = info.requests;
	l->retries = info.retries;
	mtx_unlock(&f->g->lock);
}

/* Let go of object and store. result: what came of fetching. 0: the file has its name. */
static int conclude(struct file *f, int result)
{
	struct object_key key = {{0}};
	struct object_info info;
	struct object *o;
	int64_t mtime = VALIDATOR_NO_TIME;
	bool had = f->object != NULL, keep = !had;
	int r;

	if (had) {
		snapshot(f, result == -EALREADY);
		object_info(f->object, &info);
		key = *object_key(f->object);
		if (info.mtime != MANIFEST_NO_TIME)
			mtime = info.mtime;
		/*
		 * Bytes that may be of use the next time; also another resource's (check_same()).
		 * What holds none goes: a part that somebody puts there later is not ours.
		 */
		keep = result == -EXDEV || (info.bytes_cached > 0 && result != -EALREADY);
		mtx_lock(&f->g->lock);
		o = f->object;
		f->object = NULL;
		mtx_unlock(&f->g->lock);
		engine_release(o);
	}
	if (result == 0) {
		r = store_finish(f->store, &key, mtime, f->target.final);
		if (r == -EEXIST)
			file_say(
				f,
				"a file of its name appeared meanwhile (move one of both away: %s is "
				"complete)",
				f->target.part);
		else if (r == -ESTALE)
			say_in_the_way(f);
		else if (r == -EIO)
			file_say(
				f,
				"somebody else has changed or removed %s meanwhile (run it again: what is "
				"missing is fetched again)",
				f->target.part);
		else if (r < 0)
			file_say(f, "it can't be finished: %s", strerror(-r));
		mtx_lock(&f->g->lock);
		f->last.durable = r == 0 ? f->last.bytes : f->last.durable;
		mtx_unlock(&f->g->lock);
	} else {
		r = keep ? store_close(f->store) : store_discard(f->store);
		if (r < 0)
			log_warn("%s: %s", f->path, strerror(-r));
		r = result;
	}
	f->store = NULL;
	return r;
}

/* Is there something by the name that it would have as far as we know? As there(). */
static int ask_whether_there(struct file *f)
{
	struct stat st;
	int r = 0;

	if (f->entry->checksum.algo == CHECKSUM_NONE && target_existing(&f->target, &st) == 0)
		r = file_ask(f);
	return r == -EINTR ? r : there(f);
}

/* 0: it has its name. -EALREADY: it was there. -EINTR: stopped. Else it failed, which f says. */
static int attempt(struct file *f)
{
	int r = open_store(f);

	if (r < 0)
		return r;
	r = open_object(f);
	f->unnamed = f->g->cfg.content_disposition;
	if (r == 0)
		r = file_adopt(f);
	if (r == 0 && !f->unnamed) {
		r = ask_whether_there(f);
		r = r == -ENOENT ? 0 : r == 0 ? -EALREADY : r;
	}
	if (r == 0)
		r = fetch(f);
	return conclude(f, r);
}

static enum get_state fetch_entry(struct file *f)
{
	int r = attempt(f);

	/* Perhaps only what was there before is wrong: once without it. */
	if (r == -EILSEQ && f->last.resumed > 0) {
		log_warn("%s: with what was there before its checksum is another: fetched anew",
			 f->path);
		mtx_lock(&f->g->lock);
		f->last.resumed = 0;
		f->last.error[0] = '\0';
		mtx_unlock(&f->g->lock);
		r = attempt(f);
	}
	switch (r) {
	case 0:
		return GET_DONE;
	case -EALREADY:
		return GET_THERE;
	case -EINTR:
		return GET_STOPPED;
	default:
		return GET_FAILED;
	}
}

void file_fetch(struct file *f)
{
	enum get_state state = GET_FAILED;
	struct get *g = f->g;
	struct entry entry;
	char why[TARGET_WHY_MAX] = "";
	int r;

	entry_init(&entry);
	cnd_init(&f->changed);
	f->entry = &entry;
	r = manifest_entry(g->manifest, f->index, &entry);
	if (r < 0)
		snprintf(why, sizeof(why), "%s", strerror(-r));
	if (r == 0)
		r = target_init(&f->target, f->path, f->own, g->cfg.state_dir, why);
	if (r == 0)
		r = target_check_part(&f->target, why);
	if (r == 0)
		state = fetch_entry(f);
	else
		file_say(f, "%s", why);
	target_done(&f->target);
	f->entry = NULL;
	entry_done(&entry);
	cnd_done(&f->changed);
	mtx_lock(&g->lock);
	f->state = state;
	mtx_unlock(&g->lock);
}
