/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * An mmap ring: an array map mapped by the reader and written without helper calls. A BPF ring buffer needs two calls
 * per record, reserve and commit, which cost several times the work of filling a small record.
 *
 * Programs that can interrupt each other on a CPU must not share it. Only the programs at entry and exit of system
 * calls use it: they run with preemption disabled and outside of interrupts.
 *
 * Records have the layout of a BPF ring buffer (u32 length, u32 0, data), so the same code reads both. A record that
 * starts before the end of the data continues into the slack.
 */
#ifndef BPF_PLAIN_BPF_H
#define BPF_PLAIN_BPF_H

#include "bpf/ring.bpf.h"
#include "sonde/plain_wire.h"

UNIT_SHARED const volatile __u64 sonde_plain_mask = 0;	/* bytes of data - 1; 0 = no mmap ring */
UNIT_SHARED const volatile __u32 sonde_plain_wakeup_bytes = 0;

/* x86 keeps the order of stores; other architectures need barriers that old kernels lack. */
#if defined(__TARGET_ARCH_x86)

/* An element per possible CPU; sizes are set at run time. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, SONDE_PLAIN_HEAD);
} sonde_plain UNIT_SHARED SEC(".maps");

/* False: use the ring buffer. A constant for the verifier. */
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

/* Reserves a record of up to SONDE_PLAIN_MOST bytes. NULL = lost and counted, as in rec_reserve(). */
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

/* Wakes the reader by a discarded record in the ring buffer that it polls. */
static __noinline int plain_wake(void)
{
	void *ring = ring_of_this_cpu(LANE_BULK), *rec;

	rec = ring ? bpf_ringbuf_reserve(ring, 8, 0) : NULL;
	if (rec)
		bpf_ringbuf_discard(rec, BPF_RB_FORCE_WAKEUP);
	return 0;
}

/* Commits @rec of @len bytes, at most the reserved size. */
static __always_inline void plain_submit(struct sonde_plain_head *p, struct sonde_ledger *l, void *rec, __u32 len)
{
	__u64 pos = p->prod, cons = *(volatile __u64 *)&p->cons;

	*(__u64 *)(rec - SONDE_PLAIN_REC) = len;
	barrier();
	*(volatile __u64 *)&p->prod = pos + SONDE_PLAIN_REC + ((len + 7) & ~7u);
	l->seq++;
	l->delivered++;
	/* once per consumer position: a slow reader is not woken again */
	if (pos - cons >= sonde_plain_wakeup_bytes && p->woken != cons + 1) {
		p->woken = cons + 1;
		plain_wake();
	}
}

#endif
