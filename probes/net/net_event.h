/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bodies of the net probe's events; the rows that describe them are in net_events.c.
 */
#ifndef NET_EVENT_H
#define NET_EVENT_H

#include <stdint.h>

#include "event/decode.h"
#include "event/event.h"
#include "event/redact/redact.h"
#include "probes/net/mib/net_mib_wire.h"

/* net.trace, net.drop, net.xdp. 0 = unknown, except for point and dir (numbers of net_wire.h). */
struct net_event {
	uint64_t location;	/* drop: kernel address */
	uint32_t ifindex;
	uint32_t len, cap_len;	/* bytes on the wire, captured */
	uint32_t mark, hash;	/* of the skb */
	uint32_t reason;	/* drop: of the recorded kernel; xdp: action; trace: NET_STATE_* */
	uint32_t prog_id;	/* xdp */
	int32_t error;		/* xdp: negative errno; drop: of another datapath's helper */
	uint32_t task_pid, task_tid;
	uint16_t vlan;		/* id of the outermost tag */
	uint8_t point, dir;
	uint8_t owner_end;	/* NET_END_* */
	uint8_t tcp_flags, ttl;
	uint8_t icmp_type, icmp_code;
	uint8_t trigger;	/* it triggered the dump of a recorder */
	uint8_t cause;		/* drop: enum net_cause */
	uint8_t owner_foreign;	/* its socket is in another namespace than the packet */
	char task_comm[16];
	/* the end that is not the owner */
	uint64_t peer_sock, peer_start_ns;
	uint32_t peer_pid;
	uint8_t peer_how;	/* SONDE_HOW_* */
	uint8_t peer_foreign;
	uint8_t peer_pad[2];
	char peer_comm[16];
	/* before connection tracking translated the packet; families 0 = it did not */
	struct ipaddr orig_saddr, orig_daddr;
	uint16_t orig_sport, orig_dport;
	/* of other datapaths; the notification itself is in SEC_NOTIFY */
	uint32_t src_identity, dst_identity;
	uint32_t src_endpoint, dst_endpoint;	/* trace: dst may be the port of a proxy */
	uint16_t line;		/* drop: in a file of that datapath */
	uint8_t file;
	uint8_t pad2;
};

/* net.flow: one direction of a flow at an interface. The event's keys hold source and destination. */
struct net_flow_event {
	uint64_t id;		/* of the flow: the same in both directions and all reports */
	uint64_t packets, bytes;	/* of this direction since the first */
	uint64_t duration_ns;	/* first to last packet of both */
	uint64_t rtt_ns;	/* of the TCP handshake */
	uint64_t srtt_ns;	/* smoothed, from the sender's socket; 0 = unknown */
	uint64_t first_ns, last_ns;	/* boot time of the first and the last packet of both */
	uint32_t ifindex, out_ifindex;
	uint32_t retransmitted, zero_windows;
	uint32_t mark;		/* of connection tracking */
	struct ipaddr nat_saddr, nat_daddr, next_hop;	/* family 0 = none */
	uint16_t nat_sport, nat_dport;
	uint8_t why;		/* NET_FLOW_* */
	uint8_t is_reply;	/* against the direction of the first packet */
	uint8_t dir, point, owner_foreign;	/* as in net_event */
	uint8_t tcp_flags;	/* all of this direction */
	uint8_t tcp_state;	/* enum flow_tcp_state */
	uint8_t ct;		/* NET_CT_* */
	uint8_t offloaded, nat;
	uint8_t verdict, action;	/* enum net_verdict, enum net_action */
	uint8_t owner_end;	/* NET_END_*: of this direction */
	uint32_t dropped, redirected;	/* packets of this direction */
	uint32_t reason;	/* of the last one dropped, as in net_event */
	uint8_t cause, pad[3];	/* of that */
};

/* net.dump: the header of a flight recorder's dump. */
struct net_recorder_dump_event {
	uint64_t before_ns, after_ns; /* of the trigger: the requested time span */
	uint64_t missing_ns;	      /* of the time before, overwritten for lack of memory */
	uint64_t packets, drops, torn;
	uint32_t number;
	uint8_t by; /* NET_RECORDER_DUMP_* */
	uint8_t pad[3];
	char on[128];
};

