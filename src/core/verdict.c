/*
 * verdict.c - what every way a response can turn out is called, and what follows from it
 */
#include "core/verdict.h"

static const struct {
	const char *name;
	const char *text;
	enum verdict_class class;
} verdicts[] = {
	[VERDICT_PART] = {"part", "the server sent the range asked for", VERDICT_CLASS_GOOD},
	[VERDICT_WHOLE] = {"whole", "the server sent the whole body", VERDICT_CLASS_GOOD},
	[VERDICT_EMPTY] = {"empty", "the object has no bytes", VERDICT_CLASS_GOOD},
	[VERDICT_REDIRECT] = {"redirect", "the server named another URL", VERDICT_CLASS_GOOD},
	[VERDICT_CHANGED] = {"changed", "the object was replaced by another version",
			     VERDICT_CLASS_VERSION},
	/* A size that is not pinned and differs is CHANGED; this one contradicts the manifest. */
	[VERDICT_SIZE] = {"size", "the server's size is not the one of the manifest",
			  VERDICT_CLASS_SOURCE},
	[VERDICT_WRONG_RANGE] = {"wrong-range", "the server sent other bytes than asked for",
				 VERDICT_CLASS_SOURCE},
	[VERDICT_NO_CONTENT_RANGE] = {"no-content-range",
				      "the server sent a part without saying which one",
				      VERDICT_CLASS_SOURCE},
	[VERDICT_ENCODED] = {"encoded", "the server sent a compressed form that was not asked for",
			     VERDICT_CLASS_SOURCE},
	[VERDICT_UNSATISFIABLE] = {"unsatisfiable", "the server says that it has no such range",
				   VERDICT_CLASS_SOURCE},
	[VERDICT_NO_TOTAL] = {"no-total", "the server does not tell the size of the file",
			      VERDICT_CLASS_SOURCE},
	/* A signed target that expired answers 400, 403, 404 or 410: the manifest's URL is asked
	   again. */
	[VERDICT_GONE] = {"gone", "the server has no such file", VERDICT_CLASS_RERESOLVE},
	[VERDICT_DENIED] = {"denied", "the server denies access", VERDICT_CLASS_RERESOLVE},
	[VERDICT_REFUSED] = {"refused", "the server refused the request", VERDICT_CLASS_RERESOLVE},
	[VERDICT_ADDRESS] = {"address", "the address is not public and may not be asked",
			     VERDICT_CLASS_SOURCE},
	[VERDICT_SCHEME] = {"scheme", "the redirect leads to a protocol that is not allowed",
			    VERDICT_CLASS_SOURCE},
	[VERDICT_REDIRECTS] = {"redirects", "too many redirects", VERDICT_CLASS_SOURCE},
	[VERDICT_HEADERS] = {"headers", "the response headers are too large or malformed",
			     VERDICT_CLASS_SOURCE},
	[VERDICT_TLS] = {"tls", "the TLS certificate or handshake is not good",
			 VERDICT_CLASS_SOURCE},
	[VERDICT_BUSY] = {"busy", "the server asks to wait", VERDICT_CLASS_ORIGIN},
	[VERDICT_SERVER] = {"server", "the server failed", VERDICT_CLASS_RETRY},
	[VERDICT_NAME] = {"name", "the host name does not resolve", VERDICT_CLASS_ORIGIN},
	[VERDICT_CONNECT] = {"connect", "no connection to the server", VERDICT_CLASS_ORIGIN},
	[VERDICT_RESET] = {"reset", "the connection broke", VERDICT_CLASS_RETRY},
	[VERDICT_SHORT] = {"short", "the server sent fewer bytes than promised",
			   VERDICT_CLASS_RETRY},
	[VERDICT_STALL] = {"stall", "the server stopped sending", VERDICT_CLASS_RETRY},
	[VERDICT_PROTOCOL] = {"protocol", "the server does not speak HTTP", VERDICT_CLASS_RETRY},
	[VERDICT_DENIES_RANGE] = {"denies-range",
				  "the server denies to have a range, but not the size it lies in",
				  VERDICT_CLASS_RETRY},
	[VERDICT_NO_RANGES] = {"no-ranges", "the server sends only the whole file, from its start",
			       VERDICT_CLASS_RETRY},
	[VERDICT_CANCELLED] = {"cancelled", "ended by rgetfs itself", VERDICT_CLASS_OURS},
	[VERDICT_CACHE] = {"cache", "the cache could not be written", VERDICT_CLASS_OURS},
	/* The bytes of this mirror are wrong, whatever its headers say. */
	[VERDICT_CHECKSUM] = {"checksum", "the content differs from its checksum",
			      VERDICT_CLASS_SOURCE},
	[VERDICT_OFFLINE] = {"offline", "not cached, and the network is not to be used",
			     VERDICT_CLASS_OURS},
	[VERDICT_INTERNAL] = {"internal", "out of memory or a library failed", VERDICT_CLASS_OURS},
};
_Static_assert(ARRAY_SIZE(verdicts) == VERDICT_COUNT, "name every verdict");

const char *verdict_name(enum verdict v)
{
	return verdicts[v].name;
}

const char *verdict_text(enum verdict v)
{
	return verdicts[v].text;
}

enum verdict_class verdict_class(enum verdict v)
{
	return verdicts[v].class;
}
