/*
 * url.c - the parts of a URL that we decide on, and what may be shown of it
 * Callers: manifest (what is refused, names), engine (origins), net (redirects, credentials), log
 * lines.
 *
 * libcurl parses the URL again when it fetches. Where two parsers could see two hosts (a backslash,
 * a percent sign or a space in the authority) the URL is refused, so that what was judged is what
 * is asked.
 */
#include "core/url.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <netinet/in.h>

#include "base/size.h"
#include "base/strbuf.h"

#define ELLIPSIS "\xe2\x80\xa6"

static const struct {
	const char *name;
	uint16_t port;
} schemes[] = {{"http", 80}, {"https", 443}, {"ftp", 21}, {"ftps", 990}, {"sftp", 22}};

/* Borrowed pieces of scheme://authority/path?query#fragment. */
struct piece {
	const char *s;
	size_t len;
};

struct parts {
	struct piece scheme;
	struct piece authority; /* with user info and port */
	struct piece path;
	struct piece query; /* without the '?' */
	bool has_scheme, has_authority, has_query;
};

static struct piece piece_of(const char *s, const char *end)
{
	return (struct piece){s, (size_t)(end - s)};
}

/* RFC 3986 appendix B, by hand. Takes any text. The fragment is left out. */
static struct parts split(const char *url)
{
	struct parts p = {0};
	const char *s = url;
	const char *end = url + strcspn(url, "#");
	const char *stop = s + strcspn(s, ":/?#");

	if (*stop == ':' && stop > s && isalpha((unsigned char)*s)) {
		p.has_scheme = true;
		for (const char *c = s; c < stop; c++)
			p.has_scheme &= isalnum((unsigned char)*c) || strchr("+-.", *c);
	}
	if (p.has_scheme) {
		p.scheme = piece_of(s, stop);
		s = stop + 1;
	}
	if (s[0] == '/' && s[1] == '/') {
		s += 2;
		stop = s + strcspn(s, "/?#");
		p.has_authority = true;
		p.authority = piece_of(s, stop);
		s = stop;
	}
	stop = s + strcspn(s, "?#");
	p.path = piece_of(s, stop);
	if (*stop == '?') {
		p.has_query = true;
		p.query = piece_of(stop + 1, end);
	}
	return p;
}

/* Behind the user info: the last '@', as libcurl has it. */
static struct piece without_userinfo(struct piece authority)
{
	const char *at = memrchr(authority.s, '@', authority.len);

	return at ? piece_of(at + 1, authority.s + authority.len) : authority;
}

/* "[...]", the shortest form of the address, so that one host has one name. */
static int read_ipv6(struct piece host, struct url_origin *ret)
{
	char text[INET6_ADDRSTRLEN];
	struct in6_addr addr;

	if (host.len < 2 || host.len - 2 >= sizeof(text))
		return -EINVAL;
	memcpy(text, host.s + 1, host.len - 2);
	text[host.len - 2] = '\0';
	if (inet_pton(AF_INET6, text, &addr) != 1 ||
	    !inet_ntop(AF_INET6, &addr, text, sizeof(text)))
		return -EINVAL;
	snprintf(ret->host, sizeof(ret->host), "[%s]", text);
	return 0;
}

static int read_name(struct piece host, struct url_origin *ret)
{
	if (host.len == 0 || host.len >= sizeof(ret->host))
		return -EINVAL;
	for (size_t i = 0; i < host.len; i++) {
		unsigned char c = (unsigned char)host.s[i];

		if (!isalnum(c) && c < 0x80 && !strchr("-._", c))
			return -EINVAL;
		ret->host[i] = (char)(c < 0x80 ? tolower(c) : c);
	}
	ret->host[host.len] = '\0';
	return 0;
}

static int read_port(struct piece port, struct url_origin *ret)
{
	char text[8];
	uint64_t value;

	if (port.len == 0)
		return 0; /* "host:" is the scheme's own */
	if (port.len >= sizeof(text))
		return -EINVAL;
	memcpy(text, port.s, port.len);
	text[port.len] = '\0';
	if (parse_u64(text, UINT16_MAX, &value) < 0 || value == 0)
		return -EINVAL;
	ret->port = (uint16_t)value;
	return 0;
}

