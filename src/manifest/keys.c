/*
 * keys.c - the words a manifest may use, and the nearest one to a word it may not
 * Callers: format_text, format_json.
 */
#include "manifest/keys.h"

#include <string.h>

/* What aria2c(1) lists under "Input File", without the keys that mean something here. */
static const char *const aria2_keys[] = {
	"all-proxy",
	"all-proxy-passwd",
	"all-proxy-user",
	"allow-overwrite",
	"allow-piece-length-change",
	"always-resume",
	"async-dns",
	"auto-file-renaming",
	"bt-enable-hook-after-hash-check",
	"bt-enable-lpd",
	"bt-exclude-tracker",
	"bt-external-ip",
	"bt-force-encryption",
	"bt-hash-check-seed",
	"bt-load-saved-metadata",
	"bt-max-peers",
	"bt-metadata-only",
	"bt-min-crypto-level",
	"bt-prioritize-piece",
	"bt-remove-unselected-file",
	"bt-request-peer-speed-limit",
	"bt-require-crypto",
	"bt-save-metadata",
	"bt-seed-unverified",
	"bt-stop-timeout",
	"bt-tracker",
	"bt-tracker-connect-timeout",
	"bt-tracker-interval",
	"bt-tracker-timeout",
	"check-integrity",
	"conditional-get",
	"connect-timeout",
	"content-disposition-default-utf8",
	"continue",
	"dry-run",
	"enable-http-keep-alive",
	"enable-http-pipelining",
	"enable-mmap",
	"enable-peer-exchange",
	"file-allocation",
	"follow-metalink",
	"follow-torrent",
	"force-save",
	"ftp-passwd",
	"ftp-pasv",
	"ftp-proxy",
	"ftp-proxy-passwd",
	"ftp-proxy-user",
	"ftp-reuse-connection",
	"ftp-type",
	"ftp-user",
	"gid",
	"hash-check-only",
	"http-accept-gzip",
	"http-auth-challenge",
	"http-no-cache",
	"http-passwd",
	"http-proxy",
	"http-proxy-passwd",
	"http-proxy-user",
	"http-user",
	"https-proxy",
	"https-proxy-passwd",
	"https-proxy-user",
	"index-out",
	"lowest-speed-limit",
	"max-connection-per-server",
	"max-download-limit",
	"max-file-not-found",
	"max-mmap-limit",
	"max-resume-failure-tries",
	"max-tries",
	"max-upload-limit",
	"metalink-base-uri",
	"metalink-enable-unique-protocol",
	"metalink-language",
	"metalink-location",
	"metalink-os",
	"metalink-preferred-protocol",
	"metalink-version",
	"min-split-size",
	"no-file-allocation-limit",
	"no-netrc",
	"no-proxy",
	"parameterized-uri",
	"pause",
	"pause-metadata",
	"piece-length",
	"proxy-method",
	"realtime-chunk-checksum",
	"referer",
	"remote-time",
	"remove-control-file",
	"retry-wait",
	"reuse-uri",
	"rpc-save-upload-metadata",
	"seed-ratio",
	"seed-time",
	"select-file",
	"split",
	"ssh-host-key-md",
	"stream-piece-selector",
	"timeout",
	"uri-selector",
	"use-head",
	"user-agent",
};
_Static_assert(ARRAY_SIZE(aria2_keys) == KEYS_ARIA2_COUNT, "count aria2's keys");

int keys_aria2_find(struct span key)
{
	for (size_t i = 0; i < ARRAY_SIZE(aria2_keys); i++) {
		if (span_equal(span_make(aria2_keys[i], strlen(aria2_keys[i])), key))
			return (int)i;
	}
	return -1;
}

const char *keys_aria2_name(unsigned int index)
{
	return aria2_keys[index];
}

int keys_find(const char *const *names, size_t count, struct span key)
{
	for (size_t i = 0; i < count; i++) {
		if (span_equal(span_make(names[i], strlen(names[i])), key))
			return (int)i;
	}
	return -1;
}

/* How many letters must be inserted, left out or changed (Levenshtein); key is at most
 * KEYS_LENGTH_MAX long. */
static unsigned int distance(struct span key, const char *name)
{
	unsigned int row[KEYS_LENGTH_MAX + 1];

	for (size_t i = 0; i <= key.len; i++)
		row[i] = (unsigned int)i;
	for (size_t n = 1; name[n - 1]; n++) {
		unsigned int diagonal = row[0];

		row[0] = (unsigned int)n;
		for (size_t i = 1; i <= key.len; i++) {
			unsigned int change = diagonal + (key.s[i - 1] != name[n - 1]);

			diagonal = row[i];
			row[i] = (unsigned int)min_u64(change, min_u64(row[i - 1], diagonal) + 1);
		}
	}
	return row[key.len];
}

const char *keys_nearest(const char *const *names, size_t count, bool aria2, struct span key)
{
	const char *best = names[0];
	unsigned int least = UINT32_MAX;

	if (key.len > KEYS_LENGTH_MAX)
		key.len = KEYS_LENGTH_MAX;
	for (size_t i = 0; i < count + (aria2 ? ARRAY_SIZE(aria2_keys) : 0); i++) {
		const char *name = i < count ? names[i] : aria2_keys[i - count];
		unsigned int d = distance(key, name);

		if (d < least) {
			least = d;
			best = name;
		}
	}
	return best;
}
