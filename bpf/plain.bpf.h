/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * A ring for records that programs of one kind alone write, on a CPU one after the other: plain memory, written
 * without any call into the kernel. Reserving and committing in a ring buffer of the kernel are two calls, and cost
 * several times what filling a small record does.
 *
 * The rule for whoever uses it: programs that can interrupt one another on a CPU never share it. So only the
 * programs at the entry and the exit of system calls do, which run with preemption off and outside of interrupts.
 *
 * Records look as in a BPF ring buffer (u32 length, u32 0, data), so one reader reads both. A record that begins
 * before the end of the data runs on into the slack behind it.
 */
#ifndef BPF_PLAIN_BPF_H
#define BPF_PLAIN_BPF_H

#include "bpf/ring.bpf.h"
#include "sonde/plain_wire.h"

UNIT_SHARED const volatile __u64 sonde_plain_mask = 0;	/* bytes of data - 1; 0 = there is no such ring */
UNIT_SHARED const volatile __u32 sonde_plain_wakeup_bytes = 0;

/* Stores become visible in the order they are made only on x86; others need barriers that old kernels do not have. */
#if defined(__TARGET_ARCH_x86)

/* An element per possible CPU: sizes are set at run time. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, SONDE_PLAIN_HEAD);
} sonde_plain UNIT_SHARED SEC(".maps");

/* False: use the ring buffer. The verifier knows which it is, and looks at that way alone. */
static __always_inline bool plain_there(void)
{
	return sonde_plain_mask;
}

static __always_inline struct sonde_plain_head *plain_of_this_cpu(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&sonde_plain, &cpu);
}

#else

static __always_inline bool plain_there(void)
{
	return false;
}

static __always_inline struct sonde_plain_head *plain_of_this_cpu(void)
{
	return NULL;
}

#endif

/* Room for a record of up to SONDE_PLAIN_MOST bytes. NULL = lost and counted, as rec_reserve() does. */
static __always_inline void *plain_reserve(struct sonde_plain_head **ret, struct sonde_ledger *l)
{
	struct sonde_plain_head *p = plain_of_this_cpu();
	__u64 pos;

	if (!p || p->prod - *(volatile __u64 *)&p->cons > sonde_plain_mask + 1 - SONDE_PLAIN_MOST) {
		l->seq++;
		rec_lost(l, SONDE_LOST_RING_FULL);
		return NULL;
	}
	pos = p->prod;
	*ret = p;
	return (void *)p + SONDE_PLAIN_HEAD + SONDE_PLAIN_REC + (pos & sonde_plain_mask);
}

/* Asks for the reader: through the ring that it waits for, with a record that nobody sees. */
static __noinline int plain_wake(void)
{
	void *ring = ring_of_this_cpu(LANE_BULK), *rec;

	rec = ring ? bpf_ringbuf_reserve(ring, 8, 0) : NULL;
	if (rec)
		bpf_ringbuf_discard(rec, BPF_RB_FORCE_WAKEUP);
	return 0;
}

/* @rec is complete, @len bytes, at most what was asked for. */
static __always_inline void plain_submit(struct sonde_plain_head *p, struct sonde_ledger *l, void *rec, __u32 len)
{
	__u64 pos = p->prod, cons = *(volatile __u64 *)&p->cons;

	*(__u64 *)(rec - SONDE_PLAIN_REC) = len;
	barrier();
	*(volatile __u64 *)&p->prod = pos + SONDE_PLAIN_REC + ((len + 7) & ~7u);
	l->seq++;
	l->delivered++;
	/* once for each place that the reader stands at: one that is late is not woken again */
	if (pos - cons >= sonde_plain_wakeup_bytes && p->woken != cons + 1) {
		p->woken = cons + 1;
		plain_wake();
	}
}

#endif
