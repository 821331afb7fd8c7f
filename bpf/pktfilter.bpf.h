/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The place in a program where the user's packet filter runs. As compiled it is "match all" and disappears at
 * load, because the verifier sees constants and removes what they cut off. pktfilter_splice() overwrites it:
 * the mode with the filter's depth, the pool with converted code.
 *
 * The code looks at a view: a start and an end pointer. If the bytes that the filter can ask for lie in one
 * piece, the view is the packet itself. Else they are first copied, no deeper than the filter needs, with the
 * VLAN tag that the kernel keeps beside the packet put back in its place, so that `vlan` and every offset behind
 * a tag mean what they mean on the wire. One program must not use the pool twice.
 */
#ifndef BPF_PKTFILTER_BPF_H
#define BPF_PKTFILTER_BPF_H

#include "bpf/kernel.h"

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "sonde/pktfilter_wire.h"
#include "sonde/wire.h"

#define PKTFILTER_TAG_OFF 12	/* a VLAN tag stands behind both MAC addresses */
#define PKTFILTER_TAG_LEN 4

/* Copied bytes. One entry per kind of hook, as one kind may interrupt another one. */
enum { PKTFILTER_BUF_TC, PKTFILTER_BUF_SKB, PKTFILTER_BUF__MAX };

struct pktfilter_buf {
	__u8 data[PKTFILTER_BUF_BYTES];
	__u32 avail, len, link;	/* see pktfilter_skb() */
	__u8 slack[PKTFILTER_BUF_BYTES];	/* the verifier adds up bounds: start of a copy + its length */
};

MAP(sonde_filter_buf, PERCPU_ARRAY, PKTFILTER_BUF__MAX, __u32, struct pktfilter_buf);

/* The depth in bytes, or PKTFILTER_MODE_*. */
static __always_inline __u32 pktfilter_mode(void)
{
	__u64 mode;

	asm volatile("%0 = %1" : "=r"(mode) : "i"(PKTFILTER_MODE_ALL));
	return mode;
}

/* The pool: see cbpf.h for the registers. @len: of the whole view on the wire. Returns PKTFILTER_*. */
static __always_inline __u32 pktfilter_run(const void *view, const void *view_end, __u32 len, __u32 link)
{
	__u32 words[16];
	register __u64 r0 asm("r0");
	register const void *r1 asm("r1") = view;
	register const void *r2 asm("r2") = view_end;
	register __u64 r3 asm("r3") = len;
	register __u32 *r4 asm("r4") = words;
	register __u64 r5 asm("r5") = link == SONDE_LINK_ETHERNET;

	asm volatile("r0 = %[mark]\n"
		     "if r0 == %[mark] goto +%[size]\n"
		     ".rept %[size]\n"
		     "goto +0\n"
		     ".endr\n"
		     : "=r"(r0), "+r"(r1), "+r"(r2), "+r"(r3), "+r"(r4), "+r"(r5)
		     : [mark] "i"(PKTFILTER_POOL_MARK), [size] "i"(PKTFILTER_POOL_INSNS)
		     : "memory");
	return r0;
}

/* "Did not fit into the view" is a rejection, as in libpcap, if the view showed the whole packet. */
static __always_inline int pktfilter_verdict(__u32 verdict, __u32 avail, __u32 len)
{
	if (verdict == PKTFILTER_UNDECIDED && avail >= len && len <= PKTFILTER_BUF_BYTES)
		return PKTFILTER_REJECT;
	return verdict;
}

/* How much to copy of @len bytes, never more than the buffer. */
static __always_inline __u32 pktfilter_want(__u32 len, __u32 depth)
{
	__u32 want = len < depth ? len : depth;

	if (want > PKTFILTER_BUF_BYTES)
		want = PKTFILTER_BUF_BYTES;
	return want;
}

/*
 * True if *n is in 1..max, such that the verifier learns the bounds: before 6.8 it ignores a comparison with zero,
 * and the compiler must compare the register that is used later.
 */
static __always_inline bool pktfilter_bound(__u32 *n, __u32 max)
{
	__u32 less = *n - 1;

	barrier_var(less);
	if (less >= max)
		return false;
	*n = less + 1;
	return true;
}

static __always_inline void pktfilter_put_tag(struct pktfilter_buf *b, __be16 proto, __u16 tci)
{
	__be16 tag[2] = { proto, bpf_htons(tci) };

	__builtin_memcpy(b->data + PKTFILTER_TAG_OFF, tag, sizeof(tag));
}