static int read_scheme(struct piece scheme, struct url_origin *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(schemes); i++) {
		if (strlen(schemes[i].name) == scheme.len &&
		    strncasecmp(schemes[i].name, scheme.s, scheme.len) == 0) {
			snprintf(ret->scheme, sizeof(ret->scheme), "%s", schemes[i].name);
			ret->port = schemes[i].port;
			return 0;
		}
	}
	return -EINVAL;
}

int url_origin(const char *url, struct url_origin *ret)
{
	struct url_origin o = {0};
	struct parts p;
	struct piece host;
	const char *end;
	const char *stop;

	if (strlen(url) > URL_MAX)
		return -EINVAL;
	for (const char *s = url; *s; s++) {
		if ((unsigned char)*s <= 0x20 || *s == 0x7f)
			return -EINVAL;
	}
	p = split(url);
	if (!p.has_authority || read_scheme(p.scheme, &o) < 0 ||
	    memchr(p.authority.s, '\\', p.authority.len))
		return -EINVAL;

	host = without_userinfo(p.authority);
	end = host.s + host.len;
	if (host.len > 0 && host.s[0] == '[') {
		stop = memchr(host.s, ']', host.len);
		if (!stop || (stop + 1 < end && stop[1] != ':') ||
		    read_ipv6(piece_of(host.s, stop + 1), &o) < 0)
			return -EINVAL;
		stop++;
	} else {
		stop = memchr(host.s, ':', host.len);
		if (!stop)
			stop = end;
		if (read_name(piece_of(host.s, stop), &o) < 0)
			return -EINVAL;
	}
	if (stop < end && read_port(piece_of(stop + 1, end), &o) < 0)
		return -EINVAL;
	*ret = o;
	return 0;
}

bool url_origin_equal(const struct url_origin *a, const struct url_origin *b)
{
	return a->port == b->port && strcmp(a->scheme, b->scheme) == 0 &&
	       strcmp(a->host, b->host) == 0;
}

/* ---- what may be shown ---- */

static void add_piece(struct strbuf *b, struct piece p)
{
	strbuf_add(b, p.s, p.len);
}

/* Names of a query stay, values go. A part without '=' may itself be the secret. */
static void add_redacted_query(struct strbuf *b, struct piece query)
{
	const char *s = query.s;
	const char *end = query.s + query.len;

	strbuf_addc(b, '?');
	while (s < end) {
		const char *stop = s;
		const char *equals;

		while (stop < end && *stop != '&' && *stop != ';')
			stop++;
		equals = memchr(s, '=', (size_t)(stop - s));
		if (equals)
			strbuf_add(b, s, (size_t)(equals + 1 - s));
		if (stop > s)
			strbuf_adds(b, ELLIPSIS);
		if (stop < end)
			strbuf_addc(b, *stop++);
		s = stop;
	}
}

/* Bytes of text up to size - 1, never half a UTF-8 character, control bytes as '?'. */
static void copy_cut(char *buf, size_t size, const char *text)
{
	size_t len = strlen(text);

	if (size == 0)
		return;
	if (len >= size) {
		len = size - 1;
		while (len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80)
			len--;
	}
	for (size_t i = 0; i < len; i++)
		buf[i] = (unsigned char)text[i] < 0x20 || text[i] == 0x7f ? '?' : text[i];
	buf[len] = '\0';
}

void url_redact(const char *url, char *buf, size_t size)
{
	struct parts p = split(url);
	struct strbuf b;

	/* A value of one byte becomes three of the ellipsis: four times the URL is always enough.
	 */
	strbuf_init(&b, (size_t)URL_MAX * 4);
	if (p.has_scheme && p.has_authority) {
		add_piece(&b, p.scheme);
		strbuf_adds(&b, "://");
		add_piece(&b, without_userinfo(p.authority));
		add_piece(&b, p.path);
		if (p.has_query)
			add_redacted_query(&b, p.query);
	} else {
		/* Whatever it is, it may begin with user:password@. */
		strbuf_adds(&b, "(not a URL)");
	}
	copy_cut(buf, size, strbuf_error(&b) ? "(a URL that is too long)" : b.s);
	strbuf_done(&b);
}

char *url_without_userinfo(const char *url)
{
	struct parts p = split(url);
	struct piece host;
	struct strbuf b;

	if (!p.has_authority)
		return strdup(url);
	host = without_userinfo(p.authority);
	strbuf_init(&b, strlen(url));
	strbuf_add(&b, url, (size_t)(p.authority.s - url));
	strbuf_adds(&b, host.s);
	return strbuf_detach(&b);
}

/* ---- names and references ---- */

