/*
 * policy.c - may this hop be connected to that address
 *
 * Callers: easy.c with each address that a name resolved to and with the one of a reused
 * connection; hop.c with names where a proxy hides the address.
 *
 * The rule: the user's own URLs may lead anywhere, unless the manifest itself came from a public
 * address (rq.foreign); a redirect reaches an address that is not public only from a hop that
 * was on such a one itself. Otherwise a public server could use us to ask the user's router or a
 * cloud's metadata service.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <strings.h>
#include <sys/socket.h>

#include "net/run.h"

bool policy_allows(const struct run *r, enum addr_scope scope)
{
	if (scope == ADDR_PUBLIC)
		return true;
	if (r->first_hop)
		return !r->rq.foreign;
	return r->scope_before != ADDR_PUBLIC;
}

enum addr_scope policy_scope_of_ip(const char *ip)
{
	struct sockaddr_in in = {.sin_family = AF_INET};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};

	if (inet_pton(AF_INET, ip, &in.sin_addr) == 1)
		return addr_scope((const struct sockaddr *)&in);
	if (inet_pton(AF_INET6, ip, &in6.sin6_addr) == 1)
		return addr_scope((const struct sockaddr *)&in6);
	return ADDR_UNSPECIFIED; /* unreadable is not public */
}

static bool name_is_localhost(const char *host)
{
	size_t len = strlen(host), n = strlen("localhost");

	if (len > 0 && host[len - 1] == '.')
		len--;
	if (len < n || strncasecmp(host + len - n, "localhost", n) != 0)
		return false;
	return len == n || host[len - n - 1] == '.';
}

enum addr_scope policy_scope_of_name(const char *host)
{
	struct sockaddr_in in = {.sin_family = AF_INET};
	char bare[URL_HOST_MAX];
	size_t len = strlen(host);

	if (len > 2 && host[0] == '[' && host[len - 1] == ']') {
		snprintf(bare, sizeof(bare), "%.*s", (int)(len - 2), host + 1);
		bare[strcspn(bare, "%")] = '\0'; /* a zone */
		return policy_scope_of_ip(bare);
	}
	/* inet_aton also reads 127.1, 0x7f000001 and 2130706433, as a proxy's resolver may. */
	if (inet_aton(host, &in.sin_addr))
		return addr_scope((const struct sockaddr *)&in);
	return name_is_localhost(host) ? ADDR_LOOPBACK : ADDR_PUBLIC;
}

void policy_grant(struct fetch_shared *sh, const struct url_origin *home,
		  const struct url_origin *target)
{
	if (policy_granted(sh, home, target))
		return;
	mtx_lock(&sh->grants_lock);
	sh->grants[sh->grants_used++ % GRANTS_MAX] = (struct grant){*home, *target};
	mtx_unlock(&sh->grants_lock);
}

bool policy_granted(struct fetch_shared *sh, const struct url_origin *home,
		    const struct url_origin *target)
{
	bool found = false;

	mtx_lock(&sh->grants_lock);
	for (unsigned int i = 0; i < sh->grants_used && i < GRANTS_MAX && !found; i++)
		found = url_origin_equal(&sh->grants[i].home, home) &&
			url_origin_equal(&sh->grants[i].target, target);
	mtx_unlock(&sh->grants_lock);
	return found;
}
