/*
 * engine_lab.h - an engine against the fault server, for the engine's unit tests
 *
 * A lab is a directory of its own with a cache, a running tests/origin and, between lab_start() and
 * lab_stop(), an engine over a manifest. What goes wrong in the lab itself aborts the test.
 */
#ifndef ENGINE_LAB_H
#define ENGINE_LAB_H

#include <sys/types.h>

#include "engine/engine.h"

struct lab {
	char dir[64];
	pid_t origin;
	unsigned int port;
	struct engine_config cfg; /* change between lab_init() and lab_start() */
	struct engine *engine;
	struct manifest *manifest;
	atomic_uint changed; /* calls of engine_config.changed */
};

/* Around all tests of a program: everything of the labs is below one directory, gone at the end. */
void labs_begin(void);
void labs_end(void);

/* rules: of the fault server, NULL-terminated. */
void lab_init(struct lab *l, const char *const *rules);
void lab_done(struct lab *l);
/* Send a line to the fault server's control. */
void lab_ctl(struct lab *l, const char *line);
void lab_kill_origin(struct lab *l);
/* Requests of path that the fault server has answered, and body bytes it has sent. */
uint64_t lab_requests(struct lab *l, const char *path);
uint64_t lab_sent(struct lab *l, const char *path);

/* The manifest's lines begin with '@' where the server's URL belongs. */
void lab_start(struct lab *l, const char *manifest);
void lab_stop(struct lab *l);
/* What lab_start() makes of its lines. */
struct manifest *lab_manifest(struct lab *l, const char *lines, bool foreign);

struct object *lab_object(struct lab *l, uint32_t index);
struct handle *lab_open(struct object *o);
/* 0, or the error that done() told; waits. */
int lab_read(struct handle *h, uint64_t off, void *buf, size_t len);
int lab_probe(struct object *o);
int lab_fill(struct object *o);
int lab_drop(struct object *o);
/* Read [off, end) in steps of len and compare with the formula; 0, or the first error; aborts on a
 * wrong byte. */
int lab_compare(struct handle *h, const char *path, uint64_t version, uint64_t off, uint64_t end,
		size_t step);
/* Wait for it, at most 10 s. */
bool lab_wait_state(struct object *o, enum object_state state);
bool lab_wait_generation(struct object *o, uint64_t generation);

#endif
