/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Configuration from the loader (vpc.c) for the datapath (vpc.bpf.c): endpoints, rules, services. Addresses and ports
 * are in network order unless a member says otherwise.
 */
#ifndef VPC_WIRE_H
#define VPC_WIRE_H

#include <linux/types.h>

#define VPC_WORLD 2	/* identity of everything but endpoints */
#define VPC_CAPTURE_RULE 1	/* number of the recorder's only rule */
#define VPC_TOUR_ID 77	/* endpoint that a tour's traces say they go to */
#define VPC_REASON_LAST 8	/* the highest reason of a trace that has a name */

enum vpc_action { VPC_DENY, VPC_ALLOW, VPC_AUDIT };

struct vpc_endpoint {
	__u32 ifindex;		/* our end of its cable */
	__u32 ip;
	__u32 identity;
	__u16 id;
	__u8 mac[6];
};

/* Peers that may connect to an endpoint; unlisted ones may not. */
struct vpc_rule_key {
	__u32 dst_ip;
	__u16 dst_port;		/* host order; 0 for protocols without ports */
	__u8 proto;
	__u8 pad;
};

struct vpc_rule {
	__u32 action;		/* enum vpc_action */
	__u32 cookie;		/* shown with its verdicts */
};

struct vpc_service {
	__u32 ip;
	__u16 port;
	__u16 pad;
};

/* The way out; ifindex 0 = there is none. */
struct vpc_uplink {
	__u32 ifindex;
	__u32 ip;		/* source address of translated packets */
	__u8 mac[6], next_mac[6];
};

#endif
