/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Interface between src/pktfilter and programs with a filter pool (bpf/pktfilter.bpf.h).
 */
#ifndef SONDE_PKTFILTER_WIRE_H
#define SONDE_PKTFILTER_WIRE_H

#define PKTFILTER_POOL_INSNS 2048	/* size of the pool in each program, for the code of both starts */
#define PKTFILTER_BUF_BYTES 1024	/* bytes of a packet that programs look at, at most */

/* Verdicts of programs and of the interpreter. */
#define PKTFILTER_REJECT 0
#define PKTFILTER_PASS 1
#define PKTFILTER_UNDECIDED 2		/* depends on bytes that could not be read */

/*
 * Immediates that mark the instructions to patch. The mode is MODE_ALL as compiled, MODE_USER if user space decides
 * on all packets, else the depth in bytes.
 */
#define PKTFILTER_MODE_ALL 0x70660001
#define PKTFILTER_MODE_USER 0x70660002
#define PKTFILTER_POOL_MARK 0x70660003
#define PKTFILTER_FRAGS_NO 0x70660004	/* tracing programs cannot read page fragments on this kernel */
#define PKTFILTER_FRAGS_YES 1

#endif
