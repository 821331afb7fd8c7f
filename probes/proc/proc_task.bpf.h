/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Reading a task into the structs of proc_wire.h: shared by the tracepoints and the iterators of this probe.
 */
#ifndef PROC_TASK_BPF_H
#define PROC_TASK_BPF_H

#include "bpf/ident.bpf.h"
#include "bpf/kernel.h"
#include "bpf/path.bpf.h"
#include "probes/proc/proc_wire.h"

/* Room behind the struct: three strings, and what path_parts() may write beyond its cap. */
#define PROC_TAIL_BYTES 2048

_Static_assert(PROC_PATH_BYTES == PATH_BYTES, "a path that is longer is cut");

struct proc_exec_buf {
	struct proc_exec_rec rec;
	char tail[PROC_TAIL_BYTES];
};

/*
 * Tasks here are arguments of tracepoints and iterators: their numbers are loaded directly, pointers are read. For
 * each pointer that is loaded from a trusted one, on each way to it, the verifier searches all types of the kernel by
 * name four times, which takes it half a millisecond (6.18); what is read costs 20 ns each time instead.
 */

static __always_inline __u64 task_process_start(struct task_struct *task)
{
	return BPF_CORE_READ(task, group_leader, start_boottime);
}

/*
 * Number and namespace of @pid in the innermost pid namespace it has. @pid was read, not loaded: older verifiers
 * allow no arithmetic on a typed pointer.
 */
static __always_inline void pid_inside(struct pid *pid, __u32 *ret_nr, __u32 *ret_ns)
{
	__u32 level = BPF_CORE_READ(pid, level);
	struct upid *up = (void *)pid + bpf_core_field_offset(struct pid, numbers) +
			  level * bpf_core_type_size(struct upid);

	if (level >= 64)
		return;
	*ret_nr = BPF_CORE_READ(up, nr);
	if (ret_ns)
		*ret_ns = BPF_CORE_READ(up, ns, ns.inum);
}

static __always_inline void task_header(struct sonde_rec *r, struct task_struct *task)
{
	r->tgid = task->tgid;
	r->tid = task->pid;
	r->start_ns = task_process_start(task);
}

static __always_inline void task_namespaces(struct proc_who *w, struct nsproxy *ns)
{
	w->netns = w->mntns = 0;
	if (!ns) /* exiting */
		return;
	w->netns = BPF_CORE_READ(ns, net_ns, ns.inum);
	w->mntns = BPF_CORE_READ(ns, mnt_ns, ns.inum);
}

static __always_inline void task_who(struct proc_who *w, struct task_struct *task)
{
	const struct cred *cred = BPF_CORE_READ(task, cred);

	w->cgroup_id = BPF_CORE_READ(task, cgroups, dfl_cgrp, kn, id);
	w->ppid = BPF_CORE_READ(task, real_parent, tgid);
	w->uid = BPF_CORE_READ(cred, euid.val);
	w->gid = BPF_CORE_READ(cred, egid.val);
	w->ns_tid = w->ns_tgid = w->pidns = 0;
	task_namespaces(w, BPF_CORE_READ(task, nsproxy));
	pid_inside(BPF_CORE_READ(task, thread_pid), &w->ns_tid, &w->pidns);
	if (task->pid == task->tgid)
		w->ns_tgid = w->ns_tid;
	else
		pid_inside(BPF_CORE_READ(task, group_leader, thread_pid), &w->ns_tgid, NULL);
	BPF_CORE_READ_STR_INTO(&w->comm, task, comm);
}

/* Fills @w, and @id with the same. @r: header of the record, which names the process. */
static __always_inline void task_identity(const struct sonde_rec *r, struct sonde_ident *id, struct proc_who *w,
					  struct task_struct *task)
{
	task_who(w, task);
	ident_keys(id, ident_image(task, r->tgid, r->start_ns), w->cgroup_id, w->netns);
}

/* Executable of @task: path components to b->tail + @off (below 1024). Returns the new end. @by_loop: bpf_loop(). */
static __always_inline __u32 task_exe(struct proc_exec_buf *b, __u32 off, struct task_struct *task, bool by_loop)
{
	struct file *file = BPF_CORE_READ(task, mm, exe_file);
	__u32 len;
	bool rooted;

	if (!file)
		return off;
	b->rec.exe_ino = BPF_CORE_READ(file, f_inode, i_ino);
	b->rec.exe_dev = BPF_CORE_READ(file, f_inode, i_sb, s_dev);
	len = path_parts((void *)file + bpf_core_field_offset(struct file, f_path), task, b->tail + (off & 0x1ff),
			 by_loop, &rooted);
	b->rec.path_form = rooted ? PROC_PATH_PARTS : PROC_PATH_ROOTLESS;
	if (len >= PROC_PATH_BYTES)
		b->rec.hdr.flags |= SONDE_RF_CUT;
	b->rec.path_len = len;
	return off + len;
}

#endif