/* Copies up to @want bytes of the view. Returns what is there, 0 on failure. */
static __always_inline __u32 pktfilter_load_tc(struct __sk_buff *skb, struct pktfilter_buf *b, __u32 want,
					       bool tagged)
{
	__u32 rest = want - PKTFILTER_TAG_OFF - PKTFILTER_TAG_LEN;

	if (!tagged) {
		if (!pktfilter_bound(&want, PKTFILTER_BUF_BYTES) || bpf_skb_load_bytes(skb, 0, b->data, want))
			return 0;
		return want;
	}
	pktfilter_put_tag(b, skb->vlan_proto, skb->vlan_tci);
	if (bpf_skb_load_bytes(skb, 0, b->data, PKTFILTER_TAG_OFF))
		return 0;
	if (!pktfilter_bound(&rest, PKTFILTER_BUF_BYTES - PKTFILTER_TAG_OFF - PKTFILTER_TAG_LEN))
		return pktfilter_want(want, PKTFILTER_TAG_OFF + PKTFILTER_TAG_LEN);
	if (bpf_skb_load_bytes(skb, PKTFILTER_TAG_OFF, b->data + PKTFILTER_TAG_OFF + PKTFILTER_TAG_LEN, rest))
		return 0;
	return want;
}

/*
 * The verdict (PKTFILTER_*) of the spliced filter on a packet in a tc or tcx program. @link: what the packet
 * starts with, SONDE_LINK_ETHERNET or SONDE_LINK_RAW; best a constant of the program.
 */
static __always_inline int pktfilter_tc(struct __sk_buff *skb, __u32 link)
{
	__u32 depth = pktfilter_mode(), key = PKTFILTER_BUF_TC, len = skb->len, avail;
	const void *view = (void *)(long)skb->data, *view_end = (void *)(long)skb->data_end;
	bool tagged = link == SONDE_LINK_ETHERNET && skb->vlan_present;
	struct pktfilter_buf *b;

	if (depth == PKTFILTER_MODE_ALL)
		return PKTFILTER_PASS;
	if (depth == PKTFILTER_MODE_USER)
		return PKTFILTER_UNDECIDED;
	/* else the compiler subtracts 32-bit halves, which the verifier refuses */
	barrier_var(view);
	barrier_var(view_end);
	avail = view_end - view;
	if (tagged)
		len += PKTFILTER_TAG_LEN;
	if (tagged || avail < pktfilter_want(len, depth)) {
		b = bpf_map_lookup_elem(&sonde_filter_buf, &key);
		if (!b)
			return PKTFILTER_UNDECIDED;
		avail = pktfilter_load_tc(skb, b, pktfilter_want(len, depth), tagged);
		view = b->data;
		if (avail > PKTFILTER_BUF_BYTES)
			return PKTFILTER_UNDECIDED;
		view_end = view + avail;
	}
	return pktfilter_verdict(pktfilter_run(view, view_end, len, link), avail, len);
}

/* ---- tracing programs ---- */

struct bpf_dynptr {
	__u64 opaque[2];
} __attribute__((aligned(8)));

/* For tracing programs since 6.12; that it exists does not mean that it may be called (6.4). */
extern int bpf_dynptr_from_skb(struct __sk_buff *skb, __u64 flags, struct bpf_dynptr *ret) __weak __ksym;

/* After its last use: the compiler reuses the stack slot, and helpers may not write to a dynptr there. */
static __always_inline void pktfilter_end_dynptr(struct bpf_dynptr *d)
{
	((volatile struct bpf_dynptr *)d)->opaque[0] = 0;
	((volatile struct bpf_dynptr *)d)->opaque[1] = 0;
}

/* A packet seen by a tracing program. */
struct pktfilter_packet {
	struct sk_buff *skb;	/* as the tracepoint gave it (tp_btf), else NULL */
	const void *start;	/* kernel address of its first byte */
	__u32 linear;		/* bytes that can be read from there */
	__u32 len;		/* bytes of the packet, the tag below not counted */
	__u32 link;		/* SONDE_LINK_ETHERNET, else it starts with its IP header */
	bool tagged;		/* a VLAN tag stands beside the packet */
	__be16 vlan_proto;
	__u16 vlan_tci;		/* host order */
};

