/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Addresses in the notation of Go's standard library. */
#ifndef CILIUM_GOIP_H
#define CILIUM_GOIP_H

#include <stdbool.h>
#include <stdint.h>

struct buf;

/* netip.Addr.String(): unlike inet_ntop(), only IPv4-mapped addresses end in dotted decimal. */
void goip_put_addr(struct buf *out, int family, const uint8_t *addr);
/* net.IP.String(): an IPv4-mapped address is that IPv4 address. */
void goip_put(struct buf *out, int family, const uint8_t *addr);
/* Does goip_put() write colons? */
bool goip_has_colons(int family, const uint8_t *addr);

#endif
