/*
 * plan.h - one request on its way to an answer: what answer.c, resource.c and head.c share
 */
#ifndef ORIGIN_PLAN_H
#define ORIGIN_PLAN_H

#include "origin.h"

/* What is decided about one request, step by step. */
struct plan {
	struct conn *c;
	struct request *rq;
	struct rule *rule;			/* NULL: none matches */
	const struct fault *fault[FAULT_COUNT]; /* those that apply */
	struct exchange x;
	struct body body;
	uint64_t size;
	uint64_t version;
	int64_t last_modified;
	char etag[128]; /* "": none */
	bool found, partial;
	int64_t total_shift;
	struct strbuf head; /* header fields beside the usual ones */
	char text[256];	    /* the body of error pages */
};

#define BOUNDARY       "origin-part"
#define MULTIPART_TAIL "\r\n--" BOUNDARY "--\r\n"

/* resource.c: the file that the rule names, with size, date and ETag. False: there is none. */
bool resource_find(struct plan *p);
/* The same for a file of the disk, whatever the rule says. */
bool resource_open_file(struct plan *p, const char *path);

/* head.c: status line and header fields. False: the connection must end. */
bool head_send(struct plan *p);
const char *head_reason(int status);

#endif
