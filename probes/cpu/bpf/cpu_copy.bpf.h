/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Stacks that could not be walked because a file has no table yet: their memory is copied for user space, which walks
 * on when the table is there. A ring of its own, so that what lies on stacks gets into no stream and no recording.
 * Where the ring is full, the stack stays cut.
 */
#ifndef CPU_COPY_BPF_H
#define CPU_COPY_BPF_H

#include "probes/cpu/bpf/cpu_unwind.bpf.h"

const volatile bool cpu_copies_wanted = false;

/* Sized at run time. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} cpu_copies SEC(".maps");

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct mm_struct___stack {
	unsigned long start_stack;
};

#pragma clang attribute pop

/* How much lies between the stack pointer and the end of the stack; of the first thread, without its environment. */
static __always_inline __u64 stack_left(struct cpu_scratch *d, __u32 class)
{
	struct mm_struct___stack *mm = (void *)d->u.mm;
	__u64 sp = d->u.w.sp, pc = d->u.w.pc, first = BPF_CORE_READ(mm, start_stack), end;
	struct vm_area_struct *vma;

	d->u.w.pc = sp;	/* that is what is looked up */
	vma = vma_find(&d->u, class);
	d->u.w.pc = pc;
	if (!vma || BPF_CORE_READ(vma, vm_start) > sp)
		return 0;
	end = BPF_CORE_READ(vma, vm_end);
	if (first > sp && first < end)
		end = first;
	return end > sp ? end - sp : 0;
}

/*
 * Copies what can be read of the @left bytes above the stack pointer: c->head.len bytes behind c->w. That it is
 * counted there, and not here, makes all turns of the loop alike to the verifier.
 */
static __always_inline void copy_bytes(struct cpu_copy_stack *c, __u64 left)
{
	c->head.len = 0;
	for (__u32 i = 0; i < CPU_COPY_CHUNKS; i++) {
		__u64 done = i * CPU_COPY_CHUNK, n = left - done;

		if (left <= done)
			break;
		if (n > CPU_COPY_CHUNK)
			n = CPU_COPY_CHUNK;
		barrier_var(n);	/* what is checked is what is used, also to old verifiers */
		if (n > CPU_COPY_CHUNK || bpf_probe_read_user(c->bytes + done, n, (void *)(c->w.sp + done)))
			break;
		c->head.len = done + n;
	}
}

/*
 * Copies the stack of the walk that just stopped, known by d->copy.at_ns. 1, or 0: there is no room for it. It goes
 * through the desk, so that it takes as much of the ring as it is long: most stacks are of some hundred bytes.
 */
__noinline int cpu_copy_stack(__u32 class)
{
	__u64 id = bpf_get_current_pid_tgid(), left, len;
	struct cpu_scratch *d = desk_of(class);
	struct cpu_copy_stack *c;

	if (!d)
		return 0;
	c = (void *)d->stack;
	left = stack_left(d, class);
	if (!left)
		return 0;
	c->head.at_ns = d->copy.at_ns;
	c->head.kind = CPU_COPY_STACK;
	c->head.tgid = id >> 32;
	c->head.tid = (__u32)id;
	__builtin_memcpy(&c->w, &d->u.w, sizeof(c->w));
	copy_bytes(c, left);
	len = c->head.len;
	c->head.len += sizeof(c->w);
	barrier_var(len);
	if (len > CPU_COPY_CHUNKS * CPU_COPY_CHUNK)
		return 0;
	return !bpf_ringbuf_output(&cpu_copies, c, sizeof(*c) + len, BPF_RB_NO_WAKEUP);
}

/* The stack that was walked ended with @end: has its memory been copied? *ret_at_ns: by what it is known. */
static __always_inline bool stack_copied(__u32 class, __u8 end, __u64 *ret_at_ns)
{
	struct cpu_scratch *d = desk_of(class);

	if (!cpu_copies_wanted || end != SONDE_STACK_NO_TABLE || !d)
		return false;
	*ret_at_ns = d->copy.at_ns = bpf_ktime_get_boot_ns();
	return cpu_copy_stack(class);
}

/*
 * Sends the record on the desk of @class after the stack that was copied, instead of on its own way. False: there is
 * no room, the record is sent as others are.
 */
static __always_inline bool copy_record(struct sonde_ledger *l, __u32 class, __u64 at_ns)
{
	struct cpu_scratch *d = desk_of(class);
	struct cpu_sample_rec *r;
	__u64 len;

	if (!d)
		return false;
	r = (void *)d->rec;
	len = sizeof(*r) + ((__u64)r->n_kern + r->n_user) * sizeof(__u64);
	barrier_var(len);	/* what is checked is what is used, also to old verifiers */
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
