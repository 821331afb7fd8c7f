/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Events and counters for any BPF datapath: drop, trace, policy verdict, capture, debug and socket translation, in
 * the layouts of notify_wire.h, through a perf event array. sonde monitor and Cilium's readers show them.
 *
 * Include before it: vmlinux.h or <linux/bpf.h>, and the header that tools/gen_datapath.py generates from the
 * datapath's table, with the numbers of drop reasons, observation points and source files, and SONDE_FILE_ID. An
 * object with these calls has two maps to pin, `sonde_events` and `sonde_metrics`.
 *
 * A call costs a look-up and an addition for its counter. Without a reader of the map the event costs little more:
 * the helper returns at once. Counters include events that the rate limit suppresses.
 */
#ifndef SONDE_DATAPATH_BPF_H
#define SONDE_DATAPATH_BPF_H

#include "sonde/notify_wire.h"
#include "sonde/ratelimit.bpf.h"

/* ---- variables that user space may set before load ---- */

const volatile __u32 sonde_payload = 128;	/* captured bytes of a packet, at most 65535 */
const volatile __u32 sonde_events_mask = ~0u;	/* 1 << enum sonde_notify_type: kinds to send */
/* Limit of drops, traces, verdicts and socket events together: events per interval, burst size; 0 = none. */
const volatile __u64 sonde_rate, sonde_burst, sonde_interval_ns = 1000000000;

/* ---- variables that it may read ---- */

__u64 sonde_suppressed[SONDE_NOTIFY__MAX];	/* events suppressed by the rate limit, by kind */

struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__type(key, __u32);
	__type(value, __u32);
} sonde_events SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 1024);
	__type(key, struct sonde_metrics_key);
	__type(value, struct sonde_metrics);
} sonde_metrics SEC(".maps");

static struct ratelimit sonde_bucket;

/* The current packet and the endpoint of the program; 0 = unknown. */
struct sonde_packet {
	void *ctx;		/* of the program */
	__u32 len;		/* bytes on the wire */
	__u32 hash, ifindex;
	__u32 src_identity, dst_identity;
	__u16 source;		/* endpoint whose program runs */
	__u8 dir;		/* enum sonde_direction, for counters */
	__u8 flags;		/* SONDE_NOTIFY_* */
	__u64 ip_trace_id;
};

/* Of struct __sk_buff. */
#define SONDE_PACKET_OF(skb) { .ctx = (skb), .len = (skb)->len, .hash = (skb)->hash, .ifindex = (skb)->ifindex }

/* Source location of a call: two arguments, line and file. The file must be in the table to compile. */
#define SONDE_HERE __LINE__, SONDE_FILE_ID

/* ---- counters ---- */

static __always_inline void sonde_count(const struct sonde_packet *p, __u8 reason, __u16 line, __u8 file)
{
	struct sonde_metrics_key key = { .reason = reason, .dir = p->dir, .line = line, .file = file };
	struct sonde_metrics *m = bpf_map_lookup_elem(&sonde_metrics, &key), first = { 1, p->len };

	if (!m) {
		bpf_map_update_elem(&sonde_metrics, &key, &first, BPF_ANY);
		return;
	}
	m->packets++;
	m->bytes += p->len;
}

/* ---- sending ---- */

static __always_inline int sonde_selected(__u8 type)
{
	return sonde_events_mask >> type & 1;
}

/* True if over the limit. Not for debug messages and captures, which are requested individually. */
static __always_inline int sonde_limited(__u8 type)
{
	struct ratelimit_conf c = { sonde_interval_ns, sonde_rate, sonde_burst };

	if (!c.rate || ratelimit_pass(&sonde_bucket, &c, bpf_ktime_get_ns()))
		return 0;
	__sync_fetch_and_add(&sonde_suppressed[type & 7], 1);
	return 1;
}

static __always_inline __u16 sonde_capture_len(const struct sonde_packet *p, __u32 limit)
{
	__u32 n = p->len < limit ? p->len : limit;

	return n < 0xffff ? n : 0xffff;
}

/* @size bytes at @msg, then @cap bytes of the packet. */
static __always_inline void sonde_send(const struct sonde_packet *p, void *msg, __u32 size, __u16 cap)
{
	bpf_perf_event_output(p->ctx, &sonde_events, (__u64)cap << 32 | BPF_F_CURRENT_CPU, msg, size);
}

static __always_inline struct sonde_notify_pkt sonde_head(const struct sonde_packet *p, __u8 type, __u8 subtype,
							   __u8 version)
{
	return (struct sonde_notify_pkt){
		.common = { .type = type, .subtype = subtype, .source = p->source, .hash = p->hash },
		.len_orig = p->len, .len_cap = sonde_capture_len(p, sonde_payload), .version = version,
	};
}

/* ---- the events; @line and @file are SONDE_HERE ---- */

/* The packet is dropped. @reason: of the table; @dst_id: endpoint, or 0; @error: of the failure, or 0. */
static __always_inline void sonde_drop(const struct sonde_packet *p, __u8 reason, __u32 dst_id, int error,
				       __u16 line, __u8 file)
{
	struct sonde_drop msg;

	sonde_count(p, reason, line, file);
	if (!sonde_selected(SONDE_NOTIFY_DROP) || sonde_limited(SONDE_NOTIFY_DROP))
		return;
	msg = (struct sonde_drop){
		.pkt = sonde_head(p, SONDE_NOTIFY_DROP, reason, SONDE_DROP_VERSION),
		.src_identity = p->src_identity, .dst_identity = p->dst_identity, .dst_id = dst_id,
		.line = line, .file = file, .ext_error = error < -128 || error > 127 ? 0 : error,
		.ifindex = p->ifindex, .flags = p->flags, .ip_trace_id = p->ip_trace_id,
	};
	sonde_send(p, &msg, sizeof(msg), msg.pkt.len_cap);
}

