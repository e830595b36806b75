/*
 * builder.h - entries in the order of the list become a manifest
 */
#ifndef MANIFEST_BUILDER_H
#define MANIFEST_BUILDER_H

#include "manifest/draft.h"

struct builder;

/* c and opt are kept until builder_free(). NULL: no memory. */
struct builder *builder_new(struct complaint *c, const struct manifest_options *opt);
struct complaint *builder_complaint(struct builder *b);
/* Take a draft in whose keys are all set. 0, -EINVAL (refused) or -ENOMEM; after an error only free
 * it. */
int builder_add(struct builder *b, struct draft *d);
/* All are in. 0 and a manifest with one reference, or -ENOMEM. b may only be freed afterwards. */
int builder_finish(struct builder *b, struct manifest **ret);
void builder_free(struct builder *b);

#endif
