/*
 * fsops_notify.c - what the kernel must be told, and what is counted behind its back
 *
 * Threads of its own, which answer no requests: a notification waits for locks that a look-up
 * holds while it waits for us. Another for pages alone: one that a reader waits for stays locked
 * as long as its server is silent, and names must not wait behind it. Others only post. The
 * totals that statfs shows are counted here as well, because sizes of a long list come in one by
 * one and statfs must not go through all of it.
 */
#include "fs/fsops_int.h"

#include <bsd/sys/tree.h>

#include "base/clock.h"

#define TOTALS_EVERY_US USEC_PER_SEC
#define TOTALS_SHARE	20    /* counting takes at most that part of the time */
#define QUEUE_MAX	65536 /* beyond, an ESTALE at the next open does the same more slowly */

/* To be told: a name that leads elsewhere, or a node whose attributes or pages are others. */
struct note {
	STAILQ_ENTRY(note) link;
	uint64_t node; /* 0: stale */
	struct tree_stale stale;
};

enum { TELL_NAMES, TELL_PAGES, TELL_COUNT }; /* names and attributes; attributes and pages */

/* A thread and what it is to tell. */
struct teller {
	struct notifier *n;
	pthread_t thread;
	bool running; /* joined by notifier_stop() */
	bool pages;

	/* notifier.lock */
	STAILQ_HEAD(note_list, note) queue;
	size_t length;
	uint64_t posted, told;
};

/*
 * What the engine knows of an object only as long as it is in memory, and we must not lose: that
 * its server gives no length; how often its version changed (held here, the count never starts over
 * and two versions never get the same number).
 */
struct kept {
	RB_ENTRY(kept) link;
	struct object *object;
};
RB_HEAD(kept_tree, kept);

static int kept_cmp(const struct kept *a, const struct kept *b)
{
	return a->object < b->object ? -1 : a->object > b->object;
}
RB_PROTOTYPE(kept_tree, kept, link, kept_cmp)
RB_GENERATE(kept_tree, kept, link, kept_cmp)

struct notifier {
	struct fs *fs;
	struct teller teller[TELL_COUNT];

	struct mtx lock; /* RANK_QUEUE; guards all below */
	struct cnd wake; /* something is to be told */
	struct cnd told; /* something was */
	struct kept_tree kept;
	bool stopping;
	bool want_totals;
	uint64_t totals_at_us; /* when they may be counted again */
};

static void count_file(struct fs *fs, struct manifest *m, uint32_t index, struct fs_totals *t)
{
	uint64_t size = manifest_size(m, index);
	struct object_info info;

	if (size == SIZE_UNKNOWN) {
		info.size = SIZE_UNKNOWN;
		engine_peek(fs->engine, m, index, &info);
		size = info.size;
	}
	t->files++;
	if (size == SIZE_UNKNOWN)
		t->unknown++;
	else
		t->bytes = add_sat_u64(t->bytes, size);
}

/* Returns when it may be done again. */
static uint64_t count_totals(struct fs *fs)
{
	uint64_t began_us = clock_now_us(), took_us;
	struct manifest *m = tree_manifest(fs->tree);
	uint32_t dirs = manifest_dir_count(m);
	struct fs_totals t = {0};

	for (uint32_t dir = 0; dir < dirs; dir++) {
		uint32_t children = manifest_dir_children(m, dir);

		for (uint32_t nth = 0; nth < children; nth++) {
			struct manifest_child c;

			manifest_child(m, dir, nth, &c);
			if (!c.directory)
				count_file(fs, m, c.index, &t);
		}
	}
	manifest_put(m);
	atomic_store(&fs->total_files, t.files);
	atomic_store(&fs->total_bytes, t.bytes);
	atomic_store(&fs->total_unknown, t.unknown);
	took_us = clock_now_us() - began_us;
	return began_us + max_u64(TOTALS_EVERY_US, took_us * TOTALS_SHARE);
}

