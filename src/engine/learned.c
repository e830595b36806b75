/*
 * learned.c - what outlives the last close of an object, in memory and bounded
 *
 * A script opens and closes the same files again and again. What their sources have told meanwhile
 * (where a redirect leads, that ranges or conditions are not served, which ETags a mirror has), and
 * how much of a file has been read, is kept for the objects last used, by their identity. The
 * engine thread alone enters.
 *
 * Callers: task.c and object.c when something ends or begins, outcome.c when a version does.
 */
#include "base/clock.h"
#include "engine/internal.h"
#include "engine/task.h"

#define LEARNED_MAX	 4096		      /* objects */
#define READ_KEPT_MAX	 64		      /* ranges of one that are told apart */
#define REFUSALS_KEEP_US (600 * USEC_PER_SEC) /* then conditions are tried again */

struct learned_source {
	char *url;
	char *resolved; /* NULL: none */
	uint64_t resolved_until_us;
	uint64_t refused_us;
	bool no_if_range;
	struct sched_ranges ranges;
	char flipped[ETAG_MAX];
	unsigned int flips;
	uint64_t flip_us;
	struct validator validator;
	int64_t validator_date;
};

struct learned {
	RB_ENTRY(learned) by_key;
	TAILQ_ENTRY(learned) link; /* engine.learned_last, oldest first */
	struct object_key key;
	struct rangeset read;
	uint64_t read_before;
	struct validator validator; /* of the version that the sources' own are of */
	unsigned int main;  /* source whose URL the version is known by; count: none of these */
	unsigned int count; /* 0: nothing of sources */
	struct learned_source *source;
};

int learned_cmp(const struct learned *a, const struct learned *b)
{
	return memcmp(a->key.bytes, b->key.bytes, sizeof(a->key.bytes));
}

RB_GENERATE(learned_tree, learned, by_key, learned_cmp)

static struct learned *learned_find(struct engine *e, const struct object_key *key)
{
	struct learned probe = {.key = *key};

	return RB_FIND(learned_tree, &e->learned, &probe);
}

static void sources_free(struct learned *l)
{
	for (unsigned int i = 0; i < l->count; i++) {
		free(l->source[i].url);
		free(l->source[i].resolved);
	}
	free(l->source);
	l->source = NULL;
	l->count = 0;
}

static void learned_free(struct engine *e, struct learned *l)
{
	RB_REMOVE(learned_tree, &e->learned, l);
	TAILQ_REMOVE(&e->learned_last, l, link);
	e->learned_count--;
	sources_free(l);
	rangeset_done(&l->read);
	free(l);
}

/* Found or made, and now the youngest. NULL: no memory. */
static struct learned *learned_get(struct engine *e, const struct object_key *key)
{
	struct learned *l = learned_find(e, key);

	if (l) {
		TAILQ_REMOVE(&e->learned_last, l, link);
		TAILQ_INSERT_TAIL(&e->learned_last, l, link);
		return l;
	}
	l = calloc(1, sizeof(*l));
	if (!l)
		return NULL;
	l->key = *key;
	rangeset_init(&l->read);
	RB_INSERT(learned_tree, &e->learned, l);
	TAILQ_INSERT_TAIL(&e->learned_last, l, link);
	if (++e->learned_count > LEARNED_MAX)
		learned_free(e, TAILQ_FIRST(&e->learned_last));
	return l;
}

void learned_done(struct engine *e)
{
	while (!TAILQ_EMPTY(&e->learned_last))
		learned_free(e, TAILQ_FIRST(&e->learned_last));
}

/* ---- sources ---- */

/* A lone source without more than a validator has told nothing that the object does not know. */
static bool worth_keeping(const struct task *t)
{
	for (unsigned int i = 0; i < t->source_count; i++) {
		const struct source *s = &t->source[i];

		struct sched_ranges ranges;

		sched_task_ranges(t->st, i, &ranges);
		if (s->resolved || ranges.wholes || s->no_if_range || s->flips ||
		    s->validator_date > 0 || t->source_count > 1)
			return true;
	}
	return false;
}

