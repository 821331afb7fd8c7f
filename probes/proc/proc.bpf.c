// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Life cycle of tasks: fork, exec, exit, names, cgroups. All records use the life-cycle lane: a lost one would assign
 * later events to a wrong process, so bulk traffic must not displace them. Strings come from the kernel's copies,
 * which user space can no longer change.
 */
#include "probes/proc/proc_task.bpf.h"

#include "bpf/filter.bpf.h"
#include "bpf/ident_go.bpf.h"
#include "bpf/preempt.bpf.h"
#include "bpf/ring.bpf.h"

#include <bpf/bpf_tracing.h>

#define SIGNAL_GROUP_EXIT 4	/* include/linux/sched/signal.h */

/* ---- processes of Go programs ---- */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct inode___go {
	__s64 i_size;
};

#pragma clang attribute pop

/* Programs that user space has analysed. */
MAP_FLAGS(proc_go_files, HASH, BPF_F_NO_PREALLOC, 4096, struct sonde_go_file, struct sonde_go_layout);

/* The process no longer runs the program that it ran. */
static __always_inline void go_forget(__u32 tgid)
{
	const __u8 *mark = go_mark(tgid);

	if (mark && *mark)
		bpf_map_delete_elem(&sonde_go_procs, &tgid);
}

static __always_inline void go_exec(struct task_struct *task)
{
	struct inode *inode = BPF_CORE_READ(task, mm, exe_file, f_inode);
	struct sonde_go_file file = {
		.ino = BPF_CORE_READ(inode, i_ino), .dev = BPF_CORE_READ(inode, i_sb, s_dev),
		.size = BPF_CORE_READ((struct inode___go *)inode, i_size),
	};
	const struct sonde_go_layout *layout;
	__u32 tgid = task->tgid;
	__u8 *mark;

	go_forget(tgid);
	layout = bpf_map_lookup_elem(&proc_go_files, &file);
	mark = layout ? go_mark(tgid) : NULL;
	if (!mark || bpf_map_update_elem(&sonde_go_procs, &tgid, layout, BPF_ANY))
		return;
	*mark = SONDE_GO_MARK_GO;
}

/* ---- records ---- */

/* exec composes its record here: its length is known only at the end. One exec at a time per CPU. */
MAP(proc_exec_scratch, PERCPU_ARRAY, 1, __u32, struct proc_exec_buf);

/*
 * When the threads that are in exec right now gave up their old memory: exec renames the thread just then, but
 * its record is made only when the new program is loaded. tid -> ns.
 */
MAP(proc_exec_began, LRU_HASH, 1024, __u32, __u64);

static __always_inline void life_init(struct sonde_rec *r, const struct sonde_ledger *l, __u16 type, __u32 len,
				      struct task_struct *task)
{
	rec_init_keys(r, l, type, len, PROC_CLASS_LIFE | SONDE_RF_IDENT, task->tgid, task->pid,
		      task_process_start(task));
}

/* A record about @task with its header filled, or NULL: lost and counted. @size is a constant. */
static __always_inline void *life_begin(struct sonde_ledger **ret_l, __u16 type, __u64 size, struct task_struct *task)
{
	struct sonde_ledger *l = ledger_seen(PROC_CLASS_LIFE);
	struct sonde_rec *r = l ? rec_reserve(l, LANE_LIFE, size) : NULL;

	if (r)
		life_init(r, l, type, size, task);
	*ret_l = l;
	return r;
}

/* The selected tree of processes follows its members: a child joins before it runs. */
static __always_inline void tree_fork(struct task_struct *parent, struct task_struct *child)
{
	__u32 from = parent->tgid, to = child->tgid;
	__u8 one = 1;

	if (sonde_select_tree && from != to && bpf_map_lookup_elem(&sonde_tree, &from))
		bpf_map_update_elem(&sonde_tree, &to, &one, BPF_ANY);
}

/* The leader is the last thread to go, and what the process does while it ends is its own. Loaded for a tree only. */
SEC("tp_btf/sched_process_free")
int BPF_PROG(proc_free, struct task_struct *task)
{
	__u32 tgid = task->tgid;

	if (task->pid == task->tgid)
		bpf_map_delete_elem(&sonde_tree, &tgid);
	return 0;
}

TP_PROG(sched_process_fork, 0, proc_fork, struct task_struct *parent, struct task_struct *child)
{
	struct sonde_ledger *l;
	struct proc_fork_rec *r;

	tree_fork(parent, child);
	r = life_begin(&l, PROC_REC_FORK, sizeof(*r), child);
	if (!r)
		return 0;
	task_identity(&r->hdr, &r->id, &r->who, child);
	r->maker_tgid = parent->tgid;
	r->maker_tid = parent->pid;
	r->maker_start_ns = task_process_start(parent);
	rec_submit(l, LANE_LIFE, &r->hdr);
	return 0;
}

/* Arguments of the new program, as they lie on its stack. */
static __always_inline __u32 exec_args(struct proc_exec_buf *b, __u32 off, struct task_struct *task)
{
	struct mm_struct *mm = BPF_CORE_READ(task, mm);
	unsigned long start = BPF_CORE_READ(mm, arg_start), end = BPF_CORE_READ(mm, arg_end);
	__u64 len = end - start;

	if (len > PROC_ARGS_BYTES) {
		len = PROC_ARGS_BYTES;
		b->rec.hdr.flags |= SONDE_RF_CUT;
	}
	if (end <= start || bpf_probe_read_user(b->tail + (off & 0x3ff), len, (void *)start))
		return off;
	b->rec.args_len = len;
	return off + len;
}