/* Causes that the packet shows and the kernel's reason does not. Append only. */
enum net_cause { NET_CAUSE_NONE, NET_CAUSE_TTL, NET_CAUSE__MAX };

/* Fate of packets. Append only. */
enum net_verdict {
	NET_VERDICT_NONE, NET_VERDICT_FORWARDED, NET_VERDICT_DROPPED, NET_VERDICT_REDIRECTED, NET_VERDICT__MAX,
};
enum net_action {
	NET_ACTION_NONE, NET_ACTION_PASS, NET_ACTION_NAT, NET_ACTION_DROP, NET_ACTION_REDIRECT, NET_ACTION__MAX,
};

enum flow_tcp_state {
	FLOW_TCP_NONE, FLOW_TCP_SYN_SENT, FLOW_TCP_SYN_RECV, FLOW_TCP_ESTABLISHED, FLOW_TCP_FIN_WAIT,
	FLOW_TCP_CLOSED, FLOW_TCP_RESET, FLOW_TCP__MAX,
};

/* net.count: fields as in its record. */
struct net_count_event {
	uint64_t location;
	uint64_t packets, bytes;	/* since the last report */
	uint64_t total_packets, total_bytes;
	uint64_t interval_ns;	/* since the last report, or the start */
	uint32_t ifindex, reason;
	uint32_t row;		/* of the report, from 0 */
	uint32_t line;
	uint8_t kind, dir, point;	/* NET_COUNT_*, NET_DIR_*, NET_POINT_* */
	uint8_t file;
	uint8_t verdict;	/* NET_COUNT_ALLOW ...; 0 = none */
	uint8_t pad[3];
};

struct net_refused_event {
	uint32_t ifindex;
	uint32_t queue, limit;	/* if known */
	uint8_t cause, step;	/* NET_REFUSED_* */
	bool known;
	uint8_t pad;
};

/* net.mib: fields as in its record. */
struct net_mib_event {
	uint64_t count, total;	/* since the last reading, since the start */
	uint64_t interval_ns;	/* since the last reading */
	char name[NET_MIB_NAME_BYTES];
};

/* net.unexplained: refused connections of a namespace. */
struct net_unexplained_event {
	uint64_t counted, seen, rest;
};

struct net_flow;

/* Attaches a packet and its addresses to @ev; @b: receives header fields, NULL = none. 0, -errno. */
int net_event_add_packet(struct event *ev, struct net_event *b, const struct sec_packet *head, const void *data,
			 struct arena *scratch);
/* Decoders of one type of record each: struct decode_row. A flow record becomes an event per direction. */
int net_count_decode(const struct sonde_rec *rec, struct event *ev, const struct emitter *em);
int net_dns_decode(const struct sonde_rec *rec, struct event *ev, const struct emitter *em);
int net_event_dump_decode(const struct sonde_rec *rec, struct event *ev, const struct emitter *em);
int net_flow_decode(const struct sonde_rec *rec, struct event *ev, const struct emitter *em);
int net_mib_decode(const struct sonde_rec *rec, struct event *ev, const struct emitter *em);
int net_policy_decode(const struct sonde_rec *rec, struct event *ev, const struct emitter *em);
int net_refused_decode(const struct sonde_rec *rec, struct event *ev, const struct emitter *em);
int net_refused_decode_unexplained(const struct sonde_rec *rec, struct event *ev, const struct emitter *em);
int net_sock_decode(const struct sonde_rec *rec, struct event *ev, const struct emitter *em);

/* flow.id: one number for both directions and all reports of a flow; the next flow with its ports has another. */
uint64_t net_event_flow_id(uint32_t netns, uint32_t ifindex, const struct net_flow *f);

extern const struct event_desc net_flow_desc, net_count_desc, net_dns_desc, net_recorder_dump_desc, net_mib_desc;
extern const struct event_desc net_trace_desc, net_drop_desc, net_xdp_desc, net_refused_desc, net_unexplained_desc;

/* Content of the records: net_content.c. */
extern const struct content_rule net_content[];
extern const struct redact_rule net_redact[];

#endif
