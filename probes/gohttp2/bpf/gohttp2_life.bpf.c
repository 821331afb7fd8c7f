// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Processes that start and end. A program whose file is already watched gets its layout here, before its first
 * instruction; user space receives a record of every exec and inspects files that are new.
 */
#define PREEMPT_UNIT life
#include "bpf/go_http2.bpf.h"
#include "probes/gohttp2/bpf/gohttp2_state.bpf.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct inode___life {
	__s64 i_size;
};

struct mm_struct___life {
	unsigned long start_code;
};

struct linux_binprm___life {
	const char *interp;	/* file that is executed; `filename` may be a script */
};

#pragma clang attribute pop

MAP_FLAGS(gohttp2_files, HASH, BPF_F_NO_PREALLOC, 65536, struct gohttp2_file_key, struct gohttp2_file_val);

/* Layout of each module with the addresses of the file. */
MAP_FLAGS(gohttp2_linked, HASH, BPF_F_NO_PREALLOC, 65536, __u32, struct gohttp2_layout);

/* A layout does not fit on the BPF stack. */
MAP(gohttp2_moving, PERCPU_ARRAY, 1, __u32, struct gohttp2_layout);

static __always_inline void move_layout(struct gohttp2_layout *l, __u64 bias)
{
	l->bufw_type += l->bufw_type ? bias : 0;
	l->status_type += l->status_type ? bias : 0;
	l->fixed_lo += bias;
	l->fixed_hi += bias;
	l->bias = bias;
}

static __always_inline bool give_layout(__u32 tgid, __u32 module, __u64 bias)
{
	struct gohttp2_key key = { .tgid = tgid, .module = module };
	struct gohttp2_layout *linked = bpf_map_lookup_elem(&gohttp2_linked, &module), *room;
	__u32 zero = 0;

	room = bpf_map_lookup_elem(&gohttp2_moving, &zero);
	if (!linked || !room)
		return false;
	__builtin_memcpy(room, linked, sizeof(*room));
	room->born = (__u32)bpf_ktime_get_ns();
	move_layout(room, bias);
	if (bpf_map_update_elem(&gohttp2_layouts, &key, room, BPF_ANY)) {
		MISS(layout);
		return false;
	}
	return true;
}

static __always_inline void forget(__u32 tgid)
{
	__u32 *module = bpf_map_lookup_elem(&sonde_go_http2, &tgid);
	struct gohttp2_key key = { .tgid = tgid };

	if (!module)
		return;
	key.module = *module;
	bpf_map_delete_elem(&gohttp2_layouts, &key);
	key.module |= 1;
	bpf_map_delete_elem(&gohttp2_layouts, &key);
	bpf_map_delete_elem(&sonde_go_http2, &tgid);
}

/* Gives the process its layouts if its file is watched. */
static __always_inline bool adopt(__u32 tgid, const struct gohttp2_file_key *file)
{
	struct gohttp2_file_val *val = bpf_map_lookup_elem(&gohttp2_files, file);
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct mm_struct___life *mm = (void *)BPF_CORE_READ(task, mm);
	__u64 bias = 0;
	__u32 module;

	if (!val)
		return false;
	module = val->module;
	if (val->moves)
		bias = BPF_CORE_READ(mm, start_code) - val->code;
	if (!give_layout(tgid, module, bias))
		return false;
	give_layout(tgid, module | 1, bias);
	if (bpf_map_update_elem(&sonde_go_http2, &tgid, &module, BPF_ANY))
		MISS(tgid);
	return true;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG_NOPREEMPT(gohttp2_exec, struct task_struct *task, int old_pid, struct linux_binprm *bprm)
{
	__u32 tgid = bpf_get_current_pid_tgid() >> 32;
	struct inode *inode = bprm->file->f_inode;
	struct gohttp2_file_key file = { .ino = inode->i_ino, .dev = inode->i_sb->s_dev };
	struct gohttp2_start_rec *rec;
	struct sonde_ledger *l;
	bool known;

	file.size = BPF_CORE_READ((struct inode___life *)inode, i_size);
	forget(tgid);
	if (is_excluded(tgid) || !select_tree(tgid))
		return 0;
	known = adopt(tgid, &file);
	l = ledger_seen(GOHTTP2_CLASS_LIFE);
	if (!l)
		return 0;
	rec = rec_reserve(l, LANE_LIFE, sizeof(*rec));
	if (!rec)
		return 0;
	rec_init(&rec->hdr, l, GOHTTP2_REC_START, sizeof(*rec), GOHTTP2_CLASS_LIFE);
	rec->ino = file.ino;
	rec->dev = file.dev;
	rec->known = known;
	rec->ppid = BPF_CORE_READ(task, real_parent, tgid);
	rec->selected = select_groups();
	__builtin_memset(rec->path, 0, sizeof(rec->path));
	if (!known)	/* the program may have ended when user space opens its file */
		bpf_probe_read_kernel_str(rec->path, sizeof(rec->path),
					  BPF_CORE_READ((struct linux_binprm___life *)bprm, interp));
	if (known)
		rec_submit(l, LANE_LIFE, rec);
	else	/* its calls are missed until the file is watched */
		rec_submit_now(l, rec);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG_NOPREEMPT(gohttp2_exit, struct task_struct *task)
{
	__u32 tgid = task->tgid;
	struct sonde_ledger *l;
	struct sonde_rec *rec;

	if (BPF_CORE_READ(task, signal, live.counter) || !bpf_map_lookup_elem(&sonde_go_http2, &tgid))
		return 0;
	forget(tgid);
	l = ledger_seen(GOHTTP2_CLASS_LIFE);
	if (!l)
		return 0;
	rec = rec_reserve(l, LANE_LIFE, sizeof(*rec));
	if (!rec)
		return 0;
	rec_init(rec, l, GOHTTP2_REC_EXIT, sizeof(*rec), GOHTTP2_CLASS_LIFE);
	rec_submit(l, LANE_LIFE, rec);
	return 0;
}