static __always_inline __u64 exec_began(struct task_struct *task)
{
	__u32 tid = task->pid;
	__u64 *began = bpf_map_lookup_elem(&proc_exec_began, &tid), ns;

	if (!began)
		return 0;
	ns = *began;
	bpf_map_delete_elem(&proc_exec_began, &tid);
	return ns;
}

static __always_inline void exec_begins(struct task_struct *task)
{
	__u32 tid = task->pid;
	__u64 now = bpf_ktime_get_boot_ns();

	bpf_map_update_elem(&proc_exec_began, &tid, &now, BPF_ANY);
}

static __always_inline int exec_record(struct task_struct *task, int old_tid, struct linux_binprm *bprm, bool by_loop)
{
	struct sonde_ledger *l = ledger_seen(PROC_CLASS_LIFE);
	struct proc_exec_buf *b;
	__u32 zero = 0, off;
	long n;

	go_exec(task);
	b = bpf_map_lookup_elem(&proc_exec_scratch, &zero);
	if (!l || !b) /* neither happens */
		return 0;
	life_init(&b->rec.hdr, l, PROC_REC_EXEC, 0, task);
	task_identity(&b->rec.hdr, &b->rec.id, &b->rec.who, task);
	b->rec.old_tid = old_tid;
	b->rec.image_ns = exec_began(task);
	b->rec.path_len = b->rec.args_len = 0;

	n = bpf_probe_read_kernel_str(b->tail, PROC_NAME_BYTES, BPF_CORE_READ(bprm, filename));
	off = n > 0 ? n & 0x1ff : 0;
	b->rec.name_len = off;
	off = task_exe(b, off, task, by_loop);
	off = exec_args(b, off, task);
	b->rec.hdr.len = sizeof(b->rec) + (off & (PROC_TAIL_BYTES - 1));
	rec_output(l, LANE_LIFE, &b->rec.hdr, b->rec.hdr.len);
	return 0;
}

/* Kernels with bpf_loop(), since 5.17: a tenth of the verifier's work. */
TP_PROG(sched_process_exec, 1, proc_exec, struct task_struct *task, int old_tid, struct linux_binprm *bprm)
{
	return exec_record(task, old_tid, bprm, true);
}

TP_PROG(sched_process_exec, 1, proc_exec_plain, struct task_struct *task, int old_tid, struct linux_binprm *bprm)
{
	return exec_record(task, old_tid, bprm, false);
}

static __always_inline int exit_record(struct task_struct *task, bool last)
{
	struct signal_struct *sig = BPF_CORE_READ(task, signal);
	struct sonde_ledger *l;
	struct proc_exit_rec *r;

	if (last)
		go_forget(task->tgid);
	r = life_begin(&l, PROC_REC_EXIT, sizeof(*r), task);
	if (!r)
		return 0;
	ident_task(&r->id, task);
	r->status = task->exit_code;
	if (BPF_CORE_READ(sig, flags) & SIGNAL_GROUP_EXIT)
		r->group_status = BPF_CORE_READ(sig, group_exit_code);
	else
		r->group_status = BPF_CORE_READ(task, group_leader, exit_code);
	r->last = last;
	__builtin_memset(r->pad, 0, sizeof(r->pad));
	BPF_CORE_READ_STR_INTO(&r->comm, task, comm);
	rec_submit(l, LANE_LIFE, &r->hdr);
	return 0;
}

/* Kernels that tell whether it was the last thread (since 6.16). */
TP_PROG(sched_process_exit, 2, proc_exit, struct task_struct *task, bool group_dead)
{
	return exit_record(task, group_dead);
}

/*
 * The others: the count of live threads was lowered just before. When the last two exit at the same moment on
 * two CPUs, both may see 0; readers take the first.
 */
TP_PROG(sched_process_exit, 2, proc_exit_count, struct task_struct *task)
{
	struct signal_struct *sig = BPF_CORE_READ(task, signal);

	return exit_record(task, sig && BPF_CORE_READ(sig, live.counter) == 0);
}

/* exec renames too, and its own record follows: that one is enough. */
TP_PROG(task_rename, 3, proc_rename, struct task_struct *task, const char *comm)
{
	struct sonde_ledger *l;
	struct proc_rename_rec *r;

	if (bpf_core_field_exists(task->in_execve) && BPF_CORE_READ_BITFIELD(task, in_execve)) {
		exec_begins(task);
		return 0;
	}
	r = life_begin(&l, PROC_REC_RENAME, sizeof(*r), task);
	if (!r)
		return 0;
	ident_task(&r->id, task);
	__builtin_memset(r->comm, 0, sizeof(r->comm));
	bpf_probe_read_kernel_str(r->comm, sizeof(r->comm), comm);
	BPF_CORE_READ_STR_INTO(&r->old, task, comm);
	rec_submit(l, LANE_LIFE, &r->hdr);
	return 0;
}

/* Of all hierarchies only cgroup v2 (number 0) gives keys. */
TP_PROG(cgroup_attach_task, 4, proc_cgroup, struct cgroup *dst, const char *path, struct task_struct *task)
{
	struct sonde_ledger *l;
	struct proc_cgroup_rec *r;

	if (BPF_CORE_READ(dst, root, hierarchy_id) != 0)
		return 0;
	r = life_begin(&l, PROC_REC_CGROUP, sizeof(*r), task);
	if (!r)
		return 0;
	r->cgroup_id = BPF_CORE_READ(dst, kn, id);
	ident_task(&r->id, task);
	r->id.cgroup_id = r->cgroup_id;
	rec_submit(l, LANE_LIFE, &r->hdr);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
