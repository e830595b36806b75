/*
 * digest.c - checksums of content and names: the only user of libcrypto
 */
#include "store/digest.h"

#include <openssl/evp.h>

#include "base/base.h"

struct digest {
	EVP_MD_CTX *ctx;
};

static const EVP_MD *digest_md(const char *algorithm)
{
	static const struct {
		const char *name;
		const EVP_MD *(*md)(void);
	} known[] = {
		{"md5", EVP_md5},	 {"sha-1", EVP_sha1},	  {"sha-224", EVP_sha224},
		{"sha-256", EVP_sha256}, {"sha-384", EVP_sha384}, {"sha-512", EVP_sha512},
	};

	for (size_t i = 0; algorithm && i < ARRAY_SIZE(known); i++) {
		if (strcmp(algorithm, known[i].name) == 0)
			return known[i].md();
	}
	return NULL;
}

int digest_sha256(const void *data, size_t len, uint8_t out[32])
{
	return EVP_Digest(data, len, out, NULL, EVP_sha256(), NULL) == 1 ? 0 : -EIO;
}

int digest_new(const char *algorithm, struct digest **ret)
{
	const EVP_MD *md = digest_md(algorithm);
	struct digest *d;

	if (!md)
		return -EINVAL;
	d = calloc(1, sizeof(*d));
	if (!d)
		return -ENOMEM;
	d->ctx = EVP_MD_CTX_new();
	if (!d->ctx) {
		free(d);
		return -ENOMEM;
	}
	if (EVP_DigestInit_ex(d->ctx, md, NULL) != 1) {
		digest_free(d);
		return -EIO;
	}
	*ret = d;
	return 0;
}

void digest_free(struct digest *d)
{
	if (!d)
		return;
	EVP_MD_CTX_free(d->ctx);
	free(d);
}

int digest_update(struct digest *d, const void *data, size_t len)
{
	return EVP_DigestUpdate(d->ctx, data, len) == 1 ? 0 : -EIO;
}

int digest_final(struct digest *d, uint8_t out[DIGEST_MAX])
{
	return EVP_DigestFinal_ex(d->ctx, out, NULL) == 1 ? 0 : -EIO;
}
