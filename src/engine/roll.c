/*
 * roll.c - the same thing for every entry of a manifest, a few at a time
 *
 * A million entries must not become a million objects: a roll goes through the manifest and holds
 * at most a window of objects at once. Any thread begins one; the engine thread moves it on
 * whenever one of its objects is done with.
 */
#include "engine/internal.h"
#include "engine/readers.h"

#define ROLL_SIZES  256	 /* questions at once; the sched bounds the connections */
#define ROLL_FILLS  32	 /* objects being filled at once */
#define ROLL_STRIDE 2048 /* entries looked at in one go */

struct roll {
	LIST_ENTRY(roll) link;
	struct engine *e;
	struct manifest *manifest;
	uint32_t next;
	unsigned int active;
	bool fill; /* else: sizes */
	bool listed;
	bool posted; /* msg is on its way */
	struct msg msg;
};

static void roll_asked(void *ctx, int error)
{
	(void)error;
	roll_returned(ctx);
}

/* Does entry index need anything? */
static bool roll_needs(struct roll *r, uint32_t index)
{
	struct object_info info;
	int known;

	if (!r->fill && manifest_size(r->manifest, index) != SIZE_UNKNOWN)
		return false;
	known = engine_peek(r->e, r->manifest, index, &info);
	if (r->fill)
		return info.state != OBJECT_COMPLETE;
	return known == -ENOENT && !info.length_unknown;
}

static void roll_one(struct roll *r, uint32_t index)
{
	struct object *o;

	if (!roll_needs(r, index) || engine_object(r->e, r->manifest, index, &o) < 0)
		return;
	if (!o->origin) {
		object_put(o); /* a directory */
		return;
	}
	r->active++;
	if (!r->fill)
		object_probe(o, false, roll_asked, r);
	else if (!backfill_start(o, r))
		r->active--;
	object_put(o);
}

static void roll_end(struct roll *r)
{
	if (r->listed)
		LIST_REMOVE(r, link);
	manifest_put(r->manifest);
	free(r);
}

/* Nobody goes on through a manifest that r's has replaced. */
static void roll_enter(struct roll *r)
{
	struct engine *e = r->e;
	struct roll *other;

	LIST_FOREACH (other, &e->rolls, link) {
		if (manifest_newer(r->manifest, other->manifest))
			other->next = manifest_count(other->manifest);
	}
	backfills_replace(e, r->manifest);
	LIST_INSERT_HEAD(&e->rolls, r, link);
	r->listed = true;
}

static void roll_moved(struct engine *e, struct msg *m)
{
	struct roll *r = container_of(m, struct roll, msg);
	unsigned int window = r->fill ? ROLL_FILLS : ROLL_SIZES;
	uint32_t count = manifest_count(r->manifest);

	if (!r->listed)
		roll_enter(r);
	/* Still posted: what returns at once below must not post it again. */
	for (unsigned int i = 0; i < ROLL_STRIDE && r->next < count && r->active < window; i++) {
		if (atomic_load(&e->stopping)) {
			r->next = count;
			break;
		}
		roll_one(r, r->next++);
	}
	r->posted = false;
	if (r->next >= count && r->active == 0) {
		roll_end(r);
	} else if (r->next < count && r->active < window) {
		r->posted = true;
		engine_post(e, &r->msg, roll_moved);
	}
}

void roll_returned(struct roll *r)
{
	r->active--;
	if (r->posted)
		return;
	r->posted = true;
	engine_post(r->e, &r->msg, roll_moved);
}

static void roll_begin(struct engine *e, struct manifest *m, bool fill)
{
	struct roll *r;

	if (e->cfg.offline)
		return;
	r = calloc(1, sizeof(*r));
	if (!r) {
		log_error("no memory to go through the manifest in the background");
		return;
	}
	r->e = e;
	r->manifest = manifest_get(m);
	r->fill = fill;
	r->posted = true;
	engine_post(e, &r->msg, roll_moved);
}

void engine_fill_manifest(struct engine *e, struct manifest *m)
{
	roll_begin(e, m, true);
}

void engine_ask_sizes(struct engine *e, struct manifest *m)
{
	roll_begin(e, m, false);
}

void rolls_quit(struct engine *e)
{
	struct roll *r;

	LIST_FOREACH (r, &e->rolls, link) {
		r->next = manifest_count(r->manifest);
		if (!r->posted) {
			r->posted = true;
			engine_post(e, &r->msg, roll_moved);
		}
	}
}
