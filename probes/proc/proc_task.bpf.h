/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Reading a task into the structs of proc_wire.h: shared by the tracepoints and the iterators of this probe.
 */
#ifndef PROC_TASK_BPF_H
#define PROC_TASK_BPF_H

#include "bpf/kernel.h"
#include "bpf/path.bpf.h"
#include "probes/proc/proc_wire.h"

/* Room behind the struct: three strings, and what path_parts() may write beyond its cap. */
#define PROC_TAIL_BYTES 2048

struct proc_exec_buf {
	struct proc_exec_rec rec;
	char tail[PROC_TAIL_BYTES];
};

/* Number of @pid in the innermost pid namespace it has. */
static __always_inline __u32 task_ns_nr(struct pid *pid)
{
	__u32 level = BPF_CORE_READ(pid, level);
	struct upid *up = (void *)pid + bpf_core_field_offset(struct pid, numbers) +
			  level * bpf_core_type_size(struct upid);

	return level < 64 ? BPF_CORE_READ(up, nr) : 0;
}

static __always_inline __u32 task_pidns(struct pid *pid)
{
	__u32 level = BPF_CORE_READ(pid, level);
	struct upid *up = (void *)pid + bpf_core_field_offset(struct pid, numbers) +
			  level * bpf_core_type_size(struct upid);

	return level < 64 ? BPF_CORE_READ(up, ns, ns.inum) : 0;
}

static __always_inline void task_header(struct sonde_rec *r, struct task_struct *task)
{
	r->tgid = BPF_CORE_READ(task, tgid);
	r->tid = BPF_CORE_READ(task, pid);
	r->start_ns = BPF_CORE_READ(task, group_leader, start_boottime);
}

static __always_inline void task_who(struct proc_who *w, struct task_struct *task)
{
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	struct nsproxy *ns = BPF_CORE_READ(task, nsproxy);
	const struct cred *cred = BPF_CORE_READ(task, cred);

	w->cgroup_id = BPF_CORE_READ(task, cgroups, dfl_cgrp, kn, id);
	w->ppid = BPF_CORE_READ(task, real_parent, tgid);
	w->uid = BPF_CORE_READ(cred, euid.val);
	w->gid = BPF_CORE_READ(cred, egid.val);
	w->netns = BPF_CORE_READ(ns, net_ns, ns.inum);
	w->mntns = BPF_CORE_READ(ns, mnt_ns, ns.inum);
	w->pidns = task_pidns(pid);
	w->ns_tid = task_ns_nr(pid);
	w->ns_tgid = task_ns_nr(BPF_CORE_READ(task, group_leader, thread_pid));
	BPF_CORE_READ_STR_INTO(&w->comm, task, comm);
}

/* Executable of @task: path components to b->tail + @off (below 1024). Returns the new end. */
static __always_inline __u32 task_exe(struct proc_exec_buf *b, __u32 off, struct task_struct *task)
{
	struct file *file = BPF_CORE_READ(task, mm, exe_file);
	__u32 len;
	bool rooted;

	if (!file)
		return off;
	b->rec.exe_ino = BPF_CORE_READ(file, f_inode, i_ino);
	b->rec.exe_dev = BPF_CORE_READ(file, f_inode, i_sb, s_dev);
	len = path_parts((void *)file + bpf_core_field_offset(struct file, f_path), task, b->tail + (off & 0x1ff),
			 PROC_PATH_BYTES, &rooted);
	b->rec.path_form = rooted ? PROC_PATH_PARTS : PROC_PATH_ROOTLESS;
	if (len >= PROC_PATH_BYTES)
		b->rec.hdr.flags |= SONDE_RF_CUT;
	b->rec.path_len = len;
	return off + len;
}

#endif
