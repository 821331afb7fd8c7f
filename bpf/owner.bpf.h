/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Owners of sockets, by cookie: sonde_sock_owner, a map that all probes share. The proc probe fills it when a process
 * creates, binds, connects or uses a socket, and from iterators for sockets that existed before. Users of sockets are
 * in bpf/ident_sock.bpf.h, sockets of packets in bpf/ident_flow.bpf.h. The current task never owns a packet in a
 * softirq, which runs in the context of any task.
 */
#ifndef BPF_OWNER_BPF_H
#define BPF_OWNER_BPF_H

#include "bpf/kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/ident.bpf.h"
#include "sonde/owner_wire.h"

/* LRU: a full map evicts the least recently used entry. The size is set at run time. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, __u64);
	__type(value, struct sonde_owner);
} sonde_sock_owner UNIT_SHARED SEC(".maps");

static __always_inline struct sonde_owner *owner_by_cookie(__u64 cookie)
{
	return cookie ? bpf_map_lookup_elem(&sonde_sock_owner, &cookie) : NULL;
}

/* The process of @task as an owner. */
static __always_inline void owner_from_task(struct sonde_owner *o, struct task_struct *task)
{
	struct task_struct *leader = BPF_CORE_READ(task, group_leader);

	__builtin_memset(o, 0, sizeof(*o));
	o->tgid = BPF_CORE_READ(task, tgid);
	o->uid = BPF_CORE_READ(task, cred, euid.val);
	o->start_ns = BPF_CORE_READ(leader, start_boottime);
	o->cgroup_id = BPF_CORE_READ(task, cgroups, dfl_cgrp, kn, id);
	o->image = ident_image(task, o->tgid, o->start_ns);
	BPF_CORE_READ_STR_INTO(&o->comm, leader, comm);
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

/* The socket is closed. Late packets of it still belong to the process. */
static __always_inline void owner_end(__u64 cookie)
{
	struct sonde_owner *have = owner_by_cookie(cookie);

	if (have)
		have->ended = true;
}

static __always_inline void owner_set(__u64 cookie, struct task_struct *task)
{
	owner_set_by(cookie, task, SONDE_OWNER_MAKER);
}

#endif
