/*
 * content.c - files made by a formula, so that a wrong byte tells where it comes from
 *
 * Additions and shifts only: the compiler's vectors do them at several GiB/s with plain SSE2, a
 * 64-bit multiplication per word would not.
 */
#include "content.h"

#include <endian.h>
#include <string.h>

#include "base/base.h"

typedef uint64_t vec __attribute__((vector_size(32)));
#define LANES UINT64_C(4)

static uint64_t mix(uint64_t x)
{
	x += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

struct content content_make(uint64_t seed, const char *path, uint64_t version)
{
	uint64_t h = mix(seed);

	for (; *path; path++)
		h = mix(h ^ (unsigned char)*path);
	h = mix(h ^ mix(version));
	return (struct content){h, mix(h) | 1};
}

static uint64_t word_at(struct content c, uint64_t index)
{
	uint64_t w = c.base + index * c.step;

	return htole64(w ^ (w >> 32)); /* folding twice gives w back */
}

static void fill_words(struct content c, uint64_t index, unsigned char *out, size_t words)
{
	uint64_t w = c.base + index * c.step;
	vec a = {w, w + c.step, w + 2 * c.step, w + 3 * c.step};
	vec b = a + LANES * c.step;
	size_t i = 0;

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	for (; i + 2 * LANES <= words; i += 2 * LANES) {
		vec x = a ^ (a >> 32), y = b ^ (b >> 32);

		memcpy(out + i * 8, &x, sizeof(x));
		memcpy(out + (i + LANES) * 8, &y, sizeof(y));
		a += 2 * LANES * c.step;
		b += 2 * LANES * c.step;
	}
#endif
	for (; i < words; i++) {
		uint64_t v = word_at(c, index + i);

		memcpy(out + i * 8, &v, sizeof(v));
	}
}

void content_fill(struct content c, uint64_t off, void *buf, size_t len)
{
	unsigned char *out = buf;
	uint64_t w;

	if (off % 8 && len) {
		size_t n = min_u64(8 - off % 8, len);

		w = word_at(c, off / 8);
		memcpy(out, (unsigned char *)&w + off % 8, n);
		off += n;
		out += n;
		len -= n;
	}
	fill_words(c, off / 8, out, len / 8);
	if (len % 8) {
		w = word_at(c, off / 8 + len / 8);
		memcpy(out + len / 8 * 8, &w, len % 8);
	}
}

/* The x with odd * x == 1 (mod 2^64), by Newton: each round doubles the bits that are right. */
static uint64_t inverse(uint64_t odd)
{
	uint64_t x = odd;

	for (int i = 0; i < 6; i++)
		x *= 2 - odd * x;
	return x;
}

int content_find(struct content c, const unsigned char *data, uint64_t *ret_off)
{
	uint64_t back = inverse(c.step);

	for (unsigned int skew = 0; skew < 8; skew++) {
		unsigned char again[CONTENT_PROBE];
		uint64_t w, index, off;

		memcpy(&w, data + skew, sizeof(w));
		w = le64toh(w);
		w ^= w >> 32;
		index = (w - c.base) * back;
		if (index >= UINT64_C(1) << 60 || index * 8 < skew)
			continue;
		off = index * 8 - skew;
		content_fill(c, off, again, sizeof(again));
		if (memcmp(again, data, sizeof(again)) == 0) {
			*ret_off = off;
			return 0;
		}
	}
	return -1;
}
