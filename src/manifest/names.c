/*
 * names.c - which paths and URLs a manifest may give, and the path of an entry that gives none
 * Callers: value (as keys come), builder (each whole entry).
 */
#include "manifest/names.h"

#include <ctype.h>
#include <strings.h>

#include "core/url.h"

static int component_check(struct complaint *c, uint32_t line, struct span path, struct span part)
{
	char text[QUOTE_MAX];

	if (part.len == 0 && path.s[0] == '/')
		return refuse(c, line,
			      "%s starts with a slash (leave it out, names begin in the mount)",
			      quote(text, path));
	if (part.len == 0 && part.s == path.s + path.len)
		return refuse(c, line,
			      "%s ends in a slash (leave it out, an entry with a URL is a file)",
			      quote(text, path));
	if (part.len == 0)
		return refuse(c, line,
			      "%s has an empty component (write one slash between two names)",
			      quote(text, path));
	if ((part.len == 1 && part.s[0] == '.') || (part.len == 2 && memcmp(part.s, "..", 2) == 0))
		return refuse(
			c, line,
			"%s has the component \"%.*s\" (leave it out, names stay in the mount)",
			quote(text, path), (int)part.len, part.s);
	if (part.len > NAME_COMPONENT_MAX)
		return refuse(
			c, line,
			"%s: a name of %zu bytes, at most %d are possible (shorten it with %s)",
			quote(text, part), part.len, NAME_COMPONENT_MAX, c->path_key);
	return 0;
}

int name_check(struct complaint *c, uint32_t line, struct span path)
{
	const char *at = path.s;
	const char *end = path.s + path.len;
	char text[QUOTE_MAX];
	unsigned int depth = 0;

	if (path.len == 0)
		return refuse(c, line, "the path is empty (give a name with %s)", c->path_key);
	if (path.len > NAME_PATH_MAX)
		return refuse(c, line,
			      "%s: a path of %zu bytes, at most %d are possible (shorten it)",
			      quote(text, path), path.len, NAME_PATH_MAX);
	if (span_has_control(path))
		return refuse(c, line, "%s has a control byte (give another name with %s)",
			      quote(text, path), c->path_key);
	for (;;) {
		const char *slash = memchr(at, '/', (size_t)(end - at));
		const char *stop = slash ? slash : end;
		int r = component_check(c, line, path, span_make(at, (size_t)(stop - at)));

		if (r < 0)
			return r;
		if (++depth > NAME_DEPTH_MAX)
			return refuse(c, line, "%s is deeper than %d directories (shorten it)",
				      quote(text, path), NAME_DEPTH_MAX);
		if (!slash)
			return 0;
		at = slash + 1;
	}
}

/* "scheme" of "scheme://…", or not given. */
static struct span scheme_of(struct span url)
{
	size_t len = 0;

	while (len < url.len && (isalnum((unsigned char)url.s[len]) || strchr("+-.", url.s[len])))
		len++;
	if (len == 0 || url.len - len < 3 || memcmp(url.s + len, "://", 3) != 0)
		return span_make(NULL, 0);
	return span_make(url.s, len);
}

static bool scheme_known(struct span scheme)
{
	static const char *const known[] = {"http", "https", "ftp", "ftps", "sftp"};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (strlen(known[i]) == scheme.len &&
		    strncasecmp(known[i], scheme.s, scheme.len) == 0)
			return true;
	}
	return false;
}

