// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Two ways of keeping the last packets of a CPU where user space can read them later: a slot of an array that is
 * mapped there, and an overwritable perf ring. Both store the same 64 bytes of header and the packet's first bytes.
 * For tests/bench/programs/keep_cost.c.
 */
#include "bpf/kernel.h"
#include <bpf/bpf_helpers.h>

#define KEEP_SLOTS 4096
#define KEEP_BYTES 1536

const volatile __u32 keep_snap = 128;

struct keep_head {
	__u64 seq, ts_ns, cookie;
	__u32 ifindex, len, cap, hash, mark, dir;
	__u64 pad[2];
};

struct keep_slot {
	struct keep_head head;
	__u8 data[KEEP_BYTES];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, KEEP_SLOTS);
	__type(key, __u32);
	__type(value, struct keep_slot);
} keep_slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} keep_pos SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(max_entries, 1);	/* CPUs, set at run time */
	__type(key, __u32);
	__type(value, __u32);
} keep_perf SEC(".maps");

static __always_inline void fill(struct keep_head *h, struct __sk_buff *skb)
{
	h->ts_ns = bpf_ktime_get_boot_ns();
	h->cookie = bpf_get_socket_cookie(skb);
	h->ifindex = skb->ifindex;
	h->len = skb->len;
	h->hash = skb->hash;
	h->mark = skb->mark;
	h->dir = 1;
}

SEC("tc")
int keep_none(struct __sk_buff *skb)
{
	return -1;
}

SEC("tc")
int keep_in_slot(struct __sk_buff *skb)
{
	__u32 zero = 0, cap = skb->len < keep_snap ? skb->len : keep_snap, at;
	__u64 *pos = bpf_map_lookup_elem(&keep_pos, &zero), seq;
	struct keep_slot *s;

	if (!pos)
		return 1;
	seq = (*pos)++;
	at = seq & (KEEP_SLOTS - 1);
	s = bpf_map_lookup_elem(&keep_slots, &at);
	if (!s)
		return 1;
	*(volatile __u64 *)&s->head.seq = 0;
	barrier();
	fill(&s->head, skb);
	cap--;
	barrier_var(cap);
	if (cap >= KEEP_BYTES || bpf_skb_load_bytes(skb, 0, s->data, cap + 1))
		return 1;
	s->head.cap = cap + 1;
	barrier();
	*(volatile __u64 *)&s->head.seq = seq + 1;
	return -1;
}

SEC("tc")
int keep_in_perf(struct __sk_buff *skb)
{
	__u64 cap = skb->len < keep_snap ? skb->len : keep_snap;
	struct keep_head h = {};

	fill(&h, skb);
	h.cap = cap;
	if (bpf_perf_event_output(skb, &keep_perf, cap << 32 | BPF_F_CURRENT_CPU, &h, sizeof(h)))
		return 1;
	return -1;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
