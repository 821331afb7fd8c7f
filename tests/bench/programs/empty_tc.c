// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Empty programs at both directions of an interface until a signal comes: the kernel's own cost of attached programs.
 *
 *   bench_empty_tc IFACE
 */
#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <net/if.h>
#include <stdio.h>
#include <unistd.h>

#include "base/macros.h"
#include "tests/bench/programs/bench.h"

#define TCX_INGRESS 46	/* linux/bpf.h of 6.6; older headers lack them */
#define TCX_EGRESS 47

static void attach(int prog, int ifindex, int where)
{
	if (bpf_link_create(prog, ifindex, where, NULL) < 0)
		bench_die("cannot attach: root and Linux 6.6 are needed");
}

int main(int argc, char **argv)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = -1 },	/* next */
		{ .code = BPF_JMP | BPF_EXIT },
	};
	int prog = bpf_prog_load(BPF_PROG_TYPE_SCHED_CLS, "bench_empty", "GPL", insns, ARRAY_SIZE(insns), NULL);
	unsigned ifindex = argc == 2 ? if_nametoindex(argv[1]) : 0;

	if (prog < 0 || !ifindex)
		bench_die("an interface is wanted, and the right to load programs");
	attach(prog, (int)ifindex, TCX_INGRESS);
	attach(prog, (int)ifindex, TCX_EGRESS);
	fprintf(stderr, "ready\n");
	pause();
	return 0;
}
