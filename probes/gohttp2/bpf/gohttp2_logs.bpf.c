// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Log lines: what goroutines that serve a call write to standard output, standard error or a file. Other processes
 * cost the comparison of a number and a byte.
 */
#define PREEMPT_UNIT logs
#include "bpf/ident.bpf.h"
#include "bpf/ident_go.bpf.h"
#include "bpf/task_file.bpf.h"
#include "probes/gohttp2/bpf/gohttp2_state.bpf.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#if defined(__TARGET_ARCH_x86)

#define NR_WRITE 1
#define NR_PWRITE64 18

static __always_inline long call_of(const struct pt_regs *regs)
{
	return (long)regs->orig_ax;
}

static __always_inline __u32 written_fd(const struct pt_regs *regs)
{
	return (__u32)regs->di;
}

static __always_inline __u64 written_from(const struct pt_regs *regs)
{
	return regs->si;
}

#elif defined(__TARGET_ARCH_arm64)

#define NR_WRITE 64
#define NR_PWRITE64 68

static __always_inline long call_of(const struct pt_regs *regs)
{
	return regs->syscallno;
}

static __always_inline __u32 written_fd(const struct pt_regs *regs)
{
	return (__u32)regs->orig_x0;
}

static __always_inline __u64 written_from(const struct pt_regs *regs)
{
	return regs->regs[1];
}

#endif

struct log_scratch {
	struct gohttp2_log_rec rec;
	char data[GOHTTP2_LOG_BYTES];
};

MAP(gohttp2_log_scratch, PERCPU_ARRAY, 1, __u32, struct log_scratch);

static __always_inline bool is_log(__u32 fd)
{
	struct file___fd *file;

	if (fd == 1 || fd == 2)
		return true;
	file = task_file_at(fd);
	return file && task_file_is(file, S_IFREG);
}

static __always_inline int send_log(struct log_scratch *s, const struct pt_regs *regs, __u32 written)
{
	struct sonde_ledger *l = ledger_seen(GOHTTP2_CLASS_LOG);
	__u32 len = written, flags = SONDE_RF_IDENT | GOHTTP2_CLASS_LOG;

	if (!l)
		return 0;
	if (len > GOHTTP2_LOG_BYTES) {
		len = GOHTTP2_LOG_BYTES;
		flags |= SONDE_RF_CUT;
	}
	barrier_var(len);
	if (len > GOHTTP2_LOG_BYTES || read_user(s->data, len, written_from(regs))) {
		rec_lost(l, SONDE_LOST_COPY);
		return 0;
	}
	s->rec.fd = (__s32)written_fd(regs);
	s->rec.written = written;
	s->rec.data_len = len;
	s->rec.pad = 0;
	rec_init(&s->rec.hdr, l, GOHTTP2_REC_LOG, sizeof(s->rec) + len, flags);
	rec_output(l, LANE_BULK, s, sizeof(s->rec) + len);
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG_NOPREEMPT(gohttp2_log, struct pt_regs *regs, long ret)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	__u32 tgid = bpf_get_current_pid_tgid() >> 32, zero = 0;
	const struct sonde_go_layout *layout;
	struct log_scratch *s;
	const __u8 *mark;

	if (ret <= 0 || (call_of(regs) != NR_WRITE && call_of(regs) != NR_PWRITE64))
		return 0;
	mark = go_mark(tgid);
	if (!mark || *mark != SONDE_GO_MARK_SERVES || !is_log(written_fd(regs)))
		return 0;
	layout = go_layout(tgid);
	s = bpf_map_lookup_elem(&gohttp2_log_scratch, &zero);
	if (!layout || !s)
		return 0;
	ident_task(&s->rec.id, task);
	go_fill(&s->rec.id, layout, tgid, (__u32)BPF_CORE_READ(task, group_leader, start_boottime), true);
	return s->rec.id.call ? send_log(s, regs, (__u32)ret) : 0;
}