static void tell(struct fs *fs, const struct note *note, bool pages)
{
	if (note->node) /* a negative offset: no pages */
		fuse_lowlevel_notify_inval_inode(fs->session, note->node, pages ? 0 : -1, 0);
	else
		fuse_lowlevel_notify_inval_entry(fs->session, note->stale.parent, note->stale.name,
						 note->stale.len);
}

static void *notifier_run(void *arg)
{
	struct teller *t = arg;
	struct notifier *n = t->n;
	uint64_t again_us;

	mtx_lock(&n->lock);
	while (!n->stopping) {
		struct note *note = STAILQ_FIRST(&t->queue);

		if (note) {
			STAILQ_REMOVE_HEAD(&t->queue, link);
			t->length--;
			mtx_unlock(&n->lock);
			tell(n->fs, note, t->pages);
			free(note);
			mtx_lock(&n->lock);
			t->told++;
			cnd_broadcast(&n->told);
		} else if (!t->pages && n->want_totals) {
			n->want_totals = false;
			mtx_unlock(&n->lock);
			again_us = count_totals(n->fs);
			mtx_lock(&n->lock);
			n->totals_at_us = again_us;
		} else {
			/* NOLINTNEXTLINE(bugprone-spuriously-wake-up-functions): the loop is */
			cnd_wait(&n->wake, &n->lock);
		}
	}
	mtx_unlock(&n->lock);
	return NULL;
}

int notifier_new(struct fs *fs, struct notifier **ret)
{
	struct notifier *n = calloc(1, sizeof(*n));
	int r = 0;

	if (!n)
		return -ENOMEM;
	n->fs = fs;
	mtx_init(&n->lock, RANK_QUEUE, "notifier");
	cnd_init(&n->wake);
	cnd_init(&n->told);
	RB_INIT(&n->kept);
	n->totals_at_us = count_totals(fs);
	for (size_t i = 0; i < TELL_COUNT; i++) {
		n->teller[i].n = n;
		n->teller[i].pages = i == TELL_PAGES;
		STAILQ_INIT(&n->teller[i].queue);
	}
	for (size_t i = 0; i < TELL_COUNT && r == 0; i++) {
		r = pthread_create(&n->teller[i].thread, NULL, notifier_run, &n->teller[i]);
		n->teller[i].running = r == 0;
	}
	if (r) {
		notifier_stop(n);
		notifier_free(n);
		return -r;
	}
	*ret = n;
	return 0;
}

void notifier_stop(struct notifier *n)
{
	mtx_lock(&n->lock);
	n->stopping = true;
	cnd_broadcast(&n->wake);
	cnd_broadcast(&n->told);
	mtx_unlock(&n->lock);
	for (size_t i = 0; i < TELL_COUNT; i++) {
		if (n->teller[i].running)
			pthread_join(n->teller[i].thread, NULL);
		n->teller[i].running = false;
	}
}

void notifier_release(struct notifier *n)
{
	struct kept *kept;

	/* Stopping, so nobody adds to it. */
	while ((kept = RB_ROOT(&n->kept))) {
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): the root is another each time */
		RB_REMOVE(kept_tree, &n->kept, kept);
		object_put(kept->object);
		free(kept);
	}
}

void notifier_free(struct notifier *n)
{
	struct note *note;

	if (!n)
		return;
	for (size_t i = 0; i < TELL_COUNT; i++) {
		while ((note = STAILQ_FIRST(&n->teller[i].queue))) {
			STAILQ_REMOVE_HEAD(&n->teller[i].queue, link);
			free(note);
		}
	}
	cnd_done(&n->told);
	cnd_done(&n->wake);
	mtx_done(&n->lock);
	free(n);
}

int notifier_keep(struct notifier *n, struct object *o)
{
	struct kept *kept = calloc(1, sizeof(*kept));
	bool taken;

	if (!kept)
		return -ENOMEM;
	kept->object = object_get(o);
	mtx_lock(&n->lock);
	taken = !n->stopping && RB_INSERT(kept_tree, &n->kept, kept) == NULL;
	mtx_unlock(&n->lock);
	if (!taken) {
		object_put(o);
		free(kept);
	}
	return 0;
}

