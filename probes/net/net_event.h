/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bodies of the net probe's events; the rows that describe them are in net_events.c.
 */
#ifndef NET_EVENT_H
#define NET_EVENT_H

#include <stdint.h>

struct event_desc;

/* net.trace, net.drop, net.xdp. 0 = unknown, but for point, dir and owner_by (numbers of net_wire.h). */
struct net_event {
	uint64_t location;	/* drop: kernel address */
	uint32_t ifindex;
	uint32_t len, cap_len;	/* bytes on the wire, captured */
	uint32_t mark, hash;	/* of the skb */
	uint32_t reason;	/* drop: of the recorded kernel; xdp: action */
	uint32_t prog_id;	/* xdp */
	int32_t error;		/* xdp: negative errno; drop: of another datapath's helper */
	uint32_t task_pid, task_tid;
	uint16_t vlan;		/* id of the outermost tag */
	uint8_t point, dir, owner_by;
	uint8_t tcp_flags, ttl;
	uint8_t icmp_type, icmp_code;
	uint8_t pad[3];
	char task_comm[16];
	/* of other datapaths; the notification itself is in SEC_NOTIFY */
	uint32_t src_identity, dst_identity;
	uint32_t src_endpoint, dst_endpoint;	/* trace: dst may be the port of a proxy */
	uint16_t line;		/* drop: in a file of that datapath */
	uint8_t file;
	uint8_t pad2;
};

extern const struct event_desc net_trace_desc, net_drop_desc, net_xdp_desc;

#endif
