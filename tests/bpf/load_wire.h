/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/* Records of the producers of load.bpf.c. */
#ifndef TESTS_LOAD_WIRE_H
#define TESTS_LOAD_WIRE_H

#include "sonde/wire.h"

#define LOAD_REC SONDE_EV(0x7e, 1)
#define LOAD_CLASS 3
#define LOAD_SHORT 52	/* bytes of a record of variable length */

/* Argument of load_owner_selected. */
#define LOAD_PID 4242
#define LOAD_CGROUP 77
#define LOAD_NETNS 88

struct load_rec {
	struct sonde_rec hdr;
	__u64 number;		/* per CPU, from 1 */
	__u64 fill[2];
};

_Static_assert(sizeof(struct load_rec) == 64, "the size that figures are quoted for");

#endif
