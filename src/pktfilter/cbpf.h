/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Classic BPF as data: what a program may read and do, found out without running it, and its conversion to
 * eBPF. Pure functions over instruction arrays; they know neither libpcap nor libbpf.
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

/* Loads from here on are no packet bytes but the kernel's own facts about a packet (SKF_AD_OFF). */
#define CBPF_ANCILLARY 0xfffff000u

/* What is known before an instruction runs, whichever way it was reached. */
struct cbpf_state {
	bool reached;
	uint16_t mem_set;			/* bit i: M[i] was stored on every way here */
	uint32_t have;				/* bytes that the packet has for certain: earlier loads needed them */
	uint32_t a_max, x_max;			/* upper bounds of A and X */
	uint32_t mem_max[CBPF_MEMWORDS];
};

/*
 * Checks a program and fills states[n]. Loads that reach beyond @limit bytes are taken as ends of the program;
 * UINT32_MAX = no limit. Returns the number of bytes from the packet's start that a verdict can depend on, in
 * @ret_depth (UINT32_MAX = no bound known). -ELOOP: it jumps backward; -EINVAL: malformed (jump out of range,
 * unknown instruction, constant division by 0 or shift by 32, M[] read before stored, no return at the end).
 */
int cbpf_analyse(const struct sock_filter *in, size_t n, uint32_t limit, struct cbpf_state *states,
		 uint32_t *ret_depth);

/* True if instruction @in can never succeed on a packet view of @limit bytes. */
bool cbpf_load_beyond(const struct sock_filter *in, uint32_t limit);
bool cbpf_is_packet_load(const struct sock_filter *in);
uint32_t cbpf_load_size(const struct sock_filter *in);	/* 1, 2 or 4 bytes */

/*
 * Converts to eBPF that falls off its end with the verdict (PKTFILTER_*, sonde/pktfilter_wire.h) in R0.
 *
 * Registers on entry: R1 first byte of the view, R2 its end, R3 length of the packet on the wire, R4 16 words
 * of scratch memory. R1/R2 are either packet and packet end, or two pointers into a map value of at least @limit
 * bytes: each access is bounded in a way that satisfies the verifier in both cases. R0 and R5 are overwritten,
 * R6-R9 are not touched. PKTFILTER_UNDECIDED stands for "a load did not fit between R1 and R2 or reached beyond
 * @limit": whether that is a rejection depends on whether the view was the whole packet.
 *
 * Returns the number of instructions; -ENOSPC if @cap or a jump's range is too small, -ENOMEM, or the errors of
 * cbpf_analyse().
 */
int pktfilter_convert(const struct sock_filter *in, size_t n, uint32_t limit, struct bpf_insn *out, size_t cap);


#endif
