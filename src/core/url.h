/*
 * url.h - the parts of a URL that we decide on, and what may be shown of it
 *
 * Not a full parser: libcurl fetches; this one answers which origin, which name, which secret. What
 * it can't take apart is refused at load.
 */
#ifndef CORE_URL_H
#define CORE_URL_H

#include "base/base.h"

#define URL_MAX	     8192
#define URL_HOST_MAX 256

struct url_origin {
	char scheme[8];		 /* lower case: http, https, ftp, ftps, sftp */
	char host[URL_HOST_MAX]; /* lower case, IPv6 in brackets */
	uint16_t port;		 /* the scheme's own when absent */
};

/*
 * 0, or -EINVAL: no scheme we speak, no host or one with other bytes than letters, digits, "-._"
 * and those beyond ASCII, control bytes or spaces anywhere, bad port, longer than URL_MAX.
 */
int url_origin(const char *url, struct url_origin *ret);
bool url_origin_equal(const struct url_origin *a, const struct url_origin *b);
/*
 * The URL for logs and status: without user info and fragment, query values replaced by "…", cut to
 * size. What is no URL is not shown at all: it might begin with user:password@.
 */
void url_redact(const char *url, char *buf, size_t size);
/* url without user info, for identities: malloc'ed, NULL without memory. */
char *url_without_userinfo(const char *url);
/*
 * Resolve a Location against base (RFC 3986 5.2): no fragment, spaces and bytes beyond ASCII
 * escaped (not in the host). The result may be of any scheme: ask url_origin(). 0, -EINVAL (control
 * bytes, base) or -ENOBUFS.
 */
int url_resolve(const char *base, const char *location, char *buf, size_t size);

/*
 * How far an address reaches, for the address policy. An IPv6 one that carries an IPv4 one (mapped,
 * 6to4, NAT64, Teredo) is judged by that; what is not for one host elsewhere (multicast, reserved)
 * counts as private.
 */
enum addr_scope { ADDR_PUBLIC, ADDR_PRIVATE, ADDR_LINK_LOCAL, ADDR_LOOPBACK, ADDR_UNSPECIFIED };
struct sockaddr;
enum addr_scope addr_scope(const struct sockaddr *sa);

#endif
