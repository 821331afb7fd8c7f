/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Records of template.bpf.c. Fixed-size integers and arrays only, explicit padding, variable data last.
 * Numbers of records are never reused.
 */
#ifndef TEMPLATE_WIRE_H
#define TEMPLATE_WIRE_H

#include "sonde/wire.h"

#define TEMPLATE_REC_SIGNAL SONDE_EV(PROBE_ID, 1)

/* hdr: the process that caused the signal. */
struct template_signal_rec {
	struct sonde_rec hdr;
	__u32 target_tgid;	/* process that gets it, in the initial pid namespace */
	__u32 target_tid;
	__u32 signo;
	__u32 result;		/* enum of the kernel, include/trace/events/signal.h: 0 delivered, 1 ignored... */
	char target_comm[16];
};

_Static_assert(sizeof(struct template_signal_rec) == 72, "template_signal_rec is ABI");

#endif
