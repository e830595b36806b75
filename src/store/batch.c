/*
 * batch.c - what one transaction of the database shall change, as a list of steps
 */
#include "store/batch.h"

void batch_init(struct batch *b)
{
	*b = (struct batch){0};
	STAILQ_INIT(&b->steps);
}

void batch_done(struct batch *b)
{
	struct batch_step *step;

	while ((step = STAILQ_FIRST(&b->steps)) != NULL) {
		STAILQ_REMOVE_HEAD(&b->steps, link);
		free(step);
	}
	batch_init(b);
}

static struct batch_step *batch_step(struct batch *b, enum batch_kind kind, size_t extra)
{
	struct batch_step *step;

	if (b->error)
		return NULL;
	step = malloc(sizeof(*step) + extra);
	if (!step) {
		b->error = -ENOMEM;
		return NULL;
	}
	step->kind = kind;
	STAILQ_INSERT_TAIL(&b->steps, step, link);
	b->count++;
	return step;
}

void batch_object(struct batch *b, const struct object_row *row)
{
	struct batch_step *step = batch_step(b, BATCH_OBJECT, 0);

	if (step)
		step->u.object = *row;
}

void batch_version(struct batch *b, const struct version_row *row)
{
	struct batch_step *step = batch_step(b, BATCH_VERSION, 0);

	if (step)
		step->u.version = *row;
}

void batch_bytes(struct batch *b, uint64_t version, uint64_t bytes)
{
	struct batch_step *step = batch_step(b, BATCH_BYTES, 0);

	if (step) {
		step->u.version.id = version;
		step->u.version.bytes = bytes;
	}
}

void batch_extent(struct batch *b, uint64_t version, const struct extent *e)
{
	uint32_t count = (uint32_t)range_blocks(e->range);
	size_t bytes = count * sizeof(e->sums[0]);
	struct batch_step *step = batch_step(b, BATCH_EXTENT, bytes);
	uint64_t *sums;

	if (!step)
		return;
	sums = (uint64_t *)(step + 1);
	memcpy(sums, e->sums, bytes);
	step->u.extent = (struct extent_row){.version = version,
					     .block = e->range.off >> BLOCK_SHIFT,
					     .count = count,
					     .atime_s = e->atime_s,
					     .source = e->source,
					     .sums = sums};
}

static void batch_span(struct batch *b, enum batch_kind kind, uint64_t version, struct range r,
		       uint32_t atime_s)
{
	struct batch_step *step = batch_step(b, kind, 0);

	if (!step)
		return;
	step->u.extent = (struct extent_row){.version = version,
					     .block = r.off >> BLOCK_SHIFT,
					     .atime_s = atime_s};
	step->end_block = (r.off >> BLOCK_SHIFT) + range_blocks(r);
}

void batch_clear(struct batch *b, uint64_t version, struct range r)
{
	batch_span(b, BATCH_CLEAR, version, r, 0);
}

void batch_touch(struct batch *b, uint64_t version, struct range r, uint32_t atime_s)
{
	batch_span(b, BATCH_TOUCH, version, r, atime_s);
}

void batch_delete(struct batch *b, uint64_t version)
{
	struct batch_step *step = batch_step(b, BATCH_DELETE, 0);

	if (step)
		step->u.id = version;
}
