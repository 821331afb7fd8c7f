/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Losses by the kernel's counters of a network namespace (those of nstat).
 */
#ifndef NET_MIB_WIRE_H
#define NET_MIB_WIRE_H

#include "sonde/wire.h"

#define NET_EV_MIB SONDE_EV(2, 38)	/* one counter that rose */

#define NET_MIB_NAME_BYTES 40

/* Made by the live half, once per second and at the end for each counter that rose. */
struct net_mib_rec {
	struct sonde_rec hdr;
	__u64 count;		/* since the last reading */
	__u64 total;		/* since the start */
	__u64 interval_ns;	/* since the last reading */
	__u32 netns;		/* inode */
	__u32 pad;
	char name[NET_MIB_NAME_BYTES]; /* as nstat has it, NUL-terminated */
};

#ifndef __cplusplus
_Static_assert(sizeof(struct net_mib_rec) == 40 + 32 + 40, "net_mib_rec is ABI");
#endif

#endif