/* RFC 3986 5.2.4, for a path that begins with '/'. Appends to b, which then ends with it. */
static void add_without_dots(struct strbuf *b, const char *path, size_t path_len)
{
	const char *end = path + path_len;
	size_t root = b->len;

	while (path < end) {
		const char *segment = path + 1;
		const char *stop = segment;
		size_t len;

		while (stop < end && *stop != '/')
			stop++;
		len = (size_t)(stop - segment);
		if (len == 2 && segment[0] == '.' && segment[1] == '.') {
			while (b->len > root && b->s[b->len - 1] != '/')
				b->len--;
			if (b->len > root)
				b->len--;
		} else if (!(len == 1 && segment[0] == '.')) {
			strbuf_add(b, path, (size_t)(stop - path));
			path = stop;
			continue;
		}
		if (stop == end)
			strbuf_addc(b, '/'); /* "/a/.." and "/a/." name directories */
		path = stop;
	}
}

/* The path of the reference, not empty, on top of the base's (5.2.3), dots removed. */
static void add_merged_path(struct strbuf *b, const struct parts *base, struct piece path)
{
	struct strbuf merged;
	const char *slash = memrchr(base->path.s, '/', base->path.len);

	strbuf_init(&merged, (size_t)URL_MAX * 2);
	if (path.s[0] != '/') {
		if (slash)
			add_piece(&merged, piece_of(base->path.s, slash + 1));
		else
			strbuf_addc(&merged, '/');
	}
	add_piece(&merged, path);
	add_without_dots(b, merged.s, merged.len);
	if (strbuf_error(&merged))
		b->error = strbuf_error(&merged);
	strbuf_done(&merged);
}

/*
 * Servers send spaces and UTF-8 in a Location; a URL has neither. A host is left as it is:
 * url_origin() and libcurl know names that are not ASCII, but not their escaped form. -EINVAL:
 * control bytes.
 */
static int add_escaped(struct strbuf *b, const char *location)
{
	struct piece host = split(location).authority;

	for (const char *s = location; *s; s++) {
		unsigned char c = (unsigned char)*s;
		bool in_host = host.len > 0 && s >= host.s && s < host.s + host.len;

		if (c < 0x20 || c == 0x7f)
			return -EINVAL;
		if (!in_host && (c == ' ' || c >= 0x80))
			strbuf_addf(b, "%%%02X", c);
		else
			strbuf_addc(b, (char)c);
	}
	return 0;
}

static void add_resolved(struct strbuf *b, const struct parts *base, const struct parts *ref)
{
	const struct parts *authority = ref->has_scheme || ref->has_authority ? ref : base;
	bool whole = ref->has_scheme || ref->has_authority;

	add_piece(b, ref->has_scheme ? ref->scheme : base->scheme);
	strbuf_addc(b, ':');
	if (authority->has_authority) {
		strbuf_adds(b, "//");
		add_piece(b, authority->authority);
	}
	if (whole && ref->path.len > 0 && ref->path.s[0] != '/')
		add_piece(b, ref->path); /* "mailto:x": not ours to judge here */
	else if (whole)
		add_without_dots(b, ref->path.s, ref->path.len);
	else if (ref->path.len == 0)
		add_piece(b, base->path);
	else
		add_merged_path(b, base, ref->path);
	if (ref->has_query) {
		strbuf_addc(b, '?');
		add_piece(b, ref->query);
	} else if (!whole && ref->path.len == 0 && base->has_query) {
		strbuf_addc(b, '?');
		add_piece(b, base->query);
	}
}

int url_resolve(const char *base, const char *location, char *buf, size_t size)
{
	struct parts base_parts = split(base);
	struct parts ref;
	struct strbuf escaped;
	struct strbuf out;
	int r;

	strbuf_init(&escaped, URL_MAX);
	strbuf_init(&out, URL_MAX);
	r = add_escaped(&escaped, location);
	if (r < 0)
		goto out;
	r = -EINVAL;
	if (!base_parts.has_scheme || !base_parts.has_authority)
		goto out;
	ref = split(escaped.s);
	add_resolved(&out, &base_parts, &ref);
	r = strbuf_error(&escaped) ? strbuf_error(&escaped) : strbuf_error(&out);
	if (r == 0 && out.len >= size)
		r = -ENOBUFS;
	if (r == 0)
		memcpy(buf, out.s, out.len + 1);
out:
	strbuf_done(&escaped);
	strbuf_done(&out);
	return r;
}
