/*
 * content.h - files made by a formula, so that a wrong byte tells where it comes from
 *
 * The 64-bit word i of a file is unmixed(base + i * step), little-endian, and base is a hash of
 * (seed, path, version). Nothing is stored, a file may have 2^63 bytes, and the formula can be
 * turned around: a word found in the wrong place gives back the index that it was made for.
 */
#ifndef ORIGIN_CONTENT_H
#define ORIGIN_CONTENT_H

#include <stddef.h>
#include <stdint.h>

struct content {
	uint64_t base, step; /* step is odd, so that it has an inverse */
};

struct content content_make(uint64_t seed, const char *path, uint64_t version);

/* The bytes [off, off + len) of the file. Any alignment. */
void content_fill(struct content c, uint64_t off, void *buf, size_t len);

/*
 * Where in the file of c the bytes at data (at least CONTENT_PROBE of them) stand: 0 and the offset
 * of data[0], or -1 when they are not from that file.
 */
#define CONTENT_PROBE 32
int content_find(struct content c, const unsigned char *data, uint64_t *ret_off);

#endif
