/*
 * digest.h - checksums of content and names: the only door to libcrypto
 *
 * Any thread; a struct digest belongs to one at a time. Pure computation, no I/O.
 */
#ifndef STORE_DIGEST_H
#define STORE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#define DIGEST_MAX 64

/* 0 or -EIO (libcrypto refused). */
int digest_sha256(const void *data, size_t len, uint8_t out[32]);

/* A checksum over data that comes in pieces. */
struct digest;
/*
 * algorithm as in manifests: "md5", "sha-1", "sha-224", "sha-256", "sha-384", "sha-512". 0, -EINVAL
 * (no such algorithm, or NULL), -ENOMEM or -EIO.
 */
int digest_new(const char *algorithm, struct digest **ret);
void digest_free(struct digest *d);
int digest_update(struct digest *d, const void *data, size_t len);
/* As many bytes as the algorithm has. The digest can only be freed after it. */
int digest_final(struct digest *d, uint8_t out[DIGEST_MAX]);

#endif