/*
 * A packet passes @point (enum sonde_point) on its way to endpoint @dst_id; @ct: enum sonde_trace_reason; @orig_ip4:
 * its source before a translation, network order, or 0. Counts as forwarded.
 */
static __always_inline void sonde_trace(const struct sonde_packet *p, __u8 point, __u16 dst_id, __u8 ct,
					__u32 orig_ip4, __u16 line, __u8 file)
{
	struct sonde_trace msg;

	sonde_count(p, 0, line, file);
	if (!sonde_selected(SONDE_NOTIFY_TRACE) || sonde_limited(SONDE_NOTIFY_TRACE))
		return;
	msg = (struct sonde_trace){
		.pkt = sonde_head(p, SONDE_NOTIFY_TRACE, point, SONDE_TRACE_VERSION),
		.src_identity = p->src_identity, .dst_identity = p->dst_identity, .dst_id = dst_id,
		.reason = ct, .flags = p->flags, .ifindex = p->ifindex, .ip_trace_id = p->ip_trace_id,
	};
	__builtin_memcpy(msg.orig_ip, &orig_ip4, sizeof(orig_ip4));
	sonde_send(p, &msg, sizeof(msg), msg.pkt.len_cap);
}

/* Verdict of a rule on a packet. */
struct sonde_verdict {
	__s32 verdict;		/* < 0 minus the drop reason, 0 allowed, > 0 port of a proxy */
	__u32 remote_identity;
	__u16 dst_port;		/* host order */
	__u8 proto;
	__u8 bits;		/* SONDE_POLICY_* */
	__u32 cookie;		/* of the rule; 0 = none */
};

static __always_inline void sonde_policy_verdict(const struct sonde_packet *p, const struct sonde_verdict *v)
{
	struct sonde_policy msg;

	if (!sonde_selected(SONDE_NOTIFY_POLICY) || sonde_limited(SONDE_NOTIFY_POLICY))
		return;
	msg = (struct sonde_policy){
		.pkt = sonde_head(p, SONDE_NOTIFY_POLICY, 0, SONDE_POLICY_VERSION),
		.remote_identity = v->remote_identity, .verdict = v->verdict, .dst_port = v->dst_port,
		.proto = v->proto, .bits = v->bits, .cookie = v->cookie,
	};
	sonde_send(p, &msg, sizeof(msg), msg.pkt.len_cap);
}

/* A debug message. @code: of Cilium (DBG_*), or of the table. */
static __always_inline void sonde_debug(const struct sonde_packet *p, __u8 code, __u32 arg1, __u32 arg2, __u32 arg3)
{
	struct sonde_debug msg = {
		.common = { .type = SONDE_NOTIFY_DEBUG, .subtype = code, .source = p->source, .hash = p->hash },
		.arg = { arg1, arg2, arg3 },
	};

	if (sonde_selected(SONDE_NOTIFY_DEBUG))
		sonde_send(p, &msg, sizeof(msg), 0);
}

/* The packet at this point of the code. */
static __always_inline void sonde_debug_capture(const struct sonde_packet *p, __u8 code, __u32 arg1, __u32 arg2)
{
	struct sonde_debug_capture msg;

	if (!sonde_selected(SONDE_NOTIFY_DEBUG_CAPTURE))
		return;
	msg = (struct sonde_debug_capture){
		.pkt = sonde_head(p, SONDE_NOTIFY_DEBUG_CAPTURE, code, SONDE_DEBUG_CAPTURE_VERSION),
		.arg = { arg1, arg2 },
	};
	sonde_send(p, &msg, sizeof(msg), msg.pkt.len_cap);
}

/* For the recorder: rule @rule captures @limit bytes of the packet (0 = all). */
static __always_inline void sonde_capture(const struct sonde_packet *p, __u16 rule, __u32 limit)
{
	struct sonde_capture msg;

	if (!sonde_selected(SONDE_NOTIFY_CAPTURE))
		return;
	msg = (struct sonde_capture){
		.common = { .type = SONDE_NOTIFY_CAPTURE, .subtype = p->dir == SONDE_DIR_EGRESS ? 2 : 1,
			    .source = rule },
		.ts_ns = bpf_ktime_get_boot_ns(),
		.len_cap = sonde_capture_len(p, limit ? limit : ~0u), .len_orig = p->len,
	};
	sonde_send(p, &msg, sizeof(msg), msg.len_cap);
}

/*
 * A socket's destination, before or after it was translated. @ctx: of a cgroup/sock_addr program; @ip4: network
 * order; @port: host order.
 */
static __always_inline void sonde_sock4(void *ctx, __u8 protocol, __u8 point, __u32 ip4, __u16 port)
{
	struct sonde_sock msg;

	if (!sonde_selected(SONDE_NOTIFY_SOCK) || sonde_limited(SONDE_NOTIFY_SOCK))
		return;
	msg = (struct sonde_sock){
		.type = SONDE_NOTIFY_SOCK, .point = point,
		.proto = protocol == 6 ? 1 : protocol == 17 ? 2 : 0, .dst_port = port,
		.cookie = bpf_get_socket_cookie(ctx), .cgroup_id = bpf_get_current_cgroup_id(),
	};
	__builtin_memcpy(msg.dst_ip, &ip4, sizeof(ip4));
	bpf_perf_event_output(ctx, &sonde_events, BPF_F_CURRENT_CPU, &msg, sizeof(msg));
}

#endif