static __always_inline bool pktfilter_can_read_frags(void)
{
	__u64 can;

	asm volatile("%0 = %1" : "=r"(can) : "i"(PKTFILTER_FRAGS_NO));
	return can == PKTFILTER_FRAGS_YES;
}

/* As pktfilter_load_tc(), by kernel address: @want bytes of the view are linear. */
static __always_inline __u32 pktfilter_load_linear(const struct pktfilter_packet *p, struct pktfilter_buf *b,
						   __u32 want, bool tagged)
{
	__u32 rest = want - PKTFILTER_TAG_OFF - PKTFILTER_TAG_LEN;

	if (!tagged) {
		if (!pktfilter_bound(&want, PKTFILTER_BUF_BYTES) || bpf_probe_read_kernel(b->data, want, p->start))
			return 0;
		return want;
	}
	pktfilter_put_tag(b, p->vlan_proto, p->vlan_tci);
	if (bpf_probe_read_kernel(b->data, PKTFILTER_TAG_OFF, p->start))
		return 0;
	if (!pktfilter_bound(&rest, PKTFILTER_BUF_BYTES - PKTFILTER_TAG_OFF - PKTFILTER_TAG_LEN))
		return pktfilter_want(want, PKTFILTER_TAG_OFF + PKTFILTER_TAG_LEN);
	if (bpf_probe_read_kernel(b->data + PKTFILTER_TAG_OFF + PKTFILTER_TAG_LEN, rest,
				  p->start + PKTFILTER_TAG_OFF))
		return 0;
	return want;
}

/* Adds page fragments to the @have bytes that were all of the linear part. Returns what is there then. */
static __always_inline __u32 pktfilter_load_frags(const struct pktfilter_packet *p, struct pktfilter_buf *b,
						  __u32 have, __u32 want)
{
	__u32 rest = want - have;
	struct bpf_dynptr bytes;
	bool failed;

	if (!p->skb || have >= want || !pktfilter_can_read_frags())
		return have;
	if (!pktfilter_bound(&have, PKTFILTER_BUF_BYTES) || !pktfilter_bound(&rest, PKTFILTER_BUF_BYTES))
		return have;
	/* its offset 0 is skb->data, wherever that stands; the fragments begin where the linear part ends */
	failed = bpf_dynptr_from_skb((struct __sk_buff *)p->skb, 0, &bytes) ||
		 bpf_dynptr_read(b->data + have, rest, &bytes, p->skb->len - p->skb->data_len, 0);
	pktfilter_end_dynptr(&bytes);
	return failed ? have : want;
}

/*
 * The verdict (PKTFILTER_*) in a tracing program, on a packet that only kernel addresses lead to. Without p->skb,
 * and on kernels before 6.12, bytes outside its linear part cannot be read: a verdict that needs them is
 * PKTFILTER_UNDECIDED.
 */
static __always_inline int pktfilter_skb(const struct pktfilter_packet *p)
{
	__u32 depth = pktfilter_mode(), key = PKTFILTER_BUF_SKB, len = p->len, have = p->linear, want, avail;
	bool tagged = p->link == SONDE_LINK_ETHERNET && p->tagged && have >= PKTFILTER_TAG_OFF;
	struct pktfilter_buf *b;
	const void *view;

	if (depth == PKTFILTER_MODE_ALL)
		return PKTFILTER_PASS;
	if (depth == PKTFILTER_MODE_USER)
		return PKTFILTER_UNDECIDED;
	if (tagged) {
		len += PKTFILTER_TAG_LEN;
		have += PKTFILTER_TAG_LEN;
	}
	b = bpf_map_lookup_elem(&sonde_filter_buf, &key);
	if (!b)
		return PKTFILTER_UNDECIDED;
	want = pktfilter_want(len, depth);
	avail = pktfilter_load_linear(p, b, have < want ? have : want, tagged);
	if (avail == have)
		avail = pktfilter_load_frags(p, b, avail, want);
	/* through memory and back: else the verifier walks the filter once for each way here */
	*(volatile __u32 *)&b->avail = avail;
	*(volatile __u32 *)&b->len = len;
	*(volatile __u32 *)&b->link = p->link;
	avail = *(volatile __u32 *)&b->avail;
	len = *(volatile __u32 *)&b->len;
	if (avail > PKTFILTER_BUF_BYTES)
		return PKTFILTER_UNDECIDED;
	view = b->data;
	return pktfilter_verdict(pktfilter_run(view, view + avail, len, *(volatile __u32 *)&b->link), avail, len);
}

#endif
