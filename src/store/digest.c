/*
 * digest.c - checksums of content and names: the only user of libcrypto
 */
#include "store/digest.h"

#include <openssl/evp.h>

struct digest {
	EVP_MD_CTX *ctx;
};

static const EVP_MD *digest_md(enum checksum_algo algo)
{
	switch (algo) {
	case CHECKSUM_MD5:
		return EVP_md5();
	case CHECKSUM_SHA1:
		return EVP_sha1();
	case CHECKSUM_SHA224:
		return EVP_sha224();
	case CHECKSUM_SHA256:
		return EVP_sha256();
	case CHECKSUM_SHA384:
		return EVP_sha384();
	case CHECKSUM_SHA512:
		return EVP_sha512();
	case CHECKSUM_NONE:
	case CHECKSUM_ALGO_COUNT:
		break;
	}
	return NULL;
}

int digest_sha256(const void *data, size_t len, uint8_t out[32])
{
	return EVP_Digest(data, len, out, NULL, EVP_sha256(), NULL) == 1 ? 0 : -EIO;
}

int digest_new(enum checksum_algo algo, struct digest **ret)
{
	const EVP_MD *md = digest_md(algo);
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

int digest_final(struct digest *d, uint8_t out[CHECKSUM_MAX])
{
	return EVP_DigestFinal_ex(d->ctx, out, NULL) == 1 ? 0 : -EIO;
}
