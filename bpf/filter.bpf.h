/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The selection that all commands have (pids, command names, cgroups, network namespaces), and the exclusion of
 * sonde's own processes. Unused criteria are dead code for the verifier and cost nothing.
 *
 * Lists are hash maps of any size, filled before attach by src/probe/select.c.
 */
#ifndef BPF_FILTER_BPF_H
#define BPF_FILTER_BPF_H

#include "bpf/kernel.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "sonde/owner_wire.h"

UNIT_SHARED const volatile bool sonde_select_pids = false;
UNIT_SHARED const volatile bool sonde_select_comms = false;
UNIT_SHARED const volatile bool sonde_select_cgroups = false;
UNIT_SHARED const volatile bool sonde_select_netns = false;
UNIT_SHARED const volatile bool sonde_select_tree = false;
UNIT_SHARED const volatile __u32 sonde_self = 0;	/* process that reads the rings */
UNIT_SHARED const volatile __u32 sonde_spawner = 0;	/* process that starts its workers, or sonde_self again */

struct sonde_comm { char name[16]; };

#define SONDE_SET(name, key_type) UNIT_MAP(name, HASH, 1 /* set at run time */, key_type, __u8)

SONDE_SET(sonde_excluded, __u32);

/* Entries beside sonde_self. Usually 0, which saves the look-up. */
UNIT_MAP(sonde_n_excluded, ARRAY, 1, __u32, __u32);

SONDE_SET(sonde_pids, __u32);
SONDE_SET(sonde_comms, struct sonde_comm);
SONDE_SET(sonde_cgroups, __u64);
SONDE_SET(sonde_netns, __u32);
SONDE_SET(sonde_tree, __u32);	/* maintained by the proc probe */

/* One branch for both: each further one has the verifier keep more states, 5 MB in the flow programs. */
static __always_inline bool is_self(__u32 tgid)
{
	return !((__u64)(tgid ^ sonde_self) * (tgid ^ sonde_spawner));
}

/* True for sonde's own processes, which no selection includes. */
static __always_inline bool is_excluded(__u32 tgid)
{
	__u32 zero = 0, *others = bpf_map_lookup_elem(&sonde_n_excluded, &zero);

	if (is_self(tgid))
		return true;
	return others && *others && bpf_map_lookup_elem(&sonde_excluded, &tgid);
}

static __always_inline bool select_pid(__u32 tgid)
{
	return !sonde_select_pids || bpf_map_lookup_elem(&sonde_pids, &tgid);
}

/* True for a selected process and its descendants. */
static __always_inline bool select_tree(__u32 tgid)
{
	return !sonde_select_tree || bpf_map_lookup_elem(&sonde_tree, &tgid);
}

/* @comm: 16 bytes, zero-padded. */
static __always_inline bool select_comm(const char *comm)
{
	struct sonde_comm key;

	if (!sonde_select_comms)
		return true;
	__builtin_memcpy(key.name, comm, sizeof(key.name));
	return bpf_map_lookup_elem(&sonde_comms, &key) != NULL;
}

static __always_inline bool select_cgroup(__u64 id)
{
	return !sonde_select_cgroups || bpf_map_lookup_elem(&sonde_cgroups, &id);
}

static __always_inline bool select_netns(__u32 inode)
{
	return !sonde_select_netns || bpf_map_lookup_elem(&sonde_netns, &inode);
}

/* True with a selection by process, which a packet without an owner does not match. */
static __always_inline bool selects_process(void)
{
	return sonde_select_pids || sonde_select_comms || sonde_select_cgroups || sonde_select_tree;
}

/* A known owner of a socket. The tree forgets a process that has ended: late packets of its sockets are its own. */
static __always_inline bool select_owner(const struct sonde_owner *o)
{
	return select_pid(o->tgid) && select_comm(o->comm) && select_cgroup(o->cgroup_id) &&
	       (!sonde_select_tree || o->in_tree);
}

/* By the network namespace of the current task, which has none when it has nearly ended. */
static __always_inline bool select_task_netns(void)
{
	const struct nsproxy *ns;

	if (!sonde_select_netns)
		return true;
	ns = BPF_CORE_READ((struct task_struct *)bpf_get_current_task(), nsproxy);
	return ns && select_netns(BPF_CORE_READ(ns, net_ns, ns.inum));
}

/* By process name, cgroup and network namespace of the current task. */
static __always_inline bool select_groups(void)
{
	char comm[16] = {};

	if (sonde_select_comms) {
		struct task_struct *task = (struct task_struct *)bpf_get_current_task();

		BPF_CORE_READ_STR_INTO(&comm, task, group_leader, comm);
		if (!select_comm(comm))
			return false;
	}
	return (!sonde_select_cgroups || select_cgroup(bpf_get_current_cgroup_id())) && select_task_netns();
}

/* The current task, of process @tgid. */
static __always_inline bool select_task_of(__u32 tgid)
{
	return !is_excluded(tgid) && select_pid(tgid) && select_tree(tgid) && select_groups();
}

static __always_inline bool select_task(void)
{
	return select_task_of(bpf_get_current_pid_tgid() >> 32);
}

#endif
