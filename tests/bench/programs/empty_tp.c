// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Empty programs at tracepoints until a signal comes: the kernel's own cost of attached programs.
 *
 *   bench_empty_tp TRACEPOINT...
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "base/macros.h"
#include "tests/bench/programs/bench.h"

static void attach(const char *tracepoint)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	int id = libbpf_find_vmlinux_btf_id(tracepoint, BPF_TRACE_RAW_TP), prog;
	LIBBPF_OPTS(bpf_prog_load_opts, o, .expected_attach_type = BPF_TRACE_RAW_TP,
		    .attach_btf_id = id < 0 ? 0 : (uint32_t)id);

	prog = bpf_prog_load(BPF_PROG_TYPE_TRACING, "bench_empty", "GPL", insns, ARRAY_SIZE(insns), &o);
	if (prog < 0 || bpf_raw_tracepoint_open(NULL, prog) < 0)
		bench_die("cannot attach: root and a tracepoint of this kernel are needed");
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		attach(argv[i]);
	fprintf(stderr, "ready\n");
	pause();
	return 0;
}
