/*
 * checksum.c - the content checksums a manifest may give, as text and bytes
 * The digests themselves are computed by store/digest.
 */
#include "manifest/manifest.h"

#include <ctype.h>
#include <strings.h>

static const struct {
	const char *name;
	const char *short_name;
	size_t length;
} algos[] = {
	[CHECKSUM_NONE] = {"none", "none", 0},
	[CHECKSUM_MD5] = {"md5", "md5", 16},
	[CHECKSUM_SHA1] = {"sha-1", "sha1", 20},
	[CHECKSUM_SHA224] = {"sha-224", "sha224", 28},
	[CHECKSUM_SHA256] = {"sha-256", "sha256", 32},
	[CHECKSUM_SHA384] = {"sha-384", "sha384", 48},
	[CHECKSUM_SHA512] = {"sha-512", "sha512", 64},
};
_Static_assert(ARRAY_SIZE(algos) == CHECKSUM_ALGO_COUNT, "describe every checksum_algo");

size_t checksum_length(enum checksum_algo algo)
{
	return algos[algo].length;
}

const char *checksum_name(enum checksum_algo algo)
{
	return algos[algo].name;
}

static enum checksum_algo algo_of(const char *name, size_t len)
{
	for (unsigned int i = CHECKSUM_NONE + 1; i < CHECKSUM_ALGO_COUNT; i++) {
		if ((strlen(algos[i].name) == len && strncasecmp(algos[i].name, name, len) == 0) ||
		    (strlen(algos[i].short_name) == len &&
		     strncasecmp(algos[i].short_name, name, len) == 0))
			return (enum checksum_algo)i;
	}
	return CHECKSUM_NONE;
}

static unsigned int hex_digit(char c)
{
	return isdigit((unsigned char)c) ? (unsigned int)(c - '0')
					 : (unsigned int)(tolower((unsigned char)c) - 'a' + 10);
}

int checksum_parse(const char *text, struct checksum *ret)
{
	struct checksum sum = {.algo = CHECKSUM_NONE};
	size_t len = strcspn(text, "=:");
	const char *hex = text + len + 1;

	if (!text[len])
		return -EINVAL;
	sum.algo = algo_of(text, len);
	if (sum.algo == CHECKSUM_NONE || strlen(hex) != 2 * checksum_length(sum.algo))
		return -EINVAL;
	for (size_t i = 0; hex[i]; i++) {
		if (!isxdigit((unsigned char)hex[i]))
			return -EINVAL;
		sum.value[i / 2] = (uint8_t)(sum.value[i / 2] << 4 | hex_digit(hex[i]));
	}
	*ret = sum;
	return 0;
}

bool checksum_equal(const struct checksum *a, const struct checksum *b)
{
	return a->algo == b->algo && memcmp(a->value, b->value, checksum_length(a->algo)) == 0;
}
