/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Flows at an interface, both directions in one record. "Forward" is the direction of the first packet seen, "back"
 * the other.
 */
#ifndef NET_FLOW_WIRE_H
#define NET_FLOW_WIRE_H

#include "sonde/ident_wire.h"
#include "sonde/wire.h"

#define NET_EV_FLOW SONDE_EV(2, 4) /* report of a flow */

#define NET_CLASS_FLOW 4	/* row of the ledger: reports, not packets */

/* Cause of a report. Append only. */
#define NET_FLOW_NEW 1
#define NET_FLOW_FLAGS 2	/* a TCP flag (SYN, FIN, RST) for the first time in this direction */
#define NET_FLOW_ACTIVE 3	/* the interval ended and the flow lives */
#define NET_FLOW_CLOSED 4	/* both sides said FIN, or one RST, or another socket has its ports */
#define NET_FLOW_IDLE 5		/* idle for too long */
#define NET_FLOW_END 6		/* the trace ends */
#define NET_FLOW_PACKET 7	/* every packet is reported */
#define NET_FLOW__MAX 8

/* Level of reports: --aggregation, Cilium's names. */
#define NET_AGGREGATE_NONE 0	/* each packet */
#define NET_AGGREGATE_LOW 1	/* new, TCP flags, each second, closed */
#define NET_AGGREGATE_MEDIUM 2	/* new, TCP flags, each interval, closed */
#define NET_AGGREGATE_MAX 3	/* new, closed */
#define NET_AGGREGATE__MAX 4

#define NET_WAY_FORWARD 0
#define NET_WAY_BACK 1

/* State of connection tracking; all of it may be missing. */
#define NET_CT_NONE 0		/* not tracked */
#define NET_CT_NEW 1		/* no reply yet */
#define NET_CT_ESTABLISHED 2
#define NET_CT_RELATED 3	/* expected by another one */

struct net_flow_end {
	__u8 addr[16];		/* network order; IPv4 in the first four bytes */
	__u16 port;		/* host order; echoes: the identifier */
	__u16 pad[3];
};

struct net_flow_way {
	__u64 packets, bytes;	/* bytes from the link header on */
	__u32 retransmitted;	/* TCP segments with bytes that were seen before */
	__u32 zero_windows;	/* TCP segments that closed the window */
	__u32 next_seq;		/* TCP: next expected sequence number */
	__u8 tcp_flags;		/* all flags seen */
	__u8 reported_flags;	/* of these, in a report */
	__u8 queries;		/* queries of connection tracking while this direction was the last */
	__u8 owns;		/* the process sends in this direction; neither = unknown */
};

/* Fate of packets of one direction behind the hook that counted them, and facts from their sender. */
struct net_flow_direction {
	__u32 dropped;		/* freed by the kernel; packets freed ahead of that hook are in no other count */
	__u32 redirected;	/* redirected by a program or an action */
	__u32 reason;		/* of the last drop, as in net_rec */
	__u32 srtt_us;		/* TCP: smoothed round trip of the sender's socket; 0 = its packets carry none */
};

/* The state of a flow in a record; net_flow_table_wire.h has its layout in the map. */
#define NET_FLOW_HOW 0x40
#define NET_FLOW_HOW_MASK 0x3f
#define NET_FLOW_FOREIGN 0x80	/* the owner's socket is in another namespace */

struct net_flow {
	__u64 first_ns, last_ns, reported_ns, closed_ns; /* CLOCK_BOOTTIME; 0 = not yet */
	struct net_flow_way way[2];
	__u64 cookie;		/* of the socket at the local end */
	__u64 cgroup_id;
	__u64 owner_start_ns;
	__u32 owner_tgid;
	__u32 rtt_ns;		/* of the TCP handshake, as seen here: SYN to SYN-ACK to ACK */
	__u32 mark;		/* of connection tracking */
	__u32 out_ifindex;	/* output interface of the forward direction, by the routing table; 0 = unknown */
	struct net_flow_end src, dst;	/* of the forward direction */
	struct net_flow_end nat_src, nat_dst;	/* the tuple on the other side of a translation, same direction */
	__u8 next_hop[16];
	__u8 family, proto;
	__u8 dir;		/* NET_DIR_* of the forward direction at this interface */
	__u8 owner;		/* NET_FLOW_HOW | SONDE_HOW_* | NET_FLOW_FOREIGN; older recordings: NET_OWNER_* */
	__u8 ct;		/* NET_CT_* */
	__u8 offloaded;		/* connection tracking offloaded it to hardware or to a flow table */
	__u8 nat;		/* nat_src and nat_dst are filled */
	__u8 refused;		/* excluded by --pid and the like, as far as its owner is known */
	struct net_flow_direction turn[2]; /* by NET_WAY_*; older records end before it */
};

struct net_flow_rec {
	struct sonde_rec hdr;	/* of the owner */
	struct sonde_ident id;
	__u32 netns, ifindex;
	__u8 why;		/* NET_FLOW_* */
	__u8 way;		/* NET_WAY_* of the packet that caused it */
	__u8 point;		/* NET_POINT_* of that packet */
	__u8 other_point;	/* of the other direction, plus 1; 0 = not told */
	__u8 pad[4];
	struct net_flow flow;
};

/*
 * Key of the map: both directions find the same entry, the lower end first. A flow that enters and leaves at one
 * interface has two entries: `out` is set if packets from the first end leave there. On loopback, where all packets
 * leave, it is 0.
 */
struct net_flow_key {
	__u32 ifindex;
	__u16 port[2];
	__u8 family, proto;
	__u8 out;
	__u8 pad;
	__u32 addr[2][4];
};

#ifndef __cplusplus
_Static_assert(sizeof(struct net_flow_way) == 32, "net_flow_way is ABI");
_Static_assert(sizeof(struct net_flow) == 32 + 64 + 24 + 16 + 96 + 16 + 8 + 32, "net_flow is ABI");
_Static_assert(__builtin_offsetof(struct net_flow, turn) == 256, "older records end there");
_Static_assert(sizeof(struct net_flow_rec) == 40 + 64 + 16 + 288, "net_flow_rec is ABI");
_Static_assert(sizeof(struct net_flow_key) == 44, "no hole in the key");
#endif

#endif
