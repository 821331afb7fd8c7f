/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Output of records: one ring buffer per CPU and class (lane), the ledger, wake-ups of the reader.
 *
 * A row of the ledger belongs to an instance and a hook class. Programs that can interrupt each other on a CPU are in
 * different classes, and none is preempted (preempt.bpf.h): plain increments are exact. After ledger_seen() each path
 * through a program calls exactly one of rec_filtered(), rec_sampled(), rec_lost(), rec_submit() or rec_output();
 * rec_reserve() counts its own failure.
 */
#ifndef BPF_RING_BPF_H
#define BPF_RING_BPF_H

#include "bpf/kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include "sonde/wire.h"

/* Life-cycle records have their own rings: a flood of bulk records must not displace them. */
enum lane { LANE_BULK, LANE_LIFE };

/* Filled before load (src/probe/env.c). */
UNIT_SHARED const volatile __u16 sonde_instance = 0;
UNIT_SHARED const volatile __u32 sonde_wakeup_bytes[2] = { 262144, 65536 };

struct sonde_ring {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096); /* set at run time */
};

#define SONDE_RINGS(name) \
	struct { \
		__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS); \
		__uint(max_entries, 1); /* possible CPUs, set at run time */ \
		__type(key, __u32); \
		__array(values, struct sonde_ring); \
	} name UNIT_SHARED SEC(".maps")

SONDE_RINGS(sonde_rings_bulk);
SONDE_RINGS(sonde_rings_life);

UNIT_MAP(sonde_ledger, PERCPU_ARRAY, SONDE_LEDGER_ROWS, __u32, struct sonde_ledger);

/* The row of this instance and @class on this CPU. Never NULL, but the verifier needs a check. */
static __always_inline struct sonde_ledger *ledger_row(__u32 class)
{
	__u32 row = (__u32)sonde_instance * SONDE_CLASSES + (class & (SONDE_CLASSES - 1));

	return bpf_map_lookup_elem(&sonde_ledger, &row);
}

/* The same, with a hit counted in it. */
static __always_inline struct sonde_ledger *ledger_seen(__u32 class)
{
	struct sonde_ledger *l = ledger_row(class);

	if (l)
		l->seen++;
	return l;
}

static __always_inline void rec_filtered(struct sonde_ledger *l)
{
	l->filtered++;
}

static __always_inline void rec_sampled(struct sonde_ledger *l)
{
	l->sampled++;
}

static __always_inline void rec_lost(struct sonde_ledger *l, __u32 cause)
{
	l->lost[cause & (SONDE_LOST_ROOM - 1)]++;
}
_Static_assert((SONDE_LOST_ROOM & (SONDE_LOST_ROOM - 1)) == 0 && SONDE_LOST_ROOM >= SONDE_LOST__MAX,
	       "the mask above needs a power of two");

static __always_inline void *ring_of_this_cpu(enum lane lane)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return lane == LANE_LIFE ? bpf_map_lookup_elem(&sonde_rings_life, &cpu) :
				   bpf_map_lookup_elem(&sonde_rings_bulk, &cpu);
}

/*
 * Reserves a record of constant @size. Records cannot shrink later: callers use size classes and put the real length
 * into the header. NULL = lost and counted, with a gap in the sequence numbers.
 */
static __always_inline void *rec_reserve(struct sonde_ledger *l, enum lane lane, __u64 size)
{
	void *ring = ring_of_this_cpu(lane), *rec;

	rec = ring ? bpf_ringbuf_reserve(ring, size, 0) : NULL;
	if (!rec) {
		l->seq++;
		rec_lost(l, SONDE_LOST_RING_FULL);
	}
	return rec;
}

/*
 * The reader sleeps until its deadline unless a ring fills up. The query costs half as much as a record, so every
 * 16th record makes it. A wake-up costs as much as a hundred records: a reader is woken again only after it has read
 * something since the last wake-up. (Positions are multiples of 8.)
 */
