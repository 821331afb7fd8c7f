// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Copies the memory of one user stack into the ring of copies.
 */
#include "probes/cpu/bpf/cpu_copy.bpf.h"
#include "probes/cpu/bpf/cpu_vma.bpf.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct mm_struct___stack {
	unsigned long start_stack;
};

#pragma clang attribute pop

/* Bytes between the stack pointer and the end of the stack; for the first thread, without its environment. */
static __always_inline __u64 stack_left(struct cpu_scratch *d, __u32 class)
{
	struct mm_struct___stack *mm = (void *)d->u.mm;
	__u64 sp = d->u.w.sp, pc = d->u.w.pc, first = BPF_CORE_READ(mm, start_stack), end;
	struct vm_area_struct *vma;

	d->u.w.pc = sp;	/* vma_find() searches for it */
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
 * Copies the readable part of the @left bytes above the stack pointer: c->head.len bytes after c->w. Counting
 * there, and not here, makes all turns of the loop equal to the verifier.
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
		barrier_var(n);	/* keep the check and the use in one register for old verifiers */
		if (n > CPU_COPY_CHUNK || bpf_probe_read_user(c->bytes + done, n, (void *)(c->w.sp + done)))
			break;
		c->head.len = done + n;
	}
}

/*
 * Copies the stack of the walk that just stopped; its key is d->copy.at_ns. 1, or 0: the ring is full. The copy
 * passes through the scratch area, so it takes its own length of the ring: most stacks are some hundred bytes.
 */
__noinline int cpu_copy_stack(__u32 class)
{
	__u64 id = bpf_get_current_pid_tgid(), left, len;
	struct cpu_scratch *d = get_scratch(class);
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

char LICENSE[] SEC("license") = "Dual BSD/GPL";
