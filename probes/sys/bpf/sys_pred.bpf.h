/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Conditions of the filter expression that the kernel evaluates (sys_pred_wire.h).
 */
#ifndef SYS_PRED_BPF_H
#define SYS_PRED_BPF_H

#include "probes/sys/bpf/sys_call.bpf.h"
#include "probes/sys/bpf/sys_kernel_ctx.bpf.h"
#include "probes/sys/sys_pred_wire.h"
#include "probes/sys/bpf/sys_select.bpf.h"

#include <bpf/bpf_core_read.h>

#define CGROUPS_DEEP 24
#define AF_NETLINK 16
#define S_IFDIR 0040000
#define S_IFIFO 0010000

const volatile struct sys_pred sys_pred = { 0 };
const volatile __u16 sys_checks[SYS_PLAN_ABIS * SYS_NR_MAX] = { 0 };	/* SYS_CHECK_* */

/*
 * Inodes of files that were opened by a path without a selected prefix, by struct file; the inode detects a reused
 * address. Unknown files pass, so evicting old entries loses no event.
 */
MAP(sys_other_files, LRU_HASH, 1 /* SYS_FILES_MOST if names are selected */, __u64, __u64);

static __always_inline bool in_tgids(__u32 v)
{
	for (__u32 i = 0; i < SYS_SET_MOST; i++)
		if (i < sys_pred.n_tgids && sys_pred.tgids[i] == v)
			return true;
	return false;
}

static __always_inline bool in_tids(__u32 v)
{
	for (__u32 i = 0; i < SYS_SET_MOST; i++)
		if (i < sys_pred.n_tids && sys_pred.tids[i] == v)
			return true;
	return false;
}

static __always_inline bool in_cgroups(__u64 v)
{
	for (__u32 i = 0; i < SYS_SET_MOST; i++)
		if (i < sys_pred.n_cgroups && sys_pred.cgroups[i] == v)
			return true;
	return false;
}

static __always_inline bool in_comms(struct task_struct *task)
{
	__u64 comm[2] = { 0, 0 };

	BPF_CORE_READ_INTO(&comm, task, group_leader, comm);
	for (__u32 i = 0; i < SYS_SET_MOST; i++)
		if (i < sys_pred.n_comms && sys_pred.comms[i][0] == comm[0] && sys_pred.comms[i][1] == comm[1])
			return true;
	return false;
}

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct kernfs_node___sys {
	__u64 id;
};

struct cgroup_subsys_state___sys {
	struct cgroup___sys *cgroup;
	struct cgroup_subsys_state___sys *parent;
};

struct cgroup___sys {
	struct cgroup_subsys_state___sys self;
	struct kernfs_node___sys *kn;
};

struct css_set___sys {
	struct cgroup___sys *dfl_cgrp;
};

struct task_struct___cgroups {
	struct css_set___sys *cgroups;
};

#pragma clang attribute pop

/*
 * A container's processes may be in cgroups below the container's own. Before 5.15 tracepoints must not call the
 * helper for ancestors.
 */
static __always_inline bool in_containers(void)
{
	struct task_struct___cgroups *task = (void *)bpf_get_current_task();
	struct cgroup___sys *cgroup = BPF_CORE_READ(task, cgroups, dfl_cgrp);

	for (int level = 0; cgroup && level < CGROUPS_DEEP; level++) {
		__u64 id = BPF_CORE_READ(cgroup, kn, id);

		for (__u32 i = 0; i < SYS_SET_MOST; i++)
			if (i < sys_pred.n_containers && sys_pred.containers[i] == id)
				return true;
		cgroup = BPF_CORE_READ(cgroup, self.parent, cgroup);
	}
	return false;
}

/* ---- descriptors and paths ---- */

static __always_inline __u32 check_of(const struct call *c)
{
	__u32 slot = c->slot;

	if (!(sys_pred.on & SYS_PRED_CALLS) || slot >= SYS_PLAN_ABIS * SYS_NR_MAX)
		return SYS_CHECK_NOTHING;
	barrier_var(slot);
	return sys_checks[slot & (SYS_PLAN_ABIS * SYS_NR_MAX - 1)];
}

/* Argument @i; SYS_CHECK_NO_ARG reads as 0. */
static __always_inline __u64 arg_of(const struct call *c, __u32 i)
{
	__u64 args[8] = { 0 };

	regs_args(c->regs, c->abi, args, 6);
	barrier_var(i);
	return args[i & 7];
}

static __always_inline bool begins(const __u64 *path, const volatile struct sys_prefix *p)
{
	__u64 other = 0;

	for (int i = 0; i < SYS_PREFIX_WORDS; i++)
		other |= (path[i] & p->mask[i]) ^ p->text[i];
	return !other;
}

/* Can the normalised path differ, because of "//", "." or ".."? Names that begin with a dot count as such. */
static __always_inline bool is_twisted(const char *path, long len)
{
	for (int i = 0; i < SYS_PATH_LOOK - 1; i++) {
		if (i + 1 >= len)
			break;
		if (path[i] == '/' && (path[i + 1] == '/' || path[i + 1] == '.'))
			return true;
	}
	return false;
}

/* Is it certain that the path at @addr begins with none of the prefixes? */
static __noinline bool is_elsewhere(__u64 addr)
{
	struct sys_scratch *s = my_scratch();
	__u64 *words;
	long len;

	if (!s)
		return false;
	words = (__u64 *)s->data;
	for (int i = 0; i < SYS_PREFIX_WORDS; i++)
		words[i] = 0;
	len = bpf_probe_read_user_str(s->data, SYS_PATH_LOOK, (void *)addr);
	if (len <= 0)
		return false;
	if (sys_pred.prefixes_plain &&
	    (s->data[0] != '/' || len >= SYS_PATH_LOOK || is_twisted((char *)s->data, len)))
		return false;
	for (__u32 i = 0; i < SYS_PREFIX_MOST; i++)
		if (i < sys_pred.n_prefixes && begins(words, &sys_pred.prefixes[i]))
			return false;
	return true;
}

