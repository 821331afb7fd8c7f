// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An empty program at given offsets of a file until a signal comes: the kernel's own cost of uprobes.
 *
 *   bench_empty_uprobe FILE OFFSET...
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/macros.h"
#include "tests/bench/programs/bench.h"

#define PLACES 16
#define UPROBE_MULTI 48	/* linux/bpf.h of 6.6; older headers lack it */

int main(int argc, char **argv)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, load, .expected_attach_type = UPROBE_MULTI);
	LIBBPF_OPTS(bpf_link_create_opts, link);
	unsigned long offsets[PLACES];
	int n = argc - 2, prog;

	if (n < 1 || n > PLACES)
		bench_die("a file and offsets of instructions in it are wanted");
	for (int i = 0; i < n; i++)
		offsets[i] = strtoul(argv[i + 2], NULL, 0);
	prog = bpf_prog_load(BPF_PROG_TYPE_KPROBE, "bench_empty", "GPL", insns, ARRAY_SIZE(insns), &load);
	link.uprobe_multi.path = argv[1];
	link.uprobe_multi.offsets = offsets;
	link.uprobe_multi.cnt = (unsigned)n;
	if (prog < 0 || bpf_link_create(prog, 0, UPROBE_MULTI, &link) < 0)
		bench_die("cannot attach: root and Linux 6.6 are needed");
	signal(SIGINT, SIG_DFL);	/* a shell in the background has it ignored */
	fprintf(stderr, "ready\n");
	pause();
	return 0;
}
