/*
 * fault.h - one misbehaviour: how it is written, and whether it applies to a request
 */
#ifndef ORIGIN_FAULT_H
#define ORIGIN_FAULT_H

#include "rule.h"

/* KIND[:ARGUMENT...][@CONDITION,...], see help.c. Changes text. 0, -EINVAL, -ENOMEM. */
int fault_parse(char *text, struct fault *ret);

/* What conditions look at. */
struct occasion {
	uint64_t nth;	   /* of the path, from 1 */
	uint64_t since_us; /* since the rule was set */
	uint64_t off;	   /* first byte asked for */
	uint64_t luck;	   /* seeded, equal from run to run */
	bool ranged, encoded, head;
};
bool fault_applies(const struct fault *f, const struct occasion *o);

#endif