void learned_keep(struct task *t)
{
	struct object *o = t->obj;
	struct learned *l = learned_find(o->e, &o->key);

	if (l)
		sources_free(l);
	if (!worth_keeping(t) || !(l = learned_get(o->e, &o->key)))
		return;
	l->source = calloc(t->source_count, sizeof(*l->source));
	if (!l->source)
		return;
	l->validator = o->validator;
	l->main = t->source_count;
	mtx_lock(&t->lock);
	for (unsigned int i = 0; i < t->source_count; i++) {
		const struct source *s = &t->source[i];
		struct learned_source *k = &l->source[i];

		if (s->url == o->validator_url)
			l->main = i;
		k->url = strdup(t->entry.url[s->url]);
		k->resolved = s->resolved ? strdup(s->resolved) : NULL;
		k->resolved_until_us = s->resolved_until_us;
		k->refused_us = s->refused_us;
		sched_task_ranges(t->st, i, &k->ranges);
		k->no_if_range = s->no_if_range;
		memcpy(k->flipped, s->flipped, sizeof(k->flipped));
		k->flips = s->flips;
		k->flip_us = s->flip_us;
		k->validator = s->validator;
		k->validator_date = s->validator_date;
	}
	mtx_unlock(&t->lock);
	l->count = t->source_count;
}

/* What was learned of validators is of the version that o has now. */
static bool same_version(const struct learned *l, const struct object *o)
{
	return validator_strength(&o->validator) > VALIDATOR_SIZE &&
	       validator_compare(&l->validator, &o->validator, false) == VALIDATOR_SAME;
}

void learned_recall_main(struct object *o, const struct entry *entry)
{
	struct learned *l = learned_find(o->e, &o->key);
	const char *url = l && l->main < l->count ? l->source[l->main].url : NULL;

	for (unsigned int i = 0; url && i < entry->url_count; i++) {
		if (strcmp(entry->url[i], url) == 0 && same_version(l, o))
			o->validator_url = i;
	}
}

static void recall_source(struct task *t, unsigned int i, const struct learned_source *k, bool same)
{
	struct source *s = &t->source[i];

	if (!s->resolved && k->resolved)
		task_resolve(t, i, strdup(k->resolved), k->resolved_until_us);
	if (clock_now_us() - k->refused_us < REFUSALS_KEEP_US) {
		s->refused_us = k->refused_us;
		s->no_if_range = k->no_if_range;
	}
	sched_task_set_ranges(t->st, i, &k->ranges);
	if (!same)
		return;
	memcpy(s->flipped, k->flipped, sizeof(s->flipped));
	s->flips = k->flips;
	s->flip_us = k->flip_us;
	s->validator_date = k->validator_date;
	if (t->main != (int)i)
		s->validator = k->validator;
}

void learned_recall(struct task *t)
{
	struct object *o = t->obj;
	struct learned *l = learned_find(o->e, &o->key);
	bool same = l && same_version(l, o);

	for (unsigned int i = 0; l && i < t->source_count; i++) {
		for (unsigned int k = 0; k < l->count; k++) {
			if (l->source[k].url &&
			    strcmp(l->source[k].url, t->entry.url[t->source[i].url]) == 0)
				recall_source(t, i, &l->source[k], same);
		}
	}
}

void learned_forget(struct object *o)
{
	struct learned *l = learned_find(o->e, &o->key);

	if (l)
		learned_free(o->e, l);
}

/* ---- what was read ---- */

void learned_keep_reads(struct object *o)
{
	struct learned *l;

	if (!o->read.bytes && !o->read_before)
		return;
	l = learned_get(o->e, &o->key);
	if (!l)
		return;
	if (o->read.count > READ_KEPT_MAX)
		l->read_before = o->read_before + o->read.bytes;
	else
		rangeset_swap(&l->read, &o->read);
	l->read_before = max_u64(l->read_before, o->read_before);
}

static void reads_clear(struct rangeset *read, uint64_t *before)
{
	rangeset_done(read);
	rangeset_init(read);
	*before = 0;
}

void learned_recall_reads(struct object *o)
{
	struct learned *l = learned_find(o->e, &o->key);
	struct range r;

	if (!l || (!l->read.bytes && !l->read_before))
		return;
	mtx_lock(&o->read_lock);
	o->read_before += l->read_before;
	for (uint64_t off = 0; rangeset_next(&l->read, off, &r) == 0; off = r.end) {
		if (rangeset_add(&o->read, r) < 0)
			break;
	}
	mtx_unlock(&o->read_lock);
	reads_clear(&l->read, &l->read_before);
}

void learned_forget_reads(struct object *o)
{
	struct learned *l = learned_find(o->e, &o->key);

	mtx_lock(&o->read_lock);
	reads_clear(&o->read, &o->read_before);
	mtx_unlock(&o->read_lock);
	if (l)
		reads_clear(&l->read, &l->read_before);
}
