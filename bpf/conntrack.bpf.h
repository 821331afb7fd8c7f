/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Look-ups in connection tracking by the kernel functions of net/netfilter/nf_conntrack_bpf.c (5.18, packet programs
 * only). Without them packets count as not tracked.
 */
#ifndef BPF_CONNTRACK_BPF_H
#define BPF_CONNTRACK_BPF_H

#include "bpf/kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

enum { BPF_F_CURRENT_NETNS = -1 };

/* UAPI, bpf_tuple of look-ups. */
struct bpf_sock_tuple {
	union {
		struct {
			__be32 saddr, daddr;
			__be16 sport, dport;
		} ipv4;
		struct {
			__be32 saddr[4], daddr[4];
			__be16 sport, dport;
		} ipv6;
	};
};

/* The first 12 bytes, which all kernels with the function accept. */
struct bpf_ct_opts___old {
	__s32 netns_id;
	__s32 error;
	__u8 l4proto;
	__u8 dir;
	__u8 reserved[2];
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

union nf_inet_addr {
	__u32 all[4];
};

struct nf_conntrack_man {
	union nf_inet_addr u3;
	union {
		__be16 all;
	} u;
};

struct nf_conntrack_tuple {
	struct nf_conntrack_man src;
	struct {
		union nf_inet_addr u3;
		union {
			__be16 all;
		} u;
	} dst;
};

struct nf_conntrack_tuple_hash {
	struct nf_conntrack_tuple tuple;
};

struct nf_conn {
	struct nf_conntrack_tuple_hash tuplehash[2];	/* original, reply */
	unsigned long status;
};

/* CONFIG_NF_CONNTRACK_MARK */
struct nf_conn___mark {
	__u32 mark;
};

#pragma clang attribute pop

/* enum ip_conntrack_status */
#define IPS_EXPECTED (1u << 0)
#define IPS_SEEN_REPLY (1u << 1)
#define IPS_SRC_NAT (1u << 4)
#define IPS_DST_NAT (1u << 5)
#define IPS_OFFLOAD (1u << 14)
#define IPS_HW_OFFLOAD (1u << 15)

struct nf_conn *bpf_skb_ct_lookup(struct __sk_buff *skb, struct bpf_sock_tuple *tuple, __u32 tuple_len,
				  struct bpf_ct_opts___old *opts, __u32 opts_len) __ksym __weak;
struct nf_conn *bpf_xdp_ct_lookup(struct xdp_md *xdp, struct bpf_sock_tuple *tuple, __u32 tuple_len,
				  struct bpf_ct_opts___old *opts, __u32 opts_len) __ksym __weak;
void bpf_ct_release(struct nf_conn *ct) __ksym __weak;

/* The connection of @t, to be released; or NULL. @len: of the family's tuple. *ret_dir: 1 = reply direction. */
static __always_inline struct nf_conn *conntrack_find_dir(struct __sk_buff *skb, struct bpf_sock_tuple *t, __u32 len,
							  __u8 proto, __u8 *ret_dir)
{
	struct bpf_ct_opts___old opts = { .netns_id = BPF_F_CURRENT_NETNS, .l4proto = proto };
	struct nf_conn *ct = bpf_skb_ct_lookup(skb, t, len, &opts, sizeof(opts));

	*ret_dir = opts.dir;
	return ct;
}

static __always_inline struct nf_conn *conntrack_find(struct __sk_buff *skb, struct bpf_sock_tuple *t, __u32 len,
						      __u8 proto)
{
	__u8 dir;

	return conntrack_find_dir(skb, t, len, proto, &dir);
}

/* The same in an XDP program. */
static __always_inline struct nf_conn *conntrack_find_xdp(struct xdp_md *xdp, struct bpf_sock_tuple *t, __u32 len,
							  __u8 proto)
{
	struct bpf_ct_opts___old opts = { .netns_id = BPF_F_CURRENT_NETNS, .l4proto = proto };

	return bpf_xdp_ct_lookup(xdp, t, len, &opts, sizeof(opts));
}

#endif
