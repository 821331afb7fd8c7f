/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Connection tracking. An entry is stored under the tuple of the first packet; replies find it by the reversed tuple.
 */
#ifndef VPC_CT_H
#define VPC_CT_H

#include "vpc_packet.h"

struct vpc_conn {
	__u64 packets, bytes;	/* both ways */
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, struct vpc_tuple);
	__type(value, struct vpc_conn);
} vpc_conns SEC(".maps");

static __always_inline struct vpc_tuple tuple_turned(const struct vpc_tuple *t)
{
	return (struct vpc_tuple){ .saddr = t->daddr, .daddr = t->saddr, .sport = t->dport, .dport = t->sport,
				   .proto = t->proto };
}

static __always_inline int conn_found(struct vpc_packet *v, const struct vpc_tuple *t)
{
	struct vpc_conn *c = bpf_map_lookup_elem(&vpc_conns, t);

	if (!c)
		return 0;
	__sync_fetch_and_add(&c->packets, 1);
	__sync_fetch_and_add(&c->bytes, v->p.len);
	if (v->t.proto == IPPROTO_TCP && (v->tcp_flags & TCP_FIN_RST) == 4)	/* reset: nothing follows */
		bpf_map_delete_elem(&vpc_conns, t);
	return 1;
}

static __always_inline int conn_known(const struct vpc_tuple *t)
{
	struct vpc_tuple back = tuple_turned(t);

	return bpf_map_lookup_elem(&vpc_conns, t) || bpf_map_lookup_elem(&vpc_conns, &back);
}

/* enum sonde_trace_reason. A new connection is not added yet. */
static __always_inline __u8 conn_state(struct vpc_packet *v)
{
	struct vpc_tuple back = tuple_turned(&v->t);

	if (v->about.proto)
		return conn_known(&v->about) ? SONDE_CT_RELATED : SONDE_CT_NEW;
	sonde_debug(&v->p, 6 /* CT lookup */, (__u32)bpf_ntohs(v->t.sport) << 16 | bpf_ntohs(v->t.dport),
		    (__u32)v->t.proto << 8, 0);
	/* the identifiers of an echo are equal both ways, so its type says who asked */
	if (!(v->t.proto == IPPROTO_ICMP && v->icmp_type == ICMP_ECHO) && conn_found(v, &back))
		return SONDE_CT_REPLY;
	return conn_found(v, &v->t) ? SONDE_CT_ESTABLISHED : SONDE_CT_NEW;
}

/* 0, or a negative errno. */
static __always_inline int conn_enter(struct vpc_packet *v)
{
	struct vpc_conn first = { 1, v->p.len };

	return bpf_map_update_elem(&vpc_conns, &v->t, &first, BPF_ANY);
}

#endif
