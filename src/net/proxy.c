/*
 * proxy.c - which proxy a hop goes through
 *
 * Callers: hop.c. libcurl would read the environment itself, but whether an address is the proxy's
 * or the server's is something the address policy has to know beforehand; so the choice is made
 * here, by libcurl's rules, and libcurl is told the outcome.
 */
#include <arpa/inet.h>
#include <strings.h>

#include "base/size.h"
#include "net/run.h"

static const char *env(const char *name)
{
	const char *value = getenv(name);

	return value && value[0] ? value : NULL;
}

static const char *proxy_of_scheme(const char *scheme)
{
	char name[32], upper[32];
	const char *value;
	size_t i;

	snprintf(name, sizeof(name), "%s_proxy", scheme);
	value = env(name);
	/* HTTP_PROXY in capitals is what a CGI gets from a request's header "Proxy:"; curl ignores
	 * it too. */
	if (!value && strcmp(scheme, "http") != 0) {
		for (i = 0; name[i]; i++)
			upper[i] = (char)(name[i] >= 'a' && name[i] <= 'z' ? name[i] - 'a' + 'A'
									   : name[i]);
		upper[i] = '\0';
		value = env(upper);
	}
	if (!value)
		value = env("all_proxy");
	return value ? value : env("ALL_PROXY");
}

/* An address of the list, with or without /bits, against a literal host. */
static bool no_proxy_address(const char *host, const char *item, size_t len)
{
	char text[INET6_ADDRSTRLEN + 8], bare[URL_HOST_MAX];
	unsigned char a[16], b[16];
	const char *slash;
	uint64_t bits;
	size_t n = strlen(host);
	int family = host[0] == '[' ? AF_INET6 : AF_INET;

	if (len >= sizeof(text))
		return false;
	memcpy(text, item, len);
	text[len] = '\0';
	snprintf(bare, sizeof(bare), "%.*s", (int)(family == AF_INET6 && n > 2 ? n - 2 : n),
		 family == AF_INET6 ? host + 1 : host);
	bits = family == AF_INET6 ? 128 : 32;
	slash = strchr(text, '/');
	if (slash) {
		if (parse_u64(slash + 1, bits, &bits) < 0)
			return false;
		text[slash - text] = '\0';
	}
	if (inet_pton(family, bare, a) != 1 || inet_pton(family, text, b) != 1)
		return false;
	if (memcmp(a, b, bits / 8) != 0)
		return false;
	return bits % 8 == 0 || ((a[bits / 8] ^ b[bits / 8]) >> (8 - bits % 8)) == 0;
}

/* A name of the list covers itself and everything below it; a leading dot makes no difference. */
static bool no_proxy_name(const char *host, const char *item, size_t len)
{
	size_t host_len = strlen(host);

	if (len > 0 && item[0] == '.') {
		item++;
		len--;
	}
	if (len > 0 && item[len - 1] == '.')
		len--;
	if (host_len > 0 && host[host_len - 1] == '.')
		host_len--;
	if (len == 0 || host_len < len || strncasecmp(host + host_len - len, item, len) != 0)
		return false;
	return host_len == len || host[host_len - len - 1] == '.';
}

static bool host_is_address(const char *host)
{
	unsigned char a[4];

	return host[0] == '[' || inet_pton(AF_INET, host, a) == 1;
}

static bool no_proxy_covers(const char *list, const char *host)
{
	bool address = host_is_address(host);

	if (strcmp(list, "*") == 0)
		return true;
	while (*list) {
		size_t len;

		list += strspn(list, ", \t");
		len = strcspn(list, ", \t");
		if (len > 0 &&
		    (address ? no_proxy_address(host, list, len) : no_proxy_name(host, list, len)))
			return true;
		list += len;
	}
	return false;
}

const char *proxy_for(const char *setting, const struct url_origin *o)
{
	const char *proxy = setting ? setting : proxy_of_scheme(o->scheme);
	const char *except = env("no_proxy");

	if (!proxy || !proxy[0])
		return "";
	if (!except)
		except = env("NO_PROXY");
	return except && no_proxy_covers(except, o->host) ? "" : proxy;
}
