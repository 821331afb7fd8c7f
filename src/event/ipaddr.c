// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Addresses and networks: parsing, text, comparison.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/str.h"
#include "event/value.h"

/* Longest text: INET6_ADDRSTRLEN with "/128". */
#define ADDR_TEXT 64

unsigned ipaddr_bytes(uint8_t family)
{
	return family == SONDE_IPV4 ? 4 : family == SONDE_IPV6 ? 16 : 0;
}

void ipaddr_set(struct ipaddr *ret, uint8_t family, const uint8_t *addr)
{
	*ret = (struct ipaddr){ .family = family };
	memcpy(ret->addr, addr, ipaddr_bytes(family));
}

void ipaddr_unmap(struct ipaddr *ip)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };	/* RFC 4291, section 2.5.5.2 */
	struct ipaddr v4 = { .family = SONDE_IPV4 };

	if (ip->family != SONDE_IPV6 || memcmp(ip->addr, mapped, sizeof(mapped)) != 0)
		return;
	memcpy(v4.addr, ip->addr + sizeof(mapped), 4);
	*ip = v4;
}

/* Fast path: IPv4 is the most common kind; avoids the general formatter. */
static int ipv4_text(const uint8_t *a, struct buf *out)
{
	for (int i = 0; i < 4; i++) {
		if (i)
			buf_add_char(out, '.');
		buf_add_u64(out, a[i]);
	}
	return buf_error(out);
}

int ipaddr_text(const struct ipaddr *ip, struct buf *out)
{
	char text[INET6_ADDRSTRLEN];

	if (ip->family == SONDE_IPV4)
		return ipv4_text(ip->addr, out);
	if (ip->family != SONDE_IPV6 || !inet_ntop(AF_INET6, ip->addr, text, sizeof(text)))
		return buf_error(out);
	return buf_add_str(out, text);
}

int ipaddr_port_text(const struct ipaddr *ip, uint16_t port, struct buf *out)
{
	buf_add_str(out, ip->family == SONDE_IPV6 ? "[" : "");
	ipaddr_text(ip, out);
	return buf_printf(out, "%s:%u", ip->family == SONDE_IPV6 ? "]" : "", port);
}

bool ipaddr_equal(const struct ipaddr *a, const struct ipaddr *b)
{
	return a->family == b->family && !memcmp(a->addr, b->addr, ipaddr_bytes(a->family));
}

int ipaddr_parse(const char *s, struct ipaddr *ret)
{
	struct ipaddr ip = { 0 };

	if (inet_pton(AF_INET, s, ip.addr) == 1)
		ip.family = SONDE_IPV4;
	else if (inet_pton(AF_INET6, s, ip.addr) == 1)
		ip.family = SONDE_IPV6;
	else
		return -EINVAL;
	*ret = ip;
	return 0;
}

int ipaddr_ipnet_parse(const char *s, struct ipnet *ret)
{
	const char *slash = strchr(s, '/');
	char addr[ADDR_TEXT] = { 0 };
	struct ipnet net;
	uint32_t bits;

	if (slash ? (size_t)(slash - s) >= sizeof(addr) : strlen(s) >= sizeof(addr))
		return -EINVAL;
	memcpy(addr, s, slash ? (size_t)(slash - s) : strlen(s));
	if (ipaddr_parse(addr, &net.ip) < 0)
		return -EINVAL;
	net.bits = 8 * ipaddr_bytes(net.ip.family);
	if (slash) {
		if (str_to_u32(slash + 1, 10, &bits) < 0 || bits > net.bits)
			return -EINVAL;
		net.bits = bits;
	}
	*ret = net;
	return 0;
}

bool ipaddr_ipnet_contains(const struct ipnet *net, const struct ipaddr *ip)
{
	unsigned bytes = net->bits / 8, rest = net->bits % 8;

	if (net->ip.family != ip->family || !ip->family)
		return false;
	if (memcmp(net->ip.addr, ip->addr, bytes))
		return false;
	return !rest || !((net->ip.addr[bytes] ^ ip->addr[bytes]) >> (8 - rest));
}
