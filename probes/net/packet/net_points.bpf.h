/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Observation points of the interfaces of a namespace; user space fills the map before it attaches programs
 * (net_tc.c).
 */
#ifndef NET_POINTS_BPF_H
#define NET_POINTS_BPF_H

#include "bpf/kernel.h"

#include <bpf/bpf_helpers.h>

struct net_point {
	__u8 in, out;	/* NET_POINT_* */
};

MAP_FLAGS(net_points, HASH, BPF_F_NO_PREALLOC, 65536, __u32, struct net_point);

#endif
