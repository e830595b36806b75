/*
 * version.c - which libraries this program runs with
 *
 * The one place that includes the headers of all of them; it calls nothing of theirs but the name
 * they give themselves.
 */
#include "cli/version.h"

#define FUSE_USE_VERSION 314
#include <curl/curl.h>
#include <fuse_lowlevel.h>
#include <jansson.h>
#include <openssl/crypto.h>
#include <sqlite3.h>
#include <xxhash.h>

void version_format(char *buf, size_t size)
{
	unsigned int xxh = XXH_versionNumber();

	snprintf(buf, size, "libfuse %s, libcurl %s, SQLite %s, %s, jansson %s, xxHash %u.%u.%u",
		 fuse_pkgversion(), curl_version_info(CURLVERSION_NOW)->version,
		 sqlite3_libversion(), OpenSSL_version(OPENSSL_VERSION), jansson_version_str(),
		 xxh / 10000, xxh / 100 % 100, xxh % 100);
}