int name_check_url(struct complaint *c, uint32_t line, struct span url)
{
	struct span scheme = scheme_of(url);
	char terminated[URL_MAX + 1];
	struct url_origin origin;
	char text[QUOTE_MAX];

	if (span_has_control(url))
		return refuse(c, line, "the URL has a control byte (percent-encode it)");
	if (!scheme.s)
		return refuse(c, line,
			      "this is no URL: it does not start with a scheme and \"://\" (start "
			      "a key=value line with a space, a comment with #)");
	if (!scheme_known(scheme))
		return refuse(c, line,
			      "%s is no scheme that rgetfs speaks (http, https, ftp, ftps or sftp)",
			      quote(text, scheme));
	if (memchr(url.s, ' ', url.len))
		return refuse(c, line,
			      "the URL has a space (write it as %%20, and a tab between mirrors)");
	if (url.len > URL_MAX)
		return refuse(c, line,
			      "the URL has %zu bytes, at most %d are possible (shorten it)",
			      url.len, URL_MAX);
	if (!span_is_utf8(url))
		return refuse(c, line,
			      "the URL has bytes that are not UTF-8 (percent-encode them)");
	memcpy(terminated, url.s, url.len);
	terminated[url.len] = '\0';
	if (url_origin(terminated, &origin) < 0)
		return refuse(c, line,
			      "the URL has no host, or its host or port can't be understood "
			      "(write SCHEME://HOST[:PORT]/PATH)");
	return 0;
}

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)tolower((unsigned char)c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Percent-decode one segment of a path, once, onto path. */
static int decode_segment(struct complaint *c, uint32_t line, struct span segment,
			  struct strbuf *path)
{
	for (size_t i = 0; i < segment.len; i++) {
		int high, low;

		if (segment.s[i] != '%') {
			strbuf_addc(path, segment.s[i]);
			continue;
		}
		high = i + 1 < segment.len ? hex_value(segment.s[i + 1]) : -1;
		low = i + 2 < segment.len ? hex_value(segment.s[i + 2]) : -1;
		if (high < 0 || low < 0)
			return refuse(c, line,
				      "the URL's path has a %% without two hex digits (write it as "
				      "%%25, or give a name with %s)",
				      c->path_key);
		if (high == 2 && low == 0xf)
			return refuse(c, line,
				      "the name in the URL has a slash in it, as %%2F (give a name "
				      "with %s)",
				      c->path_key);
		if (high <= 1 || (high == 7 && low == 0xf))
			return refuse(c, line,
				      "the name in the URL has a control byte in it, as %%%x%X "
				      "(give a name with %s)",
				      high, low, c->path_key);
		strbuf_addc(path, (char)(high << 4 | low));
		i += 2;
	}
	return strbuf_error(path);
}

/* What is between the authority and a query or fragment, without its leading slash; not given: no
 * slash. */
static struct span path_of(struct span url)
{
	const char *at = (const char *)memchr(url.s, ':', url.len) + 3; /* checked: "scheme://" */
	const char *end = url.s + url.len;
	size_t len;

	for (len = 0; at + len < end && at[len] != '?' && at[len] != '#'; len++)
		;
	end = at + len;
	at = memchr(at, '/', len);
	return at ? span_make(at + 1, (size_t)(end - at - 1)) : span_make(NULL, 0);
}

/* "host/" or "host:port/": two origins never share a directory, but for the scheme. */
static void add_host(struct span url, struct strbuf *path)
{
	char text[URL_MAX + 1];
	struct url_origin origin, plain;

	memcpy(text, url.s, url.len);
	text[url.len] = '\0';
	if (url_origin(text, &origin) < 0)
		return;
	strbuf_adds(path, origin.host);
	snprintf(text, sizeof(text), "%s://%s/", origin.scheme, origin.host);
	if (url_origin(text, &plain) < 0 || origin.port != plain.port)
		strbuf_addf(path, ":%u", origin.port);
	strbuf_addc(path, '/');
}

int name_of_url(struct complaint *c, uint32_t line, struct span url, enum manifest_layout layout,
		struct strbuf *path)
{
	struct span all = path_of(url);
	const char *last;
	int r;

	if (all.len == 0 || all.s[all.len - 1] == '/')
		return refuse(c, line,
			      "the URL's path ends in a slash and gives no name (give one with %s)",
			      c->path_key);
	last = memrchr(all.s, '/', all.len);
	last = last ? last + 1 : all.s;
	if (layout == LAYOUT_FLAT)
		return decode_segment(c, line, span_make(last, (size_t)(all.s + all.len - last)),
				      path);

	add_host(url, path);
	for (const char *at = all.s, *end = all.s + all.len;;) {
		const char *slash = memchr(at, '/', (size_t)(end - at));

		r = decode_segment(c, line, span_make(at, (size_t)((slash ? slash : end) - at)),
				   path);
		if (r < 0 || !slash)
			return r;
		strbuf_addc(path, '/');
		at = slash + 1;
	}
}

/* RFC 9110 5.6.2 */
static bool is_token(struct span text)
{
	for (size_t i = 0; i < text.len; i++) {
		if (!isalnum((unsigned char)text.s[i]) && !strchr("!#$%&'*+-.^_`|~", text.s[i]))
			return false;
	}
	return text.len > 0;
}

/* Headers that rgetfs itself decides: with another value, bytes of the answer could not be trusted.
 */
static bool header_is_ours(struct span name)
{
	static const char *const ours[] = {
		"Range",
		"If-Range",
		"If-Match",
		"If-None-Match",
		"If-Modified-Since",
		"If-Unmodified-Since",
		"Accept-Encoding",
		"TE",
		"Transfer-Encoding",
		"Content-Length",
		"Connection",
	};

	for (size_t i = 0; i < ARRAY_SIZE(ours); i++) {
		if (strlen(ours[i]) == name.len && strncasecmp(ours[i], name.s, name.len) == 0)
			return true;
	}
	return false;
}

int name_check_header(struct complaint *c, uint32_t line, struct span header, struct span *ret_name,
		      struct span *ret_value)
{
	const char *colon = memchr(header.s, ':', header.len);
	struct span name, value;
	char text[QUOTE_MAX];

	if (span_has_control(header))
		return refuse(c, line, "the header has a control byte (write one \"Name: value\")");
	if (!span_is_utf8(header))
		return refuse(c, line,
			      "the header has bytes that are not UTF-8 (write it in UTF-8)");
	if (header.len > HEADER_TEXT_MAX)
		return refuse(c, line,
			      "the header has %zu bytes, at most %d are possible (shorten it)",
			      header.len, HEADER_TEXT_MAX);
	name = span_make(header.s, colon ? (size_t)(colon - header.s) : 0);
	if (!is_token(name))
		return refuse(c, line,
			      "the header is not of the form \"Name: value\" (write it so)");
	if (header_is_ours(name))
		return refuse(c, line,
			      "the header %s is rgetfs's own (leave it out; range= cuts a slice)",
			      quote(text, name));
	value = span_make(colon + 1, header.len - name.len - 1);
	for (; value.len > 0 && value.s[0] == ' '; value.s++)
		value.len--;
	while (value.len > 0 && value.s[value.len - 1] == ' ')
		value.len--;
	if (value.len == 0)
		return refuse(c, line, "the header %s has no value (give it one or leave it out)",
			      quote(text, name));
	*ret_name = name;
	*ret_value = value;
	return 0;
}
