/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Static analysis of classic BPF and its conversion to eBPF: pure functions over instruction arrays, without libpcap
 * and libbpf.
 * Instruction set: Linux Documentation/networking/filter.rst, include/uapi/linux/filter.h.
 */
#ifndef PKTFILTER_CBPF_H
#define PKTFILTER_CBPF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bpf_insn;
struct sock_filter;

#define CBPF_MEMWORDS 16

/* Loads from this offset on read the kernel's metadata of a packet (SKF_AD_OFF). */
#define CBPF_ANCILLARY 0xfffff000u

/* Facts that hold before an instruction on all paths to it. */
struct cbpf_state {
	bool reached;
	uint16_t mem_set;			/* bit i: M[i] has been stored */
	uint32_t have;				/* bytes that earlier loads prove to exist */
	uint32_t a_max, x_max;			/* upper bounds of A and X */
	uint32_t mem_max[CBPF_MEMWORDS];
};

/*
 * Checks a program and fills states[n]. A load beyond @limit bytes ends the program; UINT32_MAX = no limit.
 * *ret_depth: bytes from the packet's start that a verdict can depend on (UINT32_MAX = unbounded). -ELOOP: a backward
 * jump; -EINVAL: malformed (jump out of range, unknown instruction, constant division by 0 or shift by 32, M[] read
 * before stored, no return at the end).
 */
int cbpf_analyse(const struct sock_filter *in, size_t n, uint32_t limit, struct cbpf_state *states,
		 uint32_t *ret_depth);

/* True if instruction @in can never succeed on a packet view of @limit bytes. */
bool cbpf_load_beyond(const struct sock_filter *in, uint32_t limit);
bool cbpf_is_packet_load(const struct sock_filter *in);
uint32_t cbpf_load_size(const struct sock_filter *in);	/* 1, 2 or 4 bytes */

/*
 * Converts to eBPF that continues after its last instruction with the verdict (PKTFILTER_*, sonde/pktfilter_wire.h)
 * in R0.
 *
 * Registers on entry: R1 first byte of the view, R2 its end, R3 length of the packet on the wire, R4 16 words of
 * scratch memory. R1 and R2 are packet and packet end, or two pointers into a map value of at least @limit bytes; the
 * bounds checks satisfy the verifier in both cases. Overwrites R0 and R5, preserves R6-R9. PKTFILTER_UNDECIDED: a
 * load reached beyond R2 or @limit, which is a rejection if the view is the whole packet.
 *
 * Returns the number of instructions; -ENOSPC if @cap or the range of a jump is too small, -ENOMEM, or the errors of
 * cbpf_analyse().
 */
int pktfilter_convert(const struct sock_filter *in, size_t n, uint32_t limit, struct bpf_insn *out, size_t cap);

#endif
