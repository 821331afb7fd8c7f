/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Copies of stacks whose walk stopped at a file without a table: user space finishes the walk when the table is
 * there. They have a ring of their own, so the memory of stacks enters no stream and no recording. When the ring is
 * full, the stack stays truncated.
 */
#ifndef CPU_COPY_BPF_H
#define CPU_COPY_BPF_H

#include "bpf/ring.bpf.h"
#include "probes/cpu/bpf/cpu_state.bpf.h"
#include "sonde/stack_wire.h"

UNIT_SHARED const volatile bool cpu_copies_on = false;

/* Sized at run time. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} cpu_copies UNIT_SHARED SEC(".maps");

/* Copies the stack of the walk that just stopped; its key is d->copy.at_ns. 1, or 0: no room. */
int cpu_copy_stack(__u32 class);

/* True if the walk ended with @end and the stack was copied; *ret_at_ns is the key of the copy. */
static __always_inline bool stack_copied(__u32 class, __u8 end, __u64 *ret_at_ns)
{
	struct cpu_scratch *d = get_scratch(class);

	if (!cpu_copies_on || end != SONDE_STACK_NO_TABLE || !d)
		return false;
	*ret_at_ns = d->copy.at_ns = bpf_ktime_get_boot_ns();
	return cpu_copy_stack(class);
}

/*
 * Sends the record of @class to the ring of copies, after its stack. False: the ring is full, the record takes the
 * common way.
 */
static __always_inline bool copy_record(struct sonde_ledger *l, __u32 class, __u64 at_ns)
{
	struct cpu_scratch *d = get_scratch(class);
	struct cpu_sample_rec *r;
	__u64 len;

	if (!d)
		return false;
	r = (void *)d->rec;
	len = fixed_bytes(class) + ((__u64)r->n_kern + r->n_user) * sizeof(__u64);
	barrier_var(len);	/* keep the check and the use in one register for old verifiers */
	if (len > sizeof(*r) + SCRATCH_IPS * sizeof(__u64))
		return false;
	r->hdr.len = len;
	d->copy.at_ns = at_ns;
	d->copy.kind = CPU_COPY_REC;
	d->copy.tgid = r->hdr.tgid;
	d->copy.tid = r->hdr.tid;
	d->copy.len = len;
	if (bpf_ringbuf_output(&cpu_copies, &d->copy, sizeof(d->copy) + len, BPF_RB_NO_WAKEUP))
		return false;
	l->seq++;
	l->delivered++;
	return true;
}

#endif
