/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The identity block of a record, as far as the task knows it: executable image, cgroup, network namespace; a process
 * as the owner of a socket. Files, goroutines, users of sockets, and sockets of packets have headers of their own.
 */
#ifndef BPF_IDENT_BPF_H
#define BPF_IDENT_BPF_H

#include "bpf/filter.bpf.h"
#include "bpf/kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "sonde/ident_wire.h"
#include "sonde/owner_wire.h"
#include "sonde/wire.h"

#define IDENT_IMAGE_BITS 53	/* readers of JSON keep that much of a number */

/*
 * Number of the @execs-th image of a process. The kernel counts the execs of a process (self_exec_id; a fork inherits
 * the count), so the number needs no map, is the same in every program, and exists for processes older than the
 * start. A mix of the three that identify the image, because they do not fit 64 bits; two of a million images share a
 * number with a probability of 10^-4.
 */
static __always_inline __u64 ident_image_number(__u32 tgid, __u64 start_ns, __u64 execs)
{
	__u64 h = (start_ns ^ (__u64)tgid << 40) * 0x9e3779b97f4a7c15ULL + execs;

	h = (h ^ h >> 29) * 0xbf58476d1ce4e5b9ULL;
	h = (h ^ h >> 32) >> (64 - IDENT_IMAGE_BITS);
	return h ? h : 1;
}

/* Image of process @tgid, started at @start_ns; @task is any of its threads. */
static __always_inline __u64 ident_image(const struct task_struct *task, __u32 tgid, __u64 start_ns)
{
	return start_ns ? ident_image_number(tgid, start_ns, BPF_CORE_READ(task, self_exec_id)) : 0;
}

/* Zeroes @id but for the keys of a task that the caller has read already. */
static __always_inline void ident_keys(struct sonde_ident *id, __u64 image, __u64 cgroup_id, __u32 netns)
{
	__builtin_memset(id, 0, sizeof(*id));
	id->image = image;
	id->cgroup_id = cgroup_id;
	id->netns = netns;
}

static __always_inline __u32 ident_netns(const struct task_struct *task)
{
	struct nsproxy *ns = BPF_CORE_READ(task, nsproxy);

	return ns ? BPF_CORE_READ(ns, net_ns, ns.inum) : 0; /* NULL: exiting */
}

/* Keys of @task; the rest of @id becomes 0. */
static __always_inline void ident_task(struct sonde_ident *id, const struct task_struct *task)
{
	const __u64 start_ns = BPF_CORE_READ(task, group_leader, start_boottime);

	ident_keys(id, ident_image(task, BPF_CORE_READ(task, tgid), start_ns),
		   BPF_CORE_READ(task, cgroups, dfl_cgrp, kn, id), ident_netns(task));
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
	o->in_tree = select_tree(o->tgid);
	BPF_CORE_READ_STR_INTO(&o->comm, leader, comm);
}

#endif
