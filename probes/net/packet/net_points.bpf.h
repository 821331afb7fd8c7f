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

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, __u32);
	__type(value, struct net_point);
} net_points SEC(".maps");

#endif
