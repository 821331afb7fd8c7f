/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * What src/pktfilter and the programs with a filter pool (bpf/pktfilter.bpf.h) agree on. Compiled in both
 * worlds: numbers only.
 */
#ifndef SONDE_PKTFILTER_WIRE_H
#define SONDE_PKTFILTER_WIRE_H

#define PKTFILTER_POOL_INSNS 2048	/* room for converted code, both starts together, in each program */
#define PKTFILTER_BUF_BYTES 1024	/* deepest byte that the kernel side looks at */

/* Verdicts, of the kernel side and of the interpreter alike. */
#define PKTFILTER_REJECT 0
#define PKTFILTER_PASS 1
#define PKTFILTER_UNDECIDED 2		/* needs bytes that could not be read there */

/*
 * Immediates by which user space finds the places to overwrite in a program. The mode's place holds MODE_ALL as
 * compiled, MODE_USER when user space decides about every packet, else the depth in bytes.
 */
#define PKTFILTER_MODE_ALL 0x70660001
#define PKTFILTER_MODE_USER 0x70660002
#define PKTFILTER_POOL_MARK 0x70660003
#define PKTFILTER_FRAGS_NO 0x70660004	/* this kernel does not let tracing programs read page fragments */
#define PKTFILTER_FRAGS_YES 1

#endif
