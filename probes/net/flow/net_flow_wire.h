/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Flows: conversations at an interface, both directions in one record. "Forward" is the direction of the first packet
 * that was seen, "back" the other one.
 */
#ifndef NET_FLOW_WIRE_H
#define NET_FLOW_WIRE_H

#include "sonde/wire.h"

#define NET_EV_FLOW SONDE_EV(2, 4)	/* something to tell of a flow */

#define NET_CLASS_FLOW 4	/* row of the ledger: reports, not packets */

/* Why a flow is told of. Append only. */
#define NET_FLOW_NEW 1
#define NET_FLOW_FLAGS 2	/* a TCP flag (SYN, FIN, RST) for the first time in this direction */
#define NET_FLOW_ACTIVE 3	/* the interval is over and it lives */
#define NET_FLOW_CLOSED 4	/* both sides said FIN, or one RST */
#define NET_FLOW_IDLE 5		/* no packet for so long that it is given up */
#define NET_FLOW_END 6		/* nobody watches any more */
#define NET_FLOW_PACKET 7	/* each packet is told of */
#define NET_FLOW__MAX 8

/* What of a flow is told: --aggregation, Cilium's words. */
#define NET_AGGREGATE_NONE 0	/* each packet */
#define NET_AGGREGATE_LOW 1	/* new, TCP flags, each second, closed */
#define NET_AGGREGATE_MEDIUM 2	/* new, TCP flags, each interval, closed */
#define NET_AGGREGATE_MAX 3	/* new, closed */
#define NET_AGGREGATE__MAX 4

#define NET_WAY_FORWARD 0
#define NET_WAY_BACK 1

/* What connection tracking knows; all of it may be missing. */
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
	__u32 retransmitted;	/* TCP segments whose bytes were there before */
	__u32 zero_windows;	/* TCP segments that closed the window */
	__u32 next_seq;		/* TCP: what is expected next */
	__u8 tcp_flags;		/* all that were seen */
	__u8 told_flags;	/* of these, in a report */
	__u8 asked;		/* times that connection tracking was asked later, while this way was the last */
	__u8 owns;		/* the process is the one that sends this way; neither = not known which */
};

/* What became of packets of one direction behind the hook that counted them; and what their sender knows. */
struct net_flow_direction {
	__u32 dropped;		/* freed by the kernel; one in front of that hook is in no other count */
	__u32 redirected;	/* sent elsewhere by a program or an action */
	__u32 reason;		/* of the last drop, as in net_rec */
	__u32 srtt_us;		/* TCP: smoothed round trip of the sender's socket; 0 = the packets carry none */
};

/* The state of a flow in a record; in the map it is laid out for its writers (net_flow_table_wire.h). */
struct net_flow {
	__u64 first_ns, last_ns, told_ns, closed_ns;	/* CLOCK_BOOTTIME; 0 = not yet */
	struct net_flow_way way[2];
	__u64 cookie;		/* of the socket at the local end */
	__u64 cgroup_id;
	__u64 owner_start_ns;
	__u32 owner_tgid;
	__u32 rtt_ns;		/* of the TCP handshake, as seen here: SYN to SYN-ACK to ACK */
	__u32 mark;		/* of connection tracking */
	__u32 out_ifindex;	/* where the forward direction leaves, by the routing table; 0 = not known */
	struct net_flow_end src, dst;	/* of the forward direction */
	struct net_flow_end nat_src, nat_dst;	/* the tuple on the other side of a translation, same direction */
	__u8 next_hop[16];
	__u8 family, proto;
	__u8 dir;		/* NET_DIR_* of the forward direction at this interface */
	__u8 owner_by;		/* NET_OWNER_* */
	__u8 ct;		/* NET_CT_* */
	__u8 offloaded;		/* connection tracking handed it to hardware or to a flow table */
	__u8 nat;		/* nat_src and nat_dst are filled */
	__u8 refused;		/* --pid and the like leave it out, as far as its owner is known */
	struct net_flow_direction turn[2]; /* by NET_WAY_*; older records end before it */
};

struct net_flow_rec {
	struct sonde_rec hdr;	/* of the owner */
	__u32 netns, ifindex;
	__u8 why;		/* NET_FLOW_* */
	__u8 way;		/* NET_WAY_* of the packet that made it so */
	__u8 point;		/* NET_POINT_* of that packet */
	__u8 pad[5];
	struct net_flow flow;
};

/*
 * Key of the map: both directions find the same entry, the lower end first. What comes in and goes out again at one
 * interface has two entries: `out` says whether the packets from the first end leave there. On loopback, where all
 * packets do, it is 0.
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
_Static_assert(sizeof(struct net_flow_rec) == 40 + 16 + 288, "net_flow_rec is ABI");
_Static_assert(sizeof(struct net_flow_key) == 44, "no hole in the key");
#endif

#endif