static __always_inline __u32 kind_of_sock(struct sock___sys *sk)
{
	switch (BPF_CORE_READ(sk, __sk_common.skc_family)) {
	case AF_UNIX: return SYS_FD_UNIX;
	case AF_INET: return SYS_FD_INET;
	case AF_INET6: return SYS_FD_INET6;
	case AF_NETLINK: return SYS_FD_NETLINK;
	default: return SYS_FD_OTHER;
	}
}

/* SYS_FD_* of the descriptor; all bits if unknown, 0 if its name excludes it. */
static __noinline __u32 kind_of_fd(__u32 fd)
{
	struct file___sys *file = file_of(fd);
	struct inode___sys *inode;
	__u64 key = (__u64)file, *other;
	__u32 type;

	if (!file)
		return SYS_CHECK_FDS;
	inode = BPF_CORE_READ(file, f_inode);
	type = BPF_CORE_READ(inode, i_mode) & S_IFMT;
	if (type == S_IFSOCK)
		return kind_of_sock(sock_of(fd));
	other = sys_pred.by_name ? bpf_map_lookup_elem(&sys_other_files, &key) : NULL;
	if (other && *other == (__u64)inode)
		return 0;
	return type == S_IFDIR ? SYS_FD_DIR : type == S_IFIFO ? SYS_FD_PIPE : SYS_FD_PLAIN;
}

/* Remembers whether the path of an opened file matches. Runs before selection. */
static __noinline int note_opened(const struct call *c)
{
	__u32 check = check_of(c);
	struct file___sys *file;
	__u64 key, inode;

	if (!(check & SYS_CHECK_OPENS) || (__s64)c->ret < 0)
		return 0;
	file = file_of(c->ret);
	if (!file)
		return 0;
	key = (__u64)file;
	inode = (__u64)BPF_CORE_READ(file, f_inode);
	if (is_elsewhere(arg_of(c, check >> SYS_CHECK_PATH_SHIFT)))
		bpf_map_update_elem(&sys_other_files, &key, &inode, BPF_ANY);
	else
		bpf_map_delete_elem(&sys_other_files, &key);
	return 0;
}

/* Descriptor and path of the call. */
static __noinline bool pred_about(const struct call *c)
{
	__u32 check = check_of(c);
	__u32 path = check >> SYS_CHECK_PATH_SHIFT & SYS_CHECK_NO_ARG;
	__u32 fd = check >> SYS_CHECK_FD_SHIFT & SYS_CHECK_NO_ARG;

	if (fd != SYS_CHECK_NO_ARG && !(kind_of_fd(arg_of(c, fd)) & check & SYS_CHECK_FDS))
		return false;
	/* after exec the registers hold no arguments */
	if (path == SYS_CHECK_NO_ARG || check & SYS_CHECK_OPENS || (plan_of(c)->flags & SYS_PLAN_EXEC && !c->ret))
		return true;
	return !is_elsewhere(arg_of(c, path));
}

/* ---- the caller ---- */

/* The caller. */
static __noinline bool pred_caller(const struct call *c)
{
	__u32 on = sys_pred.on, not = sys_pred.not;

	if (on & SYS_PRED_TGID && in_tgids(c->tgid) == !!(not & SYS_PRED_TGID))
		return false;
	if (on & SYS_PRED_TID && in_tids(TASK_GET(c->task, pid)) == !!(not & SYS_PRED_TID))
		return false;
	if (on & SYS_PRED_COMM && in_comms(c->task) == !!(not & SYS_PRED_COMM))
		return false;
	if (on & SYS_PRED_CONTAINER && !in_containers())
		return false;
	return !(on & SYS_PRED_CGROUP) || in_cgroups(bpf_get_current_cgroup_id()) != !!(not & SYS_PRED_CGROUP);
}

/* Conditions that are known at entry. */
static __always_inline bool pred_call(const struct call *c)
{
	return pred_caller(c) && (!(sys_pred.on & SYS_PRED_CALLS) || pred_about(c));
}

/* Conditions on the result. */
static __always_inline bool pred_result(const struct call *c)
{
	__u32 on = sys_pred.on, e = is_error(c->ret) ? -(__s64)c->ret : 0;

	if (on & SYS_PRED_RET && ((__s64)c->ret < sys_pred.ret_min || (__s64)c->ret > sys_pred.ret_max))
		return false;
	if (on & SYS_PRED_LATENCY && (!c->latency_ns || c->latency_ns < sys_pred.latency_min ||
				      c->latency_ns > sys_pred.latency_max))
		return false;
	if (!(on & SYS_PRED_ERRNO) || check_of(c) & SYS_CHECK_ANY_RESULT)
		return true;
	barrier_var(e); /* the verifier must see the bound right at the access */
	e &= SYS_ERRNO_MAX - 1;
	return sys_pred.errnos[e >> 3] >> (e & 7) & 1;
}

/* All conditions but the number of the call. */
static __always_inline bool conditions(const struct call *c, __u32 todo)
{
	if (!select_result(c->ret, c->latency_ns) || !select_caller(c->tgid))
		return false;
	return todo & SYS_DO_STATE || (pred_result(c) && pred_call(c));
}

#endif
