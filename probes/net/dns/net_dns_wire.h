/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * DNS answers that reach their client: names of addresses.
 */
#ifndef NET_DNS_WIRE_H
#define NET_DNS_WIRE_H

#include "sonde/wire.h"

#define NET_EV_DNS SONDE_EV(2, 6)	/* an answer; row NET_CLASS_FLOW of the ledger */

#define NET_DNS_PORT 53
#define NET_DNS_MAX 1024	/* bytes of an answer in a record; the rest is truncated */
#define NET_DNS_MIN 12		/* its header */

struct net_dns_rec {
	struct sonde_rec hdr; /* no process */
	__u32 netns, ifindex;
	__u32 len;		/* bytes of the message that follow */
	__u32 pad;
};

#ifndef __cplusplus
_Static_assert(sizeof(struct net_dns_rec) == 56, "net_dns_rec is ABI");
#endif

#endif
