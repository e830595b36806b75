/*
 * addr.c - how far an address reaches (RFC 6890 and the registries it founded)
 * Callers: the address policy of transfers, before each connection and each request.
 *
 * An IPv6 address that carries an IPv4 one is judged by that: a gateway would take us there.
 */
#include "core/url.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

struct block4 {
	uint32_t prefix; /* host order */
	unsigned int bits;
	enum addr_scope scope;
};

static const struct block4 blocks4[] = {
	{0x00000000, 8, ADDR_UNSPECIFIED}, /* "this host": Linux connects 0.0.0.0 to itself */
	{0x7f000000, 8, ADDR_LOOPBACK},	   {0x0a000000, 8, ADDR_PRIVATE},
	{0xac100000, 12, ADDR_PRIVATE},	   {0xc0a80000, 16, ADDR_PRIVATE},
	{0x64400000, 10, ADDR_PRIVATE},	   /* carrier-grade NAT; some clouds' metadata */
	{0xa9fe0000, 16, ADDR_LINK_LOCAL}, /* 169.254.169.254 and its kind */
	{0xc0000000, 24, ADDR_PRIVATE},	   /* protocol assignments */
	{0xc6120000, 15, ADDR_PRIVATE},	   /* benchmarks inside a network */
	{0xe0000000, 4, ADDR_PRIVATE},	   /* multicast */
	{0xf0000000, 4, ADDR_PRIVATE},	   /* reserved, broadcast */
};

static enum addr_scope scope4(uint32_t addr)
{
	for (size_t i = 0; i < ARRAY_SIZE(blocks4); i++) {
		uint32_t mask = ~UINT32_C(0) << (32 - blocks4[i].bits);

		if ((addr & mask) == blocks4[i].prefix)
			return blocks4[i].scope;
	}
	return ADDR_PUBLIC;
}

static uint32_t word(const unsigned char *b)
{
	return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

struct block6 {
	unsigned char prefix[12];
	unsigned int bits;
	int ipv4_at; /* where it carries an IPv4 address; -1: scope says it */
	uint32_t ipv4_xor;
	enum addr_scope scope;
};

static const struct block6 blocks6[] = {
	{{[10] = 0xff, [11] = 0xff}, 96, 12, 0, 0},		/* ::ffff:a.b.c.d */
	{{0x20, 0x02}, 16, 2, 0, 0},				/* 6to4 */
	{{0x20, 0x01, 0, 0}, 32, 12, UINT32_MAX, 0},		/* Teredo: the client, inverted */
	{{0, 0x64, 0xff, 0x9b}, 96, 12, 0, 0},			/* NAT64 */
	{{0, 0x64, 0xff, 0x9b, 0, 1}, 48, -1, 0, ADDR_PRIVATE}, /* NAT64 of a network's own */
	{{0xfe, 0x80}, 10, -1, 0, ADDR_LINK_LOCAL},
	{{0xfe, 0xc0}, 10, -1, 0, ADDR_PRIVATE}, /* site-local, of old */
	{{0xfc}, 7, -1, 0, ADDR_PRIVATE},	 /* unique local */
	{{0xff}, 8, -1, 0, ADDR_PRIVATE},	 /* multicast */
};

static bool has_prefix(const unsigned char *addr, const unsigned char *prefix, unsigned int bits)
{
	unsigned int bytes = bits / 8;
	unsigned int rest = bits % 8;

	if (memcmp(addr, prefix, bytes) != 0)
		return false;
	return rest == 0 || ((addr[bytes] ^ prefix[bytes]) >> (8 - rest)) == 0;
}

static enum addr_scope scope6(const unsigned char addr[16])
{
	static const unsigned char zero[12];

	for (size_t i = 0; i < ARRAY_SIZE(blocks6); i++) {
		const struct block6 *b = &blocks6[i];

		if (has_prefix(addr, b->prefix, b->bits))
			return b->ipv4_at < 0 ? b->scope
					      : scope4(word(addr + b->ipv4_at) ^ b->ipv4_xor);
	}
	if (memcmp(addr, zero, sizeof(zero)) == 0) { /* ::, ::1, and the old ::a.b.c.d */
		uint32_t low = word(addr + 12);

		return low == 0 ? ADDR_UNSPECIFIED : low == 1 ? ADDR_LOOPBACK : scope4(low);
	}
	return ADDR_PUBLIC;
}

enum addr_scope addr_scope(const struct sockaddr *sa)
{
	struct sockaddr_in in;
	struct sockaddr_in6 in6;

	switch (sa->sa_family) {
	case AF_INET:
		memcpy(&in, sa, sizeof(in));
		return scope4(ntohl(in.sin_addr.s_addr));
	case AF_INET6:
		memcpy(&in6, sa, sizeof(in6));
		return scope6(in6.sin6_addr.s6_addr);
	default:
		return ADDR_LOOPBACK; /* a local socket, or nothing we know to be far away */
	}
}
