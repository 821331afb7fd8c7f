/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Notifications of a datapath about packets, in the layouts of Cilium 1.19 and 1.20 (bpf/lib/{drop,trace,dbg,
 * policy_log,trace_sock,pcap}.h), so that Cilium's readers understand them. Host byte order unless noted; captured
 * bytes of the packet follow a struct with len_cap. datapath.bpf.h fills and sends them.
 */
#ifndef SONDE_NOTIFY_WIRE_H
#define SONDE_NOTIFY_WIRE_H

#ifndef __bpf__
#include <linux/types.h>
#endif

enum sonde_notify_type {
	SONDE_NOTIFY_DROP = 1,
	SONDE_NOTIFY_DEBUG = 2,
	SONDE_NOTIFY_DEBUG_CAPTURE = 3,
	SONDE_NOTIFY_TRACE = 4,
	SONDE_NOTIFY_POLICY = 5,
	SONDE_NOTIFY_CAPTURE = 6,
	SONDE_NOTIFY_SOCK = 7,
	SONDE_NOTIFY__MAX = 8,
};

/* Subtype of a trace: observation point. */
enum sonde_point {
	SONDE_TO_ENDPOINT, SONDE_TO_PROXY, SONDE_TO_HOST, SONDE_TO_STACK, SONDE_TO_OVERLAY, SONDE_FROM_ENDPOINT,
	SONDE_FROM_PROXY, SONDE_FROM_HOST, SONDE_FROM_STACK, SONDE_FROM_OVERLAY, SONDE_FROM_NETWORK, SONDE_TO_NETWORK,
	SONDE_FROM_CRYPTO, SONDE_TO_CRYPTO,
};

/* Reason of a trace: state of connection tracking. */
enum sonde_trace_reason {
	SONDE_CT_NEW, SONDE_CT_ESTABLISHED, SONDE_CT_REPLY, SONDE_CT_RELATED, SONDE_CT_REOPENED, SONDE_CT_UNKNOWN,
};

#define SONDE_NOTIFY_IPV6 1	/* flags of drop and trace */
#define SONDE_NOTIFY_L3 2	/* the packet starts at its IP header */
#define SONDE_NOTIFY_VXLAN 4	/* about the inner packet of a tunnel */
#define SONDE_NOTIFY_GENEVE 8

/* Bits of a policy verdict. */
#define SONDE_POLICY_INGRESS 1
#define SONDE_POLICY_EGRESS 2
#define SONDE_POLICY_IPV6 4
#define SONDE_POLICY_MATCH(m) ((m) << 3)	/* enum sonde_policy_match */
#define SONDE_POLICY_AUDITED 0x40
#define SONDE_POLICY_L3 0x80

enum sonde_policy_match {
	SONDE_MATCH_NONE, SONDE_MATCH_L3, SONDE_MATCH_L3_L4, SONDE_MATCH_L4, SONDE_MATCH_ALL, SONDE_MATCH_L3_PROTO,
	SONDE_MATCH_PROTO,
};

/* Points of socket translation. */
enum sonde_sock_point {
	SONDE_SOCK_PRE_FWD = 1, SONDE_SOCK_POST_FWD, SONDE_SOCK_PRE_REV, SONDE_SOCK_POST_REV,
};

struct sonde_notify {
	__u8 type;		/* enum sonde_notify_type */
	__u8 subtype;		/* drop reason, point, debug code, capture code; else 0 */
	__u16 source;		/* endpoint whose program ran; 0 = none */
	__u32 hash;		/* of the flow, if computed */
};

struct sonde_notify_pkt {
	struct sonde_notify common;
	__u32 len_orig;		/* bytes on the wire */
	__u16 len_cap;		/* bytes after the struct */
	__u8 version;
	__u8 ext_version;	/* must be 0: readers take other values for bytes of the packet */
};

#define SONDE_DROP_VERSION 3

struct sonde_drop {
	struct sonde_notify_pkt pkt;
	__u32 src_identity, dst_identity;
	__u32 dst_id;		/* endpoint; 0 = leaves the host */
	__u16 line;
	__u8 file;
	__s8 ext_error;		/* negative errno or code of the failure; 0 = does not fit */
	__u32 ifindex;
	__u8 flags;		/* SONDE_NOTIFY_IPV6 ... */
	__u8 pad[3];
	__u64 ip_trace_id;
};

#define SONDE_TRACE_VERSION 2

struct sonde_trace {
	struct sonde_notify_pkt pkt;
	__u32 src_identity, dst_identity;
	__u16 dst_id;		/* endpoint, or the port of a proxy */
	__u8 reason;		/* enum sonde_trace_reason */
	__u8 flags;
	__u32 ifindex;
	__u8 orig_ip[16];	/* source before its translation; IPv4 in the first four bytes; 0 = none */
	__u64 ip_trace_id;
};

struct sonde_debug {
	struct sonde_notify common;
	__u32 arg[3];
};

#define SONDE_DEBUG_CAPTURE_VERSION 1

struct sonde_debug_capture {
	struct sonde_notify_pkt pkt;
	__u32 arg[2];
};

#define SONDE_POLICY_VERSION 1

struct sonde_policy {
	struct sonde_notify_pkt pkt;
	__u32 remote_identity;
	__s32 verdict;		/* < 0 minus the drop reason, 0 allowed, > 0 port of a proxy */
	__u16 dst_port;
	__u8 proto;
	__u8 bits;		/* SONDE_POLICY_* */
	__u8 auth_type;
	__u8 pad1[3];
	__u32 cookie;		/* of the rule; 0 = none */
	__u32 pad2;
};

/* Of the recorder. Subtype: 1 ingress, 2 egress; source: the rule. */
struct sonde_capture {
	struct sonde_notify common;
	__u64 ts_ns;		/* CLOCK_BOOTTIME */
	__u32 len_cap, len_orig;
};

struct sonde_sock {
	__u8 type;		/* SONDE_NOTIFY_SOCK */
	__u8 point;		/* enum sonde_sock_point */
	__u8 proto;		/* 0 unknown, 1 TCP, 2 UDP */
	__u8 ipv6;
	__u16 dst_port;
	__u16 pad;
	__u64 cookie, cgroup_id;
	__u8 dst_ip[16];	/* network order; IPv4 in the first four bytes */
};

/* Per-CPU map of counters. Reason 2 or from 130 on: a drop; others: an observation point. */
struct sonde_metrics_key {
	__u8 reason;
	__u8 dir;		/* enum sonde_direction */
	__u16 line;
	__u8 file;
	__u8 pad[3];
};

enum sonde_direction { SONDE_DIR_NONE, SONDE_DIR_INGRESS, SONDE_DIR_EGRESS, SONDE_DIR_SERVICE };

struct sonde_metrics {
	__u64 packets, bytes;
};

#ifndef __cplusplus
_Static_assert(sizeof(struct sonde_drop) == 48, "drop_notify, version 3");
_Static_assert(sizeof(struct sonde_trace) == 56, "trace_notify, version 2");
_Static_assert(sizeof(struct sonde_debug) == 20, "debug_msg");
_Static_assert(sizeof(struct sonde_debug_capture) == 24, "debug_capture_msg");
_Static_assert(sizeof(struct sonde_policy) == 40, "policy_verdict_notify since 1.19");
_Static_assert(sizeof(struct sonde_capture) == 24, "capture_msg");
_Static_assert(sizeof(struct sonde_sock) == 40, "trace_sock_notify since 1.19");
_Static_assert(sizeof(struct sonde_metrics_key) == 8 && sizeof(struct sonde_metrics) == 16, "metrics map");
#endif

#endif
