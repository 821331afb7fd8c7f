/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Addresses formatted as in Go's standard library. */
#ifndef CILIUM_GOIP_H
#define CILIUM_GOIP_H

#include <stdbool.h>
#include <stdint.h>

struct buf;

/* netip.Addr.String(): unlike inet_ntop(), only IPv4-mapped addresses use dotted decimal. */
void goip_put_addr(struct buf *out, int family, const uint8_t *addr);
/* net.IP.String(): prints an IPv4-mapped address as IPv4. */
void goip_put(struct buf *out, int family, const uint8_t *addr);
/* Does goip_put() print colons for @addr? */
bool goip_has_colons(int family, const uint8_t *addr);

#endif