static void post(struct teller *t, uint64_t node, const struct tree_stale *stale)
{
	struct notifier *n = t->n;
	struct note *note = calloc(1, sizeof(*note));
	bool taken = false;

	if (!note)
		return;
	note->node = node;
	if (stale)
		note->stale = *stale;
	mtx_lock(&n->lock);
	if (!n->stopping && t->length < QUEUE_MAX) {
		STAILQ_INSERT_TAIL(&t->queue, note, link);
		t->length++;
		t->posted++;
		taken = true;
		cnd_broadcast(&n->wake);
	}
	mtx_unlock(&n->lock);
	if (!taken)
		free(note);
}

/* As tree_changed(), for what o is now. Returns how many names the kernel has of it. */
static size_t changed(struct notifier *n, struct object *o, struct object_info *ret_info,
		      struct tree_stale **ret)
{
	struct object_info info;
	struct node_facts facts;
	size_t count = 0;

	object_info(o, &info);
	if (info.generation > 1 || info.length_unknown)
		(void)notifier_keep(n, o); /* without memory its nodes are looked up again */
	facts = (struct node_facts){
		.content = info.content,
		.generation = info.generation,
		.size = info.size,
		.mode = info.length_unknown ? NODE_DIRECT : NODE_CACHED,
	};
	*ret_info = info;
	*ret = NULL;
	(void)tree_changed(n->fs->tree, &facts, ret, &count);
	return count;
}

void notifier_changed(struct notifier *n, struct object *o)
{
	struct object_info info;
	struct tree_stale *stale;
	size_t count = changed(n, o, &info, &stale);

	/* The nodes are superseded at once; the kernel hears of it when it can. */
	for (size_t i = 0; i < count; i++) {
		if (stale[i].changed)
			post(&n->teller[TELL_NAMES], 0, &stale[i]);
		else if (info.state == OBJECT_COMPLETE)
			post(&n->teller[TELL_NAMES], stale[i].node, NULL);
	}
	free(stale);
}

void notifier_forget(struct notifier *n, struct object *o)
{
	struct object_info info;
	struct tree_stale *stale;
	size_t count = changed(n, o, &info, &stale);

	/*
	 * The kernel keeps a page locked that somebody waits for: the names get a node without
	 * any.
	 */
	for (size_t i = 0; i < count; i++) {
		if (!stale[i].changed && info.waiters > 0)
			tree_supersede(n->fs->tree, stale[i].node);
		if (stale[i].changed || info.waiters > 0)
			post(&n->teller[TELL_NAMES], 0, &stale[i]);
		else
			post(&n->teller[TELL_PAGES], stale[i].node, NULL);
	}
	free(stale);
}

static bool told_locked(const struct notifier *n, const uint64_t *posted) REQUIRES(n->lock);
static bool told_locked(const struct notifier *n, const uint64_t *posted)
{
	return n->teller[TELL_NAMES].told >= posted[TELL_NAMES] &&
	       n->teller[TELL_PAGES].told >= posted[TELL_PAGES];
}

void notifier_wait(struct notifier *n, uint64_t until_us)
{
	uint64_t posted[TELL_COUNT];

	mtx_lock(&n->lock);
	for (size_t i = 0; i < TELL_COUNT; i++)
		posted[i] = n->teller[i].posted;
	while (!n->stopping && !told_locked(n, posted)) {
		if (!cnd_wait_until(&n->told, &n->lock, until_us))
			break;
	}
	mtx_unlock(&n->lock);
}

void notifier_want_totals(struct notifier *n)
{
	uint64_t now = clock_now_us();

	mtx_lock(&n->lock);
	if (!n->want_totals && now >= n->totals_at_us) {
		n->want_totals = true;
		cnd_broadcast(&n->wake);
	}
	mtx_unlock(&n->lock);
}
