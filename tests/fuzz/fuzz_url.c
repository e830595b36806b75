/*
 * fuzz_url.c - any text as a base and, behind a newline, as a Location
 *
 * What was resolved has an origin or is refused, is resolved the same again, and neither its user
 * info nor its query is ever shown.
 */
#include "core/url.h"
#include "fuzz.h"

static void check_text(const char *url)
{
	struct url_origin o;
	struct url_origin again;
	char shown[256];
	char *bare = url_without_userinfo(url);

	must(bare != NULL, "memory");
	url_redact(url, shown, sizeof(shown));
	must(strlen(shown) < sizeof(shown), "what is shown ends");
	for (const char *s = shown; *s; s++)
		must((unsigned char)*s >= 0x20 && *s != 0x7f, "what is shown is one line");

	if (url_origin(url, &o) == 0) {
		must(o.host[0] && o.port != 0 && o.scheme[0], "an origin has all its parts");
		must(url_origin(bare, &again) == 0, "user info is not needed");
		must(url_origin_equal(&o, &again), "nor part of the origin");
		must(strncmp(shown, "(", 1) != 0, "what has an origin can be shown");
	}
	free(bare);
}

static void check_reference(const char *base, const char *location)
{
	static char url[URL_MAX + 1];
	static char again[URL_MAX + 1];
	static char third[URL_MAX + 1];
	struct url_origin o;
	struct url_origin same;
	int r = url_resolve(base, location, url, sizeof(url));

	if (r < 0) {
		must(r == -EINVAL || r == -ENOBUFS, "a reason");
		return;
	}
	check_text(url);
	if (url_origin(url, &o) < 0)
		return;
	/* As a location of its own it leads to the same place; at most it gets its base's bytes
	 * escaped. */
	if (url_resolve(base, url, again, sizeof(again)) < 0)
		return;
	must(url_origin(again, &same) == 0 && url_origin_equal(&o, &same),
	     "an absolute URL stays there");
	must(url_resolve(base, again, third, sizeof(third)) == 0, "an absolute URL stays");
	must(strcmp(again, third) == 0, "what it is");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	char *newline;

	must(text != NULL, "memory");
	if (size > 0)
		memcpy(text, data, size);
	text[size] = '\0';
	newline = memchr(text, '\n', strlen(text));
	if (newline)
		*newline = '\0';
	check_text(text);
	if (newline) {
		check_text(newline + 1);
		check_reference(text, newline + 1);
	}
	free(text);
	return 0;
}
