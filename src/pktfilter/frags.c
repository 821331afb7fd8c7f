// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * bpf_dynptr_from_skb() exists since 6.4 for programs with packets as context; tracing programs may call it since
 * 6.12. BTF shows that it exists; whether the call is allowed, only a load shows. A forbidden call fails the whole
 * program.
 */
#include "pktfilter/frags.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <linux/bpf.h>

#include "base/cleanup.h"
#include "base/macros.h"

/* tp_btf/kfree_skb: creates a dynptr of its first argument. */
static int load_caller(int tracepoint, int kfunc)
{
	const struct bpf_insn code[] = {
		{ .code = BPF_LDX | BPF_MEM | BPF_DW, .dst_reg = BPF_REG_1, .src_reg = BPF_REG_1 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_2 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = BPF_REG_3, .src_reg = BPF_REG_10 },
		{ .code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = BPF_REG_3, .imm = -16 },
		{ .code = BPF_JMP | BPF_CALL, .src_reg = BPF_PSEUDO_KFUNC_CALL, .imm = kfunc },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_TRACE_RAW_TP,
		    .attach_btf_id = (uint32_t)tracepoint);

	return bpf_prog_load(BPF_PROG_TYPE_TRACING, "sonde_frags", "Dual BSD/GPL", code, ARRAY_SIZE(code), &opts);
}

/* > 0: readable, 0: not, -EPERM: not permitted to load. */
static int ask_kernel(const struct btf *btf)
{
	_cleanup_close_ int fd = -1;
	int tracepoint, kfunc;

	if (!btf)
		return 0;
	tracepoint = btf__find_by_name_kind(btf, "btf_trace_kfree_skb", BTF_KIND_TYPEDEF);
	kfunc = btf__find_by_name_kind(btf, "bpf_dynptr_from_skb", BTF_KIND_FUNC);
	if (tracepoint < 0 || kfunc < 0)
		return 0;
	fd = load_caller(tracepoint, kfunc);
	return fd >= 0 ? 1 : errno == EPERM ? -EPERM : 0;
}

bool frags_readable(const struct btf *btf)
{
	static int known = -EPERM; /* fixed for a kernel */

	if (known < 0)
		known = ask_kernel(btf);
	return known > 0;
}
