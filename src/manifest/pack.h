/*
 * pack.h - what an entry says, in few bytes and back
 */
#ifndef MANIFEST_PACK_H
#define MANIFEST_PACK_H

#include "manifest/draft.h"
#include "manifest/store.h"

/* For the time of building. */
struct packer {
	struct manifest *m;
	struct complaint *c;
	uint64_t seed;
	struct strbuf extra;
	struct strbuf header;
	/* Neighbours mostly share what is before the name in their URLs. */
	struct strbuf last_prefix;
	uint32_t last_prefix_node;
	size_t last_prefix_len; /* of what the node stands for; the rest is tail */
};

void pack_init(struct packer *p, struct manifest *m, uint64_t seed, struct complaint *c);
void pack_done(struct packer *p);
/*
 * All of row but its place in the tree; name is the entry's last component, and has to be row->name
 * when it is unpacked. 0, -EINVAL (refused), -ENOMEM or -EFBIG.
 */
int pack_row(struct packer *p, const struct draft *d, struct span name, struct row *row);
/* Fill e. 0 or -ENOMEM. The row need not be in m yet, its directory has to. */
int unpack_row(const struct manifest *m, const struct row *row, struct entry *e);

#endif
