// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Signals with sender and receiver. Kernel side: one typed tracepoint.
 */
#include "bpf/kernel.h"
#include "bpf/filter.bpf.h"
#include "bpf/ring.bpf.h"
#include "probes/template/template_wire.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#define CLASS_TASK 0	/* hooks in process context: they do not interrupt each other */

SEC("tp_btf/signal_generate")
int BPF_PROG(template_signal, int signo, void *info, struct task_struct *target, int group, int result)
{
	struct sonde_ledger *l = ledger_seen(CLASS_TASK);
	struct template_signal_rec *rec;

	if (!l)
		return 0;
	if (!select_task()) {
		rec_filtered(l);
		return 0;
	}
	rec = rec_reserve(l, LANE_BULK, sizeof(*rec));
	if (!rec)
		return 0;
	rec_init(&rec->hdr, l, TEMPLATE_REC_SIGNAL, sizeof(*rec), CLASS_TASK);
	rec->target_tgid = BPF_CORE_READ(target, tgid);
	rec->target_tid = BPF_CORE_READ(target, pid);
	rec->signo = signo;
	rec->result = result;
	BPF_CORE_READ_STR_INTO(&rec->target_comm, target, comm);
	rec_submit(l, LANE_BULK, rec);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
