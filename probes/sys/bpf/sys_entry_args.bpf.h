/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Memory that is read when a call is entered and told when it is left: what the kernel writes over (the descriptors
 * and the time of select()), and what a new thread cannot read any more, because its maker goes on with its stack
 * (clone3()). Also the address of a new program's environment and the mask in a signal frame: their registers do not
 * last. All else is read when the call is left: its pages are there.
 */
#ifndef SYS_ENTRY_ARGS_BPF_H
#define SYS_ENTRY_ARGS_BPF_H

#include "probes/sys/bpf/sys_call.bpf.h"
#include "probes/sys/bpf/sys_fetch.bpf.h"

#define KEPT_BYTES 504	/* of chunks: three sets of descriptors and a time */
#define KEPT_CALLS 4096	/* at once; of more the oldest are read when they are left */

struct sys_kept {
	__u16 nr, abi;
	__u32 len;		/* of chunks, up to KEPT_BYTES */
	__u8 chunks[KEPT_BYTES];
};

/* By thread. One that was killed in its call stays until others need the room. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, KEPT_CALLS);
	__type(key, __u32);
	__type(value, struct sys_kept);
} sys_kepts SEC(".maps");

_Static_assert(sizeof(struct sys_kept) == 8 + KEPT_BYTES, "chunks behind a multiple of 8 bytes");

__noinline int run_op(__u32 slot, __u32 i);	/* sys_send.bpf.h */

/* Works in the scratch memory, as the records do. What cannot be read now may be there when the call is left. */
static __noinline int keep_args(const struct call *c)
{
	const volatile struct sys_plan *plan = plan_of(c);
	struct sys_scratch *s = my_scratch();
	struct sys_kept *kept;
	__u32 tid = c->tid;

	if (!s)
		return 0;
	kept = (void *)s->data;
	s->rec.abi = c->abi;
	s->rec.ret = 0;
	s->rec.flags = 0;
	regs_args(c->regs, c->abi, s->rec.args, 6);
	s->off = offsetof(struct sys_kept, chunks);
	for (__u32 i = 0; i < SYS_PLAN_OPS; i++) {
		if (i >= plan->n_mem)
			break;
		if (!(plan->ops[i].when & SYS_WHEN_KEEP))
			continue;
		if (plan->ops[i].op == SYS_OP_SIGMASK)
			read_mem(0, SYS_CHUNK_MEM, regs_sigmask(c->regs), 8, 8);
		else
			run_op(c->slot, i);
	}
	kept->nr = c->nr;
	kept->abi = c->abi;
	kept->len = s->off - offsetof(struct sys_kept, chunks);
	if (kept->len && kept->len <= KEPT_BYTES && !(s->rec.flags & SYS_F_FAULT))
		bpf_map_update_elem(&sys_kepts, &tid, kept, BPF_ANY);
	else
		bpf_map_delete_elem(&sys_kepts, &tid);
	return 0;
}

/* Begins the record's chunks with what was kept of this call. False: nothing was. */
static __always_inline bool tell_kept(struct sys_scratch *s, const struct call *c)
{
	__u32 tid = c->tid;
	struct sys_kept *kept = bpf_map_lookup_elem(&sys_kepts, &tid);
	bool same;

	if (!kept)
		return false;
	same = kept->nr == c->nr && kept->abi == c->abi && kept->len <= KEPT_BYTES;
	if (same) {
		__builtin_memcpy(s->data, kept->chunks, KEPT_BYTES);
		s->off = kept->len;
	}
	bpf_map_delete_elem(&sys_kepts, &tid);
	return same;
}

/* @parent is in the call that makes @child, which returns from it too. */
static __always_inline void keep_for_child(__u32 parent, __u32 child)
{
	struct sys_kept *kept = bpf_map_lookup_elem(&sys_kepts, &parent);

	if (kept)
		bpf_map_update_elem(&sys_kepts, &child, kept, BPF_ANY);
}

#endif