static __always_inline __u64 wakeup_flags(struct sonde_ledger *l, enum lane lane)
{
	__u32 reader;
	void *ring;

	if (l->seq & 15)
		return BPF_RB_NO_WAKEUP;
	ring = ring_of_this_cpu(lane);
	if (!ring || bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) < sonde_wakeup_bytes[lane == LANE_LIFE])
		return BPF_RB_NO_WAKEUP;
	reader = (__u32)bpf_ringbuf_query(ring, BPF_RB_CONS_POS) | 1;
	if (l->woken == reader)
		return BPF_RB_NO_WAKEUP;
	l->woken = reader;
	return BPF_RB_FORCE_WAKEUP;
}

static __always_inline void rec_submit(struct sonde_ledger *l, enum lane lane, void *rec)
{
	l->seq++;
	l->delivered++;
	bpf_ringbuf_submit(rec, wakeup_flags(l, lane));
}

/* For a record that user space must act on at once: it is not left to the reader's deadline. */
static __always_inline void rec_submit_now(struct sonde_ledger *l, void *rec)
{
	l->seq++;
	l->delivered++;
	bpf_ringbuf_submit(rec, BPF_RB_FORCE_WAKEUP);
}

static __always_inline int ring_output(struct sonde_ledger *l, enum lane lane, void *rec, __u32 len)
{
	void *ring = ring_of_this_cpu(lane);

	l->seq++;
	if (ring && !bpf_ringbuf_output(ring, rec, len, wakeup_flags(l, lane)))
		return 0;
	rec_lost(l, SONDE_LOST_RING_FULL);
	return -1;
}

/* Sends a record of variable length from the caller's memory. 0, or -1 if lost (and counted). */
static __always_inline int rec_output(struct sonde_ledger *l, enum lane lane, void *rec, __u32 len)
{
	if (ring_output(l, lane, rec, len) < 0)
		return -1;
	l->delivered++;
	return 0;
}

/* The same for a record with SONDE_RF_FACT, after ledger_row(): seen counts it only if it is lost. */
static __always_inline int rec_output_fact(struct sonde_ledger *l, enum lane lane, void *rec, __u32 len)
{
	if (!ring_output(l, lane, rec, len))
		return 0;
	l->seen++;
	return -1;
}

/*
 * Fills the header with the keys of the caller; 0 = unknown. @ts_ns: when it happened, by bpf_ktime_get_boot_ns().
 * @flags: SONDE_RF_*, including the class.
 */
static __always_inline void rec_init_at(struct sonde_rec *r, __u64 ts_ns, const struct sonde_ledger *l, __u16 type,
					__u32 len, __u16 flags, __u32 tgid, __u32 tid, __u64 start_ns)
{
	r->ts_ns = ts_ns;
	r->len = len;
	r->type = type;
	r->cpu = bpf_get_smp_processor_id();
	r->tgid = tgid;
	r->tid = tid;
	r->start_ns = start_ns;
	r->seq = l->seq + 1;
	r->instance = sonde_instance;
	r->flags = flags;
}

/* The same for what happens now. */
static __always_inline void rec_init_keys(struct sonde_rec *r, const struct sonde_ledger *l, __u16 type, __u32 len,
					  __u16 flags, __u32 tgid, __u32 tid, __u64 start_ns)
{
	rec_init_at(r, bpf_ktime_get_boot_ns(), l, type, len, flags, tgid, tid, start_ns);
}

/* Fills the header with the keys of the current task. */
static __always_inline void rec_init(struct sonde_rec *r, const struct sonde_ledger *l, __u16 type, __u32 len,
				     __u16 flags)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	__u64 id = bpf_get_current_pid_tgid();

	rec_init_keys(r, l, type, len, flags, id >> 32, (__u32)id, BPF_CORE_READ(task, group_leader, start_boottime));
}

#endif
