/*
 * digest.h - checksums of content and names: the only door to libcrypto
 *
 * Any thread; a struct digest belongs to one at a time. Pure computation, no I/O.
 */
#ifndef STORE_DIGEST_H
#define STORE_DIGEST_H

#include "manifest/manifest.h"

/* 0 or -EIO (libcrypto refused). */
int digest_sha256(const void *data, size_t len, uint8_t out[32]);

/* A checksum over data that comes in pieces. */
struct digest;
/* 0, -EINVAL (no such algorithm), -ENOMEM or -EIO. */
int digest_new(enum checksum_algo algo, struct digest **ret);
void digest_free(struct digest *d);
int digest_update(struct digest *d, const void *data, size_t len);
/* checksum_length(algo) bytes. The digest can only be freed after it. */
int digest_final(struct digest *d, uint8_t out[CHECKSUM_MAX]);

#endif
