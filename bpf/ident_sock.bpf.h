/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The owner of a socket: the last process that sent or received on it; before the first use, its creator, or the
 * process that bound, connected or listens on it. The current task never owns a packet in a softirq, which runs in
 * the context of any task.
 *
 * Storage of the socket holds the user's key, so that a call of the same process costs a look-up and two comparisons.
 * A change writes the owner to sonde_sock_owner, for programs that have a cookie only. The proc probe fills both, by
 * iterators for sockets that existed before.
 *
 * A connection inherits the storage of its listener. Until a process uses the connection, the cookie inside is the
 * listener's.
 */
#ifndef BPF_IDENT_SOCK_BPF_H
#define BPF_IDENT_SOCK_BPF_H

#include "bpf/kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/ident.bpf.h"
#include "sonde/owner_wire.h"

/* ---- by cookie ---- */

/* LRU: a full map evicts the least recently used entry. The size is set at run time. */
UNIT_MAP(sonde_sock_owner, LRU_HASH, 65536, __u64, struct sonde_owner);

static __always_inline struct sonde_owner *owner_by_cookie(__u64 cookie)
{
	return cookie ? bpf_map_lookup_elem(&sonde_sock_owner, &cookie) : NULL;
}

/* Makes the process of @task the owner of @cookie; @by: SONDE_OWNER_*. */
static __always_inline void owner_set_by(__u64 cookie, struct task_struct *task, __u8 by)
{
	struct sonde_owner o;

	if (!cookie)
		return;
	owner_from_task(&o, task);
	o.cookie = cookie;
	o.by = by;
	bpf_map_update_elem(&sonde_sock_owner, &cookie, &o, BPF_ANY);
}

/* The socket is closed; @ended: SONDE_ENDED_*. Late packets of it still belong to the process. */
static __always_inline void owner_end(__u64 cookie, __u8 ended)
{
	struct sonde_owner *have = owner_by_cookie(cookie);

	if (have)
		have->ended = ended;
}

static __always_inline void owner_set(__u64 cookie, struct task_struct *task)
{
	owner_set_by(cookie, task, SONDE_OWNER_MAKER);
}

/* ---- by socket ---- */

#define USER_REFRESH_TICKS 64	/* jiffies between updates of an owner that the LRU may have evicted */
#define PF_KTHREAD 0x00200000	/* include/linux/sched.h */

struct sock_user {
	__u64 start_ns;
	__u64 cookie;
	__u64 told;		/* jiffies of the last update of sonde_sock_owner */
	__u64 execs;		/* of the process then */
	__u32 tgid;
	__u32 changes;
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC | BPF_F_CLONE);
	__type(key, int);
	__type(value, struct sock_user);
} sonde_sock_user UNIT_SHARED SEC(".maps");

/* ---- context ---- */

struct task_struct___rt {
	int softirq_disable_cnt;
} __attribute__((preserve_access_index));

#if defined(__TARGET_ARCH_x86)
#define STACK_BYTES 16384	/* THREAD_SIZE */

/*
 * Interrupts and softirqs have a stack of their own but in kernel threads, which own no packet. The preempt count
 * says the same, but many kernels do not export its symbol. Programs with a private stack (tracing, 6.13) must not
 * ask. PREEMPT_RT has one stack for all.
 */
static __always_inline bool in_process_context(struct task_struct *task)
{
	__u64 mark, frame = 0;
	void *here = &mark;

	if (bpf_core_field_exists(struct task_struct___rt, softirq_disable_cnt))
		return false;
	bpf_probe_read_kernel(&frame, sizeof(frame), &here);
	return frame - (__u64)BPF_CORE_READ(task, stack) < STACK_BYTES;
}
#else
#define SERVING_SOFTIRQ 0x100	/* SOFTIRQ_OFFSET of include/linux/preempt.h */
#define HARDIRQ_OR_NMI 0x00ff0000

/* PREEMPT_RT counts softirqs elsewhere. */
static __always_inline bool in_process_context(struct task_struct *task)
{
	return !bpf_core_field_exists(struct task_struct___rt, softirq_disable_cnt) &&
	       !(BPF_CORE_READ(task, thread_info.preempt_count) & (SERVING_SOFTIRQ | HARDIRQ_OR_NMI));
}
#endif

/* ---- use ---- */

/* Families whose sockets send packets. */
static __always_inline bool sock_sends_packets(const struct sock *sk)
{
	__u16 family = sk->__sk_common.skc_family;

	return family == AF_INET || family == AF_INET6 || family == AF_PACKET;
}

/* @sk is whole: neither a connection request nor in TIME-WAIT, which have the common part of struct sock only. */
static __always_inline bool sock_is_kernels(struct sock *sk, struct task_struct *task)
{
	return BPF_CORE_READ_BITFIELD_PROBED(sk, sk_kern_sock) || BPF_CORE_READ(task, flags) & PF_KTHREAD;
}

/*
 * True if the packet of @sk that the running task hands to a device is a packet of this task. Process context alone
 * does not prove it: with busy polling a process handles the packets of others, but holds the lock of its own TCP
 * socket only. @sk is probed.
 */
static __always_inline bool sock_sends_now(struct sock *sk, struct task_struct *task)
{
	__u8 state = BPF_CORE_READ(sk, __sk_common.skc_state);

	if (state == TCP_TIME_WAIT || state == TCP_NEW_SYN_RECV || sock_is_kernels(sk, task))
		return false;
	return BPF_CORE_READ(sk, sk_protocol) != IPPROTO_TCP || BPF_CORE_READ(sk, sk_lock.owned);
}

/* Makes @task the user of @cookie in sonde_sock_owner. Returns the changes so far; *ret_new: of another process. */
static __always_inline __u32 owner_use(__u64 cookie, struct task_struct *task, bool *ret_new)
{
	struct sonde_owner *have = owner_by_cookie(cookie), o;

	owner_from_task(&o, task);
	o.cookie = cookie;
	o.by = SONDE_OWNER_USER;
	*ret_new = !have || have->tgid != o.tgid || have->start_ns != o.start_ns || have->cookie != cookie;
	o.changes = have && have->cookie == cookie ? have->changes : 0;
	o.ended = have ? have->ended : 0;
	if (*ret_new)
		o.changes++;
	if (have && !*ret_new) {
		o.fed_ns = have->fed_ns;
		o.fed_hash = have->fed_hash;
	}
	bpf_map_update_elem(&sonde_sock_owner, &cookie, &o, BPF_ANY);
	return o.changes;
}

#endif
