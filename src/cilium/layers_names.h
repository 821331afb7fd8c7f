/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gopacket's names of numbers in packet headers. */
#ifndef CILIUM_LAYERS_NAMES_H
#define CILIUM_LAYERS_NAMES_H

#include <stdint.h>

struct buf;

const char *layers_names_ether_type(uint16_t type); /* never NULL, as all functions here */
const char *layers_names_protocol(uint8_t proto);
const char *layers_names_igmp(uint8_t type); /* "" if unknown */
const char *layers_names_vrrp_auth(uint8_t type);
void layers_names_put_icmpv4(struct buf *out, uint8_t type, uint8_t code);
void layers_names_put_icmpv6(struct buf *out, uint8_t type, uint8_t code);

#endif
