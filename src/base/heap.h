/*
 * heap.h - how much the process has allocated
 */
#ifndef BASE_HEAP_H
#define BASE_HEAP_H

#include <stdint.h>

/* Bytes that are allocated and not freed, whoever did it. Goes through the arenas: for status, not
 * for a hot path. */
uint64_t heap_bytes(void);

#endif
