// SPDX-License-Identifier: GPL-2.0-or-later
#include "cilium/goip.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/buf.h"

static const uint8_t mapped_prefix[12] = { [10] = 0xff, [11] = 0xff };

void goip_put_addr(struct buf *out, int family, const uint8_t *addr)
{
	static const uint8_t zeros[12];
	char text[INET6_ADDRSTRLEN];

	if (family == AF_INET6 && !memcmp(addr, zeros, sizeof(zeros)) && (addr[12] || addr[13])) {
		buf_printf(out, "::%x:%x", addr[12] << 8 | addr[13], addr[14] << 8 | addr[15]);
		return;
	}
	inet_ntop(family, addr, text, sizeof(text));
	buf_add_str(out, text);
}

bool goip_has_colons(int family, const uint8_t *addr)
{
	return family == AF_INET6 && memcmp(addr, mapped_prefix, sizeof(mapped_prefix));
}

void goip_put(struct buf *out, int family, const uint8_t *addr)
{
	if (family == AF_INET6 && !goip_has_colons(family, addr))
		goip_put_addr(out, AF_INET, addr + sizeof(mapped_prefix));
	else
		goip_put_addr(out, family, addr);
}
